"""Retrieval: one read path from a Query to a Recall.

Each scope that is asked gets an index in memory, built from SQL the first time and brought up to the last change
before every answer. The index finds and orders; SQL is asked only for the claims that are returned.
"""

import logging
import math
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from sqlalchemy import bindparam, func, select

from recollectx.claims import CURRENT, Basis, Claim, Status
from recollectx.db.engine import Database
from recollectx.db.statements import fetch
from recollectx.db.tables import AssertionRow, ChangeRow, ClaimRow, EdgeRow, RevisionRow, TextRow, VectorRow
from recollectx.doubt import Dispute, disputed
from recollectx.edges import Relation
from recollectx.embeddings.base import Vectors
from recollectx.errors import BackendError
from recollectx.filters import holds
from recollectx.forks import Lock
from recollectx.query import ALL_SCOPES, Hit, Query, Recall
from recollectx.ranking import Cosines, Ranked, Row, ScopeIndex
from recollectx.storage.delivery import Delivery
from recollectx.storage.embedding import Embedding
from recollectx.storage.feeding import Feed
from recollectx.storage.outside import NEAR_AT_HAND, READ, Known, Nearest, Outside
from recollectx.storage.past import seq_at
from recollectx.storage.reading import Reader, chunks
from recollectx.storage.token_vectors import Asked, TokenVectors
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.writing import MODEL

CACHE_BYTES = 512 * 2**20
BATCH = 2_000
PASTS = 8
log = logging.getLogger("recollectx")

_LAST_CHANGE = select(func.max(ChangeRow.n))
_CHANGED = (
    select(ChangeRow.claim)
    .where(
        ChangeRow.scope == bindparam("scope"), ChangeRow.n > bindparam("after"), ChangeRow.claim.is_not(None)
    )
    .distinct()
)
_ROW = (
    select(
        ClaimRow.pk,
        TextRow.tokens,
        ClaimRow.type,
        RevisionRow.category,
        RevisionRow.status,
        ClaimRow.confidence,
        RevisionRow.importance,
        ClaimRow.created_at,
        RevisionRow.valid_from,
        RevisionRow.valid_to,
        RevisionRow.session,
        RevisionRow.position,
        RevisionRow.entities,
        RevisionRow.meta,
        TextRow.subject,
        ClaimRow.id,
        TextRow.slot,
        VectorRow.vector,
    )
    .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
    .join(TextRow, TextRow.pk == RevisionRow.text)
    .join(VectorRow, VectorRow.text == TextRow.pk, isouter=True)
    .where(RevisionRow.tx_to.is_(None))
)
"""In the order of the fields of Row that are stored; the rest is by name."""
_STORED = len(Row._fields) - 3
_PK, _ID, _SLOT, _VECTOR = (
    list(_ROW.selected_columns.keys()).index(name) for name in ("pk", "id", "slot", "vector")
)
_SOURCES = select(AssertionRow.claim, AssertionRow.source).where(AssertionRow.tx_to.is_(None))
_SOURCES_OF = _SOURCES.where(AssertionRow.claim.in_(bindparam("keys", expanding=True)))
_SOURCES_IN_SCOPE = _SOURCES.join(ClaimRow, ClaimRow.pk == AssertionRow.claim).where(
    ClaimRow.scope == bindparam("scope"), ClaimRow.pk > bindparam("after"), ClaimRow.pk <= bindparam("last")
)
_READINGS = (
    select(
        EdgeRow.src,
        EdgeRow.tx_from,
        EdgeRow.tx_to,
        RevisionRow.status,
        RevisionRow.valid_to,
        ClaimRow.confidence,
    )
    .join(RevisionRow, RevisionRow.claim == EdgeRow.dst)
    .join(ClaimRow, ClaimRow.pk == EdgeRow.dst)
    .where(
        EdgeRow.src.in_(bindparam("keys", expanding=True)),
        EdgeRow.relation == Relation.DERIVES,
        RevisionRow.tx_to.is_(None),
        # A conclusion stands and falls with what it was drawn from, not the other way round.
        RevisionRow.basis != Basis.DERIVED,
    )
)
_READ_FROM = select(EdgeRow.src).where(
    EdgeRow.dst.in_(bindparam("keys", expanding=True)), EdgeRow.relation == Relation.DERIVES
)
_HOW_MANY = select(func.count()).where(ClaimRow.scope == bindparam("scope"))
_LAST_MODEL = select(func.max(ChangeRow.n)).where(
    ChangeRow.scope.is_(None), ChangeRow.kind == "configure", ChangeRow.detail == MODEL
)
_IN_SCOPE = (
    _ROW.where(ClaimRow.scope == bindparam("scope"), ClaimRow.pk > bindparam("after"))
    .order_by(ClaimRow.pk)
    .limit(bindparam("most"))
)
_BY_KEYS = _ROW.where(ClaimRow.pk.in_(bindparam("keys", expanding=True))).order_by(ClaimRow.pk)


