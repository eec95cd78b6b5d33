"""How long a memory with history takes from SQLite to PostgreSQL and back, and how long `doctor` takes.

`python benchmarks/moving.py --claims 100000` builds one in a temporary folder, starts a PostgreSQL server from its wheel,
moves the memory there and back, and prints a line for each; the memory that came back must be the same in every row.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import postgresql

from recollectx import Memory, SemanticClaim
from recollectx.embeddings import HashEmbedder
from recollectx.upkeep.doctor import examine
from recollectx.upkeep.migrating import migrate

TOGETHER = 1_000


def build(path: Path, size: int) -> None:
    """A memory of `size` claims with vectors; every second said again, every tenth forgotten, chains of support."""
    with Memory.open(path, embedder=HashEmbedder(256)) as memory:
        for start in range(0, size, TOGETHER):
            facts = [_fact(number) for number in range(start, start + TOGETHER)]
            ids = [str(each.claim_id) for each in memory.store_many(facts)]
            memory.store_many([_fact(number, "again") for number in range(start, start + TOGETHER, 2)])
            for place in range(0, TOGETHER - 1, 20):
                memory.relate(ids[place], ids[place + 1], "supports")
            for id in ids[5::10]:
                memory.forget(id)


def _fact(number: int, how: str = "first") -> SemanticClaim:
    return SemanticClaim(
        subject=f"item {number}",
        predicate="is kept in",
        object=f"room {number % 977} of house {number % 89}",
        source=f"{how} {number % 50}",
        confidence=0.6 + number % 4 / 10,
    )


def timed(what: str, call: Callable[[], Any]) -> Any:
    """The answer of a call, after a line on how long it took."""
    began = time.perf_counter()
    found = call()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what}: {time.perf_counter() - began:.1f} s, peak {peak:.0f} MB", flush=True)
    return found


def main() -> int:
    """Exit code 0 if what came back is what went there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=100_000)
    given = parser.parse_args()
    server = postgresql.server()
    if isinstance(server, str):
        print(server)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        here, back, there = Path(folder) / "here.db", Path(folder) / "back.db", server.empty()
        timed(f"built {given.claims:,} claims", lambda: build(here, given.claims))
        moved = timed("SQLite -> PostgreSQL", lambda: migrate(here, there))
        print(f"{sum(moved.rows.values()):,} rows, {here.stat().st_size / 2**20:.0f} MB", flush=True)
        returned = timed("PostgreSQL -> SQLite", lambda: migrate(there, back))
        timed("SQLite -> SQLite", lambda: migrate(here, Path(folder) / "copy.db"))
        wrong = [
            timed(f"doctor of {name}", lambda place=place: examine(place)).wrong
            for name, place in (("SQLite", here), ("PostgreSQL", there), ("what came back", back))
        ]
        print(wrong)
        return 0 if moved.rows == returned.rows and not any(wrong) else 1


if __name__ == "__main__":
    sys.exit(main())
