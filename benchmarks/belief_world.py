"""Builds memories whose claims bear on one another as in real ones: mostly small components, some dense ones.

Claims are written by the package. Edges are inserted as rows, as asking about both ends of each would take most of
an hour at 100,000 claims; then every belief is settled once and written as the package writes it.
"""

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import Connection, bindparam, func, select, update

from recollectx import Memory, SemanticClaim
from recollectx.changes import Assert, Trust
from recollectx.claims import assertion_of
from recollectx.db.statements import insert_rows
from recollectx.db.tables import ChangeRow, ClaimRow, EdgeRow, RevisionRow, StrengthRow, Tx
from recollectx.propagation import LogOdds
from recollectx.solving import settle
from recollectx.storage.belief import StoredGraph
from recollectx.storage.reading import Reader, chunks

DENSE = 0.25
DENSE_DEGREE = 3
LARGEST = 12
SCOPE, DESK, DESK_CLAIMS = "world", "desk", 1_000
START = 1_700_000_000.0
SOURCES = {f"source {n}": 1.0 for n in range(36)} | {f"rumour {n}": 0.3 for n in range(4)} | {"press": 0.8}
RELATIONS = ("supports",) * 11 + ("derives",) * 5 + ("contradicts",) * 4

Drawn = tuple[int, int, str, float]


class Clock:
    """Time that moves on by a second whenever somebody looks."""

    def __init__(self, now: float = START) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 1
        return self.now


def build(path: Path, claims: int, *, block: int, seed: int = 7) -> float:
    """A memory of `claims` claims in SCOPE and DESK_CLAIMS in DESK at `path`; the seconds it took.

    Every `block` claims are joined alike, with one dense component: a larger memory is more of the same.
    """
    begun = time.perf_counter()
    with Memory.open(path, scope=SCOPE, embedder=None, clock=Clock()) as memory:
        store = memory.storage
        store.apply([Trust(source, level, None) for source, level in SOURCES.items()], cause="trust")
        for scope, count in ((SCOPE, claims), (DESK, DESK_CLAIMS)):
            for batch in chunks(range(count), 1_000):
                store.apply([_assertion(scope, n, f"{seed} {n % block}") for n in batch], cause="store")
        with store.database.write() as conn:
            _link(conn, _edges(claims, block, seed))
            _derive(conn)
            _settle(conn)
    return time.perf_counter() - begun


def name(scope: str, n: int) -> str:
    """The id of the claim at a place of a scope."""
    return f"{scope}-{n}"


def _assertion(scope: str, n: int, seed: str) -> Assert:
    chance = random.Random(seed)
    claim = SemanticClaim(
        id=name(scope, n),
        subject=f"station {n}",
        predicate=chance.choice(("reports", "uses", "is near", "depends on")),
        object=f"{chance.choice(('river', 'valve', 'signal', 'engine'))} {chance.randrange(10**6)}",
        confidence=round(chance.uniform(0.3, 0.95), 2),
        source=chance.choice((None, *SOURCES)),
        scope=scope,
        created_at=START - chance.uniform(0, 10**7),
        evidence=(f"page {chance.randrange(900)}",),
        entities=(f"station {n}",),
    )
    return Assert(claim, assertion_of(claim))


def _edges(claims: int, block: int, seed: int) -> Iterator[Drawn]:
    """Edges by the keys of their ends, 1.5 for each claim of SCOPE; keys count from 1."""
    for start in range(1, claims + 1, block):
        chance = random.Random(seed)
        dense = int(block * DENSE)
        yield from _random_edges(start, start + dense, DENSE_DEGREE * dense, chance)
        yield from _small_components(start + dense, start + block, chance)
    yield from _small_components(claims + 1, claims + DESK_CLAIMS + 1, random.Random(seed))


def _random_edges(start: int, end: int, count: int, chance: random.Random) -> Iterator[Drawn]:
    pairs = set()
    while len(pairs) < count:
        src, dst = sorted(chance.sample(range(end - start), 2))
        pairs.add((src, dst))
    yield from (_drawn(start + src, start + dst, chance) for src, dst in sorted(pairs))


