"""Kills migrations at random moments, each in a process forked from one that has imported everything already."""

import multiprocessing
import random
from multiprocessing.connection import Connection
from pathlib import Path

from recollectx.upkeep.migrating import migrate

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["recollectx.upkeep.migrating", "pytest"])


def move(source: Path, target: str, told: Connection) -> None:
    """Move a memory, and tell how many rows are done, then None."""
    # Small batches, so that there are many moments to be killed at.
    migrate(source, target, batch=7, progress=lambda done, total: told.send(done))
    told.send(None)


def kill_once(source: Path, target: str, *, rows: int) -> bool:
    """Kill a migration once it has told of `rows` rows; False if it was done before."""
    heard, told = _forks.Pipe(duplex=False)
    child = _forks.Process(target=move, args=(source, target, told))
    child.start()
    told.close()
    while (done := heard.recv()) is not None and done < rows:
        pass
    if done is not None:
        child.kill()
    child.join()
    heard.close()
    child.close()
    return done is not None


def kill_many(source: Path, target: str, *, rows: int, kills: int, seed: int) -> int:
    """How often it was killed, each time somewhere among `rows` rows."""
    chance = random.Random(seed)
    return sum(kill_once(source, target, rows=chance.randrange(rows)) for _ in range(kills))
