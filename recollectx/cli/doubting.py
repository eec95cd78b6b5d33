"""Commands about doubt: what-if, impact, disputes, resolve, confirm, calibration."""

from collections.abc import Iterable
from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from recollectx.calibration import FEWEST, Calibration
from recollectx.claims import CURRENT
from recollectx.cli.documents import Document, claim_document
from recollectx.cli.parameters import whole_id
from recollectx.cli.render import day, number, plain, plain_table, short, told, transaction
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.cli.tracing import trace_document, trace_table
from recollectx.instants import iso
from recollectx.query import MAX_K
from recollectx.what_if import Move


class TrustType(click.ParamType[tuple[str, float]]):
    """source=level, the level in [0, 1]."""

    name = "source=level"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """The source and the level."""
        source, equals, level = str(value).rpartition("=")
        try:
            trust = float(level)
        except ValueError:
            trust = -1.0
        if not source or not equals or not 0 <= trust <= 1:
            self.fail(f"{value!r} is no source=level with a level from 0 to 1", param, ctx)
        return source, trust


@click.command("what-if", cls=Command)
@click.option(
    "--withdraw", metavar="ID", multiple=True, help="If this claim were forgotten; may be repeated."
)
@click.option("--retract", metavar="SOURCE", multiple=True, help="If this source took back all it said.")
@click.option("--trust", type=TrustType(), multiple=True, help="If this source were trusted so far.")
@pass_terminal
def what_if(
    terminal: Terminal,
    withdraw: tuple[str, ...],
    retract: tuple[str, ...],
    trust: tuple[tuple[str, float], ...],
) -> None:
    """What would move if something were otherwise.

    The moves are what would really happen, the greatest first; nothing is written.
    """
    if not (withdraw or retract or trust):
        raise click.UsageError("say what would be otherwise: --withdraw, --retract or --trust")
    with terminal.open() as memory:
        ids = [whole_id(memory, claim_id) for claim_id in withdraw]
        found = memory.what_if(withdraw=ids, retract=retract, trust=dict(trust))
    document = {"moves": [_move_document(move) for move in found.moves]}
    terminal.show(document, _move_table(found.moves) if found.moves else Text("Nothing would move"))


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@pass_terminal
def impact(terminal: Terminal, claim_id: str) -> None:
    """What rests on a claim, and would change without it."""
    with terminal.open() as memory:
        found = memory.impact(whole_id(memory, claim_id))
    parts = {"derived": found.derived, "supported": found.supported, "contradicted": found.contradicted}
    document: Document = {name: [_move_document(move) for move in moves] for name, moves in parts.items()}
    document["moves"] = [_move_document(move) for move in found.moves]
    document["answers"] = [trace_document(trace) for trace in found.answers]
    shown: list[RenderableType] = []
    for name, moves in parts.items():
        shown += [Text(name, style="bold"), _move_table(moves)] if moves else []
    if found.answers:
        shown += [Text("answers given on it", style="bold"), trace_table(found.answers)]
    terminal.show(document, *(shown or [Text("Nothing rests on it")]))


@click.command(cls=Command)
@click.option("--limit", type=click.IntRange(1, MAX_K), default=100, help="How many at most. Default: 100.")
@pass_terminal
def disputes(terminal: Terminal, limit: int) -> None:
    """Claims that contradict each other while neither wins.

    A claim wins when its odds are over three times the other's. The most even pair comes first.
    """
    with terminal.open() as memory:
        found = memory.disputes(limit=limit)
    document = {
        "disputes": [
            {
                "claim": claim_document(each.claim),
                "rival": claim_document(each.rival),
                "since": iso(each.since),
                "gap": each.gap,
            }
            for each in found
        ]
    }
    table = Table.grid(padding=(0, 2))
    for each in found:
        for place, claim in enumerate((each.claim, each.rival)):
            since = day(each.since) if place == 0 else "against"
            words = told(claim, cut=not terminal.wide)
            table.add_row(since, number(claim.confidence), Text(short(claim.id), style="cyan"), words)
    terminal.show(document, table if found else Text("Nothing is in dispute"))
    if found and not terminal.as_json:
        terminal.note("`resolve ID` keeps a claim and retires the one that disputes it")


