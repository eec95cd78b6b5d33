"""Windows: which turns a model reads together, and how a long one is cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from recollectx.extractors.base import Turn

LONGEST = 8_000
"""Characters that one call reads, about 2,000 tokens: with the reply it fits the 4,096 that small models take."""
BEFORE = 3
"""Turns before the first that are shown to understand it, if they are short."""
_ENDS = ("\n\n", "\n", ". ", "。", " ")


@dataclass(frozen=True, slots=True)
class Part:
    """A turn, or a piece of one. at: number of its turn, from 0.  turn: has the piece for its text."""

    at: int
    turn: Turn


@dataclass(frozen=True, slots=True)
class Window:
    """What one call reads. parts: all that is shown, in order, of which those by persons from `begin` on are read."""

    parts: tuple[Part, ...]
    begin: int

    @property
    def read(self) -> list[Part]:
        """The parts that are read for claims."""
        return [part for part in self.parts[self.begin :] if is_read(part.turn)]

    @property
    def beside(self) -> list[Part]:
        """The parts that are there to understand the others."""
        return [part for place, part in enumerate(self.parts) if place < self.begin or not is_read(part.turn)]


def is_read(turn: Turn) -> bool:
    """Whether a turn can make claims: a person's that says anything."""
    return not turn.by_machine and bool(turn.text.strip())


def windows(turns: Sequence[Turn], most: int) -> Iterator[Window]:
    """Windows over all turns that can make claims, at most `most` of them in each. Prompts and tools are in none."""
    parts = [
        part
        for at, turn in enumerate(turns)
        if turn.text.strip() and turn.role not in ("system", "tool")
        for part in _cut(at, turn)
    ]
    begin = 0
    while begin < len(parts):
        end, size, count = begin, 0, 0
        while (
            end < len(parts)
            and count < most
            and (end == begin or size + len(parts[end].turn.text) <= LONGEST)
        ):
            size += len(parts[end].turn.text)
            count += is_read(parts[end].turn)
            end += 1
        first, size = begin, 0
        while (
            first > max(0, begin - BEFORE)
            and (size := size + len(parts[first - 1].turn.text)) <= LONGEST // 4
        ):
            first -= 1
        window = Window(tuple(parts[first:end]), begin - first)
        if window.read:
            yield window
        begin = end


def _cut(at: int, turn: Turn) -> Iterator[Part]:
    text, piece = turn.text, LONGEST // 2
    while len(text) > piece:
        found = next(
            (cut + len(end) for end in _ENDS if (cut := text.rfind(end, piece // 2, piece)) > 0), piece
        )
        yield Part(at, replace(turn, text=text[:found]))
        text = text[found:]
    yield Part(at, replace(turn, text=text))