class _Batch:
    """Rows of a scope as they come from SQL: for the index, and the vectors of those that have one.

    A wording in which the model finds nothing has a zero vector: no direction to compare.
    """

    def __init__(
        self, reader: Reader, found: Sequence[tuple[Any, ...]], said: Iterable[tuple[Any, ...]]
    ) -> None:
        columns = list(zip(*found, strict=True)) if found else [()] * (_VECTOR + 1)
        self.pks, self.all_ids = columns[_PK], columns[_ID]
        sources: dict[int, list[str]] = {}
        for claim, source in said:
            if source is not None:
                sources.setdefault(claim, []).append(source)
        turns = [pk for pk, slot in zip(self.pks, columns[_SLOT], strict=True) if slot is None]
        until, belief = _read_of(reader, turns)
        self.fields: Any = Row._make(
            [
                *columns[:_STORED],
                [sources.get(pk, ()) for pk in self.pks],
                [until.get(pk) for pk in self.pks],
                [belief.get(pk) for pk in self.pks],
            ]
        )
        self._read(columns[_VECTOR])

    def _read(self, blobs: Sequence[bytes | None]) -> None:
        self.embedded = [at for at, blob in enumerate(blobs) if blob is not None]
        self.vectors = np.zeros((0, 0), np.float32)
        if self.embedded:
            joined = np.frombuffer(b"".join(filter(None, blobs)), "<f2")
            vectors = joined.reshape(len(self.embedded), -1).astype(np.float32)
            some = vectors.any(axis=1)
            if not some.all():
                self.embedded, vectors = np.array(self.embedded)[some].tolist(), vectors[some]
            self.vectors = vectors

    def __len__(self) -> int:
        return len(self.pks)

    @property
    def ids(self) -> list[str]:
        """Of the rows that have a vector."""
        return [self.all_ids[at] for at in self.embedded]


def _next(reader: Reader, scope: str, after: int) -> _Batch:
    """The first BATCH rows of a scope that come after a claim."""
    found = reader.bare(_IN_SCOPE, scope=scope, after=after, most=BATCH)
    last = found[-1][_PK] if found else after
    return _Batch(reader, found, reader.bare(_SOURCES_IN_SCOPE, scope=scope, after=after, last=last))


def _changed(reader: Reader, claims: Collection[int]) -> _Batch:
    """The rows of these claims, in order of keys."""
    found = [row for part in chunks(claims) for row in reader.bare(_BY_KEYS, keys=part)]
    said = [pair for part in chunks(claims) for pair in reader.bare(_SOURCES_OF, keys=part)]
    return _Batch(reader, sorted(found, key=itemgetter(_PK)), said)


def _read_of(reader: Reader, turns: Sequence[int]) -> tuple[dict[int, int], dict[int, float]]:
    """Of what was read from each of these turns and texts: when the last of it ceased to hold, where nothing does, and
    how far the surest of what held is believed.

    A claim that is out of use, or no longer taken to be said there, has never held.
    """
    ends: dict[int, list[float]] = defaultdict(list)
    belief: dict[int, float] = {}
    for row in reader.rows_in(_READINGS, turns):
        if reader.seq is not None and row.tx_from > reader.seq:
            continue
        denied = row.tx_to is not None and (reader.seq is None or row.tx_to <= reader.seq)
        holds = row.status in CURRENT or row.status == Status.SUPERSEDED
        end = math.inf if row.valid_to is None else row.valid_to
        ends[row.src].append(0 if denied or not holds else end)
        if holds and not denied:
            belief[row.src] = max(row.confidence, belief.get(row.src, 0.0))
    return {pk: int(max(found)) for pk, found in ends.items() if max(found) < math.inf}, belief


