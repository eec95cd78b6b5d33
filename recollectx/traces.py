"""Traces: which answers were given, and on what they rested. `memory.traces`.

A trace keeps the question, the response, and each claim of the recall with its score and its confidence at that
time. What a claim said then is read from its history, so no wording is kept twice. Erasing a claim takes it out of
every trace, and with it the question, the response and the metadata of each trace that had it to go on or that holds
its words; the id and the time of the trace stay. Claims of another scope are counted in, but not shown.
"""

import builtins
import json
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from recollectx import changes as ch
from recollectx.changes import Change
from recollectx.claims import MAX_TEXT, Claim, Status, check_metadata, check_text, in_words
from recollectx.errors import InvalidQuery, NotFound
from recollectx.instants import from_micros
from recollectx.propagation import ConfidenceChangeEvent
from recollectx.query import MAX_OFFSET, Parts, Recall, check_count
from recollectx.reach import find
from recollectx.storage.journal import events
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Reader
from recollectx.storage.tracing import trace_of, traces_in, traces_using, used_in


@dataclass(frozen=True, slots=True)
class Trace:
    """An answer that was given. at: seconds since 1970 UTC.  claim_ids: what it had to go on, best first.

    erased: its words were removed with a claim that was erased; question and response are None then.
    """

    id: str
    at: float
    question: str | None
    response: str | None
    metadata: Mapping[str, Any]
    claim_ids: tuple[str, ...]
    erased: bool = False


@dataclass(frozen=True, slots=True)
class UsedClaim:
    """A claim that an answer had to go on. claim: as it reads now.

    text, status, confidence: as they were when the answer was recorded.  since: the moves of its confidence after
    that, newest first.
    """

    claim: Claim
    rank: int
    score: float
    parts: Parts
    text: str
    status: Status
    confidence: float
    since: tuple[ConfidenceChangeEvent, ...]

    @property
    def changed(self) -> bool:
        """Whether it says something else now, has another status, or another confidence (by over 1e-9)."""
        moved = abs(self.claim.confidence - self.confidence) > 1e-9
        return moved or (self.claim.text, self.claim.status) != (self.text, self.status)


@dataclass(frozen=True, slots=True)
class TraceExplanation:
    """An answer with the claims it had to go on, then and now, best first."""

    trace: Trace
    used: tuple[UsedClaim, ...]


class Traces:
    """The recorded answers of one scope."""

    def __init__(self, storage: MemoryStore, scope: str) -> None:
        self._storage = storage
        self._scope = scope

    def record(self, recall: Recall, response: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Keep that `response` was given on `recall`; returns the id of the trace.

        If one of the claims was erased in the meantime, the words are not kept.
        Raises NotFound for a claim that this database never held.
        """
        if not isinstance(recall, Recall):
            raise InvalidQuery(f"record takes what recall returned, got {recall!r}")
        check_text(response, "response", MAX_TEXT, blank=True)
        extra = check_metadata({} if metadata is None else metadata)
        trace_id = str(uuid.uuid4())

        def plan(reader: Reader) -> Iterator[Change]:
            used = []
            gone = False
            for rank, hit in enumerate(recall.hits, 1):
                known = reader.resolve(hit.claim.id)
                if known is None:
                    raise NotFound(f"this memory never held a claim with the id {hit.claim.id!r}")
                gone = gone or known.erased
                if known.erased:
                    continue
                parts = asdict(hit.parts)
                used.append(ch.Used(known.id, rank, hit.score, hit.claim.confidence, parts))
            if gone:
                yield ch.Trace(trace_id, self._scope, None, None, {}, tuple(used))
            else:
                yield ch.Trace(trace_id, self._scope, recall.query.text, response, extra, tuple(used))

        self._storage.apply(plan, cause="trace")
        return trace_id

    def list(self, limit: int = 50, offset: int = 0) -> builtins.list[Trace]:
        """Recorded answers, newest first."""
        check_count(limit, "limit", most=MAX_OFFSET)
        check_count(offset, "offset", least=0, most=MAX_OFFSET)
        with self._storage.reader() as reader:
            return self._read(reader, traces_in(reader.conn, self._scope, limit=limit, offset=offset))

    def using(self, claim_id: str) -> builtins.list[Trace]:
        """The answers that had a claim to go on, newest first. Raises NotFound."""
        with self._storage.reader() as reader:
            known = find(reader, self._scope, claim_id)
            return self._read(reader, traces_using(reader.conn, self._scope, known.pk))

    def explain(self, trace_id: str) -> TraceExplanation:
        """One answer with the claims it had to go on, as they were then and as they are now. Raises NotFound."""
        with self._storage.reader() as reader:
            row = trace_of(reader.conn, self._scope, check_text(trace_id, "id"))
            if row is None:
                raise NotFound(f"scope {self._scope!r} holds no trace with the id {trace_id!r}")
            rows = [each for each in used_in(reader.conn, [row.pk]) if each.scope == self._scope]
            claims = reader.claims(each.claim for each in rows)
            used = tuple(_used(reader, each, claims[each.claim], row.seq) for each in rows)
            return TraceExplanation(self._read(reader, [row])[0], used)

    def _read(self, reader: Reader, rows: Iterable[Any]) -> builtins.list[Trace]:
        found = {row.pk: row for row in rows}
        ids: dict[int, builtins.list[str]] = defaultdict(builtins.list)
        for used in used_in(reader.conn, [*found]) if found else ():
            if used.scope == self._scope:
                ids[used.trace].append(used.id)
        return [_trace(row, ids[pk]) for pk, row in found.items()]


def _trace(row: Any, ids: Iterable[str]) -> Trace:
    return Trace(
        id=row.id,
        at=from_micros(row.at),
        question=row.question,
        response=row.response,
        metadata=json.loads(row.meta) if row.meta else {},
        claim_ids=tuple(ids),
        erased=row.erased is not None,
    )


def _used(reader: Reader, row: Any, claim: Claim, seq: int) -> UsedClaim:
    known = reader.identities([row.claim])[row.claim]
    return UsedClaim(
        claim=claim,
        rank=row.rank,
        score=row.score,
        parts=Parts(**json.loads(row.parts)),
        text=row.object if row.predicate is None else in_words(row.subject, row.predicate, row.object),
        status=Status(row.status),
        confidence=row.confidence,
        since=tuple(events(reader, known, after=seq)),
    )
