"""Undoing: what must be closed and opened again to take one transaction back.

Rows are never rewritten: what the transaction opened is closed now, what it closed is opened as new rows, and the past
keeps both. A thing (a claim's revision, one source's assertion, an edge, an alias, a source's trust, a setting) that a
later transaction changed is not touched: that one has to be taken back first. A transaction and the one that took it
back cancel each other, so everything can be undone from the last to the first, and an undo can be undone. What is left
of a transaction after an erasure is not taken back in part: it is refused, with the ids of the erased claims.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, or_, select

from recollectx.db.causes import MOVED_IN, RECORDED
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    SettingRow,
    TrustRow,
)
from recollectx.errors import CannotUndo
from recollectx.propagation import LogOdds
from recollectx.storage.reading import RULE, chunks
from recollectx.storage.rows import table_of
from recollectx.storage.transactions import FOLLOWING, cause_of, changes_of, confirmed, undone

THING: Mapping[type, tuple[str, ...]] = {
    RevisionRow: ("claim",),
    AssertionRow: ("claim", "source"),
    AliasRow: ("id",),
    EdgeRow: ("dst", "src", "relation", "derivation"),
    TrustRow: ("source", "scope"),
    SettingRow: ("name",),
}
_FOR_GOOD = {
    "erase": "what was erased is gone for good",
    "embed": "it only gave wordings their vectors",
    RECORDED: "0.2.7 recorded it",
    MOVED_IN: "it moved in what 0.2.7 kept",
    "trace": "an answer that was given stays given; erase what it quotes",
    "untrace": "what was erased is gone for good",
}
_JOINING = frozenset({"link", "unlink"})
"""Kinds of change that are about both of their claims."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing to turn back: `live` is the row to close, `before` the one to open again; either may be missing."""

    mapped: type
    live: Any
    before: Any

    @property
    def row(self) -> Any:
        """Whichever of the two there is."""
        return self.before if self.live is None else self.live

    @property
    def claims(self) -> tuple[int, ...]:
        """The claims it is about."""
        return tuple(getattr(self.row, name) for name in ("claim", "dst", "src") if hasattr(self.row, name))


def turns(conn: Connection, seq: int) -> list[Turn]:
    """How to take transaction `seq` back.

    Raises NotFound if there is none, CannotUndo if it cannot be taken back, or not before a later one is.
    """
    changes = _changes(conn, seq)
    _check_whole(conn, seq, changes)
    # The other of a moved strength is no claim, but the change that moved it.
    others = {change.other for change in changes if change.kind != "strength"}
    claims = ({change.claim for change in changes} | others) - {None}
    histories = _histories(conn, claims)
    cancelled, neutral = undone(conn, seq)
    found: list[Turn] = []
    later: set[int] = set()
    for (mapped, _), rows in histories.items():
        before = next((row for row in rows if row.tx_to == seq and row.tx_from < seq), None)
        after = next((row for row in rows if row.tx_from == seq and row.tx_to != seq), None)
        if (before is None and after is None) or _taken_for_granted(mapped, before, after):
            continue
        later |= _seqs(rows)
        if mapped is RevisionRow and before is None:
            # The claim came with this transaction: whatever was said of it since hangs on it.
            later |= set().union(*(_seqs(each) for thing, each in histories.items() if _about(thing, after)))
        live = next((row for row in rows if row.tx_to is None), None)
        found.append(Turn(mapped, live, before))
    if seq in cancelled:
        by = cancelled[seq]
        raise CannotUndo(f"transaction {seq} was taken back by {by}; undo {by} to have it again")
    conflicts = {each for each in later if each > seq} - neutral
    if conflicts:
        last = max(conflicts)
        lost = _erasures(conn, conflicts)
        if lost:
            raise CannotUndo(
                f"transaction {seq} cannot be taken back: {lost} erased a claim that the same things hung on, "
                f"and {_FOR_GOOD['erase']}"
            )
        raise CannotUndo(f"transaction {last} changed the same things as {seq} later; undo {last} first")
    gone = _gone(found, histories)
    if gone:
        raise CannotUndo(f"transaction {gone} took back a claim that {seq} is about; undo {gone} first")
    if not found and not confirmed(conn, seq):
        raise CannotUndo(f"nothing of transaction {seq} is left to take back")
    return found


