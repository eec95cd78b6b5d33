"""Erasing: every row that holds words of a claim goes, from the present and from every past.

What quotes it goes too, in whatever derives from it through any depth: evidence and spans are cut out of assertions,
metadata and entities out of every version. A claim that then has nothing left to stand on in any past is erased with
it, and so is one that quotes it in its own words while nobody else says the same. What a premise that stays says as
well is that one's words, and stays. The row in rx_claims stays as a tombstone: an id and no content. What 0.2.7's own
tables say of a claim in the same file goes as well.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update
from sqlalchemy.orm import aliased

from recollectx.claims import Basis, in_words
from recollectx.db import legacy
from recollectx.db.causes import RECORDED
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    StrengthRow,
    TextRow,
    TraceRow,
    TrustRow,
    Tx,
    VectorRow,
)
from recollectx.edges import Relation
from recollectx.storage.quoting import Quoted
from recollectx.storage.reading import chunks


def erase_rows(conn: Connection, pk: int, seq: int) -> int:
    """Delete every row of claim `pk` but its tombstone; returns how many were deleted."""
    rows = 0
    for statement in (
        delete(EdgeRow).where(or_(EdgeRow.src == pk, EdgeRow.dst == pk)),
        delete(StrengthRow).where(StrengthRow.claim == pk),
        delete(AssertionRow).where(AssertionRow.claim == pk),
        delete(RevisionRow).where(RevisionRow.claim == pk),
        delete(VectorRow).where(VectorRow.text.in_(select(TextRow.pk).where(TextRow.claim == pk))),
        delete(TextRow).where(TextRow.claim == pk),
        delete(AliasRow).where(AliasRow.claim == pk),
    ):
        rows += conn.execute(statement).rowcount
    rows += legacy.erase(conn, conn.execute(select(ClaimRow.id).where(ClaimRow.pk == pk)).scalar_one())
    # A reason that 0.2.7 recorded may quote the claim.
    recorded = select(ChangeRow.seq).where(
        ChangeRow.kind == RECORDED, or_(ChangeRow.claim == pk, ChangeRow.other == pk)
    )
    conn.execute(update(Tx).where(Tx.seq.in_(recorded)).values(cause="recorded by 0.2.7"))
    conn.execute(
        update(ClaimRow)
        .where(ClaimRow.pk == pk)
        .values(erased=seq, strength=0.5, confidence=0.0, created_at=0)
    )
    return rows


def holds_more(conn: Connection, scope: str) -> bool:
    """Whether a scope holds more than claims: recorded answers, or trust in somebody."""
    for row in (TraceRow, TrustRow):
        if conn.execute(select(row.pk).where(row.scope == scope).limit(1)).first() is not None:
            return True
    return False


def erase_trust(conn: Connection, scope: str) -> int:
    """Delete whom a scope trusts, and ever trusted, how far; returns how many rows went."""
    return conn.execute(delete(TrustRow).where(TrustRow.scope == scope)).rowcount


def unembed_next(conn: Connection, pk: int) -> list[tuple[int, str]]:
    """Delete the vectors of the turns that were embedded joined with claim `pk`; returns those turns, with scopes."""
    before, its = aliased(RevisionRow), aliased(ClaimRow)
    following = (
        select(ClaimRow.pk, ClaimRow.scope)
        .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
        .join(before, (before.session == RevisionRow.session) & (before.position + 1 == RevisionRow.position))
        .join(its, (its.pk == before.claim) & (its.scope == ClaimRow.scope))
        .where(before.claim == pk, ClaimRow.type == "episodic")
        .distinct()
    )
    found = [(row.pk, row.scope) for row in conn.execute(following)]
    for claim, _ in found:
        conn.execute(
            delete(VectorRow).where(VectorRow.text.in_(select(TextRow.pk).where(TextRow.claim == claim)))
        )
    return found


@dataclass(frozen=True, slots=True)
class Unquoted:
    """The claims that lost a quotation, and those of them that have nothing left without it."""

    touched: list[int]
    bare: list[int]


def unquote(conn: Connection, pk: int) -> Unquoted:
    """Cut quotations of claim `pk` out of what derives from it, through any depth."""
    family = _derived(conn, pk)
    if not family:
        return Unquoted([], [])
    erased = Quoted(_wordings(conn, {pk}))
    sources = set(conn.execute(select(AssertionRow.source).where(AssertionRow.claim == pk)).scalars())
    touched, bare = [], []
    for claim in sorted(family):
        others = _premises(conn, claim) - family - {pk}
        words = _Words(erased, Quoted(_wordings(conn, others)), sources)
        left, lost = _cut_assertions(conn, claim, words)
        lost |= _cut_versions(conn, claim, words)
        if not left or (_quotes(conn, claim, words) and not _stands(conn, claim, left, words)):
            bare.append(claim)
        if lost or bare[-1:] == [claim]:
            touched.append(claim)
    quoting = select(ClaimRow.id).where(ClaimRow.pk.in_(touched))
    legacy.drop_evidence(conn, list(conn.execute(quoting).scalars()))
    return Unquoted(touched, bare)


@dataclass(frozen=True, slots=True)
class _Words:
    """What is erased, what the premises that stay say, and who said what is erased."""

    erased: Quoted
    kept: Quoted
    sources: set[str | None]

    def quoted(self, text: str | None, *, whole: bool = False) -> bool:
        """Whether a text holds erased words that nobody else says. whole: also if it stands in the erased ones."""
        found = self.erased.found_in(text, fragments=True)
        if whole:
            found |= self.erased.covers(text or "")
        return any(not self.kept.says(words) for words in found)


def _derived(conn: Connection, pk: int) -> set[int]:
    """What derives from a claim, or ever did, through any depth."""
    found: set[int] = set()
    frontier = {pk}
    while frontier:
        onward: set[int] = set()
        for chunk in chunks(sorted(frontier)):
            edges = select(EdgeRow.dst).where(EdgeRow.src.in_(chunk), EdgeRow.relation == Relation.DERIVES)
            onward |= set(conn.execute(edges).scalars())
        frontier = onward - found - {pk}
        found |= frontier
    return found


def _premises(conn: Connection, claim: int) -> set[int]:
    edges = select(EdgeRow.src).where(EdgeRow.dst == claim, EdgeRow.relation == Relation.DERIVES)
    return set(conn.execute(edges).scalars())


def _wordings(conn: Connection, claims: set[int]) -> list[Any]:
    columns = select(TextRow.subject, TextRow.predicate, TextRow.object)
    return [
        row
        for chunk in chunks(sorted(claims))
        for row in conn.execute(columns.where(TextRow.claim.in_(chunk)))
    ]


def _cut_assertions(conn: Connection, claim: int, words: _Words) -> tuple[list[Any], bool]:
    """The assertions that are left, each with its source and whether it has evidence, and whether any lost a word."""
    columns = (AssertionRow.pk, AssertionRow.source, AssertionRow.evidence, AssertionRow.span)
    left, lost = [], False
    for row in conn.execute(select(*columns).where(AssertionRow.claim == claim)).all():
        pieces = json.loads(row.evidence) if row.evidence else []
        kept = [piece for piece in pieces if not words.quoted(piece, whole=True)]
        span = None if words.quoted(row.span, whole=True) else row.span
        if len(kept) == len(pieces) and span == row.span:
            left.append((row.source, bool(kept)))
            continue
        lost = True
        if kept:
            changed = {"evidence": json.dumps(kept, ensure_ascii=False), "span": span}
            conn.execute(update(AssertionRow).where(AssertionRow.pk == row.pk).values(changed))
            left.append((row.source, True))
        else:
            conn.execute(delete(AssertionRow).where(AssertionRow.pk == row.pk))
    return left, lost


def _cut_versions(conn: Connection, claim: int, words: _Words) -> bool:
    """Take quotations out of the metadata and entities of every version; whether there were any."""
    lost = False
    columns = select(RevisionRow.pk, RevisionRow.meta, RevisionRow.entities)
    for row in conn.execute(columns.where(RevisionRow.claim == claim)).all():
        meta = json.loads(row.meta) if row.meta else {}
        entities = json.loads(row.entities) if row.entities else []
        kept = {key: value for key, value in meta.items() if not words.quoted(_plain({key: value}))}
        named = [name for name in entities if not words.quoted(name)]
        if (len(kept), len(named)) != (len(meta), len(entities)):
            lost = True
            changed = {"meta": _plain(kept) if kept else None, "entities": _plain(named) if named else None}
            conn.execute(update(RevisionRow).where(RevisionRow.pk == row.pk).values(changed))
    return lost


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quotes(conn: Connection, claim: int, words: _Words) -> bool:
    """Whether one of its own wordings quotes."""
    for row in _wordings(conn, {claim}):
        whole = row.object if row.predicate is None else in_words(row.subject, row.predicate, row.object)
        if words.quoted(whole):
            return True
    return False


def _stands(conn: Connection, claim: int, left: list[Any], words: _Words) -> bool:
    """Whether somebody says by himself what the claim says: with evidence of his own, or as another source."""
    live = select(RevisionRow.basis).where(RevisionRow.claim == claim, RevisionRow.tx_to.is_(None))
    asserted = conn.execute(live).scalar() == Basis.ASSERTED
    return any(proof or (asserted and source not in {None, *words.sources}) for source, proof in left)
