"""Which writes to an index that shows them late cannot be read yet, as far as anybody has seen.

A place (a namespace) takes its writes in order, and tells the position in its log of what it adds, not of what it
removes. So a position that was reached vouches for all writes that had ended before that one began. A removal is
seen by the ids being gone; that they are vouches for nothing, since they may have gone, or never come, before.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0


@dataclass(eq=False)
class Mark:
    """One write. position: where it stands in the log; None for a removal.  gone: ids it removed; None: all."""

    position: float | None = None
    gone: tuple[str, ...] | None = ()


class Seen(Protocol):
    """Whether reads have reached `position` in the log of `place`, and none of the ids in `gone`, None: no id, is there."""

    def __call__(self, place: str, position: float, gone: tuple[str, ...] | None, /) -> bool:
        """Look once."""


class Unseen:
    """The marks of one index, for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: dict[str, list[Mark]] = {}

    @property
    def places(self) -> list[str]:
        """Where something was written that nobody has seen."""
        with self._lock:
            return list(self._marks)

    @contextmanager
    def writing(self, place: str) -> Iterator[Mark]:
        """Around one write: the mark to fill in. A write that fails is none."""
        before, mark = self._at(place), Mark()
        yield mark
        with self._lock:
            left = [
                each for each in self._marks.get(place, ()) if each not in before or not _vouches(mark, each)
            ]
            self._marks[place] = [*left, mark]

    def wait(self, seen: Seen, timeout: float) -> bool:
        """Look until every write is seen; False if `timeout` seconds were not enough."""
        until = time.monotonic() + timeout
        return all(self._wait(place, seen, until) for place in self.places)

    def _wait(self, place: str, seen: Seen, until: float) -> bool:
        marks, pause = self._at(place), FIRST_PAUSE
        while not seen(place, _position(marks), _gone(marks)):
            if time.monotonic() + pause > until:
                return False
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, 1.5 * pause)
            current = self._at(place)
            if any(mark.position is None and mark not in current for mark in marks):
                # Somebody added since: what was to be gone may rightly be there.
                marks = current
        self._drop(place, marks)
        return True

    def _at(self, place: str) -> list[Mark]:
        with self._lock:
            return list(self._marks.get(place, ()))

    def _drop(self, place: str, marks: list[Mark]) -> None:
        with self._lock:
            left = [each for each in self._marks.pop(place, ()) if each not in marks]
            if left:
                self._marks[place] = left


def _vouches(later: Mark, earlier: Mark) -> bool:
    """Whether seeing `later` is seeing `earlier`."""
    return later.position is not None or (later.gone is None and earlier.position is None)


def _position(marks: list[Mark]) -> float:
    return max((mark.position for mark in marks if mark.position is not None), default=0)


def _gone(marks: list[Mark]) -> tuple[str, ...] | None:
    ids: list[str] = []
    for mark in marks:
        if mark.gone is None:
            return None
        ids += mark.gone
    return tuple(ids)
