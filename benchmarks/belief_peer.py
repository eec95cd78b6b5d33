"""Another memory told a stream of sentences: belief_peer.py NAME WORK.json VECTORS.npy FOLDER, in its environment.

Prints, for each question, the numbers of the sentences it finds first and the cosine or score of the first, as JSON.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

K = 10


class RecollectX027:
    def __init__(self, folder: Path, vectors: dict[str, Any]) -> None:
        from recollectx import EpisodicClaim
        from recollectx.db import SessionLocal, create_tables
        from recollectx.storage import MemoryStore
        from recollectx.storage.vector import FAISSBackend

        create_tables(str(folder / "memory.db"))
        dimension = len(next(iter(vectors.values())))
        backend = FAISSBackend(embed_fn=vectors.__getitem__, dimension=dimension)
        self.store = MemoryStore(SessionLocal(str(folder / "memory.db")), backend)
        self.episode = EpisodicClaim
        self.vectors = vectors
        self.numbers: dict[str, int] = {}
        self.texts: list[str] = []

    def tell(self, number: int, text: str, at: float) -> None:
        claim = self.episode(summary=text, confidence=0.8, created_at=at, last_reinforced_at=at)
        self.numbers[claim.id] = number
        self.texts.append(text)
        self.store.put(claim)

    def find(self, text: str) -> tuple[list[int], float]:
        found = [self.numbers[claim.id] for claim in self.store.semantic_query(text, k=len(self.numbers))]
        first = self.vectors[self.texts[found[0]]] if found else self.vectors[text]
        return found, float(np.dot(self.vectors[text], first)) if found else 0.0


class Mem0:
    def __init__(self, folder: Path, vectors: dict[str, Any]) -> None:
        os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=str(folder), OPENAI_API_KEY="never called")
        from mem0 import Memory

        dimension = len(next(iter(vectors.values())))
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": dimension}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self.vectors, self.count = vectors, 0
        self.config = self.memory.embedding_model.config
        self.memory.embedding_model = self

    def embed(self, text: str, memory_action: Any = None) -> Any:
        return self.vectors[text]

    def embed_batch(self, texts: list[str], memory_action: Any = None) -> Any:
        return [self.vectors[text] for text in texts]

    def tell(self, number: int, text: str, at: float) -> None:
        self.count += 1
        self.memory.add(text, user_id="stream", infer=False, metadata={"number": number})

    def find(self, text: str) -> tuple[list[int], float]:
        asked = self.memory.search(text, filters={"user_id": "stream"}, top_k=self.count, threshold=0.0)
        found = asked["results"]
        return [each["metadata"]["number"] for each in found], found[0]["score"] if found else 0.0


PEERS = {"0.2.7": RecollectX027, "mem0": Mem0}


def main() -> None:
    name, work, vectors, folder = sys.argv[1:]
    given = json.loads(Path(work).read_text())
    by_text = dict(zip(given["texts"], np.load(vectors).tolist(), strict=True))
    peer = PEERS[name](Path(folder), by_text)
    times = given["times"]
    for number, (text, at) in enumerate(zip(given["sentences"], times, strict=True)):
        peer.tell(number, text, at)
    answers = []
    for text, until in given["questions"]:
        found, fits = peer.find(text)
        known = [number for number in found if until is None or times[number] <= until]
        answers.append({"numbers": known[:K], "fits": fits})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
