"""Which rows hold a word, and how often: what a search by words, by entities or by sources reads.

Rows are only added, in growing order. What is added lies in sorted runs; two runs of a like size become one, so there
are never more than a few, and adding a row costs about the same however many there are.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_NAME_BYTES = 150
_ROW = (1 << 32) - 1


class Postings:
    """The rows of every name. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._numbers = _numbering({})
        # Of each run the pairs (number of the name << 32 | row), sorted, and how often the row holds the name.
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def names(self) -> list[str]:
        """Every name that some row holds."""
        return list(self._numbers)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return _NAME_BYTES * len(self._numbers) + sum(
            pairs.nbytes + times.nbytes for pairs, times in self._runs
        )

    def add(self, first: int, bags: Iterable[Sequence[str]]) -> NDArray[np.int64]:
        """Rows `first`, `first` + 1 ... hold these names, repeats counted; gives the length of each bag."""
        listed = list(bags)
        sizes = np.array(list(map(len, listed)), np.int64)
        if sizes.any():
            names = itertools.chain.from_iterable(listed)
            numbers = np.fromiter(map(self._numbers.__getitem__, names), np.int64)
            rows = np.repeat(np.arange(first, first + sizes.size), sizes)
            pairs, times = np.unique(numbers << 32 | rows, return_counts=True)
            self._runs.append((pairs, times.astype(np.int32)))
            self._settle()
        return sizes

    def _settle(self) -> None:
        while len(self._runs) > 1 and self._runs[-2][0].size < 2 * self._runs[-1][0].size:
            last, before = self._runs.pop(), self._runs.pop()
            pairs = np.concatenate([before[0], last[0]])
            order = np.argsort(pairs, kind="stable")
            self._runs.append((pairs[order], np.concatenate([before[1], last[1]])[order]))

    def of(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The rows that hold `name`, in order, and how often each does."""
        number = self._numbers.get(name)
        if number is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        rows, times = [], []
        for pairs, counts in self._runs:
            start, end = np.searchsorted(pairs, (number << 32, (number + 1) << 32))
            if start < end:
                rows.append(pairs[start:end] & _ROW)
                times.append(counts[start:end])
        if len(rows) == 1:
            return rows[0], times[0]
        return np.concatenate(rows or [np.zeros(0, np.int64)]), np.concatenate(
            times or [np.zeros(0, np.int32)]
        )

    def move(self, moved: NDArray[np.int64]) -> None:
        """Every row is now `moved[row]`, in the same order as before; those moved to -1 are gone."""
        runs, self._runs = self._runs, []
        for pairs, times in runs:
            rows = moved[pairs & _ROW]
            kept = rows >= 0
            if kept.any():
                self._runs.append(((pairs[kept] & ~_ROW) | rows[kept], times[kept]))
        self._forget()

    def _forget(self) -> None:
        """Let the names go that no row holds any more."""
        held = np.unique(np.concatenate([pairs >> 32 for pairs, _ in self._runs] or [np.zeros(0, np.int64)]))
        names = list(self._numbers)
        new = np.zeros(len(names), np.int64)
        new[held] = np.arange(held.size)
        self._numbers = _numbering({names[number]: at for at, number in enumerate(held.tolist())})
        self._runs = [((new[pairs >> 32] << 32) | (pairs & _ROW), times) for pairs, times in self._runs]


def _numbering(known: dict[str, int]) -> defaultdict[str, int]:
    """A dict that gives every new key the next number."""
    return defaultdict(itertools.count(len(known)).__next__, known)
