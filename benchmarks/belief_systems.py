"""Memories that are told a belief stream and asked about it, each with the same two methods.

`tell` takes the events in order. `ask` gives, best first, what each hit says as (person, attribute, value), None
for a hit that says nothing of anybody's attribute, and a number for how well the best fits. as_of, valid_at: as
`Memory.recall` takes them; the plain indexes know only what had been said by then, and say so by `knows_past`.
"""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from belief_sentences import ATTRIBUTES
from belief_stream import DAY, Event

from recollectx import Claim, EpisodicClaim, Memory, SemanticClaim

K = 10
Says: TypeAlias = tuple[str, str, str] | None
BY_PREDICATE = {each.predicate: name for name, each in ATTRIBUTES.items()}


@dataclass(frozen=True)
class Answer:
    """says: of each hit.  texts: their words.  fits: how well the best hit fits.  none: whether it says none does."""

    says: list[Says]
    texts: list[str] = field(default_factory=list)
    fits: float = 0.0
    none: bool = False


class Ours:
    """Our memory, told sentence by sentence."""

    knows_past = True

    def __init__(self, embedder: Any) -> None:
        self.now = 0.0
        self.memory = Memory.open(":memory:", embedder=embedder, clock=lambda: self.now)
        self.events: dict[int, Event] = {}
        self.by_words: dict[tuple[str | None, str], Event] = {}

    def tell(self, events: Sequence[Event]) -> None:
        for event in events:
            self.now = event.at
            self.events[event.number] = self.by_words[event.speaker, event.text.rstrip(".!")] = event
            self.hear(event)
        self.now += 40 * DAY

    def hear(self, event: Event) -> None:
        self.memory.remember(event.text, source=event.speaker, at=event.at, metadata={"number": event.number})

    def ask(self, text: str, *, as_of: float | None = None, valid_at: float | None = None) -> Answer:
        found = self.memory.recall(text, k=K, as_of=as_of, valid_at=valid_at)
        return Answer(
            [self.says(claim) for claim in found.claims],
            [f"{claim.source}: {claim.text} [{claim.type}]" for claim in found.claims],
            found.relevance,
            found.nothing_fits,
        )

    def says(self, claim: Claim) -> Says:
        """What a claim says. One that is a sentence says what the sentence does, and so does one of another predicate that
        was read from it, if it holds the value: "likes X" of "I could eat X every day"."""
        if isinstance(claim, SemanticClaim) and claim.predicate in BY_PREDICATE:
            name = BY_PREDICATE[claim.predicate]
            words = claim.object.casefold()
            value = next((each for each in ATTRIBUTES[name].values if each.casefold() in words), words)
            return claim.subject, name, value
        number = claim.metadata.get("number")
        if number is not None:
            return self.events[int(number)].asserts
        read = (self.by_words.get((claim.source, text.rstrip(".!"))) for text in claim.evidence)
        return next((each.asserts for each in read if each and each.value in claim.text), None)


class Structured(Ours):
    """Our memory, given claims, retractions and corrections by a caller who understood the sentences.

    Hearsay is asserted at .3 by whoever passes it on, a person's own word at .9; the rest is kept as episodes.
    """

    def __init__(self, embedder: Any) -> None:
        super().__init__(embedder)
        self.held: dict[tuple[str, str], list[str]] = {}

    def hear(self, event: Event) -> None:
        held = self.held.setdefault((event.person, event.attribute), [])
        if event.kind == "noise":
            self.memory.store(EpisodicClaim(summary=event.text, source=event.speaker, created_at=event.at))
        elif event.kind == "retracted":
            self.memory.retract(event.person, held.pop())
        elif event.kind == "corrected":
            held.append(self.memory.correct(held.pop(), event.value, source=event.speaker).claim_id or "")
        else:
            claim = SemanticClaim(
                subject=event.person,
                predicate=ATTRIBUTES[event.attribute].predicate,
                object=event.value,
                source=event.speaker,
                confidence=0.3 if event.kind == "heard" else 0.9,
                created_at=event.at,
            )
            done = self.memory.store(claim)
            if event.kind != "heard":
                held.append(done.claim_id or "")


class Words:
    """Plain FTS5 over all sentences with their speakers: porter unicode61, OR of the words, bm25().

    newest: among the best 50 by words, the newest come first.
    """

    knows_past = False
    newest = False

    def __init__(self, embedder: Any) -> None:
        self.conn = sqlite3.connect(":memory:")
        self.conn.execute(
            "CREATE VIRTUAL TABLE said USING fts5(text, at UNINDEXED, tokenize='porter unicode61')"
        )
        self.events: list[Event] = []

    def tell(self, events: Sequence[Event]) -> None:
        self.events = list(events)
        rows = [(event.number, spoken(event), event.at) for event in events]
        self.conn.executemany("INSERT INTO said (rowid, text, at) VALUES (?, ?, ?)", rows)

    def scored(self, text: str, known: float) -> list[tuple[float, int]]:
        """Score and number of the sentences said by `known` that share a word, best first."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        sql = "SELECT -bm25(said), rowid FROM said WHERE said MATCH ? AND at <= ? ORDER BY bm25(said), rowid"
        return list(self.conn.execute(sql, (words, known)))

    def ask(self, text: str, *, as_of: float | None = None, valid_at: float | None = None) -> Answer:
        known = min(np.inf if at is None else at for at in (as_of, valid_at))
        ranked = self.scored(text, float(known))
        first = sorted(ranked[:50], key=lambda row: -row[1]) if self.newest else ranked
        return self.answer([number for _, number in first], ranked[0][0] if ranked else 0.0)

    def answer(self, numbers: Sequence[int], fits: float) -> Answer:
        chosen = [self.events[number] for number in numbers[:K]]
        return Answer([each.asserts for each in chosen], [spoken(each) for each in chosen], fits)


class NewestWords(Words):
    """Plain FTS5, the newest of the best 50 first."""

    newest = True


class Hybrid(Words):
    """Plain FTS5 and the cosine of the embedder, both in standard deviations, added."""

    def __init__(self, embedder: Any) -> None:
        super().__init__(embedder)
        self.embedder = embedder

    def tell(self, events: Sequence[Event]) -> None:
        super().tell(events)
        self.vectors = self.embedder.embed([spoken(event) for event in events])

    def ask(self, text: str, *, as_of: float | None = None, valid_at: float | None = None) -> Answer:
        known = min(np.inf if at is None else at for at in (as_of, valid_at))
        count = sum(event.at <= known for event in self.events)
        cosine = self.vectors[:count] @ self.embedder.embed([text])[0]
        words = np.zeros(count)
        for score, number in self.scored(text, float(known)):
            words[number] = score
        total = sum((part - part.mean()) / (part.std() or 1.0) for part in (words, cosine))
        return self.answer(np.argsort(-total, kind="stable").tolist(), float(cosine.max()))


def spoken(event: Event) -> str:
    """A sentence with who says it, for what keeps only text."""
    return f"{event.speaker}: {event.text}"


SYSTEMS: dict[str, Any] = {
    "sentences": Ours,
    "structured": Structured,
    "FTS5": Words,
    "FTS5 newest first": NewestWords,
    "FTS5 + cosine": Hybrid,
}
