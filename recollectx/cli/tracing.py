"""The command traces: answers that were given, and what they rested on then and now."""

from collections.abc import Iterable

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from recollectx.cli.documents import Document, claim_document, move_document
from recollectx.cli.parameters import whole_id
from recollectx.cli.render import day, number, plain, plain_table, short
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.instants import iso
from recollectx.query import MAX_K
from recollectx.traces import Trace, TraceExplanation

NOT_KEPT = "(erased)"


@click.command(cls=Command)
@click.argument("trace_id", metavar="[TRACE]", required=False)
@click.option("--using", metavar="ID", help="Only answers that had this claim to go on.")
@click.option("--limit", type=click.IntRange(1, MAX_K), default=50, help="How many at most. Default: 50.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to skip.")
@pass_terminal
def traces(terminal: Terminal, trace_id: str | None, using: str | None, limit: int, offset: int) -> None:
    """The answers that were given, or what one of them rested on."""
    if trace_id is not None and using is not None:
        raise click.UsageError("give either a TRACE or --using")
    with terminal.open() as memory:
        if trace_id is not None:
            explained = memory.traces.explain(trace_id)
            terminal.show(_explained_document(explained), *_explained(explained))
            return
        if using is None:
            found = memory.traces.list(limit, offset)
        else:
            found = memory.traces.using(whole_id(memory, using))[offset : offset + limit]
    document = {"traces": [trace_document(trace) for trace in found]}
    terminal.show(document, trace_table(found) if found else Text("No answer was recorded"))


def trace_document(trace: Trace) -> Document:
    """A recorded answer."""
    return {
        "id": trace.id,
        "at": iso(trace.at),
        "question": trace.question,
        "response": trace.response,
        "metadata": dict(trace.metadata),
        "claims": list(trace.claim_ids),
        "erased": trace.erased,
    }


def trace_table(found: Iterable[Trace]) -> Table:
    """Recorded answers, one a row."""
    table = Table.grid(padding=(0, 2))
    for trace in found:
        question = NOT_KEPT if trace.erased else plain(trace.question or "-")
        response = "" if trace.erased else plain(trace.response or "")
        words = Text.assemble(question, "  ", (response, "dim"))
        table.add_row(
            day(trace.at), f"{len(trace.claim_ids)} claims", Text(plain(trace.id), style="cyan"), words
        )
    return table


def _explained_document(found: TraceExplanation) -> Document:
    return {
        **trace_document(found.trace),
        "used": [
            {
                "rank": used.rank,
                "score": used.score,
                "parts": {name: getattr(used.parts, name) for name in used.parts.__slots__},
                "then": {"text": used.text, "status": used.status, "confidence": used.confidence},
                "changed": used.changed,
                "since": [move_document(event) for event in used.since],
                "claim": claim_document(used.claim),
            }
            for used in found.used
        ],
    }


def _explained(found: TraceExplanation) -> Iterable[RenderableType]:
    yield trace_table([found.trace])
    table = plain_table()
    for name in ("#", "score", "then", "now", "id", "text then"):
        table.add_column(name, overflow="fold")
    for used in found.used:
        words = Text(plain(used.text))
        if used.text != used.claim.text:
            words.append(f"  now: {plain(used.claim.text)}", style="yellow")
        if used.status != used.claim.status:
            words.append(f"  now {used.claim.status}", style="magenta")
        numbers = (number(used.confidence), number(used.claim.confidence))
        identity = Text(short(used.claim.id), style="cyan")
        table.add_row(str(used.rank), f"{used.score:.3f}", *numbers, identity, words)
    yield table
