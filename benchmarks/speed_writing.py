"""The speed of writing: beside sqlite3 alone writing the same rows, and `store` as memories grow.

Raw means: the very INSERTs that the library sent on another copy of the same file, in the same transactions, with
the same pragmas. They are recorded from ours beforehand, so ours has met the words: those it had to stem for the first
time, .04 to .01 of all as in conversations of that length, would add 2 to 3 microseconds to a claim.
"""

import shutil
import sqlite3
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import speed_world as world
from belief_cost import Statement, statements
from speed_lines import Line, Times, Work, alternating, timed

from recollectx import Memory, SemanticClaim
from recollectx.changes import Assert
from recollectx.claims import assertion_of

WARM = 2_000
WARM_CALLS = 30
ROUND = 60
"""Stores after which the write-ahead log has come round once: to lengthen it takes the kernel a fifth of a store."""


def lines(folder: Path, *, calls: int, batches: int) -> Iterator[Line]:
    """One claim a transaction, and 1,000, each beside raw."""
    claims = list(world.sentences(WARM + WARM_CALLS + calls + (batches + 1) * 1_000))
    vectors = world.clustered(len(claims))
    start = folder / "writing.db"
    world.built(start, claims[:WARM], vectors[:WARM])
    parts = [[n] for n in range(WARM, WARM + WARM_CALLS + calls)]
    first = WARM + len(parts)
    parts += [list(range(first + 1_000 * n, first + 1_000 * (n + 1))) for n in range(batches + 1)]
    work = [_changes(part, claims, vectors) for part in parts]
    recorded = _recorded(_copy(start, "recorded"), work)
    rows = statistics.median(_rows(sent) for sent in recorded[:calls])
    with _opened(_copy(start, "ours")) as memory:
        raw = _raw_connection(_copy(start, "raw"))
        pairs = [
            (_apply(memory, *each), _replay(raw, sent)) for each, sent in zip(work, recorded, strict=True)
        ]
        single, many = pairs[: WARM_CALLS + calls], pairs[WARM_CALLS + calls :]
        alternating(single[:WARM_CALLS])
        yield from _both("apply, 1 claim with its vector", single[WARM_CALLS:], 1, 2.0, f"{rows:.0f} rows")
        alternating(many[:1])
        yield from _both("apply, 1,000 claims in one call", many[1:], 1_000, 1.6, "per claim")
        raw.close()


def _both(what: str, pairs: Sequence[tuple[Work, Work]], each: int, most: float, note: str) -> Iterator[Line]:
    ours, raw = alternating(pairs)
    for clock in ("wall", "cpu"):
        figures = [side.median(clock) * 1_000 / each for side in (ours, raw)]
        yield Line(
            f"{what}, {clock}", WARM, "ms", figures[0], figures[1], "raw sqlite3", most=most, note=note
        )


def _opened(path: Path) -> Memory:
    return Memory.open(path, scope="world", embedder=world.Given({}))


def _copy(path: Path, name: str) -> Path:
    made = path.with_name(f"{path.stem}-{name}.db")
    for ending in ("", "-wal", "-shm"):
        Path(f"{made}{ending}").unlink(missing_ok=True)
    shutil.copy(path, made)
    return made


Applied = tuple[list[Assert], dict[str, world.Vectors]]


def _changes(part: Sequence[int], claims: Sequence[SemanticClaim], vectors: world.Vectors) -> Applied:
    changes = [Assert(claims[n], assertion_of(claims[n])) for n in part]
    return changes, {claims[n].id: vectors[n] for n in part}


def _apply(memory: Memory, changes: list[Assert], vectors: dict[str, world.Vectors]) -> Work:
    return lambda: memory.storage.apply(changes, cause="store", vectors=vectors)


def _recorded(path: Path, work: Sequence[Applied]) -> list[list[Statement]]:
    """What each call writes."""
    found = []
    with _opened(path) as memory:
        assert memory.storage.embedding is not None
        memory.storage.embedding.check()
        for each in work:
            with statements(memory) as sent:
                _apply(memory, *each)()
            found.append([(sql, values) for sql, values in sent if sql.lstrip().startswith("INSERT")])
    return found


def _rows(sent: Sequence[Statement]) -> int:
    return sum(len(values) if isinstance(values, list) else 1 for _, values in sent)


def _raw_connection(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        raw.execute(f"PRAGMA {pragma}")
    return raw


def _replay(raw: sqlite3.Connection, sent: Sequence[Statement]) -> Work:
    def run() -> None:
        raw.execute("BEGIN IMMEDIATE")
        for sql, values in sent:
            if isinstance(values, list):
                raw.executemany(sql, values)
            else:
                raw.execute(sql, values)
        raw.execute("COMMIT")

    return run


# -- store -------------------------------------------------------------------------------------------------


def store_work(size: int, calls: int) -> list[tuple[str, str, str]]:
    """The facts a memory of `size` holds, and those that are stored while it is watched."""
    return list(world.triples(size + calls, people=max(50, size // 50)))


def asked_of(texts: Sequence[str], count: int) -> list[str]:
    """Questions made of words of known facts; none is itself a fact."""
    step = max(1, len(texts) // count)
    return [f"which {' '.join(text.split()[1:])}" for text in texts[::step][:count]]


def store_lines(folder: Path, size: int, *, calls: int) -> Iterator[Line]:
    """`Memory.store` by the rule decider: something new, something known, a newer value; and a recall."""
    facts = [world.fact(parts, n) for n, parts in enumerate(store_work(size, calls))]
    texts = [fact.text for fact in facts]
    questions = asked_of(texts[:size], calls)
    vectors = world.hashed(texts + questions)
    path = world.built(folder / f"store-{size}.db", facts[:size], vectors[:size])
    embedder = world.Given(dict(zip(texts + questions, vectors, strict=True)))
    with Memory.open(_copy(path, "ours"), scope="world", embedder=embedder) as memory:
        for warm in range(ROUND):
            memory.store(_home(-warm - 1, "somewhere"))
        new = timed([_store(memory, each) for each in facts[size:]])
        yield _cpu("store, something new, cpu", size, new)
        yield _cpu(
            "store, the same again, cpu", size, timed([_store(memory, _again(f)) for f in facts[size:]])
        )
        for n in range(calls):
            memory.store(_home(n, "Lisbon"))
        newer = timed([_store(memory, _home(n, "Porto")) for n in range(calls)])
        yield _cpu("store, a newer value, cpu", size, newer)
        memory.recall(questions[0])
        yield _cpu(
            "recall of short facts, cpu", size, timed([_recall(memory, each) for each in questions[1:]])
        )


def _cpu(what: str, size: int, times: Times) -> Line:
    return Line(what, size, "ms", times.median("cpu") * 1_000)


def _recall(memory: Memory, text: str) -> Work:
    return lambda: memory.recall(text, k=10)


def _store(memory: Memory, claim: SemanticClaim) -> Work:
    return lambda: memory.store(claim)


def _again(claim: SemanticClaim) -> SemanticClaim:
    values: dict[str, Any] = {"source": "friend", "scope": "world", "created_at": claim.created_at + 1}
    return SemanticClaim(
        subject=claim.subject, predicate=claim.predicate, object=claim.object, confidence=0.7, **values
    )


def _home(person: int, town: str) -> SemanticClaim:
    return SemanticClaim(
        subject=f"resident {person}",
        predicate="lives in",
        object=town,
        confidence=0.8,
        source="user",
        scope="world",
    )
