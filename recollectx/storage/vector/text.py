"""Indexes that embed on their own side: 0.2.7's text protocol, wrapped for the rest of the package.

Such an object knows ids and texts, no scopes and no scores. Ids are unique across scopes, so writing needs no scope;
reading is told by a predicate which ids count.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeGuard

from recollectx.errors import BackendError, InvalidClaim, RecollectxError
from recollectx.forks import Lock
from recollectx.storage.vector.base import Near, VectorBackend
from recollectx.storage.vector.checking import check_k


class TextProtocol(Protocol):
    """What 0.2.7 asked of a vector backend."""

    def upsert(self, id: str, text: str, /) -> object:
        """Add or replace the text of `id`."""

    def delete(self, id: str, /) -> object:
        """Remove `id`."""

    def search(self, query: str, k: int, /) -> Sequence[str]:
        """Ids of the nearest `k` texts, best first."""


def is_text_backend(obj: object) -> TypeGuard[TextProtocol]:
    """Whether `obj` has 0.2.7's text protocol and takes no vectors itself."""
    if isinstance(obj, type):
        return False
    if isinstance(obj, VectorBackend) and type(obj)._upsert is not VectorBackend._upsert:
        return False
    return all(callable(getattr(obj, name, None)) for name in ("upsert", "delete", "search"))


class TextBackend:
    """One object with 0.2.7's text protocol, for any number of threads; BackendError wraps whatever it raises."""

    def __init__(self, backend: TextProtocol) -> None:
        if not is_text_backend(backend):
            raise TypeError(
                f"{type(backend).__name__} lacks upsert(id, text), delete(id) or search(query, k)"
            )
        self.backend = backend
        self._lock = Lock()

    def upsert_texts(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Add or replace one by one; blank text removes its id. An error leaves the earlier ones written."""
        if len(ids) != len(texts):
            raise InvalidClaim(f"{len(ids)} ids came with {len(texts)} texts")
        with self._step():
            for id, text in zip(ids, texts, strict=True):
                if text.strip():
                    self.backend.upsert(id, text)
                else:
                    self.backend.delete(id)

    def delete_ids(self, ids: Iterable[str]) -> None:
        """Remove one by one."""
        with self._step():
            for id in ids:
                self.backend.delete(id)

    def search_text(self, query: str, k: int, *, keep: Callable[[str], bool]) -> list[Near]:
        """The nearest `k` ids that `keep` accepts, best first; fewer only if the object gives no more.

        Its score is a rank, 1 for the first and 1/k less for each next one.
        """
        check_k(k)
        if not query.strip():
            return []
        found = [id for id in self._ranked(query, k, keep) if keep(id)][:k]
        return [Near(id, 1 - rank / k) for rank, id in enumerate(found)]

    def _ranked(self, query: str, k: int, keep: Callable[[str], bool]) -> list[str]:
        """Distinct ids from ever longer answers, until `k` are kept or there are fewer than asked for."""
        asked, ids = k, self._answer(query, k)
        while len(ids) >= asked and sum(map(keep, ids)) < k:
            asked *= 2
            ids = self._answer(query, asked)
        return ids

    def _answer(self, query: str, k: int) -> list[str]:
        with self._step():
            ids = list(dict.fromkeys(self.backend.search(query, k)))
        for id in ids:
            if not isinstance(id, str):
                raise BackendError(f"{type(self.backend).__name__}.search must give ids, got {id!r}")
        return ids

    @contextmanager
    def _step(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except RecollectxError:
                raise
            except Exception as error:
                name = type(self.backend).__name__
                raise BackendError(f"{name} failed: {type(error).__name__}: {error}") from error
