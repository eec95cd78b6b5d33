"""One measurement in a process of its own, printed as JSON: speed_probe.py open|recall|stream FILE.

open: milliseconds of Memory.open after the imports.  recall: the most memory held until a few questions were
answered, the vectors being given.  stream: how much it grew while every claim of the file went by.
"""

import json
import resource
import sys
import time
from pathlib import Path

import speed_world as world

from recollectx import Memory
from recollectx.query import ALL_SCOPES

QUESTIONS = ("badofi kelu", "tamo rive gusa", "nale pidu")


def peak() -> float:
    """The most memory this process has held, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        # ru_maxrss would count what the parent held when it started this process.
        row = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(row.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def open_(path: Path) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    memory = Memory.open(path, scope="world", embedder=world.Given({}))
    figures = {"cpu": 1_000 * (time.process_time() - cpu), "wall": 1_000 * (time.perf_counter() - wall)}
    memory.close()
    return figures


def recall(path: Path) -> dict[str, float]:
    with Memory.open(path, scope="world", embedder=world.Given({})) as memory:
        opened = peak()
        for text in QUESTIONS:
            assert memory.recall(text, k=10).hits, "a question by meaning finds something"
        return {"peak": peak(), "opened": opened}


def stream(path: Path) -> dict[str, float]:
    with Memory.open(path, scope="world", embedder=world.Given({})) as memory:
        claims = memory.history.iter_claims(time.time(), ALL_SCOPES)
        next(claims)
        before = peak()
        seen = sum(1 for _ in claims)
        return {"grown": peak() - before, "seen": seen}


if __name__ == "__main__":
    print(json.dumps({"open": open_, "recall": recall, "stream": stream}[sys.argv[1]](Path(sys.argv[2]))))
