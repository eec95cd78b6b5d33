"""Commands that take back or replace what is believed: correct, supersede, restore, undo, retract, trust."""

import click
from rich.text import Text

from recollectx.changes import Action, WriteResult
from recollectx.cli.documents import claim_document, result_document
from recollectx.cli.parameters import InstantType, whole_id
from recollectx.cli.render import number, plain, short, told, transaction
from recollectx.cli.terminal import Command, Failure, Terminal, pass_terminal
from recollectx.correcting import LAST
from recollectx.memory import Memory

_STYLE = {Action.NONE: "dim", Action.REJECT: "red"}


def _show(terminal: Terminal, memory: Memory, result: WriteResult) -> None:
    """What came of a write, and the claim as it reads now."""
    claim = None if result.claim_id is None else memory.get(result.claim_id)
    if result.action == Action.REJECT:
        raise Failure(result.reason, terminal)
    line = Text(f"{plain(result.reason)}  ", style=_STYLE.get(result.action, "green"))
    if claim is not None:
        line.append(short(claim.id), style="cyan")
        line.append("  ").append_text(number(claim.confidence)).append("  ")
        line.append_text(told(claim, cut=not terminal.wide))
    line.append_text(transaction(result.tx))
    terminal.show(result_document(result, claim), line)


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@click.argument("text")
@click.option("--reason", default="", help="Why; kept with the new claim.")
@click.option("--source", help="Who says so. Default: nobody is named.")
@pass_terminal
def correct(terminal: Terminal, claim_id: str, text: str, reason: str, source: str | None) -> None:
    """Say that a claim was never true: TEXT is what is, in place of its object or summary."""
    with terminal.open() as memory:
        _show(
            terminal, memory, memory.correct(whole_id(memory, claim_id), text, reason=reason, source=source)
        )


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@click.argument("text")
@click.option("--at", type=InstantType(), help="Since when. Default: now.")
@click.option("--source", help="Who says so. Default: nobody is named.")
@pass_terminal
def supersede(terminal: Terminal, claim_id: str, text: str, at: float | None, source: str | None) -> None:
    """Say that a claim is no longer true: TEXT is, in place of its object or summary."""
    with terminal.open() as memory:
        _show(terminal, memory, memory.supersede(whole_id(memory, claim_id), text, at=at, source=source))


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@pass_terminal
def restore(terminal: Terminal, claim_id: str) -> None:
    """Bring back a claim that was forgotten, superseded or corrected."""
    with terminal.open() as memory:
        _show(terminal, memory, memory.restore(whole_id(memory, claim_id)))


@click.command(cls=Command)
@click.argument("tx", type=click.IntRange(1, LAST))
@pass_terminal
def undo(terminal: Terminal, tx: int) -> None:
    """Take a transaction back; to undo that is to redo it."""
    with terminal.open() as memory:
        done = memory.undo(tx)
    touched = len(done.claim_ids)
    line = Text(f"took back transaction {done.undone} ({plain(done.cause)}), claims {touched:,}")
    line.append(f"; undo {done.tx} does it again", style="dim")
    document = {"undone": done.undone, "cause": done.cause, "tx": done.tx, "ids": list(done.claim_ids)}
    terminal.show(document, line)


@click.command(cls=Command)
@click.argument("source")
@click.option("--claim", "claim_id", metavar="ID", help="Only of this claim.")
@pass_terminal
def retract(terminal: Terminal, source: str, claim_id: str | None) -> None:
    """Take back what SOURCE said, of one claim or of all in the scope."""
    with terminal.open() as memory:
        taken = memory.retract(source, None if claim_id is None else whole_id(memory, claim_id))
        claims = [claim for claim in map(memory.get, taken) if claim is not None]
    lines = [Text(f"{plain(source)} took back {len(taken):,} claims").append_text(transaction(taken.tx))]
    for claim in claims:
        line = Text.assemble((short(claim.id), "cyan"), "  ", number(claim.confidence), f"  {claim.status}  ")
        lines.append(line.append_text(told(claim, cut=not terminal.wide)))
    document = {"source": source, "claims": [claim_document(claim) for claim in claims], "tx": taken.tx}
    terminal.show(document, *lines)


@click.command(cls=Command)
@click.argument("source")
@click.argument("level", type=click.FloatRange(0, 1))
@pass_terminal
def trust(terminal: Terminal, source: str, level: float) -> None:
    """Say how far SOURCE is trusted in the scope: LEVEL from 0 to 1."""
    with terminal.open() as memory:
        tx = memory.trust(source, level).tx
    line = Text(f"{plain(source)} is trusted {level:g} in scope {plain(terminal.scope)}")
    document = {"source": source, "level": level, "scope": terminal.scope, "tx": tx}
    terminal.show(document, line.append_text(transaction(tx)))
