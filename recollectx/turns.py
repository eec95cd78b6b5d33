"""The turns of conversations: a number for each, and what the turns before and after it hold."""

import math
from array import array

import numpy as np
from numpy.typing import NDArray


class Turns:
    """Numbers for the turns of sessions, in order of arrival; -1 stands for no turn."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}
        self._before, self._after = array("i"), array("i")  # the turns beside each turn

    def __len__(self) -> int:
        return len(self._numbers)

    def names(self) -> list[tuple[str, int]]:
        """Session and position of every turn, by number."""
        return list(self._numbers)

    def number(self, session: str | None, position: int | None) -> int:
        """The number of a turn, a new one if it is not known yet; -1 without session or position."""
        if session is None or position is None:
            return -1
        known = self._numbers.get((session, position))
        if known is not None:
            return known
        new = self._numbers[session, position] = len(self._numbers)
        before = self._numbers.get((session, position - 1), -1)
        after = self._numbers.get((session, position + 1), -1)
        self._before.append(before)
        self._after.append(after)
        if before >= 0:
            self._after[before] = new
        if after >= 0:
            self._before[after] = new
        return new

    def greatest_beside(self, turns: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each of `turns`, the greatest of the values of those directly before and after; 0 if there are none.

        turns: may repeat, and be -1, which is next to nothing.  values: one for each of `turns`.
        """
        placed = np.flatnonzero(turns >= 0)
        at = turns[placed].astype(np.intp)  # indexing by it is twice as fast as by int32
        held = np.full(len(self) + 1, -math.inf)  # the last one stands for no turn
        np.maximum.at(held, at, values[placed])
        greatest = np.full(placed.size, -math.inf)
        for beside in (self._before, self._after):
            np.maximum(greatest, held[np.asarray(beside)[at].astype(np.intp)], out=greatest)
        result = np.zeros(turns.size)
        result[placed] = np.where(greatest > -math.inf, greatest, 0.0)
        return result
