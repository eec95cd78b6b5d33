"""Whose an index is: a mark in it, in a scope of its own, says which memory feeds it.

The mark is a vector like any other, so every index can hold it. One beside the claims is its memory's anyway; there the mark
tells that it still holds what it was given.
"""

import uuid
from collections.abc import Iterator

import numpy as np

from recollectx.changes import Change, Configure
from recollectx.claims import MAX_NAME
from recollectx.errors import InvalidSetting
from recollectx.storage.embedding import Apply
from recollectx.storage.places import Gate
from recollectx.storage.reading import Reader
from recollectx.storage.vector.base import VectorBackend

OWNER = "recollectx: whose index this is".ljust(MAX_NAME + 1, ".")
"""The scope of one id, that of the memory that feeds the index; longer than a scope of claims can be."""
MEMORY_ID = "memory"


class Ownership:
    """The mark of one memory in one index."""

    def __init__(self, gate: Gate, backend: VectorBackend, apply: Apply) -> None:
        self._gate = gate
        self._backend = backend
        self._apply = apply

    def is_marked(self) -> bool:
        """Whether the index holds the mark of this memory; InvalidSetting if it holds that of another."""
        own, marks = self._memory_id(), self._backend.ids(OWNER)
        if any(each != own for each in marks):
            raise InvalidSetting(
                f"the index {self._backend.address} is fed by another memory; give this one an index of its own, "
                "or run `recollectx reindex --take-over` to empty it and take it over"
            )
        return bool(marks)

    def check_nobodys(self) -> None:
        """InvalidSetting if an index without a mark holds anything."""
        if self._backend.count():
            raise InvalidSetting(
                f"the index {self._backend.address} holds vectors that no memory is known to have fed it; give an empty "
                "one, or run `recollectx reindex --take-over` to empty it and take it over"
            )

    def is_of_another(self) -> bool | None:
        """Whether the index has the mark of another memory; None without a mark."""
        with self._gate.read() as conn:
            own = (Reader(conn).setting(MEMORY_ID) or {}).get("id")
        marks = self._backend.ids(OWNER)
        return any(mark != own for mark in marks) if marks else None

    def put(self) -> None:
        """Mark the index as this memory's, and nobody else's."""
        own = self._memory_id()
        others = [each for each in self._backend.ids(OWNER) if each != own]
        self._write_mark(own)
        self._backend.delete_ids(OWNER, others)

    def put_beside(self) -> None:
        """Mark an index beside the claims."""
        self._write_mark(self._backend.address)

    def _write_mark(self, id: str) -> None:
        mark = np.zeros((1, self._backend.dimension), np.float32)
        mark[0, 0] = 1
        self._backend.upsert_vectors(OWNER, [id], mark)

    def _memory_id(self) -> str:
        """What tells this memory from others."""
        with self._gate.read() as conn:
            known = Reader(conn).setting(MEMORY_ID)
        if known is None:

            def plan(reader: Reader) -> Iterator[Change]:
                if reader.setting(MEMORY_ID) is None:
                    yield Configure(MEMORY_ID, {"id": uuid.uuid4().hex})

            self._apply(plan, cause="index")
            with self._gate.read() as conn:
                known = Reader(conn).setting(MEMORY_ID)
        return str((known or {})["id"])
