"""A process of a fleet: writes to one database with one vector index beside it, and prints what was acknowledged.

`python tests/fleet_writer.py URL VECTORS SEED [SECONDS]`; without SECONDS it writes until it is killed.
"""

import random
import subprocess
import sys
import time

from recollectx import Memory, SemanticClaim

COMMON = "the lighthouse is manned"
WORDS = [
    f"{first}{second}" for first in ("ba", "ko", "li", "mu", "ne", "ri", "so") for second in "dfgklmnprst"
]


def main(url: str, vectors: str, seed: str, seconds: float) -> None:
    chance = random.Random(int(seed))
    with Memory.open(url, vectors=vectors, embedder="hash") as memory:
        print("ready", flush=True)
        until = time.monotonic() + seconds
        there: list[str] = []
        while time.monotonic() < until:
            text = " ".join([f"writer{seed}", *chance.choices(WORDS, k=5)])
            there.append(str(memory.store(SemanticClaim.from_text(text, source=f"writer {seed}")).claim_id))
            print("stored", there[-1], flush=True)
            memory.store(SemanticClaim.from_text(COMMON, source="the keeper"))
            print("common", flush=True)
            memory.recall(text, k=3)
            if len(there) > 4 and chance.random() < 0.3:
                gone = there.pop(chance.randrange(len(there)))
                print("erasing", gone, flush=True)
                memory.erase(gone)
                print("erased", gone, flush=True)


def started(url: str, vectors: str, seed: int, seconds: float | None = None) -> "subprocess.Popen[str]":
    """A process that writes; its first line says that it is ready."""
    given = [url, vectors, str(seed)] + ([] if seconds is None else [str(seconds)])
    return subprocess.Popen([sys.executable, __file__, *given], stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], float(sys.argv[4]) if len(sys.argv) > 4 else float("inf"))
