"""Lines of the speed table, and how what they tell is timed."""

import os
import platform
import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Work = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of ours, what it is set beside, and the bound that it must keep.

    beside: whose figure `other` is; None where there is nothing to compare with.
    most, least: of the ratio, or of ours where nothing is beside it.  faster: the ratio says how many times faster
    ours is.
    """

    what: str
    claims: int
    unit: str
    ours: float
    other: float | None = None
    beside: str | None = None
    most: float | None = None
    least: float | None = None
    note: str = ""
    faster: bool = False

    @property
    def ratio(self) -> float | None:
        """Ours / other; of a peer's figure other / ours, how many times faster we are."""
        if self.other is None:
            return None
        return self.other / self.ours if self.faster else self.ours / self.other

    @property
    def holds(self) -> bool:
        value = self.ours if self.ratio is None else self.ratio
        return (self.most is None or value <= self.most) and (self.least is None or value >= self.least)

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "holds": self.holds}


def show(line: Line) -> str:
    other = "" if line.other is None else f"{line.other:,.3f}"
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}x"
    bound = "" if line.most is None else f"<= {line.most:g}"
    bound = bound if line.least is None else f">= {line.least:g}"
    told = "  ".join(
        part for part in (bound, "" if line.holds else "MISSED", line.beside or "", line.note) if part
    )
    return f"{line.what:<46}{line.claims:>10,}{line.ours:>11,.3f}{other:>11} {line.unit:<3}{ratio:>9}  {told}"


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    told = Path("/proc/cpuinfo")
    if told.exists():
        names = [row.split(":", 1)[1].strip() for row in told.read_text().splitlines() if "model name" in row]
        model = names[0] if names else model
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


@dataclass
class Times:
    """CPU and wall seconds of one side, call by call."""

    cpu: list[float]
    wall: list[float]

    def add(self, work: Work) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        self.cpu.append(time.process_time() - cpu)
        self.wall.append(time.perf_counter() - wall)

    def median(self, clock: str) -> float:
        return statistics.median(getattr(self, clock))


def alternating(pairs: Sequence[tuple[Work, Work]]) -> tuple[Times, Times]:
    """Both sides of each pair timed; who begins alternates."""
    sides = Times([], []), Times([], [])
    for i, pair in enumerate(pairs):
        for side in (0, 1) if i % 2 else (1, 0):
            sides[side].add(pair[side])
    return sides


def timed(works: Sequence[Work]) -> Times:
    times = Times([], [])
    for work in works:
        times.add(work)
    return times
