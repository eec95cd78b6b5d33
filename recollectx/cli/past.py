"""Commands that look back: timeline, snapshot, diff."""

from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from recollectx.cli.documents import Document, claim_document
from recollectx.cli.parameters import InstantType
from recollectx.cli.render import number, plain, plain_table, short, source, told
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.edges import Edge
from recollectx.history import Cause, ClaimChange, Diff, EdgeChange, Event, Snapshot
from recollectx.instants import iso
from recollectx.query import MAX_K

NOTHING = Text("Nothing", style="yellow")
_MOMENT = InstantType(end=True)
"""A date alone means its last moment: what was known at the end of that day."""


@click.command(cls=Command)
@click.option("--entity", metavar="NAME", help="Only what happened to claims that name it.")
@click.option("--limit", type=click.IntRange(1, MAX_K), default=100, help="How many at most. Default: 100.")
@pass_terminal
def timeline(terminal: Terminal, entity: str | None, limit: int) -> None:
    """What happened, newest first: asserted, revised, superseded, linked ..."""
    with terminal.open(words_only=True) as memory:
        found = memory.history.timeline(entity, limit)
    terminal.show(
        {"events": [_event_document(event) for event in found]},
        _timeline(terminal, found) if found else NOTHING,
    )


@click.command(cls=Command)
@click.argument("moment", metavar="ISO", type=_MOMENT)
@click.option("--valid-at", type=InstantType(), help="Only what is held to be true of that time.")
@pass_terminal
def snapshot(terminal: Terminal, moment: float, valid_at: float | None) -> None:
    """What was believed at a time. A date means the end of that day, in UTC."""
    with terminal.open(words_only=True) as memory:
        found = memory.history.snapshot(moment, valid_at=valid_at)
    document = {
        "as_of": iso(found.as_of),
        "claims": [claim_document(claim) for claim in found],
        "edges": [_edge_document(edge) for edge in found.edges],
    }
    terminal.show(document, _snapshot(terminal, found) if found else NOTHING)


@click.command(cls=Command)
@click.argument("first", metavar="ISO", type=_MOMENT)
@click.argument("second", metavar="ISO", type=_MOMENT)
@pass_terminal
def diff(terminal: Terminal, first: float, second: float) -> None:
    """What changed between two times, and what changed it. A date means the end of that day, in UTC."""
    with terminal.open(words_only=True) as memory:
        found = memory.history.diff(first, second)
    sorts: dict[str, Sequence[ClaimChange]] = {
        "added": found.added,
        "removed": found.removed,
        "changed": found.changed,
    }
    edges: dict[str, Sequence[EdgeChange]] = {
        "edges_added": found.edges_added,
        "edges_removed": found.edges_removed,
    }
    document = {
        "from": iso(first),
        "to": iso(second),
        **{name: [_change_document(change) for change in changes] for name, changes in sorts.items()},
        **{name: [_edge_change_document(change) for change in changes] for name, changes in edges.items()},
    }
    terminal.show(document, _diff(terminal, found) if found else NOTHING)


# -- documents ---------------------------------------------------------------------------------------------


def _cause_document(cause: Cause) -> Document:
    return {"seq": cause.seq, "at": iso(cause.at), "cause": cause.cause}


def _edge_document(edge: Edge) -> Document:
    named = ("src", "dst", "relation", "strength", "derivation")
    return {name: getattr(edge, name) for name in named}


def _event_document(event: Event) -> Document:
    named = ("scope", "kind", "what", "claim_id", "other_id", "detail", "text")
    return {**_cause_document(event.cause), **{name: getattr(event, name) for name in named}}


def _change_document(change: ClaimChange) -> Document:
    before, after = (None if each is None else claim_document(each) for each in (change.before, change.after))
    return {
        "id": change.claim.id,
        "before": before,
        "after": after,
        "changed": list(change.fields),
        "causes": [_cause_document(cause) for cause in change.causes],
    }


def _edge_change_document(change: EdgeChange) -> Document:
    cause = None if change.cause is None else _cause_document(change.cause)
    return {**_edge_document(change.edge), "cause": cause}


# -- tables ------------------------------------------------------------------------------------------------


def _timeline(terminal: Terminal, events: Iterable[Event]) -> Table:
    table = _table("tx", "when", "what", "id", "text")
    for event in events:
        text = Text(_cut(event.text or "", terminal))
        if event.other_id is not None:
            text.append(f"  by {short(event.other_id)}", style="dim")
        seq = str(event.cause.seq)
        table.add_row(seq, iso(event.at), plain(event.what), short(event.claim_id or "-"), text)
    return table


def _snapshot(terminal: Terminal, found: Snapshot) -> Table:
    table = _table("conf.", "source", "id", "text")
    for claim in found:
        table.add_row(
            number(claim.confidence), source(claim), short(claim.id), told(claim, cut=not terminal.wide)
        )
    return table


def _diff(terminal: Terminal, found: Diff) -> Table:
    table = _table("", "conf.", "id", "text", "because of")
    for sign, changes in (("+", found.added), ("-", found.removed), ("~", found.changed)):
        for change in changes:
            words = told(change.claim, cut=not terminal.wide)
            if change.fields:
                words.append(f"  {_moved(change)}", style="dim")
            cells = (number(change.claim.confidence), short(change.claim.id), words)
            table.add_row(sign, *cells, _because(change.causes))
    for sign, edges in (("+", found.edges_added), ("-", found.edges_removed)):
        for each in edges:
            edge = each.edge
            words = Text(f"{short(edge.src)} {plain(edge.relation)} {short(edge.dst)}")
            table.add_row(sign, "", "", words, _because([] if each.cause is None else [each.cause]))
    return table


def _because(causes: Iterable[Cause]) -> str:
    return ", ".join(f"{plain(cause.cause)} {iso(cause.at)}" for cause in causes) or "time passed"


def _moved(change: ClaimChange) -> str:
    def shown(value: Any) -> str:
        return f"{value:.2f}" if isinstance(value, float) and 0 <= value <= 1 else plain(str(value))

    said = {"confidence", "status"}
    moved = [
        f"{name} {shown(old)} -> {shown(new)}" for name, (old, new) in change.fields.items() if name in said
    ]
    return ", ".join(moved + sorted(set(change.fields) - said))


def _table(*columns: str) -> Table:
    table = plain_table()
    for name in columns:
        folded = name in ("text", "because of", "source")
        table.add_column(name, no_wrap=not folded, overflow="fold", style="cyan" if name == "id" else None)
    return table


def _cut(text: str, terminal: Terminal) -> str:
    words = plain(text)
    return words if terminal.wide or len(words) <= 200 else f"{words[:200]} …"
