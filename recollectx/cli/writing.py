"""Commands that write: init, remember, forget, erase."""

from typing import Any

import click
from rich.table import Table
from rich.text import Text

from recollectx.changes import Action, WriteResult
from recollectx.claims import Claim
from recollectx.cli.documents import receipt_document, result_document
from recollectx.cli.parameters import METADATA, InstantType, whole_id
from recollectx.cli.render import number, plain, short, told, transaction
from recollectx.cli.terminal import Command, Failure, Terminal, pass_terminal
from recollectx.cli.transcripts import STDIN, read_words
from recollectx.masking import masked
from recollectx.upkeep.looking import has_memory

_DONE = {
    Action.ADD: ("added", "green"),
    Action.UPDATE: ("reinforced", "green"),
    Action.DELETE: ("superseding", "yellow"),
    Action.NONE: ("known", "dim"),
    Action.REJECT: ("rejected", "red"),
}


def result_table(results: list[tuple[WriteResult, Claim | None]], *, wide: bool) -> Table:
    """What came of each write, one a row."""
    table = Table.grid(padding=(0, 2))
    for result, claim in results:
        word, style = _DONE[result.action]
        words = told(claim, cut=not wide) if claim else Text("-")
        if result.reason != "new":
            words.append(f"  {plain(result.reason)}", style="dim")
        table.add_row(
            Text(word, style=style),
            Text("-" if result.claim_id is None else short(result.claim_id), style="cyan"),
            number(claim.confidence) if claim else "-",
            words,
        )
    return table


@click.command(cls=Command)
@pass_terminal
def init(terminal: Terminal) -> None:
    """Make the memory if there is none, and say where it is."""
    there = has_memory(terminal.target)
    with terminal.open(create=True):
        where = str(terminal.file or masked(terminal.target))
    verb = "is at" if there else "was made at"
    terminal.show({"database": where, "created": not there}, Text(f"The memory {verb} {plain(where)}"))


@click.command(cls=Command)
@click.argument("text", nargs=-1, required=True)
@click.option("--source", help="Who says it. Default: user.")
@click.option("--at", type=InstantType(), help="When it was said. Default: now.")
@METADATA
@pass_terminal
def remember(
    terminal: Terminal,
    text: tuple[str, ...],
    source: str | None,
    at: float | None,
    metadata: tuple[tuple[str, Any], ...],
) -> None:
    """Keep a statement, and the claims found in it.

    Several words are one statement; - is standard input.
    """
    said = read_words(STDIN).strip() if text == (STDIN,) else " ".join(text)
    with terminal.open(create=True) as memory:
        written = memory.remember(said, source=source, at=at, metadata=dict(metadata))
        results = [
            (result, None if result.claim_id is None else memory.get(result.claim_id)) for result in written
        ]
    document = {"results": [result_document(result, claim) for result, claim in results]}
    # All of it is one transaction.
    tx = max((result.tx for result in written), default=0)
    last = [Text(f"transaction {tx}", style="dim")] if tx else []
    terminal.show(document, result_table(results, wide=terminal.wide), *last)


@click.command(cls=Command)
@click.argument("claim_id", metavar="ID")
@pass_terminal
def forget(terminal: Terminal, claim_id: str) -> None:
    """Put a claim out of use; its history stays."""
    with terminal.open() as memory:
        result = memory.forget(whole_id(memory, claim_id))
        claim = memory.get(str(result.claim_id))
    line = Text.assemble((f"{result.reason}  ", "yellow"), (short(str(result.claim_id)), "cyan"), "  ")
    if claim is not None:
        line.append_text(told(claim, cut=not terminal.wide))
    line.append_text(transaction(result.tx))
    terminal.show(result_document(result, claim), line)


@click.command(cls=Command)
@click.argument("claim_id", metavar="[ID]", required=False)
@click.option("--whole-scope", is_flag=True, help="Erase everything in the scope.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_terminal
def erase(terminal: Terminal, claim_id: str | None, whole_scope: bool, yes: bool) -> None:
    """Remove a claim, or a whole scope, for good.

    Every word goes, from the present and from every past, and what quoted it.
    """
    if (claim_id is None) != whole_scope:
        raise click.UsageError("give either an ID or --whole-scope")
    with terminal.open() as memory:
        if claim_id is None:
            with memory.storage.reader() as reader:
                what = f"all {len(reader.in_scope(memory.scope)):,} claims of scope {plain(memory.scope)!r}"
        else:
            claim_id = whole_id(memory, claim_id)
            claim = memory.get(claim_id)
            what = f"{short(claim_id)} {told(claim, cut=True) if claim else ''}"
        if not yes and terminal.as_json:
            raise click.UsageError("with --json nothing is asked; give --yes to erase")
        if not yes and not click.confirm(f"Erase {what} for good?", err=True):
            raise Failure("nothing was erased", terminal)
        receipt = memory.erase(claim_id) if claim_id else memory.erase(scope=memory.scope)
    line = Text(f"Erased for good: claims {len(receipt.ids):,}, rows {receipt.rows:,}.")
    if receipt.cut or receipt.answers:
        line.append(f" Quotations cut from {len(receipt.cut):,} claims and {receipt.answers:,} answers.")
    if receipt.pending:
        waits = " Somebody is reading, so the log still holds them: run doctor once they are done."
        line.append(waits, style="yellow")
    terminal.show(receipt_document(receipt), line)
