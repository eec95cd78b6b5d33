"""MemoryStore: the claims of one database, written by `apply` alone and read through queries.

`apply` takes changes, or a plan: a function that is given a reader inside the write lock and yields changes one by
one, seeing the effect of those it has yielded. Deciding and writing are then one step that nobody can come between.
"""

import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, scoped_session

from recollectx.changes import Assert, Change, Configure
from recollectx.claims import Claim, Status
from recollectx.db.engine import BUSY_SECONDS
from recollectx.db.migrate import upgrade
from recollectx.db.targets import database_of
from recollectx.embeddings import token_embedder
from recollectx.embeddings.base import Embedder, Vectors
from recollectx.errors import (
    BackendError,
    DimensionError,
    InvalidClaim,
    InvalidSetting,
    ModelMismatch,
    StorageError,
)
from recollectx.masking import masked
from recollectx.propagation import LogOdds, Rule
from recollectx.query import Query, Recall
from recollectx.storage.delivery import DELIVERED, Delivery
from recollectx.storage.embedding import Embedding, checked
from recollectx.storage.feeding import Feed
from recollectx.storage.legacy import move_in
from recollectx.storage.past import seq_at
from recollectx.storage.reading import RULE, Reader
from recollectx.storage.retrieval import CACHE_BYTES, Retriever
from recollectx.storage.spellings import Spellings
from recollectx.storage.token_vectors import TokenVectors
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.named import EXACT, backend_from
from recollectx.storage.vector.text import TextBackend, TextProtocol, is_text_backend
from recollectx.storage.writing import Writer

log = logging.getLogger("recollectx")
Plan: TypeAlias = Callable[[Reader], Iterable[Change]]


@dataclass(frozen=True, slots=True)
class Applied:
    """What a transaction came to: its number (0: nothing was to do), how many changes, what was erased.

    index_waits: an index outside the database failed and is behind."""

    seq: int
    changes: int
    erased_ids: tuple[str, ...] = ()
    erased_rows: int = 0
    cut_ids: tuple[str, ...] = ()
    erased_answers: int = 0
    at: float = 0.0
    index_waits: bool = False


