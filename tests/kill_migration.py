"""Kills migrations at random moments: started as `kill_migration.py SOURCE TARGET`, it moves a memory and says so."""

import random
import subprocess
import sys
from pathlib import Path

from recollectx.upkeep.migrating import migrate


def kill_once(source: Path, target: str, *, rows: int) -> bool:
    """Kill a migration once it has told of `rows` rows; False if it was done before."""
    child = subprocess.Popen(
        [sys.executable, __file__, str(source), target], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith("moved"):
            child.wait()
            return False
        if int(line) >= rows:
            break
    child.kill()
    child.stdout.close()
    child.wait()
    return True


def kill_many(source: Path, target: str, *, rows: int, kills: int, seed: int) -> int:
    """How often it was killed, each time somewhere among `rows` rows."""
    chance = random.Random(seed)
    return sum(kill_once(source, target, rows=chance.randrange(rows)) for _ in range(kills))


if __name__ == "__main__":
    # Small batches, so that there are many moments to be killed at.
    migrate(sys.argv[1], sys.argv[2], batch=7, progress=lambda done, total: print(done, flush=True))
    print("moved")