class _Held:
    """The index of one scope, the last change it knows, and the lock of both.

    With an index outside (`backend`), that one has the vectors; after a fault of it `fed` is False, and it is filled
    anew at the next question.  outside: there is one, of vectors or of texts, and `keys` says which claims its ids mean.
    most: of a scope with more claims no vectors are kept here, as an index outside is fed with them; it is `bare` then.
    nbytes: of the index when it was last asked.  asked: whether a question is being answered from it.
    """

    def __init__(self, backend: VectorBackend | None, *, outside: bool, most: int | None = None) -> None:
        self._outside = outside
        self._most = most
        self.bare = False
        self.index = ScopeIndex()
        self.at: int | None = None
        self.keys: dict[str, int] = {}
        self.known = Known(self.index, self.keys)
        self.fed = False
        self.nbytes = 0
        self.asked = False
        self.lock = Lock()
        self._backend = backend

    def catch_up(self, reader: Reader, scope: str) -> None:
        last = fetch(reader.conn, _LAST_CHANGE, {})[0][0] or 0
        another = self.at is not None and last > self.at and self._another_model(reader)
        grown = self._most is not None and not self.bare and len(self.index) > 2 * self._most
        if another or grown or self.lock.torn or (self._backend is not None and not self.fed):
            # None of the vectors held here means anything any more, or a thread was left in the midst of them.
            self.index, self.at, self.keys = ScopeIndex(), None, {}
            self.known = Known(self.index, self.keys)
        # Until all is done: what an error or an interrupt leaves half-way is built anew.
        self.lock.torn = self.at is None or last > self.at
        if self.at is None:
            self._build(reader, scope)
        elif last > self.at:
            changed = [row.claim for row in reader.conn.execute(_CHANGED, {"scope": scope, "after": self.at})]
            changed += [row.src for row in reader.rows_in(_READ_FROM, changed) if row.src in self.index]
            batch = _changed(reader, set(changed))
            gone = set(changed).difference(batch.pks)
            for pk in gone:
                self.index.drop(pk)
            self._put(batch)
            bare = set(batch.all_ids).difference(batch.ids)
            self._feed(scope, [batch], [*bare, *(id for id, pk in self.keys.items() if pk in gone)])
        self.at, self.lock.torn = last, False

    def _build(self, reader: Reader, scope: str) -> None:
        """Read the whole scope, a batch at a time."""
        size = reader.rows(_HOW_MANY, scope=scope)[0][0]
        self.bare = self._most is not None and size > self._most
        self.index.reserve(size)
        batches: list[_Batch] = []
        after: int | None = -1
        while after is not None:
            batch = _next(reader, scope, after)
            self._put(batch)
            if self._backend is not None:
                batches.append(batch)
            after = batch.pks[-1] if len(batch) == BATCH else None
        self._feed(scope, batches, None)

    def _another_model(self, reader: Reader) -> bool:
        return (reader.conn.execute(_LAST_MODEL).scalar() or 0) > (self.at or 0)

    def _put(self, batch: _Batch) -> None:
        if not len(batch):
            return
        if self._backend is None and not self.bare:
            self.index.fill(batch.fields, batch.embedded, batch.vectors)
        else:
            self.index.fill(batch.fields)
        if self._outside:
            self.keys.update(zip(batch.all_ids, batch.pks, strict=True))

    def _feed(self, scope: str, batches: Sequence[_Batch], gone: Iterable[str] | None) -> None:
        """Bring the index outside up to these rows. gone: what has no vector any more; None: the rows are all."""
        if self._backend is None:
            return
        ids = [id for batch in batches for id in batch.ids]
        matrices = [batch.vectors for batch in batches if batch.embedded]
        if any(matrix.shape[1] != self._backend.dimension for matrix in matrices):
            # Of another model: a question is refused by name, and what asks for no meaning goes on.
            self.fed = False
            return
        matrix = np.concatenate(matrices or [np.zeros((0, self._backend.dimension), np.float32)])
        try:
            if gone is None:
                self._backend.replace(scope, ids, matrix)
            else:
                self._backend.delete_ids(scope, list(gone))
                self._backend.upsert_vectors(scope, ids, matrix)
            self.fed = True
        except BackendError as error:
            self.fed = False
            log.warning("the vector index will be filled anew: %s", error)

    def near(self, scope: str, vector: Vectors | None) -> Cosines | None:
        """Cosines by claim from the index outside; None where it has no say."""
        if self._backend is None or vector is None or not self.fed:
            return None
        try:
            found = self._backend.search_vector(scope, vector, max(1, len(self.keys)))
        except BackendError as error:
            log.warning("recall goes by words alone: %s", error)
            return None
        return Cosines({self.keys[each.id]: each.score for each in found if each.id in self.keys})


