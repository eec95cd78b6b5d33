"""`doctor`: looks a memory over, says what is wrong with it, and with --repair mends it.

Without --repair it changes no content; the one thing it does is to finish an erasure: it empties the log of a file,
which may still hold the words.
"""

from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recollectx.cli.progress import progress_told
from recollectx.cli.render import plain
from recollectx.cli.terminal import Command, Terminal
from recollectx.opening import chosen_embedder
from recollectx.storage.vector.named import EXACT
from recollectx.upkeep.doctor import Repaired, examine, finish_erasure, repair
from recollectx.upkeep.findings import Examined, Finding


@click.command(cls=Command)
@click.option("--repair", "mending", is_flag=True, help="Mend what is wrong, and say what was done.")
@click.pass_context
def doctor(ctx: click.Context, mending: bool) -> None:
    """Look the memory and its vector index over; no content is changed without --repair.

    A log that may still hold erased words is emptied, if nobody is reading. Exits with 1 if anything is wrong that was
    not mended.
    """
    terminal = ctx.ensure_object(Terminal)
    repaired = None
    given = _given(terminal, mending=mending)
    if mending:
        with progress_told(terminal, "mending") as progress:
            repaired = repair(terminal.target, **given, progress=progress)
        found = repaired.after
    else:
        found = examine(terminal.target, **given)
        if found.well and found.holds.get("pending"):
            found = finish_erasure(found)
    terminal.show(_document(found, repaired), _drawn(found, repaired))
    ctx.exit(0 if found.well else 1)


def _given(terminal: Terminal, *, mending: bool) -> dict[str, Any]:
    """The index and the embedder of this run; the latter only where it is needed, as making one takes a while."""
    named, chosen = terminal.settings["vectors"], terminal.settings["embedder"]
    vectors = None if named in (None, EXACT) else named
    embedder = chosen_embedder(chosen, vectors) if mending or vectors is not None else None
    return {
        "vectors": vectors,
        "vectors_api_key": terminal.settings["vectors_api_key"],
        "embedder": embedder,
    }


def _document(found: Examined, repaired: Repaired | None) -> dict[str, Any]:
    document = {
        "database": found.place,
        "ok": found.well,
        "checks": [_check_document(each) for each in found.findings],
        **found.holds,
    }
    if repaired is not None:
        document["repair"] = {
            "found": [_check_document(each) for each in repaired.before.findings if not each.ok],
            "done": list(repaired.done),
            "failed": list(repaired.failed),
        }
    return document


def _check_document(finding: Finding) -> dict[str, Any]:
    return {"check": finding.check, "ok": finding.ok, "detail": finding.detail}


def _drawn(found: Examined, repaired: Repaired | None) -> Group:
    holds = found.holds
    sizes = (
        f": {holds['file_bytes']:,} bytes, log {holds['log_bytes']:,} bytes" if "file_bytes" in holds else ""
    )
    lines: list[RenderableType] = [Text(plain(found.place) + sizes, style="bold")]
    if repaired is not None:
        lines += _mended(repaired)
    lines += [_marks(found.findings), Text(""), _held(holds)]
    if "disputes" in holds:
        lines.append(Text(f"{holds['disputes']:,} disputes, {holds['erased']:,} claims erased"))
    if holds.get("pending"):
        told = (
            "the log may still hold erased words, as somebody is reading; run doctor again once they are done"
        )
        lines.append(Text(told, style="yellow"))
    verdict = f"wrong: {', '.join(found.wrong)}" if found.wrong else "nothing is wrong"
    if found.wrong and repaired is None:
        verdict += "; --repair mends what can be mended"
    return Group(*lines, Text(verdict, style="bold red" if found.wrong else "bold green"))


def _mended(repaired: Repaired) -> list[RenderableType]:
    """What there was to mend, what was done and what was not."""
    wrong = [each for each in repaired.before.findings if not each.ok]
    lines: list[RenderableType] = [Text("found:"), _marks(wrong)] if wrong else []
    for told in repaired.done:
        lines.append(Text(f"mended: {plain(told)}", style="green"))
    for told in repaired.failed:
        lines.append(Text(f"not mended: {plain(told)}", style="red"))
    return [*lines, Text("now:")] if lines else []


def _marks(findings: Any) -> Table:
    marks = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("WRONG", style="bold red")
        marks.add_row(mark, finding.check, Text(plain(finding.detail), style="dim" if finding.ok else ""))
    return marks


def _held(holds: dict[str, Any]) -> Table:
    held = Table.grid(padding=(0, 2))
    held.add_column(justify="right")
    for row in holds.get("claims", ()):
        held.add_row(f"{row['count']:,}", plain(row["scope"]), row["type"], row["status"])
    return held
