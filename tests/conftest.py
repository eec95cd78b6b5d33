"""What the tests share: a clock that steps, a memory on a fresh database, and short ways to make claims.

The database of `path` and `memory` is a SQLite file; the modules in BOTH run on PostgreSQL as well. `--database
postgresql` runs everything there, `--database sqlite` nothing. What is about the bytes of a file asks for `file`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import postgresql
import pytest

from recollectx import EpisodicClaim, Memory, SemanticClaim

# Words alone decide unless a test brings an embedder, also in the processes that tests start.
os.environ["RECOLLECTX_EMBEDDER"] = "none"

SERVERS = ("sqlite", "postgresql")
ONLY = "RECOLLECTX_TEST_DATABASE"
BOTH = frozenset(
    f"test_{name}"
    for name in (
        "attribution",
        "concurrency",
        "correcting",
        "deciding",
        "doubt",
        "erase",
        "forks",
        "graph",
        "memory",
        "migrate",
        "seed_faults",
        "spellings",
        "telling",
        "time",
        "token_vectors",
        "traces",
        "undo",
        "vectors_in_store",
    )
)

DAY = 86_400.0
START = 1_700_000_000.0
NOW = START + 1_000 * DAY


class Clock:
    """Time that moves on by `step` seconds whenever somebody looks; step 0 stands still."""

    def __init__(self, now: float = NOW, step: float = 1.0) -> None:
        self.now, self.step = now, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def fact(object: str, source: str | None = None, **more: Any) -> SemanticClaim:
    """A fact about tea; a subject can taste of many things at a time."""
    given = {"subject": "tea", "predicate": "tastes", "confidence": 0.8, "created_at": START}
    return SemanticClaim(**{**given, "object": object, "source": source, **more})


def home(place: str, source: str | None = None, **more: Any) -> SemanticClaim:
    """Where Ana lives: one place at a time."""
    return fact(place, source, **{"subject": "Ana", "predicate": "lives in", **more})


def event(summary: str, source: str | None = None, **more: Any) -> EpisodicClaim:
    """Something that happened at START, unless created_at says otherwise."""
    given = {"confidence": 0.9, "created_at": START}
    return EpisodicClaim(**{**given, "summary": summary, "source": source, **more})


def scratch() -> str:
    """A new database for the examples of a property: in memory, or on the server that everything is tested on."""
    if os.environ.get(ONLY) != "postgresql":
        return ":memory:"
    started = postgresql.server()
    if isinstance(started, str):
        pytest.skip(started, allow_module_level=True)
    return started.fresh()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        choices=SERVERS,
        default=os.environ.get(ONLY) or None,
        help="the only database to test on; else SQLite, and PostgreSQL for a part",
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ[ONLY] = config.getoption("--database") or ""


def pytest_sessionfinish() -> None:
    postgresql.stop()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "dialect" in metafunc.fixturenames:
        only = metafunc.config.getoption("--database")
        both = SERVERS if metafunc.module.__name__ in BOTH else SERVERS[:1]
        servers = (only,) if only else both
        # The name of a test on SQLite alone is that of the test.
        metafunc.parametrize("dialect", servers, ids=servers if len(servers) > 1 else [pytest.HIDDEN_PARAM])


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, migrated once and copied for each test."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    Memory.open(path).close()
    return path


@pytest.fixture
def postgres() -> postgresql.Server:
    """The PostgreSQL server; skips where none can be started."""
    started = postgresql.server()
    if isinstance(started, str):
        pytest.skip(started)
    return started


@pytest.fixture
def path(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """A fresh database: the path of a file, or the URL of one on PostgreSQL."""
    if dialect == "sqlite":
        yield Path(shutil.copy(request.getfixturevalue("template"), tmp_path / "memory.db"))
        return
    postgres = request.getfixturevalue("postgres")
    url = postgres.fresh()
    yield url
    postgres.drop(url)


@pytest.fixture
def unmade(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path | str]:
    """Where there is no database yet, or one without tables."""
    if dialect == "sqlite":
        yield tmp_path / "new" / "memory.db"
        return
    postgres = request.getfixturevalue("postgres")
    url = postgres.empty()
    yield url
    postgres.drop(url)


@pytest.fixture
def file(path: Path | str) -> Path:
    """The same where it is a file; tests of what lies in a file skip elsewhere."""
    if not isinstance(path, Path):
        pytest.skip("about a SQLite file")
    return path


@pytest.fixture
def memory(path: Path | str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(path, clock=clock) as opened:
        yield opened
