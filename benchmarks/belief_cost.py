"""What belief costs, in counts and in CPU: a new edge, an explanation, a look into the past, a whole snapshot.

    python benchmarks/belief_cost.py [--claims 10000,100000] [--edges 200] [--rounds 200] [--keep FOLDER] [--out FILE]

Builds one memory per size (see belief_world.py; FOLDER keeps them for another run) and prints a table with a bound
for each ratio. New edges join claims drawn at random, the same places of a block at both sizes. Times are process
time, what is compared alternates, and each side counts with its median. Raw means sqlite3 alone: the very statements
the library sent, fetchall, no objects.
Exits with 1 if a bound does not hold.
"""

import argparse
import json
import os
import platform
import random
import sqlite3
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import belief_world as world
from sqlalchemy import Connection, event

from recollectx import Memory
from recollectx.changes import Link
from recollectx.edges import Edge
from recollectx.propagation import Belief, LogOdds, Node, Peers, Rule
from recollectx.query import ALL_SCOPES
from recollectx.storage.writing import Writer

Statement = tuple[str, Any]
Work = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; bound None is told for what it is worth."""

    what: str
    unit: str
    first: float
    second: float
    bound: float | None = None

    @property
    def ratio(self) -> float:
        return self.second / self.first

    @property
    def holds(self) -> bool:
        return self.bound is None or self.ratio <= self.bound


class Counting:
    """A rule that counts how often it evaluates a claim."""

    name = LogOdds.name

    def __init__(self, rule: Rule) -> None:
        self.rule, self.evaluations = rule, 0
        self.low_trust, self.symmetric_contradiction = rule.low_trust, rule.symmetric_contradiction
        self.attribute, self.settings = rule.attribute, rule.settings

    def local(self, node: Node, peers: Peers) -> Belief:
        self.evaluations += 1
        return self.rule.local(node, peers)


class Undone(Exception):
    """Ends a write that is not to be kept."""


def evaluations(memory: Memory, edge: Edge) -> int:
    """How often a claim is evaluated when `edge` is added; nothing is kept."""
    counting = Counting(memory.storage.rule())
    with suppress(Undone), memory.storage.database.write() as conn:
        writer = Writer(conn, clock=memory.storage.clock, cause="relate")
        writer.rule = counting
        writer.make(Link(edge))
        writer.finish()
        raise Undone
    return counting.evaluations


def new_edges(claims: int, count: int, *, block: int, seed: int = 11) -> Iterator[Edge]:
    """Edges between claims drawn at random: the places within a block are those of any other size."""
    places, blocks = random.Random(seed), random.Random(seed + 1)
    for _ in range(count):
        src, dst = (places.randrange(block) + block * blocks.randrange(claims // block) for _ in range(2))
        relation, strength = places.choice(world.RELATIONS), places.uniform(0.5, 1)
        if src != dst:
            yield Edge(world.name(world.SCOPE, src), world.name(world.SCOPE, dst), relation, strength)


@contextmanager
def statements(memory: Memory) -> Iterator[list[Statement]]:
    """The statements that the library sends meanwhile, with their values."""
    sent: list[Statement] = []

    def note(_conn: Connection, _cursor: Any, sql: str, values: Any, *_: Any) -> None:
        sent.append((sql, values))

    engine = memory.storage.database.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


def raw(database: sqlite3.Connection, sent: Sequence[Statement]) -> Work:
    """Sends the same statements and fetches their rows, at one moment as the library does."""
    selects = [(sql, values) for sql, values in sent if sql.lstrip().startswith("SELECT")]

    def run() -> None:
        database.execute("BEGIN")
        for sql, values in selects:
            database.execute(sql, values).fetchall()
        database.execute("ROLLBACK")

    return run


def cpu(work: Work) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def alternating(pairs: Iterable[tuple[Work, Work]]) -> tuple[list[float], list[float]]:
    """CPU seconds of the first and second of each pair; who begins alternates."""
    first: list[float] = []
    second: list[float] = []
    for i, (one, other) in enumerate(pairs):
        order = ((one, first), (other, second))
        for work, times in order if i % 2 else reversed(order):
            times.append(cpu(work))
    return first, second


def medians(what: str, pairs: Iterable[tuple[Work, Work]], bound: float | None) -> Line:
    """A line of two medians, in milliseconds."""
    first, second = alternating(pairs)
    return Line(what, "ms", *(1_000 * statistics.median(times) for times in (first, second)), bound)


# -- what is measured --------------------------------------------------------------------------------------


def count_lines(small: Memory, large: Memory, edges: Sequence[tuple[Edge, Edge]]) -> Iterator[Line]:
    counts = [(evaluations(small, one), evaluations(large, other)) for one, other in edges]
    means = [statistics.mean(column) for column in zip(*counts, strict=True)]
    middle = [statistics.median(column) for column in zip(*counts, strict=True)]
    yield Line("evaluations per new edge, mean", "", means[0], means[1], 1.1)
    yield Line("evaluations per new edge, median", "", middle[0], middle[1])


def edge_lines(small: Memory, large: Memory, edges: Sequence[tuple[Edge, Edge]]) -> Iterator[Line]:
    """The edge is taken away again, untimed, so that both memories stay as they were built."""
    sides: list[list[float]] = [[], []]
    for i, pair in enumerate(edges):
        for side in (0, 1) if i % 2 else (1, 0):
            memory, edge = (small, large)[side], pair[side]
            ends = (edge.src, edge.dst, edge.relation)

            def relate(memory: Memory = memory, ends: Any = ends, edge: Edge = edge) -> None:
                memory.relate(*ends, strength=edge.strength)

            sides[side].append(1_000 * cpu(relate))
            memory.unrelate(*ends)
    yield Line("CPU of a new edge, median", "ms", *map(statistics.median, sides), 2)
    yield Line("CPU of a new edge, mean", "ms", *map(statistics.mean, sides))


def read_lines(memory: Memory, path: Path, ids: Sequence[str]) -> Iterator[Line]:
    """Against sqlite3: an explanation, one claim of the past, a scope of the past."""
    database = sqlite3.connect(path, isolation_level=None)
    # A moment before the beliefs were settled: they have moved since.
    then = memory.history.of(ids[0]).formed
    assert then is not None
    past = then[0] + 86_400

    def pair(work: Work) -> tuple[Work, Work]:
        with statements(memory) as sent:
            work()
        return raw(database, sent), work

    def explain(id: str) -> Work:
        return lambda: memory.explain_deep(id, 3)

    def look_back(id: str) -> Work:
        return lambda: memory.history.get(id, past)

    def snapshot() -> Any:
        return memory.history.snapshot(past, scope=world.DESK)

    yield medians("explain_deep(3) / raw", (pair(explain(id)) for id in ids), 3)
    yield medians("one claim as of then / raw", (pair(look_back(id)) for id in ids), 3)
    few = max(len(ids) // 5, 5)
    yield medians("snapshot of 1,000 / raw", (pair(snapshot) for _ in range(few)), 4)
    database.close()


def stream_line(small: Memory, large: Memory) -> Iterator[Line]:
    peaks = []
    for memory in (small, large):
        tracemalloc.start()
        seen = sum(1 for _ in memory.history.iter_claims(time.time(), ALL_SCOPES))
        peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
        tracemalloc.stop()
        assert seen, "a whole-file snapshot shows every claim"
    yield Line("peak memory of streaming every claim", "MB", peaks[0], peaks[1], 1.2)


# -- the command -------------------------------------------------------------------------------------------


def measure(folder: Path, sizes: Sequence[int], *, edges: int, rounds: int) -> Iterator[Line]:
    """The lines for a smaller and a larger memory."""
    paths = [folder / f"belief-{size}.db" for size in sizes]
    for path, size in zip(paths, sizes, strict=True):
        if not path.exists():
            print(f"building {size:,} claims ... {world.build(path, size, block=sizes[0]):.0f} s", flush=True)
    clock = world.Clock(time.time())
    small, large = (Memory.open(path, scope=world.SCOPE, embedder=None, clock=clock) for path in paths)
    with small, large:
        drawn = list(zip(*(new_edges(size, edges, block=sizes[0]) for size in sizes), strict=True))
        yield from count_lines(small, large, drawn)
        yield from edge_lines(small, large, drawn)
        chance = random.Random(5)
        ids = [world.name(world.SCOPE, chance.randrange(sizes[-1])) for _ in range(rounds)]
        yield from read_lines(large, paths[-1], ids)
        yield from stream_line(small, large)


def show(line: Line) -> str:
    bound = "" if line.bound is None else f"<= {line.bound:g} {'' if line.holds else 'FAILS'}"
    return f"{line.what:<40}{line.first:>10.3f}{line.second:>10.3f} {line.unit:<3}{line.ratio:>7.2f}  {bound}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--claims", default="10000,100000", help="two sizes")
    parser.add_argument("--edges", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    small, large = (int(size) for size in asked.claims.split(","))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    print(f"{time.strftime('%Y-%m-%d')}, {machine}; {small:,} and {large:,} claims, or raw and recollectx")
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for line in measure(folder, (small, large), edges=asked.edges, rounds=asked.rounds):
            lines.append(line)
            print(show(line), flush=True)
    if asked.out:
        told = [{**asdict(line), "ratio": line.ratio, "holds": line.holds} for line in lines]
        asked.out.write_text(
            json.dumps(
                {
                    "date": time.strftime("%Y-%m-%d"),
                    "machine": machine,
                    "claims": [small, large],
                    "lines": told,
                },
                indent=1,
            )
            + "\n"
        )
    return 0 if all(line.holds for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