class MemoryStore(Spellings):
    """Claims on disk. Safe to share between threads; several processes may open one file.

    db: a path, `:memory:`, a database URL, or an Engine or Session on one (see database_of).  similarity_threshold,
    max_connections: how close and how many `get_connections` gives.  rule: how confidence follows from the graph; None takes what the
    database holds (LogOdds in a new one), another rule re-solves everything in one recorded transaction.
    vectors: an index outside the database, fed from it: a VectorBackend, its name (see recollectx.storage.vector.named;
    vectors_api_key is its service's), or an object with 0.2.7's text protocol (upsert(id, text), delete(id),
    search(query, k)).  embedder: makes recall go by meaning too; None leaves it to
    words, or to the embedder of `vectors`.
    token_vectors: True keeps a vector of every token, to compare the first hits word by word; the embedder must give
    them. None goes on with it where the database has some.
    busy_seconds: how long to wait for another process's write.  cache_bytes: see Retriever.
    """

    def __init__(
        self,
        db: str | os.PathLike[str] | URL | Engine | Session | scoped_session[Any],
        vectors: VectorBackend | TextProtocol | str | None = None,
        *,
        embedder: Embedder | None = None,
        vectors_api_key: str | None = None,
        token_vectors: bool | None = None,
        similarity_threshold: float = 0.7,
        max_connections: int = 5,
        rule: Rule | None = None,
        clock: Callable[[], float] = time.time,
        busy_seconds: float = BUSY_SECONDS,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.db, self.vectors = db, vectors
        self.similarity_threshold, self.max_connections = similarity_threshold, max_connections
        self.database = database_of(db, busy_seconds=busy_seconds)
        self.clock = clock
        self._closed = self._log_waits = False
        self.backend: VectorBackend | None = None
        self.feed: Feed | None = None
        try:
            upgrade(self.database)
            move_in(self.database, clock)
            backend = self.backend = self._backend_of(vectors, embedder, vectors_api_key)
            embedder = _embedder_of(backend, embedder)
            self.embedding = None
            if embedder is not None:
                self.embedding = Embedding(self.database, checked(embedder), self.apply)
            if backend is not None and backend.placement != "process":
                self.feed = Feed(self.database, backend, self.apply)
            self.delivery = None
            if vectors is not None and not isinstance(vectors, str) and backend is None:
                self.delivery = Delivery(self.database, TextBackend(vectors), self.apply)
            self.retriever = Retriever(
                self.database,
                embedding=self.embedding,
                backend=backend if self.feed is None else None,
                feed=self.feed,
                delivery=self.delivery,
                token_vectors=self._token_vectors(embedder, token_vectors),
                cache_bytes=cache_bytes,
            )
            if rule is not None:
                self.use_rule(rule)
        except BaseException:
            self._let_go()
            raise

    def _let_go(self) -> None:
        if self.feed is not None:
            self.feed.close()
        self._closed = True
        if isinstance(self.vectors, str) and self.backend is not None:
            self.backend.close()
        self.database.close()

    def _token_vectors(self, embedder: Embedder | None, wanted: bool | None) -> TokenVectors | None:
        offered = None if embedder is None else token_embedder(embedder)
        if wanted and offered is None:
            given = "no embedder" if embedder is None else f"embedder {embedder.name}"
            raise InvalidSetting(
                f"token_vectors=True needs an embedder that gives them, such as sentence-transformers; got {given}"
            )
        if offered is None or wanted is False:
            return None
        return TokenVectors(self.database, offered, self.apply, wanted=wanted)

    def _backend_of(
        self, vectors: object, embedder: Embedder | None, api_key: str | None
    ) -> VectorBackend | None:
        """The index that takes vectors, None for one that takes texts; InvalidSetting for what is neither."""
        if isinstance(vectors, str):
            if embedder is None and vectors != EXACT:
                raise InvalidSetting(f"vectors {masked(vectors)!r} needs an embedder: an index holds vectors")
            address = self.database.url.render_as_string(hide_password=False)
            return (
                None
                if embedder is None
                else backend_from(vectors, embedder=embedder, database=address, api_key=api_key)
            )
        if vectors is None or is_text_backend(vectors):
            return None
        if not isinstance(vectors, VectorBackend):
            raise InvalidSetting(f"{vectors!r} is no vector index; see recollectx.storage.vector")
        if vectors.placement == "database":
            with self.database.read() as conn:
                if not vectors.beside(conn):
                    raise InvalidSetting(
                        f"{vectors.address} is in another database than the claims, which are in {self.database.place}; "
                        "give both the same one, or an index that is a service"
                    )
        return vectors

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"this memory of {self.database.place} is closed; open it again")

    def close(self) -> None:
        """Let the file go; a second call does nothing."""
        if not self._closed:
            if self._log_waits:
                self.truncate_log()
            self._let_go()
            self.retriever.clear()

    def apply(
        self,
        changes: Iterable[Change] | Plan,
        *,
        cause: str,
        vectors: Mapping[str, Vectors] | None = None,
        model: int | None = None,
    ) -> Applied:
        """Make all changes in one transaction, or none. The only code that writes.

        vectors: by claim id, for the wordings that the changes bring.  model: the transaction that named the model
        they are of; ModelMismatch if it is another by now.

        Raises what a change or plan raises, after rolling back; DatabaseBusy if another writer holds on too long.
        """
        self._check_open()
        try:
            with self.database.write() as conn:
                if model is None and self.embedding is not None:
                    model = self.embedding.key
                writer = self._carried_out(conn, changes, cause=cause, vectors=vectors, model=model)
                if not writer.count:
                    return Applied(0, 0)
                if self.feed is not None and self.feed.backend.placement == "database":
                    self.feed.together(conn)
                cut = tuple(writer.cut_ids()) if writer.cut else ()
                keep = writer.keeper()
        except IntegrityError as error:
            raise InvalidClaim(f"the database refused the change: {error.orig}") from error
        except ModelMismatch:
            if self.embedding is not None:
                self.embedding.doubt()
            raise
        keep()
        if self._log_waits:
            self.truncate_log()
        if self.embedding is not None and (writer.bare or writer.erased_ids):
            self.embedding.wait()
        outside = self._told_outside(writer, cause)
        return Applied(
            writer.seq,
            writer.count,
            tuple(writer.erased_ids),
            writer.erased_rows,
            cut,
            writer.erased_answers,
            writer.at / 1e6,
            not outside,
        )

    def _told_outside(self, writer: Writer, cause: str) -> bool:
        """Let the indexes follow a transaction; False if one outside failed and still holds what was erased.

        index_waits: an index outside the database failed and is behind."""
        done = True
        if writer.erased_ids:
            # The indexes in memory hold words too.
            self.retriever.clear()
            try:
                for scope, ids in writer.erased_from.items():
                    if self.backend is not None and self.feed is None:
                        self.backend.delete_ids(scope, ids)
            except BackendError as error:
                log.warning("the vector index still holds what was erased: %s", error)
                done = False
        if self.feed is not None:
            done = self._fed(bool(writer.erased_ids)) and done
        if self.delivery is not None and cause != DELIVERED:
            done = self.delivery.catch_up() and done
        return done

    def _fed(self, erased: bool) -> bool:
        """Have the feed follow; False if words that were erased may still be in its index."""
        feed = self.feed
        if feed is None:
            return True
        if feed.backend.placement == "remote":
            feed.wake()
            return not erased
        return not (erased and feed.lag().changes)

    def settle(self, timeout: float = 30.0) -> bool:
        """Wait until an index outside the process has, and shows, all that is written now; False if it does not within
        `timeout` seconds. Without one there is nothing to wait for."""
        self._check_open()
        return self.feed is None or self.feed.settle(timeout)

    def _carried_out(
        self,
        conn: Connection,
        changes: Iterable[Change] | Plan,
        *,
        cause: str,
        vectors: Mapping[str, Vectors] | None = None,
        model: int | None = None,
    ) -> Writer:
        """The writer after all changes, and what follows from them; nothing is committed."""
        writer = Writer(conn, clock=self.clock, cause=cause, vectors=vectors, model=model)
        if isinstance(changes, Sequence) and len(changes) > 1:
            writer.reader.ask_for([change.claim.id for change in changes if isinstance(change, Assert)])
        if callable(changes):
            for change in changes(writer.reader):
                writer.make(change)
        else:
            writer.make_all(changes)
        if writer.count:
            writer.finish()
        return writer

    def rehearse(self, changes: Iterable[Change] | Plan) -> list[tuple[Claim | None, Claim | None]]:
        """Each claim that `changes` would touch or move, as it reads before and after; nothing is written.

        None stands for a claim that is not there. The changes are carried out as `apply` does, under the same lock,
        read, and rolled back: no transaction number is used up, and no cache sees them. Raises what `apply` would.
        """
        self._check_open()
        try:
            with self.database.write() as conn:
                trial = conn.begin_nested()
                writer = self._carried_out(conn, changes, cause="rehearsal")
                keys = writer.touched()
                after = writer.reader.claims(keys)
                trial.rollback()
                before = Reader(conn).claims(keys)
                conn.rollback()
        except IntegrityError as error:
            raise InvalidClaim(f"the database refused the change: {error.orig}") from error
        return [(before.get(pk), after.get(pk)) for pk in keys]

    @contextmanager
    def reader(self, as_of: float | None = None) -> Iterator[Reader]:
        """A reader that sees one moment of the database: what is believed now, or was at a time (seconds since 1970)."""
        self._check_open()
        with self.database.read() as conn:
            yield Reader(conn, seq=None if as_of is None else seq_at(conn, as_of))

    def truncate_log(self) -> bool:
        """Empty the write-ahead log of erased words; False while a reader needs it.

        Then it is tried again with each write and at the end.
        """
        self._log_waits = not self.database.truncate_log()
        return not self._log_waits

    def vectors_for(self, claims: Sequence[Claim]) -> tuple[dict[str, Vectors], str]:
        """Vectors of new claims by id, and what went wrong; both empty without an embedder."""
        if self.embedding is None or not claims:
            return {}, ""
        self.embedding.heal()
        return self.embedding.of_claims(claims)

    def rule(self) -> Rule:
        """How confidence follows from the graph in this database."""
        with self.reader() as reader:
            return reader.rule() or LogOdds()

    def use_rule(self, rule: Rule) -> None:
        """Let confidence follow from the graph by `rule`; everything is solved anew if it is another one."""
        if self.rule() != rule:
            self.apply([Configure(RULE, rule.settings())], cause="configure")

    def recall(self, query: Query) -> Recall:
        """The hits of a query, best first."""
        self._check_open()
        return self.retriever.answer(query, self.clock())

    def count_hits(self, query: Query) -> int:
        """How many claims a query without a cut would return."""
        self._check_open()
        return self.retriever.count(query, self.clock())

    def get(
        self,
        claim_id: str,
        *,
        scopes: Collection[str] | None = None,
        retired: bool = False,
        as_of: float | None = None,
    ) -> Claim | None:
        """The claim of this id or alias as it reads now; None if there is none (in `scopes`).

        retired: also one that was deleted (forgotten), which is None otherwise.
        as_of: as it read at that time, in seconds since 1970 UTC.
        """
        with self.reader(as_of) as reader:
            known = reader.resolve(claim_id)
            if known is None or (scopes is not None and known.scope not in scopes):
                return None
            claim = reader.claims([known.pk]).get(known.pk)
        return claim if claim is None or retired or claim.status != Status.RETIRED else None


def _embedder_of(backend: VectorBackend | None, embedder: Embedder | None) -> Embedder | None:
    """The embedder to use with an index: the one given, else the index's own."""
    if backend is None:
        return embedder
    embedder = embedder or backend.embedder
    if embedder is not None and embedder.dimension != backend.dimension:
        raise DimensionError(
            f"the index holds {backend.dimension}-d vectors, embedder {embedder.name} gives {embedder.dimension}-d"
        )
    return embedder
