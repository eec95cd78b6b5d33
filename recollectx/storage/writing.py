"""Carrying out changes: the only code that writes rows.

A Writer lives inside one transaction. Each change is made as rows of the current transaction number, logged by ids,
and noted as having shaken some claims. `finish` then decides which claims still stand, solves the belief graph
around what was shaken, and records every confidence that moved with the change that moved it.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import Connection, Table, bindparam, delete, func, select, update

from recollectx import changes as ch
from recollectx.claims import (
    CURRENT,
    MAX_COUNT,
    Assertion,
    Basis,
    Claim,
    EpisodicClaim,
    SemanticClaim,
    Status,
    check_unit,
)
from recollectx.db.statements import insert_rows
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    SettingRow,
    StrengthRow,
    TextRow,
    TrustRow,
    Tx,
    VectorRow,
)
from recollectx.edges import EPISTEMIC, Edge, Relation
from recollectx.embeddings.base import Vectors
from recollectx.errors import InvalidClaim, ModelMismatch, NotFound, ScopeError
from recollectx.instants import from_micros, to_micros
from recollectx.propagation import Belief, LogOdds, Node, Rule, Voice, rule_from
from recollectx.solving import settle
from recollectx.storage.belief import StoredGraph
from recollectx.storage.erasing import erase_rows, unembed_next, unquote
from recollectx.storage.inheriting import contradicting, inherited
from recollectx.storage.reading import RULE, Reader, StoredEdge, said_hash, slot_hash
from recollectx.storage.standing import restand
from recollectx.storage.tracing import insert_trace, traced_erasure, untrace
from recollectx.storage.undoing import KIND, Turn, scopes_of, turns
from recollectx.text import tokens

_TABLES = (
    ClaimRow,
    TextRow,
    VectorRow,
    RevisionRow,
    AssertionRow,
    AliasRow,
    EdgeRow,
    TrustRow,
    SettingRow,
    ChangeRow,
)
MODEL = "embedder"
MAX_EVIDENCE = 100
MAX_DATES = 100
_OF_ID = select(ClaimRow.pk, ClaimRow.scope, ClaimRow.type, ClaimRow.erased).where(
    ClaimRow.id == bindparam("id")
)


def _table(mapped: type) -> Table:
    return cast(Table, mapped.__table__)  # type: ignore[attr-defined]


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else to_micros(seconds)


class Writer:
    """The rows of one transaction. `seq` and `at` (microseconds) are its place on the two clocks."""

    def __init__(
        self,
        conn: Connection,
        *,
        clock: Callable[[], float],
        cause: str,
        vectors: Mapping[str, Vectors] | None = None,
        model: int | None = None,
    ) -> None:
        self.conn = conn
        self.reader = Reader(conn, self.flush)
        last = conn.execute(select(Tx.seq, Tx.at).order_by(Tx.seq.desc()).limit(1)).first()
        self.seq = last.seq + 1 if last else 1
        self.at = max(to_micros(clock(), "the clock"), last.at if last else 0)
        self._cause = cause
        self._vectors = dict(vectors or {})
        self._model = model
        self._model_checked = self.bare = False
        self._pending: dict[type, list[dict[str, Any]]] = {mapped: [] for mapped in _TABLES}
        self._next: dict[type, int] = {}
        self._dirty: dict[int, int] = {}
        self._unsure: set[int] = set()
        self._freed: set[int] = set()
        self._bereft: dict[int, set[int]] = defaultdict(set)
        self._back: set[int] = set()
        self._strengths: dict[int, dict[str, Any]] = {}
        self.count = 0
        self.erased_rows = 0
        self.erased_ids: list[str] = []
        self.erased_from: dict[str, list[str]] = {}
        self.rule: Rule = LogOdds()
        stored = self.reader.rule()
        if stored is not None:
            self.rule = stored
        else:
            self._configure(ch.Configure(RULE, self.rule.settings()))

    # -- rows ------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write the pending rows, parents first."""
        for mapped, rows in self._pending.items():
            if rows:
                self._pending[mapped] = []
                insert_rows(self.conn, _table(mapped), rows)

    def _key(self, mapped: type, column: str = "pk") -> int:
        if mapped not in self._next:
            self.flush()
            highest = self.conn.execute(select(func.max(_table(mapped).c[column]))).scalar()
            self._next[mapped] = (highest or 0) + 1
        key = self._next[mapped]
        self._next[mapped] += 1
        return key

    def _add(self, mapped: type, **row: Any) -> int:
        row["pk"] = self._key(mapped)
        self._pending[mapped].append(row)
        return int(row["pk"])

    def _close(self, mapped: type, pk: int) -> None:
        self.flush()
        table = _table(mapped)
        self.conn.execute(update(table).where(table.c.pk == pk).values(tx_to=self.seq))

    def _log(
        self,
        kind: str,
        scope: str | None,
        claim: int | None,
        other: int | None = None,
        detail: str | None = None,
    ) -> int:
        n = self._key(ChangeRow, "n")
        self._pending[ChangeRow].append(
            {
                "n": n,
                "seq": self.seq,
                "scope": scope,
                "kind": kind,
                "claim": claim,
                "other": other,
                "detail": detail,
            }
        )
        return n

    # -- changes ---------------------------------------------------------------------------------------------

    def make(self, change: ch.Change) -> None:
        """Carry out one change."""
        _MAKE[type(change)](self, change)
        self.count += 1

    def _find(self, claim_id: str) -> tuple[int, str]:
        found = self.reader.resolve(claim_id)
        if found is None or found.erased:
            raise NotFound(f"no claim has the id {claim_id!r}")
        return found.pk, found.scope

    def _assert(self, change: ch.Assert) -> None:
        claim, assertion = change.claim, change.assertion
        if not isinstance(claim, SemanticClaim | EpisodicClaim):
            raise InvalidClaim(
                f"a {type(claim).__name__} cannot be stored; build a SemanticClaim or an EpisodicClaim"
            )
        trust = self.reader.trust(assertion.source, claim.scope)
        voice = Voice(assertion.source, assertion.confidence, trust)
        belief = self.rule.local(Node(0, (voice,), (), claim.basis == Basis.DERIVED, True), _no_peers)
        pk = self._reopened(claim, belief)
        if pk is None:
            pk = self._key(ClaimRow)
            self._pending[ClaimRow].append(
                {
                    "pk": pk,
                    "id": claim.id,
                    "scope": claim.scope,
                    "type": claim.type,
                    "created_at": to_micros(claim.created_at),
                    "strength": belief.strength,
                    "confidence": belief.confidence,
                    "erased": None,
                }
            )
        n = self._log("assert", claim.scope, pk)
        self._revision(pk, self._text(pk, claim), claim, stated_to=_micros(claim.valid_to))
        self._assertion(pk, assertion)
        self._strength(pk, belief, n)
        if claim.basis == Basis.DERIVED:
            self._unsure.add(pk)

    def _reopened(self, claim: Claim, belief: Belief) -> int | None:
        """The key of a claim that comes again after its first coming was undone, None for a new one."""
        row = self.conn.execute(_OF_ID, {"id": claim.id}).first()
        if row is None:
            return None
        same = (row.type, row.scope) == (claim.type, claim.scope)
        if row.erased is not None or not same or self.reader.resolve(claim.id) is not None:
            raise InvalidClaim(f"the id {claim.id!r} is taken by another claim; leave id out, or use update")
        self.conn.execute(
            update(ClaimRow)
            .where(ClaimRow.pk == row.pk)
            .values(strength=belief.strength, confidence=belief.confidence)
        )
        return int(row.pk)

    def _text(self, pk: int, claim: Claim) -> int:
        semantic = claim if isinstance(claim, SemanticClaim) else None
        text = self._add(
            TextRow,
            claim=pk,
            said=said_hash(claim.scope, claim),
            slot=slot_hash(claim.scope, claim),
            subject=semantic.subject if semantic else None,
            predicate=semantic.predicate if semantic else None,
            object=semantic.object if semantic else claim.text,
            tokens=" ".join(tokens(claim.text)),
        )
        if claim.id in self._vectors:
            # Of one wording only: the claim may be reworded in the same transaction.
            self._vector(text, self._vectors.pop(claim.id))
        else:
            self.bare = True
        return text

    def _vector(self, text: int, vector: Vectors) -> None:
        if not self._model_checked:
            since, stored = self.reader.setting_since(MODEL)
            if (
                stored is None
                or (self._model is not None and since != self._model)
                or stored["dimension"] != len(vector)
            ):
                raise ModelMismatch(
                    "the memory was embedded by another model meanwhile; nothing was written, try again"
                )
            self._model_checked = True
        self._pending[VectorRow].append({"text": text, "vector": vector.astype("<f2").tobytes()})

    def _embed(self, change: ch.Embed) -> None:
        self.flush()
        row = self.conn.execute(
            select(TextRow.claim, ClaimRow.scope, VectorRow.text.label("has"))
            .join(ClaimRow, ClaimRow.pk == TextRow.claim)
            .join(VectorRow, VectorRow.text == TextRow.pk, isouter=True)
            .where(TextRow.pk == change.text)
        ).first()
        # The wording may have been erased, or embedded by another process, since its vector was asked for.
        if row is not None and row.has is None:
            self._vector(change.text, change.vector)
            self._log("embed", row.scope, row.claim)

    def _revision(self, pk: int, text: int, claim: Claim, *, stated_to: int | None) -> None:
        self._add(
            RevisionRow,
            claim=pk,
            text=text,
            importance=claim.importance,
            category=claim.category,
            status=claim.status,
            basis=claim.basis,
            entities=_json(claim.entities),
            meta=_json(claim.metadata),
            valid_from=_micros(claim.valid_from),
            valid_to=_micros(claim.valid_to),
            stated_to=stated_to,
            due_at=_micros(claim.due_at),
            review_after=_micros(claim.review_after),
            session=claim.session,
            position=claim.position,
            tx_from=self.seq,
            tx_to=None,
        )

    def _assertion(self, pk: int, assertion: Assertion) -> None:
        self._add(
            AssertionRow,
            claim=pk,
            source=assertion.source,
            confidence=assertion.confidence,
            evidence=_json(assertion.evidence),
            span=assertion.span,
            said_at=to_micros(assertion.said_at),
            session=assertion.session,
            times=assertion.times,
            dates=_json([to_micros(date) for date in assertion.dates]),
            tx_from=self.seq,
            tx_to=None,
        )

    def _reinforce(self, change: ch.Reinforce) -> None:
        pk, scope = self._find(change.claim_id)
        new = change.assertion
        for row, old in self.reader.assertions([pk]).get(pk, ()):
            if old.source == new.source:
                self._close(AssertionRow, row)
                new = new if change.replace else _united(old, new)
        self._assertion(pk, new)
        self._shake(pk, self._log("reinforce", scope, pk))
        self._unsure.add(pk)

    def _retract(self, change: ch.Retract) -> None:
        pk, scope = self._find(change.claim_id)
        for row, old in self.reader.assertions([pk]).get(pk, ()):
            if old.source == change.source:
                self._close(AssertionRow, row)
                self._shake(pk, self._log("retract", scope, pk))
        self._unsure.add(pk)
        if change.settle:
            self._restand()

    def _revise(self, change: ch.Revise) -> None:
        pk, scope = self._find(change.claim.id)
        row = self._live_revision(pk)
        old = self.reader.claims([pk])[pk]
        text = row.text if _wording(old) == _wording(change.claim) else self._text(pk, change.claim)
        self._close(RevisionRow, row.pk)
        kept = change.claim.valid_to == old.valid_to
        stated_to = row.stated_to if kept else _micros(change.claim.valid_to)
        self._revision(pk, text, change.claim, stated_to=stated_to)
        n = self._log("revise", scope, pk)
        if (old.status in CURRENT) != (change.claim.status in CURRENT) or old.basis != change.claim.basis:
            self._shake(pk, n)
            self._unsure.add(pk)
        if old.since != change.claim.since or not kept:
            self._unsure.add(pk)

    def _live_revision(self, pk: int) -> Any:
        self.flush()
        return self.conn.execute(
            select(RevisionRow.pk, RevisionRow.text, RevisionRow.stated_to).where(
                RevisionRow.claim == pk, RevisionRow.tx_to.is_(None)
            )
        ).one()

    def _alias(self, change: ch.Alias) -> None:
        pk, scope = self._find(change.claim_id)
        if self.reader.resolve(change.id) is not None:
            raise InvalidClaim(f"the id {change.id!r} already names a claim")
        self._pending[AliasRow].append({"id": change.id, "claim": pk, "tx_from": self.seq, "tx_to": None})
        self._log("alias", scope, pk)

    def _link(self, change: ch.Link) -> None:
        edge = change.edge
        (src, src_scope), (dst, dst_scope) = self._find(edge.src), self._find(edge.dst)
        _check_ends(edge, src, dst, src_scope, dst_scope)
        same = self._standing(src, dst, edge.relation, src_scope == dst_scope)
        at = _micros(change.at)
        if edge.relation == Relation.DERIVES:
            same = [old for old in same if old.derivation == edge.derivation]
        for old in same:
            if (old.strength, old.at) == (edge.strength, at):
                return
            self._close(EdgeRow, old.pk)
        self._add(
            EdgeRow,
            dst=dst,
            relation=edge.relation,
            src=src,
            strength=edge.strength,
            derivation=edge.derivation,
            at=at,
            tx_from=self.seq,
            tx_to=None,
        )
        n = self._log("link", dst_scope, dst, src, edge.relation)
        self._joined(edge.relation, src, dst, n)

    def _joined(self, relation: str, src: int, dst: int, n: int) -> None:
        """An edge came or went."""
        if relation in EPISTEMIC:
            self._shake(dst, n)
            if relation == Relation.CONTRADICTS:
                self._shake(src, n)
            if relation == Relation.DERIVES:
                self._unsure.add(dst)
        if relation == Relation.SUPERSEDES:
            self._unsure.add(dst)
            self._freed.add(dst)

    def _standing(self, src: int, dst: int, relation: str, one_scope: bool) -> list[StoredEdge]:
        """The edges between two claims that say `relation`; a contradiction read both ways is stored once."""
        same = [old for old in self.reader.edges_out([src]) if (old.dst, old.relation) == (dst, relation)]
        if relation == Relation.CONTRADICTS and one_scope and self.rule.symmetric_contradiction:
            same += [
                old for old in self.reader.edges_out([dst]) if (old.dst, old.relation) == (src, relation)
            ]
        return same

    def _unlink(self, change: ch.Unlink) -> None:
        (src, src_scope), (dst, scope) = self._find(change.src), self._find(change.dst)
        standing = self._standing(src, dst, change.relation, src_scope == scope)
        if not standing:
            raise NotFound(f"{change.src} stands in no relation {change.relation!r} to {change.dst}")
        for old in standing:
            self._close(EdgeRow, old.pk)
            n = self._log("unlink", scope, old.dst, old.src, change.relation)
            self._joined(change.relation, old.src, old.dst, n)

    def _retire(self, change: ch.Retire) -> None:
        self._restatus(ch.Restatus(change.claim_id, Status.RETIRED), kind="retire")

    def _restore(self, change: ch.Restore) -> None:
        pk, scope = self._find(change.claim_id)
        row, status = self._live_revision(pk), self.reader.was(pk)
        self._stand(pk, status, row.stated_to, self._log("restore", scope, pk, detail=status))

    def _correct(self, change: ch.Correct) -> None:
        pk, scope = self._find(change.claim_id)
        never = to_micros(self.reader.claims([pk])[pk].since)
        self._stand(pk, Status.RETIRED, never, self._log("correct", scope, pk))
        # What the claim had superseded is back before anybody decides on what comes in its place.
        self._restand()

    def _undo(self, change: ch.Undo) -> None:
        self.flush()
        turned = turns(self.conn, change.seq)
        named = self.reader.identities({pk for turn in turned for pk in turn.claims})
        detail = str(change.seq)
        # Where it turns nothing about a claim, as with trust, this entry alone tells the scope.
        scopes = set() if named else scopes_of(self.conn, change.seq)
        whole = self._log(KIND, scopes.pop() if len(scopes) == 1 else None, None, detail=detail)
        logged = {pk: self._log(KIND, known.scope, pk, detail=detail) for pk, known in sorted(named.items())}
        for turn in turned:
            self._turn(turn)
        for turn in turned:
            self._turned(turn.mapped, turn.row, logged, whole)

    def _turn(self, turn: Turn) -> None:
        table = _table(turn.mapped)
        if turn.live is not None:
            key = [column == getattr(turn.live, column.name) for column in table.primary_key]
            self.conn.execute(update(table).where(*key).values(tx_to=self.seq))
        if turn.before is not None:
            row = {**turn.before._mapping, "tx_from": self.seq, "tx_to": None}
            if "pk" in row:
                row["pk"] = self._key(turn.mapped)
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
        n = self._log(kind, scope, pk, detail=change.status)
        ends = claim.valid_to if change.valid_to is None else change.valid_to
        self._stand(pk, change.status, _micros(ends), n)

    def _stand(self, pk: int, status: Status, valid_to: int | None, n: int) -> None:
        """Another status and end of validity (microseconds); what was stated of the end stays."""
        claim, row = self.reader.claims([pk])[pk], self._live_revision(pk)
        self._close(RevisionRow, row.pk)
        ends = None if valid_to is None else from_micros(valid_to)
        changed = replace(claim, status=status, valid_to=ends)
        self._revision(pk, row.text, changed, stated_to=row.stated_to)
        self._shake(pk, n)
        self._unsure.add(pk)

    def _trust(self, change: ch.Trust) -> None:
        check_unit(change.level, "trust")
        table = _table(TrustRow)
        self.flush()
        self.conn.execute(
            update(table)
            .where(
                table.c.source == change.source,
                table.c.tx_to.is_(None),
                table.c.scope.is_not_distinct_from(change.scope),
            )
            .values(tx_to=self.seq)
        )
        self._add(
            TrustRow,
            source=change.source,
            scope=change.scope,
            level=change.level,
            tx_from=self.seq,
            tx_to=None,
        )
        self._trusted(change.source, change.scope, self._log("trust", change.scope, None))

    def _trusted(self, source: str, scope: str | None, n: int) -> None:
        """The trust in a source changed."""
        self.reader.forget_trust()
        self.flush()
        said = select(AssertionRow.claim).where(AssertionRow.source == source, AssertionRow.tx_to.is_(None))
        if scope is not None:
            said = said.join(ClaimRow, ClaimRow.pk == AssertionRow.claim).where(ClaimRow.scope == scope)
        for (pk,) in self.conn.execute(said.distinct()).all():
            self._shake(pk, n)

    def _configure(self, change: ch.Configure) -> None:
        table = _table(SettingRow)
        self.flush()
        self.conn.execute(
            update(table).where(table.c.name == change.name, table.c.tx_to.is_(None)).values(tx_to=self.seq)
        )
        self._add(
            SettingRow, name=change.name, value=json.dumps(dict(change.value)), tx_from=self.seq, tx_to=None
        )
        n = self._log("configure", None, None, detail=change.name)
        if change.name == MODEL:
            self.conn.execute(delete(VectorRow))
            self.bare = True
        if change.name == RULE:
            self._ruled(rule_from(change.value), n)

    def _ruled(self, rule: Rule, n: int) -> None:
        """Confidence follows by another rule from now on."""
        self.rule = rule
        for (pk,) in self.conn.execute(select(ClaimRow.pk).where(ClaimRow.erased.is_(None))).all():
            self._shake(pk, n)

    def _erase(self, change: ch.Erase) -> None:
        found = self.reader.resolve(change.claim_id, undone=True)
        if found is None or found.erased:
            raise NotFound(f"no claim has the id {change.claim_id!r}")
        self._wipe(found.pk)

    def _wipe(self, pk: int) -> None:
        known = self.reader.identities([pk])[pk]
        n = self._log("erase", known.scope, pk)
        around = {edge.dst for edge in self.reader.edges_out([pk])}
        around |= {edge.src for edge in self.reader.edges_in([pk])}
        self._bridge(pk)
        self.flush()
        for other, scope in unembed_next(self.conn, pk):
            self._log("embed", scope, other)
        touched, bare = unquote(self.conn, pk)
        self.erased_rows += traced_erasure(self.conn, pk, self.seq)
        self.erased_rows += erase_rows(self.conn, pk, self.seq)
        self.erased_ids.append(known.id)
        self.erased_from.setdefault(known.scope, []).append(known.id)
        for other in around | set(touched):
            self._shake(other, n)
            self._unsure.add(other)
        self._dirty.pop(pk, None)
        self._strengths.pop(pk, None)
        self._unsure.discard(pk)
        for other in bare:
            self._wipe(other)

    def _bridge(self, pk: int) -> None:
        """What a claim superseded is superseded by what took its own place, once the claim itself is gone."""
        below = [edge for edge in self.reader.edges_out([pk]) if edge.relation == Relation.SUPERSEDES]
        for edge in below:
            self._freed.add(edge.dst)
            self._bereft[edge.dst] |= contradicting(self.reader, [pk]) | self._bereft[pk]
        above = [edge for edge in self.reader.edges_in([pk]) if edge.relation == Relation.SUPERSEDES]
        ids = self.reader.identities([edge.dst for edge in below] + [edge.src for edge in above])
        for over in above:
            for under in below:
                if over.src != under.dst and not self._standing(over.src, under.dst, over.relation, False):
                    at = None if over.at is None else from_micros(over.at)
                    self._link(ch.Link(Edge(ids[over.src].id, ids[under.dst].id, over.relation), at))

    # -- answers, doubts -------------------------------------------------------------------------------------

    def _resolve(self, change: ch.Resolve) -> None:
        (keep, _), (pk, scope) = self._find(change.keep), self._find(change.drop)
        n = self._log("resolve", scope, pk, keep)
        self._stand(pk, Status.RETIRED, _micros(self.reader.claims([pk])[pk].valid_to), n)

    def _confirm(self, change: ch.Confirm) -> None:
        pk, scope = self._find(change.claim_id)
        self._log("confirm", scope, pk)

    def _trace(self, change: ch.Trace) -> None:
        self.flush()
        insert_trace(
            self.conn, change, self.seq, {each.claim_id: self._find(each.claim_id)[0] for each in change.used}
        )
        self._log("trace", change.scope, None)

    def _untrace(self, change: ch.Untrace) -> None:
        self.erased_rows += untrace(self.conn, change.scope)
        self._log("untrace", change.scope, None)

    def touched(self) -> list[int]:
        """The claims that this transaction did something to or moved, so far."""
        self.flush()
        rows = self.conn.execute(select(ChangeRow.claim, ChangeRow.other).where(ChangeRow.seq == self.seq))
        return sorted({pk for row in rows for pk in row if pk is not None})

    # -- belief ----------------------------------------------------------------------------------------------

    def _shake(self, pk: int, n: int) -> None:
        """This claim must be solved anew because of change `n`; what it bears on follows."""
        self._dirty.setdefault(pk, n)

    def _strength(self, pk: int, belief: Belief, n: int) -> None:
        self._strengths[pk] = {
            "claim": pk,
            "tx_from": self.seq,
            "value": min(1.0, max(0.0, belief.confidence)),
            "strength": belief.strength,
            "change": n,
        }

    def finish(self) -> None:
        """Settle statuses and confidences, and write the transaction's own row."""
        self._restand()
        self._inherit()
        self._solve()
        self.flush()
        if self._strengths:
            insert_rows(self.conn, _table(StrengthRow), list(self._strengths.values()))
        insert_rows(self.conn, _table(Tx), [{"seq": self.seq, "at": self.at, "cause": self._cause}])

    def _restand(self) -> None:
        wanted = restand(self.reader, self._unsure, now=self.at, freed=self._freed)
        scopes = self.reader.identities(wanted)
        before = self.reader.claims(wanted)
        for pk, each in sorted(wanted.items()):
            n = self._log("restatus", scopes[pk].scope, pk, detail=each.status)
            self._stand(pk, each.status, each.valid_to, n)
            if before[pk].status == Status.SUPERSEDED and each.status in CURRENT:
                self._back.add(pk)
        self._unsure.clear()

    def _inherit(self) -> None:
        """Let what came back contradict the values that it now holds beside."""
        for pk, claim in sorted(self.reader.claims(self._back).items()):
            if claim.status in CURRENT:
                for edge in inherited(self.reader, pk, self._bereft[pk]):
                    self._link(ch.Link(edge))

    def _solve(self) -> None:
        graph = StoredGraph(self.reader)
        moved = settle(self.rule, graph, self._dirty).moved
        scopes = self.reader.identities(moved)
        table = _table(ClaimRow)
        for pk, (belief, cause) in moved.items():
            self._strength(pk, belief, cause)
            self._log("strength", scopes[pk].scope, pk, cause)
        if moved:
            self.conn.execute(
                update(table)
                .where(table.c.pk == bindparam("key"))
                .values(strength=bindparam("s"), confidence=bindparam("c")),
                [
                    {"key": pk, "s": belief.strength, "c": self._strengths[pk]["value"]}
                    for pk, (belief, _) in moved.items()
                ],
            )


def _no_peers(pk: int) -> Any:
    raise AssertionError(f"a claim without edges asked for claim {pk}")


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


def _check_ends(edge: Edge, src: int, dst: int, src_scope: str, dst_scope: str) -> None:
    if src == dst:
        raise InvalidClaim(f"{edge.src} and {edge.dst} are the same claim; it cannot bear on itself")
    if src_scope not in (dst_scope, "global"):
        raise ScopeError(
            f"claim {edge.src} is in another scope than {edge.dst}; edges join claims of one scope or start in global"
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
