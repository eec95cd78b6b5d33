"""Unquoting: the words of a claim that is to be erased go from the claims that quote it, too.

Two ways lead from a claim to those that may quote it, through any depth: what derives from it, and what says that it
was never true. Of both, evidence and spans are cut out of assertions, metadata and entities out of every version.

A claim that derives and then has nothing left to stand on in any past is erased with it, and so is one that quotes it
in its own words while nobody else says the same. A correction never is: its source stands behind it without evidence,
and its own words are what is true in place of the erased ones. It is about the same thing, so a short word of the
erased claim quotes it there without the subject beside it ("not Xanadu"). What a claim that stays says as well, a
premise or a correction, is that one's words, and stays.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, delete, or_, select, update

from recollectx.claims import Basis, in_words
from recollectx.db import legacy
from recollectx.db.tables import AssertionRow, ClaimRow, EdgeRow, RevisionRow, TextRow
from recollectx.edges import Relation
from recollectx.storage.quoting import Quoted, stems
from recollectx.storage.reading import chunks


@dataclass(frozen=True, slots=True)
class Unquoted:
    """The claims that lost a quotation, and those of them that have nothing left without it."""

    touched: list[int]
    bare: list[int]


def unquote(conn: Connection, pk: int) -> Unquoted:
    """Cut quotations of claim `pk` out of what derives from it and what corrects it, through any depth."""
    family = _Family.of(conn, pk)
    if not family.members:
        return Unquoted([], [])
    erased = Quoted(_wordings(conn, {pk}))
    sources = set(conn.execute(select(AssertionRow.source).where(AssertionRow.claim == pk)).scalars())
    touched, bare = [], []
    for claim in sorted(family.members):
        corrects = claim in family.correcting
        others = _rests_on(conn, claim) | ({claim} if corrects else set())
        kept = Quoted(_wordings(conn, others - family.leaving))
        words = _Words(erased, kept, sources, _about(conn, claim) if corrects else "")
        left, lost = _cut_assertions(conn, claim, words, keep=corrects)
        lost |= _cut_versions(conn, claim, words)
        stays = left and (not _quotes(conn, claim, words) or _stands(conn, claim, left, words))
        if not stays:
            bare.append(claim)
        if lost or not stays:
            touched.append(claim)
    quoting = select(ClaimRow.id).where(ClaimRow.pk.in_(touched))
    legacy.drop_evidence(conn, list(conn.execute(quoting).scalars()))
    return Unquoted(touched, bare)


@dataclass(frozen=True, slots=True)
class _Family:
    """Who may quote a claim. correcting: those that only correct it, or one another.

    leaving: whose words are not theirs to keep, the claim itself among them.
    """

    members: set[int]
    correcting: set[int]
    leaving: set[int]

    @classmethod
    def of(cls, conn: Connection, pk: int) -> "_Family":
        """The family of a claim by every edge there ever was."""
        correcting: set[int] = set()
        deriving: set[int] = set()
        frontier = {pk}
        while frontier:
            known = {pk} | correcting | deriving
            for chunk in chunks(sorted(frontier)):
                derives = and_(EdgeRow.src.in_(chunk), EdgeRow.relation == Relation.DERIVES)
                corrects = and_(EdgeRow.dst.in_(chunk), EdgeRow.relation == Relation.CORRECTS)
                deriving |= set(conn.execute(select(EdgeRow.dst).where(derives)).scalars())
                correcting |= set(conn.execute(select(EdgeRow.src).where(corrects)).scalars())
            frontier = (correcting | deriving) - known
        correcting -= deriving | {pk}
        deriving -= {pk}
        return cls(correcting | deriving, correcting, deriving | {pk})


@dataclass(frozen=True, slots=True)
class _Words:
    """What is erased, what the claims that stay say, who said what is erased, and what the reader's claim is about."""

    erased: Quoted
    kept: Quoted
    sources: set[str | None]
    about: str

    def quoted(self, text: str | None, *, whole: bool = False) -> bool:
        """Whether a text holds erased words that nobody else says. whole: also if it stands in the erased ones."""
        found = self.erased.found_in(text, fragments=True, about=self.about)
        if whole:
            found |= self.erased.covers(text or "")
        return any(not self.kept.says(words) for words in found)


def _rests_on(conn: Connection, claim: int) -> set[int]:
    """The premises of a claim, and what it corrects."""
    premises = and_(EdgeRow.dst == claim, EdgeRow.relation == Relation.DERIVES)
    corrected = and_(EdgeRow.src == claim, EdgeRow.relation == Relation.CORRECTS)
    ends = conn.execute(select(EdgeRow.src, EdgeRow.dst).where(or_(premises, corrected)))
    return {end for edge in ends for end in edge} - {claim}


def _wordings(conn: Connection, claims: set[int]) -> list[Any]:
    columns = select(TextRow.subject, TextRow.predicate, TextRow.object)
    return [
        row
        for chunk in chunks(sorted(claims))
        for row in conn.execute(columns.where(TextRow.claim.in_(chunk)))
    ]


def _about(conn: Connection, claim: int) -> str:
    """What a claim says in all its wordings, in stems."""
    return "".join(stems(_said(row)) for row in _wordings(conn, {claim}))


def _said(row: Any) -> str:
    return str(row.object if row.predicate is None else in_words(row.subject, row.predicate, row.object))


def _cut_assertions(conn: Connection, claim: int, words: _Words, *, keep: bool) -> tuple[list[Any], bool]:
    """The assertions that are left, each with its source and whether it has evidence, and whether any lost a word.

    keep: also those whose evidence is all gone.
    """
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
        if kept or keep:
            changed = {"evidence": _plain(kept) if kept else None, "span": span}
            conn.execute(update(AssertionRow).where(AssertionRow.pk == row.pk).values(changed))
            left.append((row.source, bool(kept)))
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
    return any(words.quoted(_said(row)) for row in _wordings(conn, {claim}))


def _stands(conn: Connection, claim: int, left: list[Any], words: _Words) -> bool:
    """Whether somebody says by himself what the claim says: with evidence of his own, or as another source."""
    live = select(RevisionRow.basis).where(RevisionRow.claim == claim, RevisionRow.tx_to.is_(None))
    asserted = conn.execute(live).scalar() == Basis.ASSERTED
    return any(proof or (asserted and source not in {None, *words.sources}) for source, proof in left)
