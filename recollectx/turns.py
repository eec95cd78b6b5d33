"""The turns of conversations: a number for each, and what the turns before and after it hold."""

import math
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FAR = 2
"""How many turns away one still lends."""


class Turns:
    """Numbers for the turns of sessions, in order of arrival; -1 stands for no turn."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, int], int] = {}
        self._beside = {distance: array("i") for way in range(1, FAR + 1) for distance in (-way, way)}

    def __len__(self) -> int:
        return len(self._numbers)

    def names(self) -> list[tuple[str, int]]:
        """Session and position of every turn, by number."""
        return list(self._numbers)

    def numbers(self, sessions: Sequence[str | None], positions: Sequence[int | None]) -> list[int]:
        """The numbers of turns, new ones for those not known yet; -1 where session or position is None."""
        return [
            -1 if session is None or position is None else self._number(session, position)
            for session, position in zip(sessions, positions, strict=True)
        ]

    def _number(self, session: str, position: int) -> int:
        known = self._numbers.get((session, position))
        if known is not None:
            return known
        new = self._numbers[session, position] = len(self._numbers)
        for distance, beside in self._beside.items():
            other = self._numbers.get((session, position + distance), -1)
            beside.append(other)
            if other >= 0:
                self._beside[-distance][other] = new
        return new

    def lent(
        self, turns: NDArray[np.int32], values: NDArray[np.float64], shares: Sequence[float]
    ) -> NDArray[np.float64]:
        """What the turns beside each of `turns` lend it: of those one turn away the greater value times shares[0],
        and so on up to FAR; 0 where there are none.

        turns: may repeat, and be -1, which is next to nothing.  values: one for each of `turns`.
        """
        result = np.zeros(turns.size)
        placed = np.flatnonzero(turns >= 0)
        if not placed.size:
            return result
        at = turns[placed].astype(np.int64)  # indexing by it is twice as fast as by int32
        held = np.full(len(self) + 1, -math.inf)  # the last one stands for no turn
        np.maximum.at(held, at, values[placed])
        for way, share in enumerate(shares, 1):
            before, after = (np.asarray(self._beside[step])[at] for step in (-way, way))
            greatest = np.maximum(held[before], held[after])
            result[placed] += share * np.where(greatest > -math.inf, greatest, 0.0)
        return result
