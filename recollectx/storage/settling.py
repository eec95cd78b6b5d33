"""What follows from changes: which claims still stand, and what is believed of those that were shaken.

A change notes what it shook and what it made unsure. At the end the statuses that follow from the graph are set, the
belief graph is solved around what was shaken, and every confidence that moved is recorded with the change that moved
it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from recollectx.claims import CURRENT, Claim, Status
from recollectx.db.statements import execute
from recollectx.db.tables import ChangeRow, ClaimRow, RevisionRow, StrengthRow, Tx
from recollectx.embeddings.base import Vectors
from recollectx.instants import from_micros
from recollectx.propagation import Belief, LogOdds, Node, Rule, Voice
from recollectx.solving import settle
from recollectx.storage.belief import StoredGraph
from recollectx.storage.claim_rows import ClaimRows
from recollectx.storage.reading import rule_of
from recollectx.storage.rows import table_of
from recollectx.storage.standing import restand

_BELIEVE = (
    update(table_of(ClaimRow))
    .where(table_of(ClaimRow).c.pk == bindparam("key"))
    .values(strength=bindparam("strength"), confidence=bindparam("confidence"))
)


class Settling(ClaimRows):
    """The consequences of one transaction. cause: what it was for, as its own row tells."""

    def __init__(
        self,
        conn: Connection,
        *,
        clock: Callable[[], float],
        cause: str,
        vectors: Mapping[str, Vectors] | None = None,
        model: int | None = None,
    ) -> None:
        super().__init__(conn, clock=clock, vectors=vectors, model=model)
        self._cause = cause
        self._dirty: dict[int, int] = {}
        self._unsure: set[int] = set()
        self._freed: set[int] = set()
        self._bereft: dict[int, set[int]] = defaultdict(set)
        self._back: set[int] = set()
        # Of each claim that moved, what is believed of it now, and the change that moved it.
        self._moved: dict[int, Belief] = {}
        self._movers: dict[int, int] = {}
        self.rule: Rule = LogOdds() if self.head.rule is None else rule_of(self.head.rule)

    def _shake(self, pk: int, n: int) -> None:
        """This claim must be solved anew because of change `n`; what it bears on follows."""
        self._dirty.setdefault(pk, n)

    def _move(self, pks: Iterable[int], beliefs: Iterable[Belief], changes: Iterable[int]) -> None:
        """What is believed of claims from now on, each because of a change."""
        pks = tuple(pks)
        self._moved.update(zip(pks, beliefs, strict=True))
        self._movers.update(zip(pks, changes, strict=True))

    def _stand(self, pk: int, claim: Claim, status: Status, valid_to: int | None, n: int) -> None:
        """Another status and end of validity (microseconds); what was stated of the end stays.

        claim: as it reads.
        """
        row = self._live_revision(pk)
        self.close(RevisionRow, row.pk)
        ends = None if valid_to is None else from_micros(valid_to)
        changed = replace(claim, status=status, valid_to=ends)
        self._revisions([pk], [row.text], [changed], stated_to=[row.stated_to])
        self._shake(pk, n)
        self._unsure.add(pk)

    def _believe(self, pk: int, strength: float, confidence: float) -> None:
        execute(self.conn, _BELIEVE, {"key": pk, "strength": strength, "confidence": confidence})

    def finish(self) -> None:
        """Settle statuses and confidences, and write the transaction's own row."""
        self._restand()
        self._solve()
        rows = self.waiting(StrengthRow)
        for (pk, belief), change in zip(self._moved.items(), self._movers.values(), strict=True):
            rows += (pk, self.seq, _read(belief), belief.strength, change)
        self.put(Tx, {"seq": self.seq, "at": self.at, "cause": self._cause})
        self.flush()

    def _restand(self) -> None:
        if not self._unsure:
            return
        wanted = restand(self.reader, self._unsure, now=self.at, freed=self._freed)
        scopes = self.reader.identities(wanted)
        before = self.reader.claims(wanted)
        for pk, each in sorted(wanted.items()):
            n = self.log("restatus", scopes[pk].scope, pk, detail=each.status)
            self._stand(pk, before[pk], each.status, each.valid_to, n)
            if before[pk].status == Status.SUPERSEDED and each.status in CURRENT:
                self._back.add(pk)
        self._unsure.clear()

    def _solve(self) -> None:
        if not self._dirty:
            return
        graph = StoredGraph(self.reader)
        moved = settle(self.rule, graph, self._dirty).moved
        for pk, (belief, cause) in moved.items():
            self._move([pk], [belief], [cause])
            self.log("strength", graph.scope(pk), pk, cause)
            self._believe(pk, belief.strength, _read(belief))

    def touched(self) -> list[int]:
        """The claims that this transaction did something to or moved, so far."""
        self.flush()
        rows = self.conn.execute(select(ChangeRow.claim, ChangeRow.other).where(ChangeRow.seq == self.seq))
        return sorted({pk for row in rows for pk in row if pk is not None})


@lru_cache(maxsize=1 << 10)
def alone(rule: Rule, confidence: float, trust: float, derived: bool) -> Belief:
    """What is believed of a claim that one source asserts and nothing bears on."""
    return rule.local(Node(0, (Voice(None, confidence, trust),), (), derived, True), _no_peers)


def _read(belief: Belief) -> float:
    given = belief.confidence
    return 0.0 if given < 0 else 1.0 if given > 1 else given


def _no_peers(pk: int) -> Any:
    raise AssertionError(f"a claim without edges asked for claim {pk}")
