"""The terminal: where output, progress and errors go, and the options that every command takes.

Documents and tables go to stdout, everything else to stderr. Without a terminal nothing is folded, cut or coloured.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from recollectx.cli.render import plain, to_json
from recollectx.db.engine import MEMORY, resolve_url
from recollectx.errors import RecollectxError
from recollectx.memory import Memory, default_path
from recollectx.settings import Settings, settings_from
from recollectx.upkeep.looking import file_of, require_memory

UNFOLDED = 10_000_000
INTERRUPTED = 130


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else UNFOLDED
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


@dataclass
class Terminal:
    """The options of this run and its two streams. db, named_scope, vectors: None leaves them to the environment and
    to the file `config`."""

    db: str | None = None
    named_scope: str | None = None
    vectors: str | None = None
    config: str | None = None
    as_json: bool = False
    out: Console = field(default_factory=lambda: _console(stderr=False))
    err: Console = field(default_factory=lambda: _console(stderr=True))

    @cached_property
    def settings(self) -> Settings:
        """What is in force."""
        return settings_from(self.config, url=self.db, scope=self.named_scope, vectors=self.vectors)

    @property
    def scope(self) -> str:
        """The scope to work in."""
        return str(self.settings["scope"])

    @property
    def target(self) -> str:
        """The path or URL of the memory."""
        return str(self.settings["url"] or default_path())

    @property
    def file(self) -> Path | None:
        """The file of the memory, whether it is there or not; None for `:memory:` and for a server."""
        return file_of(resolve_url(self.target))

    def open(self, *, create: bool = False, words_only: bool = False) -> Memory:
        """The memory of this run. Raises NotFound if there is none yet, unless `create`.

        words_only: without an embedder and an index of vectors, for what asks for no meaning.
        """
        if not create and resolve_url(self.target).database != MEMORY:
            require_memory(self.target)
        if words_only:
            return Memory.open(self.target, scope=self.scope, embedder=None)
        return Memory.from_config(self.config, url=self.db, scope=self.named_scope, vectors=self.vectors)

    @property
    def wide(self) -> bool:
        """Whether lines may be of any length: nobody looks at them on a screen."""
        return self.out.width == UNFOLDED

    def show(self, document: Any, *shown: RenderableType, width: int | None = None) -> None:
        """Print `document` with --json, else what is to be shown to a person. width: of a drawing, in columns."""
        if self.as_json:
            click.echo(to_json(document, ascii_only="utf" not in self.out.encoding))
            return
        if not self.wide:
            self.out.print(*shown, sep="\n", width=width)
            return
        with self.out.capture() as captured:
            self.out.print(*shown, sep="\n", width=width)
        # Tables fill every line up with blanks, as wide as their widest cell.
        for line in captured.get().splitlines():
            click.echo(line.rstrip())

    def note(self, text: str) -> None:
        """Tell a person something that is no result."""
        self.err.print(plain(text), style="dim")


class Failure(click.ClickException):
    """A failure of ours: one message on stderr, exit code 1."""

    def __init__(self, message: str, terminal: Terminal) -> None:
        super().__init__(message)
        self.terminal = terminal

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, as JSON if the run is to speak JSON."""
        if self.terminal.as_json:
            click.echo(to_json({"error": self.message}, ascii_only=True), file=file, err=True)
        else:
            lines = [plain(line) for line in self.message.splitlines()]
            click.echo("recollectx: " + "\n".join(lines), file=file, err=True)


class WrongUsage(Failure):
    """A command line that cannot be meant, told as JSON: exit code 2, as without."""

    exit_code = 2


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    # Asked of the command and of the group: whoever was given a value has the say.
    if value is not None and value is not False:
        setattr(ctx.ensure_object(Terminal), str(param.name), value)


def _global_options() -> list[click.Option]:
    kept: dict[str, Any] = {"expose_value": False, "callback": _keep}
    return [
        click.Option(
            ["--db"],
            metavar="PATH_OR_URL",
            help="The memory. Default: $RECOLLECTX_DB, else ~/.recollectx/memory.db.",
            **kept,
        ),
        click.Option(
            ["--scope", "named_scope"], metavar="NAME", help="The scope to work in. Default: global.", **kept
        ),
        click.Option(
            ["--vectors"],
            metavar="NAME_OR_URL",
            help="The vector index: exact (default), faiss, pgvector, qdrant://…, pinecone://….",
            **kept,
        ),
        click.Option(
            ["--config"],
            metavar="FILE",
            help="Settings as TOML. Default: $RECOLLECTX_CONFIG, else none.",
            **kept,
        ),
        # Eager: known before anything else on the line is found to be wrong.
        click.Option(
            ["--json", "as_json"], is_flag=True, is_eager=True, help="Print one JSON document.", **kept
        ),
    ]


class Command(click.Command):
    """A command that takes the global options too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_global_options())


class Group(click.Group):
    """Turns our errors into messages and Ctrl-C into its exit code."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(_global_options())

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; ClickException for every error that recollectx raises on purpose."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            terminal = ctx.ensure_object(Terminal)
            if terminal.as_json:
                raise WrongUsage(error.format_message(), terminal) from error
            raise
        except RecollectxError as error:
            raise Failure(str(error), ctx.ensure_object(Terminal)) from error
        except (KeyboardInterrupt, click.Abort) as error:
            stopped = isinstance(error, KeyboardInterrupt) or isinstance(error.__context__, KeyboardInterrupt)
            with suppress(BrokenPipeError):
                click.echo("stopped", err=True)
            ctx.exit(INTERRUPTED if stopped else 1)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which one meets them."""
        return list(self.commands)


pass_terminal = click.make_pass_decorator(Terminal, ensure=True)


def progress_bar(terminal: Terminal) -> Progress:
    """A bar on stderr while somebody looks, nothing elsewhere."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=terminal.err, transient=True, disable=not terminal.err.is_terminal)
