"""What the tests share: a clock that steps, a memory on a temporary file, and short ways to make claims."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollectx import EpisodicClaim, Memory, SemanticClaim

# Words alone decide unless a test brings an embedder, also in the processes that tests start.
os.environ["RECOLLECTX_EMBEDDER"] = "none"

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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database, migrated once and copied for each test."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    Memory.open(path).close()
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "memory.db"))


@pytest.fixture
def memory(path: Path, clock: Clock) -> Iterator[Memory]:
    with Memory.open(path, clock=clock) as opened:
        yield opened
