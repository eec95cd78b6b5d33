"""Which rows hold a word, and how often: what a search by words, by entities or by sources reads.

Rows are only added, in growing order. What is added lies in sorted runs; two runs of a like size become one, so there
are never more than a few, and adding a row costs about the same however many there are.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Name = TypeVar("Name")

_NAME_BYTES = 150
_TIMES_BITS, _ROW_BITS = 8, 31
_MOST = (1 << _TIMES_BITS) - 1
"""A row that holds a name more often counts as this often, which BM25 can hardly tell apart."""
_ROW = (1 << _ROW_BITS) - 1
_NAME = _TIMES_BITS + _ROW_BITS


class Postings:
    """The rows of every name. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = numbering({})
        # Sorted numbers made of the number of the name, the row and how often the row holds the name.
        self._runs: list[NDArray[np.int64]] = []

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def names(self) -> list[str]:
        """Every name that some row holds."""
        return list(self._numbers)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return _NAME_BYTES * len(self._numbers) + sum(run.nbytes for run in self._runs)

    def add(self, first: int, bags: Iterable[Sequence[str]]) -> NDArray[np.int64]:
        """Rows `first`, `first` + 1 ... hold these names, repeats counted; gives the length of each bag."""
        listed = list(bags)
        sizes = np.array(list(map(len, listed)), np.int64)
        if sizes.any():
            names = itertools.chain.from_iterable(listed)
            numbers = np.fromiter(map(self._numbers.__getitem__, names), np.int64)
            rows = np.repeat(np.arange(first, first + sizes.size), sizes)
            pairs, times = np.unique(numbers << _ROW_BITS | rows, return_counts=True)
            self._runs.append(pairs << _TIMES_BITS | np.minimum(times, _MOST))
            while len(self._runs) > 1 and self._runs[-2].size < 2 * self._runs[-1].size:
                last, before = self._runs.pop(), self._runs.pop()
                merged = np.concatenate([before, last])
                merged.sort(kind="stable")  # which makes use of the parts being sorted
                self._runs.append(merged)
        return sizes

    def of(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows that hold `name`, in order, and how often each does."""
        number = self._numbers.get(name)
        found = [_NOTHING]
        if number is not None:
            for run in self._runs:
                start, end = np.searchsorted(run, (number << _NAME, (number + 1) << _NAME))
                found.append(run[start:end])
        pairs = np.concatenate(found)
        return pairs >> _TIMES_BITS & _ROW, pairs & _MOST

    def move(self, moved: NDArray[np.int64]) -> None:
        """Every row is now `moved[row]`, in the same order as before; those moved to -1 are gone, and the names that
        no row holds any more with them."""
        parts = [(run >> _NAME, moved[run >> _TIMES_BITS & _ROW], run & _MOST) for run in self._runs]
        held = np.unique(np.concatenate([number[row >= 0] for number, row, _ in parts] or [_NOTHING]))
        names = self.names()
        self._numbers = numbering({names[number]: at for at, number in enumerate(held.tolist())})
        self._runs = []
        for number, row, times in parts:
            kept = row >= 0
            if kept.any():
                anew = np.searchsorted(held, number[kept])
                self._runs.append(anew << _NAME | row[kept] << _TIMES_BITS | times[kept])


_NOTHING = np.zeros(0, np.int64)


def numbering(known: dict[Name, int]) -> defaultdict[Name, int]:
    """A dict that gives every new key the next number."""
    return defaultdict(itertools.count(len(known)).__next__, known)
