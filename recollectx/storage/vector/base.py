"""The vector index seam: ids with vectors in, nearest ids out, one scope at a time.

A backend holds a copy: the vectors in the database are the truth, and an index that is lost or late is fed again.
Inherit VectorBackend and write `_upsert`, `_delete`, `_search` and `_vectors_of`; it does the checking, locking, embedding,
counting and error wrapping once. An index that outlives the object says in `placement` where it lives and also writes
`_scopes` and `_ids`, which otherwise know only what was written through the object; `_count` and `_clear` follow from
those, and may be written where the index has a shorter way.
"""

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from numpy.typing import ArrayLike

from recollectx.embeddings.base import Embedder
from recollectx.errors import BackendError, DimensionError, InvalidQuery, InvalidSetting, RecollectxError
from recollectx.storage.vector.checking import (
    Vectors,
    check_k,
    check_text,
    checked_ids,
    checked_nearest,
    unit_rows,
)

GLOBAL = "global"
Placement: TypeAlias = Literal["process", "remote", "database"]


@dataclass(frozen=True, slots=True)
class Near:
    """One neighbour. score: cosine, higher is closer; 0 where a vector is all zeros."""

    id: str
    score: float


class VectorBackend:
    """Base of vector indexes, for any number of threads.

    Vectors need not be normalised. Every write is checked before anything changes: DimensionError for another
    length, InvalidClaim for ids that repeat or are not text and for numbers that are not finite (InvalidQuery in a search). BackendError wraps
    whatever the index itself raises.

    embedder: embeds the texts of the text methods; None if only vectors are given.  dimension: length of the vectors.
    """

    placement: Placement = "process"
    """Where the vectors are: "process" is filled from the database when it is read, "remote" is fed from the log of
    changes, "database" stands beside the claims and is written in their transaction."""

    most: ClassVar[int | None] = None
    """The greatest `k` that one search can give; None: any."""

    zeros: ClassVar[bool] = True
    """Whether it holds vectors that are all zeros, near everything by 0; else such a vector takes its id out of the
    index, and nothing is near it."""

    answers_within: float = 30.0
    """Seconds after which a request without an answer is given up. Of several processes that feed an index, another one takes
    over from one that was killed only after longer than that."""

    _secret: str | None = None
    """A key that no error may show."""

    def __init__(self, dimension: int, embedder: Embedder | None = None) -> None:
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise DimensionError(f"dimension must be a whole number from 1, got {dimension!r}")
        if embedder is not None and embedder.dimension != dimension:
            raise DimensionError(
                f"the index holds {dimension}-d vectors, embedder {embedder.name} gives {embedder.dimension}-d"
            )
        self.dimension = dimension
        self.embedder = embedder
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._keys: dict[str, dict[str, int]] = {}
        self._last_key = 0

    # What a backend writes. All of it runs inside a session, on checked arguments; in this process also inside the lock,
    # elsewhere without, so that no thread waits for the answer to another's call.

    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Add or replace; ids are distinct, vectors have length 1 or 0, shape (len(ids), dimension).

        In this process `self._keys[scope][id]` is a whole number for every id, the same for as long as the id is held,
        growing in order of arrival: for indexes that label vectors with numbers, and for ties.
        """
        raise TypeError(f"{type(self).__name__} must implement _upsert(scope, ids, vectors)")

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        """Remove; an unknown id is no error. The ids still have their keys."""
        raise TypeError(f"{type(self).__name__} must implement _delete(scope, ids)")

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        """The nearest `k` of `scope`, best first; fewer only if the scope holds fewer. `vector` as in `_upsert`."""
        raise TypeError(f"{type(self).__name__} must implement _search(scope, vector, k)")

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        """Copies of the vectors of those `ids` that `scope` holds, of length 1 or 0."""
        raise TypeError(f"{type(self).__name__} must implement _vectors_of(scope, ids)")

    def _scopes(self) -> Collection[str]:
        """The scopes that hold a vector."""
        return self._keys

    def _ids(self, scope: str) -> Collection[str]:
        """The ids that `scope` holds."""
        return self._keys.get(scope, ())

    def _count(self, scope: str | None) -> int:
        """How many vectors `scope` holds, or all scopes together."""
        return sum(len(self._ids(name)) for name in (self._scopes() if scope is None else [scope]))

    def _clear(self, scope: str | None) -> None:
        """Remove all of `scope`, or all there is."""
        for name in list(self._scopes()) if scope is None else [scope]:
            self._forget(name, list(self._ids(name)))

    def _settle(self, timeout: float) -> bool:
        """Whether all that was written can be read, or could within `timeout` seconds."""
        return True

    @property
    def address(self) -> str:
        """What names this index among all that a database may feed; the same for every object on it, and no secret."""
        return type(self).__qualname__

    def joined(self, conn: Any) -> AbstractContextManager[None]:
        """Within it, this thread's calls go through `conn`, a connection to the claims' own database.

        Only for indexes whose placement is "database".
        """
        raise TypeError(f"{type(self).__name__} does not live beside the claims")

    def beside(self, conn: Any) -> bool:
        """Whether `conn` is a connection to the database that this index lives in; only for those that live in one."""
        return True

    def _session(self, *, writing: bool) -> AbstractContextManager[None]:
        """Around every call: where an index opens its transaction; a call that fails leaves by an exception."""
        return nullcontext()

    def _close(self) -> None:
        """Let go of files and connections."""

    def _forked(self) -> None:
        """Before the first call in a process that was forked off: make connections anew, those there are the parent's."""

    # Vectors

    def upsert_vectors(self, scope: str, ids: Sequence[str], vectors: ArrayLike) -> None:
        """Add vectors, or replace those of known ids. vectors: shape (len(ids), dimension)."""
        check_text("scope", scope)
        ids = checked_ids(ids)
        unit = unit_rows(vectors, (len(ids), self.dimension))
        with self._step(writing=True):
            self._put(scope, ids, unit)

    def replace(self, scope: str, ids: Sequence[str], vectors: ArrayLike) -> None:
        """Make `scope` hold exactly these."""
        check_text("scope", scope)
        ids = checked_ids(ids)
        unit = unit_rows(vectors, (len(ids), self.dimension))
        with self._step(writing=True):
            self._clear(scope)
            self._put(scope, ids, unit)

    def delete_ids(self, scope: str, ids: Iterable[str]) -> None:
        """Remove vectors; an unknown id is no error."""
        check_text("scope", scope)
        ids = checked_ids(ids, distinct=False)
        with self._step(writing=True):
            self._forget(scope, ids)

    def search_vector(self, scope: str, vector: ArrayLike, k: int) -> list[Near]:
        """The nearest `k` of `scope`, best first, equal ones in order of arrival; fewer only if it holds fewer.

        vector: shape (dimension,).  k: from 1 to `most`; else InvalidQuery.
        """
        check_text("scope", scope, InvalidQuery)
        check_k(k)
        if self.most is not None and k > self.most:
            raise InvalidQuery(f"{type(self).__name__} gives at most {self.most} a search, got k={k}")
        unit = unit_rows([vector], (1, self.dimension), InvalidQuery)[0]
        if not (self.zeros or unit.any()):
            return []
        with self._step():
            return checked_nearest(self._search(scope, unit, k), k)

    def count(self, scope: str | None = None) -> int:
        """How many vectors `scope` holds; None counts all scopes."""
        with self._step():
            return self._count(scope)

    def scopes(self) -> list[str]:
        """The scopes that hold a vector, in no order."""
        with self._step():
            return list(self._scopes())

    def ids(self, scope: str) -> list[str]:
        """The ids that `scope` holds, in no order."""
        check_text("scope", scope, InvalidQuery)
        with self._step():
            return list(self._ids(scope))

    def vectors_of(self, scope: str, ids: Iterable[str]) -> dict[str, Vectors]:
        """The vectors of `ids`, of length 1, zeros as zeros; ids that `scope` lacks are left out."""
        check_text("scope", scope, InvalidQuery)
        ids = checked_ids(ids, distinct=False)
        with self._step():
            return self._vectors_of(scope, ids) if ids else {}

    def settle(self, timeout: float) -> bool:
        """Wait until all that this object wrote can be read; False if `timeout` seconds were not enough."""
        with self._guard():
            return self._settle(timeout)

    def clear(self, scope: str | None = None) -> None:
        """Remove all of `scope`; None empties the index."""
        with self._step(writing=True):
            self._clear(scope)

    def close(self) -> None:
        """Let go of files and connections; the index is not used again."""
        with self._guard():
            self._come_home()
            with self._lock:
                self._close()

    # Texts, spelt as in 0.2.7

    def upsert(self, id: str, text: str, *, scope: str = GLOBAL) -> None:
        """Embed `text` as the vector of `id`; blank text has none, so `id` is then removed."""
        if text.strip():
            self.upsert_vectors(scope, [id], self._embedded(text))
        else:
            self.delete_ids(scope, [id])

    def delete(self, id: str, *, scope: str = GLOBAL) -> None:
        """Remove `id`; an unknown one is no error."""
        self.delete_ids(scope, [id])

    def search(self, query: str, k: int = 10, *, scope: str = GLOBAL) -> list[str]:
        """Ids of the nearest `k` texts, best first; none for a blank query."""
        return [id for id, _ in self.search_with_scores(query, k, scope=scope)]

    def search_with_scores(self, query: str, k: int = 10, *, scope: str = GLOBAL) -> list[tuple[str, float]]:
        """Ids of the nearest `k` texts with their cosines, best first; none for a blank query."""
        check_k(k)
        if not query.strip():
            return []
        return [(near.id, near.score) for near in self.search_vector(scope, self._embedded(query)[0], k)]

    def save(self) -> None:
        """Nothing to do: an index that keeps a file writes every change at once."""

    def __len__(self) -> int:
        return self.count()

    # Shared steps

    @contextmanager
    def _step(self, *, writing: bool = False) -> Iterator[None]:
        with self._guard():
            self._come_home()
            here = self._lock if self.placement == "process" else nullcontext()
            with here, self._session(writing=writing):
                yield

    def _come_home(self) -> None:
        if self._pid != os.getpid():
            self._lock = threading.RLock()  # another thread of the parent may have held it
            self._forked()
            self._pid = os.getpid()

    def _try(self, *later: type[Exception]) -> None:
        """Open a session once, so that what is wrong shows in the constructor; of `later` the next call will tell."""
        try:
            with suppress(*later), self._step():
                pass
        except BaseException:
            self._close()
            raise

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except RecollectxError:
            raise
        except Exception as error:
            told = f"{type(self).__name__} failed: {type(error).__name__}: {error}"
            if self._secret and self._secret in f"{told}{error!r}":
                raise BackendError(told.replace(self._secret, "***")) from None
            raise BackendError(told) from error

    def _put(self, scope: str, ids: Sequence[str], unit: Vectors) -> None:
        if not self.zeros:
            some = [bool(row.any()) for row in unit]
            self._forget(scope, [id for id, held in zip(ids, some, strict=True) if not held])
            ids, unit = [id for id, held in zip(ids, some, strict=True) if held], unit[some]
        if not ids:
            return
        if self.placement != "process":
            self._upsert(scope, ids, unit)
            return
        keys = self._keys.setdefault(scope, {})
        new = [id for id in ids if id not in keys]
        for id in new:
            self._last_key += 1
            keys[id] = self._last_key
        try:
            self._upsert(scope, ids, unit)
        except BaseException:
            self._unkey(scope, new)
            raise

    def _forget(self, scope: str, ids: Sequence[str]) -> None:
        if not ids:
            return
        self._delete(scope, ids)
        self._unkey(scope, ids)

    def _unkey(self, scope: str, ids: Iterable[str]) -> None:
        keys = self._keys.get(scope, {})
        for id in ids:
            keys.pop(id, None)
        if not keys:
            self._keys.pop(scope, None)

    def _embedded(self, *texts: str) -> Vectors:
        if self.embedder is None:
            raise InvalidSetting(
                f"{type(self).__name__} was made without an embedder; use the vector methods"
            )
        return self.embedder.embed(texts)
