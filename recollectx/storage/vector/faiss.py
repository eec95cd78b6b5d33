"""FAISSBackend: exact search by FAISS, one flat index per scope, kept in a file if it is given a path.

FAISS does the arithmetic alone: what is held stands in the file beside `index_path`, and the FAISS indexes are built
from it at opening, and again when another opener has written. So nothing needs saving, and a crash costs nothing.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recollectx.embeddings.function import FunctionEmbedder
from recollectx.errors import BackendError, DimensionError, InvalidSetting
from recollectx.extras import require
from recollectx.storage.vector.base import GLOBAL, Near, VectorBackend
from recollectx.storage.vector.checking import Vectors
from recollectx.storage.vector.keeping import VectorFile

SUFFIX = ".vectors.db"


class FAISSBackend(VectorBackend):
    """Vectors in FAISS, with true deletes.

    embed_fn: one text to its vector.  index_path: where 0.2.7 kept its index; ours is the file of that name with
    `.vectors.db` added. Live vectors of an index and mapping that 0.2.7 wrote are taken in when that file is first
    made, into scope "global"; 0.2.7's files are only read.
    Raises MissingExtra without the package, DimensionError if the file holds vectors of another length.
    """

    def __init__(
        self,
        embed_fn: Callable[[str], ArrayLike],
        dimension: int,
        index_path: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(dimension, FunctionEmbedder(embed_fn, dimension))
        self._faiss: Any = require("faiss", "local")
        self._indexes: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._file: VectorFile | None = None
        if index_path is not None:
            path = Path(index_path)
            with self._guard():
                self._file = VectorFile(path.with_name(path.name + SUFFIX), lambda: self._from_027(path))
            with self._step():
                pass

    def save(self) -> None:
        """Nothing to do, every change is on disk already; InvalidSetting without an index_path."""
        if self._file is None:
            raise InvalidSetting("this index has no file; give FAISSBackend an index_path")

    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        keys = [self._keys[scope][id] for id in ids]
        if self._file is not None:
            self._file.put(scope, keys, ids, vectors)
        if scope not in self._indexes:
            # Not IndexIDMap2: its way back from key to vector is not needed and made replacing 1.6 times as slow.
            self._indexes[scope] = self._faiss.IndexIDMap(self._faiss.IndexFlatIP(self.dimension))
        known = [key for key in keys if key in self._names]
        if known:
            self._indexes[scope].remove_ids(np.array(known, np.int64))
        self._indexes[scope].add_with_ids(vectors, np.array(keys, np.int64))
        self._names.update(zip(keys, ids, strict=True))

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        held = self._keys.get(scope, {})
        keys = [held[id] for id in ids if id in held]
        if not keys:
            return
        if self._file is not None:
            self._file.drop(keys)
        self._indexes[scope].remove_ids(np.array(keys, np.int64))
        for key in keys:
            del self._names[key]
        if not self._indexes[scope].ntotal:
            del self._indexes[scope]

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        index = self._indexes.get(scope)
        if index is None:
            return []
        scores, keys = index.search(vector[np.newaxis], min(k, index.ntotal))
        order = np.lexsort((keys[0], -scores[0]))
        return [Near(self._names[int(keys[0, i])], float(scores[0, i])) for i in order]

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        held = self._keys.get(scope, {})
        known = [id for id in ids if id in held]
        if not known:
            return {}
        index = self._indexes[scope]
        labels = self._faiss.vector_to_array(index.id_map).tolist()
        place = {key: row for row, key in enumerate(labels)}
        rows = [place[held[id]] for id in known]
        return dict(zip(known, index.index.reconstruct_batch(rows), strict=True))

    @contextmanager
    def _session(self, *, writing: bool) -> Iterator[None]:
        if self._file is None:
            yield
        elif writing:
            with self._file.transaction():
                self._catch_up(self._file)
                yield
        else:
            self._catch_up(self._file)
            yield

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _catch_up(self, file: VectorFile) -> None:
        """Build everything anew if the file is not what this object last read and wrote."""
        if not file.changed():
            return
        self._indexes, self._names, self._keys, self._last_key = {}, {}, {}, 0
        for scope, kept in file.read().items():
            index = self._faiss.IndexIDMap(self._faiss.IndexFlatIP(self.dimension))
            index.add_with_ids(kept.matrix(self.dimension), np.array(kept.keys, np.int64))
            self._indexes[scope] = index
            self._names.update(zip(kept.keys, kept.ids, strict=True))
            self._keys[scope] = dict(zip(kept.ids, kept.keys, strict=True))
            self._last_key = max(self._last_key, kept.keys[-1])

    def _from_027(self, path: Path) -> tuple[str, list[str], Vectors]:
        """The live vectors of 0.2.7's index: those that its mapping still names, in the order they were added."""
        mapping = path.with_name(path.name + ".mapping.json")
        if not (path.is_file() and mapping.is_file()):
            return GLOBAL, [], np.zeros((0, self.dimension), np.float32)
        try:
            index = self._faiss.read_index(str(path))
            names = {int(row): id for row, id in json.loads(mapping.read_text("utf-8"))["idx_to_id"].items()}
        except (RuntimeError, ValueError, KeyError, AttributeError) as error:
            raise BackendError(f"{path} and {mapping.name} are no index of 0.2.7: {error}") from error
        if index.d != self.dimension:
            raise DimensionError(
                f"{path} holds {index.d}-d vectors, it was opened for {self.dimension}-d ones"
            )
        # 0.2.7 wrote the two files one after the other; after a crash between them the mapping can be the older.
        live = [row for row in sorted(names) if row < index.ntotal and names[row]]
        rows: Vectors = index.reconstruct_n(0, index.ntotal)[live]
        sound = np.flatnonzero(np.isfinite(rows).all(axis=1))
        return GLOBAL, [names[live[place]] for place in sound], rows[sound]
