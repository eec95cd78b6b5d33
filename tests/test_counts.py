"""What belief costs, counted: evaluations per new edge, queries per explanation; and the way rows are fetched."""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import fact
from sqlalchemy import bindparam, select, text
from sqlalchemy.exc import DBAPIError

from recollectx import Memory
from recollectx.db.statements import fetch
from recollectx.db.tables import ClaimRow
from recollectx.upkeep.doctor import examine

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import belief_cost
import belief_world

SMALL, LARGE = 1_000, 4_000


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Path]]:
    """Two memories, one of four times as much of the same as the other."""
    folder = tmp_path_factory.mktemp("worlds")
    paths = {size: folder / f"{size}.db" for size in (SMALL, LARGE)}
    for size, path in paths.items():
        belief_world.build(path, size, block=SMALL)
    yield paths


def test_a_built_world_is_sound(worlds):
    found = examine(worlds[SMALL])
    assert found.wrong == ()
    assert sum(each["count"] for each in found.holds["claims"]) == SMALL + belief_world.DESK_CLAIMS
    assert "greatest difference 0" not in found.findings[-1].detail
    with Memory.open(worlds[SMALL], scope=belief_world.SCOPE, embedder=None) as memory:
        moved = [memory.history.of(belief_world.name(belief_world.SCOPE, n)).moves for n in range(50)]
    assert sum(map(bool, moved)) > 25


def test_evaluations_per_new_edge_do_not_grow_with_the_memory(worlds):
    means = []
    for size, path in worlds.items():
        with Memory.open(path, scope=belief_world.SCOPE, embedder=None) as memory:
            before = memory.count()
            edges = belief_cost.new_edges(size, 60, block=SMALL)
            means.append(statistics.mean(belief_cost.evaluations(memory, edge) for edge in edges))
            assert memory.count() == before == size
    assert 2 <= means[0] < SMALL
    assert means[1] <= 1.1 * means[0]


def test_counting_an_edge_keeps_nothing(memory):
    one, two = (memory.store(fact(name)).claim_id for name in ("smoky", "earthy"))
    assert belief_cost.evaluations(memory, belief_cost.Edge(one, two, "supports")) >= 1
    assert memory.explain(two)["supported_by"] == []


@pytest.mark.parametrize("depth", range(6))
def test_explain_deep_asks_once_for_each_level_and_once_for_the_claims(memory, depth):
    ids = [memory.store(fact(f"taste {n}")).claim_id for n in range(8)]
    for relation, src, dst in zip(["supports", "contradicts", "derives"] * 3, ids[1:], ids, strict=False):
        memory.relate(src, dst, relation)
    with belief_cost.statements(memory) as sent:
        found = memory.explain_deep(ids[0], depth)
    asked = [sql for sql, _ in sent]
    assert found.max_depth_reached == depth
    assert sum("FROM rx_edges" in sql for sql in asked) == depth + 1
    assert sum("JOIN rx_texts" in sql for sql in asked) == 1
    assert len(asked) <= depth + 1 + 12


def test_explain_deep_asks_no_more_of_a_wide_graph(memory):
    results = memory.store_many(fact(f"taste {n}", f"source {n % 7}") for n in range(301))
    ids = [each.claim_id for each in results]
    for src in ids[1:]:
        memory.relate(src, ids[0], "supports")
    with belief_cost.statements(memory) as sent:
        found = memory.explain_deep(ids[0], 3)
    assert found.total_nodes == 301
    assert sum("FROM rx_edges" in sql for sql, _ in sent) == 2
    assert sum("JOIN rx_texts" in sql for sql, _ in sent) == 1


# -- the cursor itself -------------------------------------------------------------------------------------

BY_KEYS = (
    select(ClaimRow.pk, ClaimRow.scope)
    .where(ClaimRow.pk.in_(bindparam("keys", expanding=True)), ClaimRow.type == "semantic")
    .where(ClaimRow.pk >= bindparam("least"))
    .order_by(ClaimRow.pk)
    .limit(bindparam("most"))
)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 17])
def test_fetch_gives_what_execute_gives(memory, count):
    memory.store_many(fact(f"taste {n}") for n in range(20))
    asked = {"keys": list(range(count, 0, -1)), "least": 2, "most": 10}
    with memory.storage.database.read() as conn:
        rows = fetch(conn, BY_KEYS, asked)
        assert [tuple(row) for row in rows] == [tuple(row) for row in conn.execute(BY_KEYS, asked)]
        assert [row.pk for row in rows] == list(range(2, count + 1))[:10]


def test_fetch_reads_one_moment(memory):
    with memory.storage.database.read() as conn:
        before = fetch(conn, BY_KEYS, {"keys": [1], "least": 0, "most": 1})
        memory.store(fact("smoky"))
        assert fetch(conn, BY_KEYS, {"keys": [1], "least": 0, "most": 1}) == before == []
    with memory.storage.database.read() as conn:
        assert len(fetch(conn, BY_KEYS, {"keys": [1], "least": 0, "most": 1})) == 1


def test_fetch_fails_as_execute_does(memory):
    broken = select(ClaimRow.pk).where(text("no_such_column = 1"))
    with memory.storage.database.read() as conn, pytest.raises(DBAPIError, match="no_such_column"):
        fetch(conn, broken, {})
    with memory.storage.database.read() as conn, pytest.raises(DBAPIError, match="no_such_column"):
        conn.execute(broken)
