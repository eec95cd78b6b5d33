"""The speed of reading: recall beside its bare parts, a scope among a thousand, opening, streaming, memory.

The parts: one product of the query's vector with the same matrix and the best ten of it, and FTS5 asked for any of
the same words in the same texts, ten rows by bm25().
"""

import json
import random
import re
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import speed_world as world
from speed_lines import Line, Work, alternating, timed

from recollectx import Memory, SemanticClaim

K = 10
SCOPES, SMALL, LARGE, ASKED = 1_000, 200, 1_000, 20
PROBE = Path(__file__).with_name("speed_probe.py")
Question = tuple[str, world.Vectors]


def questions(claims: Sequence[SemanticClaim], vectors: world.Vectors, count: int) -> list[Question]:
    """Six words of a claim, and a vector near its own."""
    chance, noise = random.Random(8), np.random.default_rng(8)
    found = []
    for _ in range(count):
        n = chance.randrange(len(claims))
        words = claims[n].object.split()
        vector = vectors[n] + noise.standard_normal(world.DIMENSION).astype(np.float32) * 0.03
        found.append((" ".join(chance.sample(words, 6)), vector / np.linalg.norm(vector)))
    return found


def recall_lines(folder: Path, size: int, *, calls: int) -> Iterator[Line]:
    claims, vectors = list(world.sentences(size)), world.clustered(size)
    path = world.built(folder / f"recall-{size}.db", claims, vectors)
    asked = questions(claims, vectors, calls)
    scan, words = Scan(vectors), _fts(claims)
    with Memory.open(path, scope="world", embedder=world.Given(dict(asked))) as memory:
        memory.recall(asked[0][0], k=K)
        pairs = [(_recall(memory, text), _parts(scan, words, text, vector)) for text, vector in asked]
        ours, bare = alternating(pairs)
    bound = 1.3 if size >= 100_000 else None
    yield Line("recall, cpu", size, "ms", *_milliseconds(ours.cpu, bare.cpu), "scan + FTS5", most=bound)
    yield Line("recall, wall", size, "ms", *_milliseconds(ours.wall, bare.wall), "scan + FTS5")


def _milliseconds(ours: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    return 1_000 * statistics.median(ours), 1_000 * statistics.median(other)


def _recall(memory: Memory, text: str) -> Work:
    return lambda: memory.recall(text, k=K)


class Scan:
    """The best K rows of a matrix by one product."""

    def __init__(self, matrix: world.Vectors) -> None:
        self.matrix = matrix

    def __call__(self, vector: world.Vectors) -> list[int]:
        near = self.matrix @ vector
        best = np.argpartition(-near, K)[:K] if len(near) > K else np.arange(len(near))
        return best[np.argsort(-near[best])].tolist()


def _fts(claims: Sequence[SemanticClaim]) -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')")
    conn.executemany("INSERT INTO texts VALUES (?)", ((claim.text,) for claim in claims))
    conn.commit()
    return conn


def _parts(scan: Scan, words: sqlite3.Connection, text: str, vector: world.Vectors) -> Work:
    match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
    sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?"

    def run() -> None:
        scan(vector)
        words.execute(sql, (match, K)).fetchall()

    return run


# -- a scope among a thousand ------------------------------------------------------------------------------


def scope_lines(folder: Path, *, every_scope: int, calls: int) -> Iterator[Line]:
    """SCOPES scopes of `every_scope` claims, the ASKED ones of LARGE."""
    path = folder / f"scopes-{every_scope}.db"
    claims = list(world.sentences(LARGE))
    vectors = world.clustered(LARGE)
    if not path.exists():
        with Memory.open(path, scope="world", embedder=world.Given({})) as memory:
            for n in range(SCOPES):
                count = LARGE if n < ASKED else every_scope
                world.fill(memory, [world.placed(each, n) for each in claims[:count]], vectors[:count])
            memory.storage.truncate_log()
    held = SCOPES * every_scope + ASKED * max(0, LARGE - every_scope)
    asked = questions(claims, vectors, calls)
    embedder = world.Given(dict(asked))
    with Memory.open(path, scope=world.scope(ASKED - 1), embedder=embedder) as memory:
        memory.recall(asked[0][0], k=K)
        cold = [
            _recall_in(memory, text, world.scope(n))
            for n, (text, _) in zip(range(ASKED - 1), asked, strict=False)
        ]
        yield Line("recall, cold scope of 1,000, cpu", held, "ms", 1_000 * timed(cold).median("cpu"), most=15)
        warm = [_recall_in(memory, text, world.scope(n % ASKED)) for n, (text, _) in enumerate(asked)]
        yield Line("recall, warm scope of 1,000, cpu", held, "ms", 1_000 * timed(warm).median("cpu"), most=2)


def _recall_in(memory: Memory, text: str, scope: str) -> Work:
    return lambda: memory.recall(text, k=K, scopes=(scope,))


# -- opening, streaming, memory: each in a process of its own ----------------------------------------------


def process_lines(folder: Path, sizes: Sequence[int], *, rounds: int) -> Iterator[Line]:
    """The files are those of `recall_lines`."""
    paths = {size: folder / f"recall-{size}.db" for size in sizes}
    largest = max(sizes)
    opened = [_probe("open", paths[largest]) for _ in range(rounds)]
    for clock in ("wall", "cpu"):
        figure = statistics.median(each[clock] for each in opened)
        yield Line(f"Memory.open, {clock}", largest, "ms", figure, most=50)
    recalled = _probe("recall", paths[largest])
    note = f"imports and open take {recalled['opened']:.0f}"
    yield Line("peak memory of open and recall", largest, "MB", recalled["peak"], most=350, note=note)
    grown = {size: _probe("stream", paths[size])["grown"] for size in sizes[-2:]}
    for size in sizes[-2:]:
        yield Line("memory grown while streaming every claim", size, "MB", grown[size])
    if len(grown) < 2:
        return
    small, large = (max(1.0, grown[size]) for size in sizes[-2:])
    yield Line("the same, larger beside smaller", largest, "MB", large, small, f"{sizes[-2]:,}", most=1.2)


def _probe(what: str, path: Path) -> dict[str, float]:
    told = subprocess.run(
        [sys.executable, str(PROBE), what, str(path)], check=True, capture_output=True, text=True
    )
    return dict(json.loads(told.stdout))