def _small_components(start: int, end: int, chance: random.Random) -> Iterator[Drawn]:
    """Trees of up to LARGEST claims, most with an edge more: about one edge for each claim."""
    while start < end:
        size = min(chance.randint(1, LARGEST), end - start)
        pairs = {(chance.randrange(n), n) for n in range(1, size)}
        if size > 2:
            pairs |= {(place, size - 1) for place in chance.sample(range(size - 1), 2)}
        yield from (_drawn(start + src, start + dst, chance) for src, dst in sorted(pairs))
        start += size


def _drawn(src: int, dst: int, chance: random.Random) -> Drawn:
    return src, dst, chance.choice(RELATIONS), round(chance.uniform(0.5, 1), 2)


def _next(conn: Connection, column: object) -> int:
    return (conn.execute(select(func.max(column))).scalar() or 0) + 1  # type: ignore[call-overload]


def _begin(conn: Connection, cause: str) -> int:
    seq = _next(conn, Tx.seq)
    at = _next(conn, Tx.at) + 10**6
    insert_rows(conn, Tx.__table__, [{"seq": seq, "at": at, "cause": cause}])
    return seq


def _log(conn: Connection, seq: int, kind: str, rows: Sequence[tuple[int, int | None, str | None]]) -> int:
    """Log (claim, other, detail); the number of the first."""
    n = _next(conn, ChangeRow.n)
    scopes = {row.pk: row.scope for row in conn.execute(select(ClaimRow.pk, ClaimRow.scope))}
    logged = [
        {
            "n": n + i,
            "seq": seq,
            "scope": scopes[claim],
            "kind": kind,
            "claim": claim,
            "other": other,
            "detail": detail,
        }
        for i, (claim, other, detail) in enumerate(rows)
    ]
    insert_rows(conn, ChangeRow.__table__, logged)
    return n


def _link(conn: Connection, drawn: Iterator[Drawn]) -> None:
    edges = list(drawn)
    seq, first = _begin(conn, "relate"), _next(conn, EdgeRow.pk)
    rows = [
        {
            "pk": first + i,
            "src": src,
            "dst": dst,
            "relation": relation,
            "strength": strength,
            "derivation": None,
            "at": None,
            "tx_from": seq,
            "tx_to": None,
        }
        for i, (src, dst, relation, strength) in enumerate(edges)
    ]
    insert_rows(conn, EdgeRow.__table__, rows)
    _log(conn, seq, "link", [(dst, src, relation) for src, dst, relation, _ in edges])


def _derive(conn: Connection) -> None:
    """Let claims that derive from another by a weak edge be derived ones; edges run forward, so none is circular."""
    premised = select(EdgeRow.dst).where(EdgeRow.relation == "derives", EdgeRow.strength < 0.65)
    conn.execute(update(RevisionRow).where(RevisionRow.claim.in_(premised)).values(basis="derived"))


def _settle(conn: Connection) -> None:
    reader = Reader(conn)
    rule = reader.rule() or LogOdds()
    keys = conn.execute(select(ClaimRow.pk).order_by(ClaimRow.pk)).scalars().all()
    moved = settle(rule, StoredGraph(reader), dict.fromkeys(keys, 0)).moved
    seq = _begin(conn, "relate")
    first = _log(conn, seq, "strength", [(pk, None, None) for pk in moved])
    rows = [
        {
            "claim": pk,
            "tx_from": seq,
            "value": min(1.0, max(0.0, belief.confidence)),
            "strength": belief.strength,
            "change": first + i,
        }
        for i, (pk, (belief, _)) in enumerate(moved.items())
    ]
    insert_rows(conn, StrengthRow.__table__, rows)
    table = ClaimRow.__table__
    conn.execute(
        update(table)
        .where(table.c.pk == bindparam("claim"))
        .values(strength=bindparam("strength"), confidence=bindparam("value")),
        rows,
    )
