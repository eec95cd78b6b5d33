"""The command `recollectx` and its subcommands."""

import io
import sys

import click

import recollectx
from recollectx.cli.configuring import config
from recollectx.cli.correcting import correct, restore, retract, supersede, trust, undo
from recollectx.cli.demo import demo
from recollectx.cli.doctor import doctor
from recollectx.cli.doubting import calibration, confirm, disputes, impact, resolve, what_if
from recollectx.cli.feeding import reindex
from recollectx.cli.ingest import ingest
from recollectx.cli.moving import migrate
from recollectx.cli.past import diff, snapshot, timeline
from recollectx.cli.reading import explain, history, list_, recall
from recollectx.cli.reembedding import reembed
from recollectx.cli.terminal import Group, Terminal
from recollectx.cli.tracing import traces
from recollectx.cli.writing import erase, forget, init, remember


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(recollectx.__version__, prog_name="recollectx")
@click.pass_context
def app(ctx: click.Context) -> None:
    """A long-term memory that stores beliefs: sourced, explainable, reversible.

    Begin with `recollectx demo`. An ID may be cut short to any 6 or more of its first characters.
    """
    ctx.ensure_object(Terminal)


for command in (
    init,
    remember,
    ingest,
    recall,
    list_,
    explain,
    history,
    timeline,
    snapshot,
    diff,
    forget,
    correct,
    supersede,
    restore,
    undo,
    retract,
    trust,
    erase,
    what_if,
    impact,
    disputes,
    resolve,
    confirm,
    calibration,
    traces,
    reembed,
    reindex,
    migrate,
    config,
    doctor,
    demo,
):
    app.add_command(command)


def main() -> None:
    """Run the command line of this process and exit.

    Exit codes: 0 well, 1 refused or failed, 2 wrong usage, 130 stopped with Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets a question mark, not a traceback.
            stream.reconfigure(errors="replace")
    app(prog_name="recollectx")