def _check_whole(conn: Connection, seq: int, changes: Iterable[Any]) -> None:
    """Raise CannotUndo, with their ids, if claims that the transaction is about were erased."""
    about = {change.claim for change in changes if change.kind not in FOLLOWING}
    about |= {change.other for change in changes if change.kind in _JOINING}
    statement = select(ClaimRow.id).where(ClaimRow.erased.is_not(None)).order_by(ClaimRow.pk)
    erased = [
        claim_id
        for chunk in chunks(sorted(about - {None}))
        for claim_id in conn.execute(statement.where(ClaimRow.pk.in_(chunk))).scalars()
    ]
    if erased:
        more = f" and {len(erased) - _NAMED} more" if len(erased) > _NAMED else ""
        raise CannotUndo(
            f"transaction {seq} cannot be taken back: it is about {', '.join(erased[:_NAMED])}{more}, "
            f"and {_FOR_GOOD['erase']}"
        )


def _erasures(conn: Connection, seqs: set[int]) -> int:
    """The last of these transactions that erased something, 0 if none did."""
    erasing = select(ChangeRow.seq).where(ChangeRow.kind == "erase")
    return max(
        (
            seq
            for chunk in chunks(sorted(seqs))
            for seq in conn.execute(erasing.where(ChangeRow.seq.in_(chunk))).scalars()
        ),
        default=0,
    )


def _gone(found: Iterable[Turn], histories: Mapping[tuple[type, tuple[Any, ...]], list[Any]]) -> int:
    """The transaction after which a claim is missing that a row to be opened again is about, 0 if none is."""
    turned = list(found)
    back = {turn.row.claim for turn in turned if turn.mapped is RevisionRow and turn.before is not None}
    needed = {pk for turn in turned if turn.before is not None for pk in turn.claims} - back
    ends = [histories.get((RevisionRow, (pk,)), []) for pk in needed]
    return max((max(row.tx_to for row in rows) for rows in ends if rows and _ended(rows)), default=0)


def _ended(rows: Iterable[Any]) -> bool:
    return all(row.tx_to is not None for row in rows)


def _changes(conn: Connection, seq: int) -> list[Any]:
    cause_of(conn, seq)
    changes = changes_of(conn, seq)
    kinds = {change.kind for change in changes}
    for kind, why in _FOR_GOOD.items():
        if kind in kinds:
            raise CannotUndo(f"transaction {seq} cannot be taken back: {why}")
    named = {change.detail for change in changes if change.kind == "configure"} - {RULE}
    if named:
        raise CannotUndo(f"transaction {seq} cannot be taken back: it keeps the setting {min(named)!r}")
    return changes


def _rows(conn: Connection, claims: set[int]) -> Iterator[tuple[type, Any]]:
    """Every row, past and present, about these claims, and all of trust and settings."""
    of_claims: tuple[type, ...] = (RevisionRow, AssertionRow, AliasRow)
    for mapped in of_claims:
        table = table_of(mapped)
        for chunk in chunks(sorted(claims)):
            for row in conn.execute(select(table).where(table.c.claim.in_(chunk))):
                yield mapped, row
    edges = table_of(EdgeRow)
    for chunk in chunks(sorted(claims)):
        either = or_(edges.c.dst.in_(chunk), edges.c.src.in_(chunk))
        for row in conn.execute(select(edges).where(either)):
            yield EdgeRow, row
    of_none: tuple[type, ...] = (TrustRow, SettingRow)
    for mapped in of_none:
        for row in conn.execute(select(table_of(mapped))):
            yield mapped, row


def _histories(conn: Connection, claims: set[int]) -> dict[tuple[type, tuple[Any, ...]], list[Any]]:
    """The rows by what they are about, oldest first."""
    histories: dict[tuple[type, tuple[Any, ...]], dict[Any, Any]] = defaultdict(dict)
    for mapped, row in _rows(conn, claims):
        thing = (mapped, tuple(getattr(row, name) for name in THING[mapped]))
        histories[thing][row.tx_from if mapped is AliasRow else row.pk] = row
    return {thing: [rows[key] for key in sorted(rows)] for thing, rows in histories.items()}


def _taken_for_granted(mapped: type, before: Any, after: Any) -> bool:
    """Whether this is the rule that a new memory writes down by itself."""
    if mapped is not SettingRow or before is not None:
        return False
    return bool(after.name == RULE and json.loads(after.value) == LogOdds().settings())


def _seqs(rows: Iterable[Any]) -> set[int]:
    return {each for row in rows for each in (row.tx_from, row.tx_to) if each is not None}


def _about(thing: tuple[type, tuple[Any, ...]], born: Any) -> bool:
    mapped, key = thing
    if mapped is EdgeRow:
        return born.claim in key[:2]
    return mapped in (RevisionRow, AssertionRow) and key[0] == born.claim