@click.command(cls=Command)
@click.argument("keep", metavar="ID")
@click.option("--drop", metavar="ID", help="What to retire; needed where several dispute it.")
@click.option("--reason", default="", help="Kept with the transaction.")
@pass_terminal
def resolve(terminal: Terminal, keep: str, drop: str | None, reason: str) -> None:
    """Close a dispute by keeping this claim.

    Its rival is retired, and can be restored.
    """
    with terminal.open() as memory:
        loser = None if drop is None else whole_id(memory, drop)
        result = memory.resolve(whole_id(memory, keep), loser, reason=reason)
        (change,) = result.changes
        dropped = str(getattr(change, "drop", ""))
    document = {"kept": result.claim_id, "dropped": dropped, "reason": reason, "tx": result.tx}
    line = Text.assemble(
        "kept ", (short(str(result.claim_id)), "cyan"), ", retired ", (short(dropped), "cyan")
    )
    terminal.show(document, line.append_text(transaction(result.tx)))


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@pass_terminal
def confirm(terminal: Terminal, claim_id: str) -> None:
    """Record that a claim turned out to be true."""
    with terminal.open() as memory:
        result = memory.confirm(whole_id(memory, claim_id))
    line = Text.assemble("confirmed  ", (short(str(result.claim_id)), "cyan"))
    document = {"id": result.claim_id, "confirmed": True, "tx": result.tx}
    terminal.show(document, line.append_text(transaction(result.tx)))


@click.command(cls=Command)
@pass_terminal
def calibration(terminal: Terminal) -> None:
    """How past confidences compare with what came of them.

    Confirmations and corrections are counted, each claim once.
    """
    with terminal.open() as memory:
        found = memory.calibration()
    document = {
        "outcomes": found.outcomes,
        "confirmed": found.confirmed,
        "corrected": found.corrected,
        "brier": found.brier,
        "enough": found.enough,
        "bins": [
            {
                "low": each.low,
                "high": each.high,
                "count": each.count,
                "confidence": each.confidence,
                "right": each.right,
            }
            for each in found.bins
        ],
    }
    terminal.show(document, *_calibration(found))


def _calibration(found: Calibration) -> Iterable[RenderableType]:
    score = "" if found.brier is None else f"; Brier score {found.brier:.3f} (0 is perfect, .25 a coin)"
    yield Text(f"{found.outcomes:,} outcomes, {found.corrected:,} of them corrections{score}")
    if not found.enough:
        yield Text(f"Too few to tell: {FEWEST} are needed", style="yellow")
    if found.outcomes:
        table = plain_table()
        for name in ("confidence", "claims", "mean", "right"):
            table.add_column(name, justify="right")
        for each in found.bins:
            means = ["-" if mean is None else f"{mean:.2f}" for mean in (each.confidence, each.right)]
            table.add_row(f"{each.low:.1f} to {each.high:.1f}", f"{each.count:,}", *means)
        yield table


def _move_document(move: Move) -> Document:
    return {
        "id": move.claim_id,
        "text": move.text,
        "from": move.old,
        "to": move.new,
        "old_status": move.old_status,
        "new_status": move.new_status,
    }


def _move_table(moves: Iterable[Move]) -> Table:
    table = Table.grid(padding=(0, 2))
    for move in moves:
        words = Text(plain(move.text))
        if move.new_status != move.old_status or move.new_status not in CURRENT:
            words.append(f"  {move.new_status}", style="magenta")
        old = Text("-") if move.old is None else number(move.old)
        table.add_row(old, "→", number(move.new), Text(short(move.claim_id), style="cyan"), words)
    return table