class Retriever:
    """Answers queries over one database; safe to share between threads.

    cache_bytes: about how much memory the indexes of all scopes may take; the least recently asked go first, and of
    those of the past, which are built from the rows of then, only PASTS stay.
    near_at_hand: of so many claims a scope the vectors are kept here even if an index outside has them too.
    read_at_most: of so many claims the vectors are read for one question where such an index gives too few.
    """

    near_at_hand, read_at_most = NEAR_AT_HAND, READ

    def __init__(
        self,
        database: Database,
        *,
        embedding: Embedding | None = None,
        backend: VectorBackend | None = None,
        feed: Feed | None = None,
        delivery: Delivery | None = None,
        token_vectors: TokenVectors | None = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self._database = database
        self._backend = backend
        self._outside = None if feed is None else Outside(database, feed)
        self._delivery = delivery
        self._token_vectors = token_vectors
        self._embedding = embedding
        self._cache_bytes = cache_bytes
        self._held: OrderedDict[tuple[str, int | None], _Held] = OrderedDict()
        self._lock = Lock()

    def answer(self, query: Query, now: float) -> Recall:
        """The hits of `query`, best first. now: seconds since 1970 UTC."""
        seq, now = self._moment(query, now)
        vector = self._vector(query)
        asked = None if vector is None else self._asked(query)
        scopes = self._scopes(query, seq)
        found: list[tuple[Hit, int]] = []
        for scope in scopes:
            # Asked before the scope is locked and a snapshot taken: the answer may take long.
            nearest = None if vector is None or not query.weights.dense else self._named(scope, seq, vector)
            with self._ready(scope, seq) as (held, reader):
                cosines = held.near(scope, vector)
                if self._outside is not None and held.bare and vector is not None and query.weights.dense:
                    cosines = self._outside.cosines(
                        nearest,
                        held.known,
                        reader,
                        scope,
                        vector=vector,
                        query=query,
                        now=now,
                        most=self.read_at_most,
                    )
                # An index that embeds on its side knows only the wordings of now.
                if self._delivery is not None and query.text is not None and seq is None:
                    allowed = set(held.index.allowed(query, now).tolist())
                    ranks = self._delivery.near(query.text, held.keys, allowed)
                    cosines = None if ranks is None else Cosines(ranks)
                closer = None if asked is None else asked.closer(reader)
                ranked = held.index.search(query, now, vector, cosines=cosines, closer=closer)
                # Of several scopes the cut comes after they are merged.
                found.extend(
                    _hits(reader, ranked[query.offset :] if len(scopes) == 1 else ranked, query, now)
                )
        if len(scopes) > 1:
            found.sort(key=lambda pair: _order(query, *pair))
        first = 0 if len(scopes) == 1 else query.offset
        end = None if query.k is None else first + query.k
        return Recall(query, tuple(hit for hit, _ in found[first:end]))

    def _named(self, scope: str, seq: int | None, vector: Vectors) -> Nearest | None:
        """What the index outside names, None where it is not asked: for the past, and in a scope that is small."""
        if self._outside is None or seq is not None:
            return None
        self._outside.begin()
        with self._lock:
            held = self._held.get((scope, seq))
        if held is None or held.at is None:
            with self._database.read() as conn:
                large = Reader(conn).rows(_HOW_MANY, scope=scope)[0][0] > self.near_at_hand
        else:
            large = held.bare
        return self._outside.ask(scope, vector) if large else None

    def count(self, query: Query, now: float) -> int:
        """How many claims pass the filters of a query without text."""
        seq, now = self._moment(query, now)
        total = 0
        for scope in self._scopes(query, seq):
            with self._ready(scope, seq) as (held, _):
                total += len(held.index.search(query, now))
        return total

    def _moment(self, query: Query, now: float) -> tuple[int | None, float]:
        """The transaction as of which the query is answered (None: now), and the time it is judged at."""
        if query.as_of is None:
            return None, now
        with self._database.read() as conn:
            return seq_at(conn, query.as_of), query.as_of

    def _vector(self, query: Query) -> Vectors | None:
        """The question's vector, None where words alone decide. A question about the past writes nothing."""
        if self._embedding is None or query.text is None or not query.text.strip():
            return None
        if query.as_of is None:
            healed = self._embedding.heal()
            if self._token_vectors is not None and self._token_vectors.wanted:
                self._token_vectors.heal(anew=bool(healed))
        else:
            with self._database.read() as conn:
                if Reader(conn).setting(MODEL) is None:
                    return None
        return self._embedding.of_question(query.text)

    def _asked(self, query: Query) -> Asked | None:
        """The question as it is compared word by word; None where it is not."""
        tokens = self._token_vectors
        if tokens is None or query.text is None or not query.weights.tokens or not tokens.wanted:
            return None
        return tokens.asked(query.text)

    def _scopes(self, query: Query, seq: int | None) -> list[str]:
        if query.scopes is not ALL_SCOPES:
            return list(dict.fromkeys(query.scopes))
        with self._database.read() as conn:
            return Reader(conn, seq=seq).scopes()

    @contextmanager
    def _ready(self, scope: str, seq: int | None = None) -> Iterator[tuple[_Held, Reader]]:
        """The index of `scope` up to date with a reader that sees the same moment.

        An index of the past is brought up to date too: what was erased since must leave it.
        """
        key = (scope, seq)
        with self._lock:
            held = self._held.get(key)
            if held is None:
                held = self._held[key] = self._begun(seq)
            self._held.move_to_end(key)
        # The lock comes first: the snapshot taken under it is at least as new as what the index already holds.
        with held.lock:
            # A signal handler may ask within a question of the very thread that it comes to.
            used = self._begun(seq) if held.asked else held
            try:
                used.asked = True
                with self._database.read() as conn:
                    reader = Reader(conn, seq=seq)
                    used.catch_up(reader, scope)
                    yield used, reader
                    size = used.index.nbytes
            finally:
                used.asked = False
        if used is held and size != held.nbytes:
            held.nbytes = size
            self._shrink(keep=key)

    def _begun(self, seq: int | None) -> _Held:
        """An index that knows nothing yet."""
        backend = self._backend if seq is None else None
        fed = self._outside is not None and seq is None
        outside = backend is not None or self._delivery is not None or fed
        return _Held(backend, outside=outside, most=self.near_at_hand if fed else None)

    def _shrink(self, keep: tuple[str, int | None]) -> None:
        with self._lock:
            for key in [key for key in self._held if key[1] is not None][:-PASTS]:
                del self._held[key]
            total = sum(held.nbytes for held in self._held.values())
            for key in list(self._held):
                if total <= self._cache_bytes:
                    return
                if key != keep:
                    total -= self._held.pop(key).nbytes

    def clear(self) -> None:
        """Let every index go; they are built again when asked."""
        with self._lock:
            self._held.clear()


def _order(query: Query, hit: Hit, pk: int) -> tuple[float, ...]:
    if query.text is None:
        return (-hit.claim.created_at, -pk)
    return (-hit.score, -hit.claim.confidence, -hit.claim.created_at, -pk)


def _hits(reader: Reader, ranked: list[Ranked], query: Query, now: float) -> list[tuple[Hit, int]]:
    claims = reader.claims(found.claim for found in ranked)
    rivals = reader.rival_claims(claims)
    # What a filter of status lets in beside what is current is in no dispute.
    current = partial(holds, query=Query(valid_at=query.valid_at), now=now)
    return [
        (_hit(claims[found.claim], found, rivals.get(found.claim, ()), current), found.claim)
        for found in ranked
        if found.claim in claims
    ]


def _hit(claim: Claim, found: Ranked, rivals: Sequence[Claim], current: Callable[[Claim], bool]) -> Hit:
    disputes = (
        Dispute(claim.id, claim.confidence, rival.id, rival.confidence)
        for rival in rivals
        if current(claim) and current(rival) and disputed(claim.confidence, rival.confidence)
    )
    return Hit(claim, found.score, found.parts, tuple(rival.id for rival in rivals), tuple(disputes))
