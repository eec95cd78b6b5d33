"""Another memory doing the same work, in an environment of its own: speed_peer.py NAME WORK.json VECTORS.npy FOLDER.

Prints the milliseconds of CPU of a store and of a recall, as JSON. Vectors are looked up, so embedding costs nothing
here either. Each is filled in the fastest way its own parts allow, as only the calls that follow are timed:
0.2.7 with its ORM rows in one commit and its vector backend, no `similar` edges; LociDB with its own store, not
waiting for the disk; mem0 with the bulk insert of its vector store (Qdrant on disk, its default).
"""

import json
import os
import statistics
import sys
import time
import types
import uuid
from pathlib import Path
from typing import Any

import numpy as np

DIMENSION = 384
K = 10


class RecollectX027:
    def __init__(self, folder: Path, vectors: dict[str, Any]) -> None:
        from recollectx import Memory, SemanticClaim
        from recollectx.db import SessionLocal, create_tables
        from recollectx.db.converters import claim_to_model
        from recollectx.storage import MemoryStore
        from recollectx.storage.vector import FAISSBackend

        create_tables(str(folder / "memory.db"))
        self.session = SessionLocal(str(folder / "memory.db"))
        self.backend = FAISSBackend(embed_fn=vectors.__getitem__, dimension=DIMENSION)
        self.store = MemoryStore(self.session, self.backend)
        self.memory = Memory(storage=self.store)
        self._claim, self._model = SemanticClaim, claim_to_model

    def claim(self, fact: list[str]) -> Any:
        subject, predicate, object = fact
        return self._claim(
            subject=subject, predicate=predicate, object=object, confidence=0.8, type="semantic"
        )

    def fill(self, facts: list[list[str]]) -> None:
        claims = [self.claim(fact) for fact in facts]
        self.session.bulk_save_objects([self._model(claim) for claim in claims])
        self.session.commit()
        for claim, fact in zip(claims, facts, strict=True):
            self.backend.upsert(claim.id, " ".join(fact))

    def put(self, fact: list[str]) -> None:
        self.memory.store(self.claim(fact))

    def recall(self, text: str) -> int:
        return len(self.store.semantic_query(text, k=K))

    def note(self, calls: int) -> str:
        return f"{len(self.store.get_all_edges()) / calls:.1f} similar edges a call"


class LociDB:
    def __init__(self, folder: Path, vectors: dict[str, Any]) -> None:
        given = types.ModuleType("sentence_transformers")
        given.SentenceTransformer = lambda name: self  # type: ignore[attr-defined]
        sys.modules["sentence_transformers"] = given
        from locidb import LociDB, MemoryNode

        self.vectors, self._node = vectors, MemoryNode
        self.db = LociDB(folder / "memory.loci")

    def encode(self, text: str, **_: Any) -> Any:
        return np.array(self.vectors[text], np.float32)

    def fill(self, facts: list[list[str]]) -> None:
        store = self.db._store
        store._conn.execute("PRAGMA synchronous=OFF")
        for fact in facts:
            text = " ".join(fact)
            store.save_node(self._node(content=text, embedding=self.vectors[text]))
        store._conn.execute("PRAGMA synchronous=FULL")

    def put(self, fact: list[str]) -> None:
        self.db.memorize(" ".join(fact))

    def recall(self, text: str) -> int:
        return len(self.db.recall(text, top_k=K))

    def note(self, calls: int) -> str:
        return ""


class Mem0:
    def __init__(self, folder: Path, vectors: dict[str, Any]) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder), OPENAI_API_KEY="never called")
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSION}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self.vectors = vectors
        self.config = self.memory.embedding_model.config
        self.memory.embedding_model = self

    def embed(self, text: str, memory_action: Any = None) -> Any:
        return self.vectors[text]

    def embed_batch(self, texts: list[str], memory_action: Any = None) -> Any:
        return [self.vectors[text] for text in texts]

    def fill(self, facts: list[list[str]]) -> None:
        for start in range(0, len(facts), 500):
            texts = [" ".join(fact) for fact in facts[start : start + 500]]
            self.memory.vector_store.insert(
                vectors=[self.vectors[text] for text in texts],
                payloads=[{"data": text, "user_id": "world", "role": "user"} for text in texts],
                ids=[str(uuid.uuid4()) for _ in texts],
            )

    def put(self, fact: list[str]) -> None:
        self.memory.add(" ".join(fact), user_id="world", infer=False)

    def recall(self, text: str) -> int:
        return len(self.memory.search(text, filters={"user_id": "world"}, top_k=K)["results"])

    def note(self, calls: int) -> str:
        return ""


PEERS = {"0.2.7": RecollectX027, "locidb": LociDB, "mem0": Mem0}


def milliseconds(work: Any, each: list[Any]) -> float:
    times = []
    for one in each:
        begun = time.process_time()
        work(one)
        times.append(1_000 * (time.process_time() - begun))
    return statistics.median(times)


def main() -> None:
    name, work, vectors, folder = sys.argv[1:]
    given = json.loads(Path(work).read_text())
    matrix = np.load(vectors).tolist()
    by_text = dict(zip(given["texts"], matrix, strict=True))
    peer = PEERS[name](Path(folder), by_text)
    begun = time.perf_counter()
    peer.fill(given["facts"])
    filled = time.perf_counter() - begun
    warm, new = given["new"][:3], given["new"][3:]
    for fact in warm:
        peer.put(fact)
    figures = {
        "store": milliseconds(peer.put, new),
        "note": peer.note(len(warm) + len(new)),
        "filled": filled,
    }
    assert peer.recall(given["questions"][0]), "a fact is found again"
    figures["recall"] = milliseconds(peer.recall, given["questions"][1:])
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
