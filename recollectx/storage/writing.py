"""Carrying out changes: the only code that writes rows.

A Writer lives inside one transaction. Each change is made as rows of the current transaction number, logged by ids,
and noted as having shaken some claims. `finish` then decides which claims still stand, solves the belief graph
around what was shaken, and records every confidence that moved with the change that moved it.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, select, update

from recollectx import changes as ch
from recollectx.claims import (
    CURRENT,
    MAX_COUNT,
    Assertion,
    Claim,
    SemanticClaim,
    Status,
)
from recollectx.db.statements import insert_rows
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    SettingRow,
    TextRow,
    TrustRow,
    VectorRow,
)
from recollectx.embeddings.base import Vectors
from recollectx.errors import InvalidClaim, NotFound
from recollectx.instants import to_micros
from recollectx.propagation import LogOdds
from recollectx.storage.asserting import Asserting
from recollectx.storage.claim_rows import HALF, micros
from recollectx.storage.erasing import erase_rows, erase_trust, unembed_next
from recollectx.storage.reading import MODEL, RULE
from recollectx.storage.reasons import drop_reasons
from recollectx.storage.rows import table_of
from recollectx.storage.token_rows import put_tokens
from recollectx.storage.tracing import insert_trace, traced_erasure, untrace
from recollectx.storage.transactions import KIND, confirmed, scopes_of
from recollectx.storage.undoing import Turn, turns
from recollectx.storage.unquoting import unquote

__all__ = ["MODEL", "Writer"]

MAX_EVIDENCE = 100
MAX_DATES = 100


class Writer(Asserting):
    """The changes of one transaction, and what follows from them."""

    def __init__(
        self,
        conn: Connection,
        *,
        clock: Callable[[], float],
        cause: str,
        vectors: Mapping[str, Vectors] | None = None,
        model: int | None = None,
    ) -> None:
        super().__init__(conn, clock=clock, cause=cause, vectors=vectors, model=model)
        self.count = 0
        self.erased_rows = self.erased_answers = 0
        self.cut: set[int] = set()
        self.erased_ids: list[str] = []
        self.erased_from: dict[str, list[str]] = {}
        if self.head.rule is None:
            self._configure(ch.Configure(RULE, self.rule.settings()))

    def make(self, change: ch.Change) -> None:
        """Carry out one change."""
        _MAKE[type(change)](self, change)
        self.count += 1

    def make_all(self, changes: Iterable[ch.Change]) -> None:
        """Carry out changes that are known beforehand: new claims one after another go by much faster together."""
        for kind, run in groupby(changes, type):
            if kind is ch.Assert:
                asserts: list[Any] = list(run)
                self.assert_all(asserts)
                self.count += len(asserts)
            else:
                for change in run:
                    self.make(change)

    def _assert(self, change: ch.Assert) -> None:
        self.assert_all([change])

    def _embed(self, change: ch.Embed) -> None:
        self.flush()
        row = self.conn.execute(
            select(TextRow.claim, ClaimRow.scope, VectorRow.text.label("has"))
            .join(ClaimRow, ClaimRow.pk == TextRow.claim)
            .join(VectorRow, VectorRow.text == TextRow.pk, isouter=True)
            .where(TextRow.pk == change.text)
        ).first()
        # The wording may have been erased, or embedded by another process, since its vector was asked for.
        if row is None:
            return
        if row.has is None and change.vector is not None:
            self._check({len(change.vector)})
            self.lay(VectorRow, (change.text, change.vector.astype(HALF).tobytes()))
            self.log("embed", row.scope, row.claim)
        elif row.has is not None and change.tokens is not None:
            put_tokens(self.conn, change.text, change.tokens)

    def _reinforce(self, change: ch.Reinforce) -> None:
        pk, scope = self._find(change.claim_id)
        new = change.assertion
        for row, old in self.reader.assertions([pk]).get(pk, ()):
            if old.source == new.source:
                self.close(AssertionRow, row)
                new = new if change.replace else _united(old, new)
        self._assertions([pk], [new])
        self._shake(pk, self.log("reinforce", scope, pk))
        self._unsure.add(pk)

    def _retract(self, change: ch.Retract) -> None:
        pk, scope = self._find(change.claim_id)
        for row, old in self.reader.assertions([pk]).get(pk, ()):
            if old.source == change.source:
                self.close(AssertionRow, row)
                self._shake(pk, self.log("retract", scope, pk))
        self._unsure.add(pk)
        if change.settle:
            self._restand()

    def _revise(self, change: ch.Revise) -> None:
        pk, scope = self._find(change.claim.id)
        row = self._live_revision(pk)
        old = self.reader.claims([pk])[pk]
        text = row.text
        if _wording(old) != _wording(change.claim):
            (text,) = self._texts([pk], [change.claim], self._vectors_of([change.claim.id]))
        self.close(RevisionRow, row.pk)
        kept = change.claim.valid_to == old.valid_to
        stated_to = row.stated_to if kept else micros(change.claim.valid_to)
        self._revisions([pk], [text], [change.claim], stated_to=[stated_to])
        n = self.log("revise", scope, pk)
        if (old.status in CURRENT) != (change.claim.status in CURRENT) or old.basis != change.claim.basis:
            self._shake(pk, n)
            self._unsure.add(pk)
        if old.since != change.claim.since or not kept:
            self._unsure.add(pk)

    def _alias(self, change: ch.Alias) -> None:
        pk, scope = self._find(change.claim_id)
        if self.reader.resolve(change.id) is not None:
            raise InvalidClaim(f"the id {change.id!r} already names a claim")
        self.put(AliasRow, {"id": change.id, "claim": pk, "tx_from": self.seq, "tx_to": None})
        self.reader.forget_names([change.id])
        self.log("alias", scope, pk)

    def _retire(self, change: ch.Retire) -> None:
        self._restatus(ch.Restatus(change.claim_id, Status.RETIRED), kind="retire")

    def _restore(self, change: ch.Restore) -> None:
        pk, scope = self._find(change.claim_id)
        row, status, claim = self._live_revision(pk), self.reader.was(pk), self.reader.claims([pk])[pk]
        self._stand(pk, claim, status, row.stated_to, self.log("restore", scope, pk, detail=status))

    def _correct(self, change: ch.Correct) -> None:
        pk, scope = self._find(change.claim_id)
        claim = self.reader.claims([pk])[pk]
        self._stand(pk, claim, Status.RETIRED, to_micros(claim.since), self.log("correct", scope, pk))
        # What the claim had superseded is back before anybody decides on what comes in its place.
        self._restand()

    def _undo(self, change: ch.Undo) -> None:
        self._only_added = False
        self.flush()
        turned = turns(self.conn, change.seq)
        about = {pk for turn in turned for pk in turn.claims} | confirmed(self.conn, change.seq)
        named = self.reader.identities(about)
        detail = str(change.seq)
        # Where it turns nothing about a claim, as with trust, this entry alone tells the scope.
        scopes = set() if named else scopes_of(self.conn, change.seq)
        whole = self.log(KIND, scopes.pop() if len(scopes) == 1 else None, None, detail=detail)
        logged = {pk: self.log(KIND, known.scope, pk, detail=detail) for pk, known in sorted(named.items())}
        for turn in turned:
            self._turn(turn)
        self.reader.forget_names()
        for turn in turned:
            self._turned(turn.mapped, turn.row, logged, whole)

    def _turn(self, turn: Turn) -> None:
        table = table_of(turn.mapped)
        if turn.live is not None:
            key = [column == getattr(turn.live, column.name) for column in table.primary_key]
            self.conn.execute(update(table).where(*key).values(tx_to=self.seq))
        if turn.before is not None:
            row = {**turn.before._mapping, "tx_from": self.seq, "tx_to": None}
            if "pk" in row:
                row["pk"] = self.key(turn.mapped)
            insert_rows(self.conn, table, [row])

    def _turned(self, mapped: type, row: Any, logged: Mapping[int, int], whole: int) -> None:
        """Let belief follow what was turned back."""
        if mapped in (RevisionRow, AssertionRow):
            self._shake(row.claim, logged[row.claim])
            self._unsure.add(row.claim)
        elif mapped is EdgeRow:
            self._joined(row.relation, row.src, row.dst, logged[row.dst])
        elif mapped is TrustRow:
            self._trusted(row.source, row.scope, whole)
        elif mapped is SettingRow:
            self._ruled(self.reader.rule() or LogOdds(), whole)

    def _restatus(self, change: ch.Restatus, kind: str = "restatus") -> None:
        pk, scope = self._find(change.claim_id)
        claim = self.reader.claims([pk])[pk]
        n = self.log(kind, scope, pk, detail=change.status)
        ends = claim.valid_to if change.valid_to is None else change.valid_to
        self._stand(pk, claim, change.status, micros(ends), n)

    def _erase(self, change: ch.Erase) -> None:
        found = self.reader.resolve(change.claim_id, undone=True)
        if found is None or found.erased:
            raise NotFound(f"no claim has the id {change.claim_id!r}")
        self._wipe(found.pk)

    def _wipe(self, pk: int) -> None:
        known = self.reader.identities([pk])[pk]
        if known.erased:
            return  # by another of the ways that lead here
        self._only_added = False
        n = self.log("erase", known.scope, pk)
        around = {edge.dst for edge in self.reader.edges_out([pk])}
        around |= {edge.src for edge in self.reader.edges_in([pk])}
        self._bridge(pk)
        self.flush()
        for other, scope in unembed_next(self.conn, pk):
            self.log("embed", scope, other)
        reasons = drop_reasons(self.conn, pk)
        cut = unquote(self.conn, pk)
        self.cut |= set(cut.touched)
        for other, each in sorted(
            self.reader.identities(reasons | set(cut.touched).difference(cut.bare)).items()
        ):
            self.log("unquote", each.scope, other)
        rows, answers = traced_erasure(self.conn, pk, self.seq)
        self.erased_answers += answers
        self.erased_rows += rows + erase_rows(self.conn, pk, self.seq)
        self.reader.forget_names()
        self.erased_ids.append(known.id)
        self.erased_from.setdefault(known.scope, []).append(known.id)
        for other in around | set(cut.touched):
            self._shake(other, n)
            self._unsure.add(other)
        self._dirty.pop(pk, None)
        self._moved.pop(pk, None)
        self._movers.pop(pk, None)
        self._unsure.discard(pk)
        for other in cut.bare:
            self._wipe(other)

    def cut_ids(self) -> list[str]:
        """The claims that lost a quotation of what was erased, and are still there."""
        known = self.reader.identities(self.cut)
        return [known[pk].id for pk in sorted(known) if not known[pk].erased]

    def _resolve(self, change: ch.Resolve) -> None:
        (keep, _), (pk, scope) = self._find(change.keep), self._find(change.drop)
        n = self.log("resolve", scope, pk, keep)
        claim = self.reader.claims([pk])[pk]
        self._stand(pk, claim, Status.RETIRED, micros(claim.valid_to), n)

    def _confirm(self, change: ch.Confirm) -> None:
        pk, scope = self._find(change.claim_id)
        self.log("confirm", scope, pk)

    def _trace(self, change: ch.Trace) -> None:
        self.flush()
        insert_trace(
            self.conn, change, self.seq, {each.claim_id: self._find(each.claim_id)[0] for each in change.used}
        )
        self.log("trace", change.scope, None)

    def _untrace(self, change: ch.Untrace) -> None:
        self._only_added = False
        self.erased_rows += untrace(self.conn, change.scope) + erase_trust(self.conn, change.scope)
        self.reader.forget_trust()
        self.log("untrace", change.scope, None)


def _wording(claim: Claim) -> tuple[str, ...]:
    if isinstance(claim, SemanticClaim):
        return claim.subject, claim.predicate, claim.object
    return (claim.text,)


def _united(old: Assertion, new: Assertion) -> Assertion:
    """One source saying it again: evidence united, the greater confidence, the latest time.

    Of more than MAX_EVIDENCE pieces the latest count, and of more than MAX_DATES the first and the latest; the others
    stay in history.
    """
    dates = tuple(sorted({*old.dates, *new.dates}))
    return Assertion(
        source=old.source,
        confidence=max(old.confidence, new.confidence),
        said_at=max(old.said_at, new.said_at),
        evidence=tuple(dict.fromkeys(old.evidence + new.evidence))[-MAX_EVIDENCE:],
        span=new.span or old.span,
        session=new.session or old.session,
        times=min(old.times + new.times, MAX_COUNT),
        dates=dates[:1] + dates[1:][1 - MAX_DATES :],
    )


_MAKE: Mapping[type, Callable[[Writer, Any], None]] = {
    ch.Assert: Writer._assert,
    ch.Reinforce: Writer._reinforce,
    ch.Retract: Writer._retract,
    ch.Revise: Writer._revise,
    ch.Alias: Writer._alias,
    ch.Link: Writer._link,
    ch.Unlink: Writer._unlink,
    ch.Retire: Writer._retire,
    ch.Restore: Writer._restore,
    ch.Correct: Writer._correct,
    ch.Undo: Writer._undo,
    ch.Restatus: Writer._restatus,
    ch.Trust: Writer._trust,
    ch.Configure: Writer._configure,
    ch.Embed: Writer._embed,
    ch.Erase: Writer._erase,
    ch.Resolve: Writer._resolve,
    ch.Confirm: Writer._confirm,
    ch.Trace: Writer._trace,
    ch.Untrace: Writer._untrace,
}
