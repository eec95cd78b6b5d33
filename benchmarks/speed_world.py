"""What the speed benchmark works on: made-up words by Zipf's law, claims of them, vectors, memories filled with them.

Nothing here costs the measured calls: vectors are made beforehand and looked up.
"""

import itertools
import random
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollectx import Memory, SemanticClaim
from recollectx.changes import Assert
from recollectx.claims import assertion_of
from recollectx.embeddings.base import BaseEmbedder
from recollectx.embeddings.hashing import HashEmbedder

DIMENSION = 384
WORDS = 20_000
CLUSTERS = 2_000
FILL = 1_000
PREDICATES = (
    "likes",
    "visited",
    "owns",
    "plays",
    "reads about",
    "met",
    "cooks",
    "fixed",
    "painted",
    "studies",
)
START = 1_700_000_000.0
Vectors = NDArray[np.float32]


class Given(BaseEmbedder):
    """Vectors looked up by text; a text nobody gave one for gets one of its own."""

    def __init__(self, vectors: Mapping[str, Vectors]) -> None:
        super().__init__("given", DIMENSION)
        self.vectors = dict(vectors)

    def _embed(self, texts: Sequence[str]) -> list[Vectors]:
        return [self.vectors[text] if text in self.vectors else _own(text) for text in texts]


def _own(text: str) -> Vectors:
    return np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSION).astype(np.float32)


class Words:
    """A vocabulary in which the n-th word comes up 1/n as often as the first."""

    def __init__(self, seed: int) -> None:
        syllables = ["".join(pair) for pair in itertools.product("bdfgklmnprstvz", "aeiou")]
        chance = random.Random(1)
        self.words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(WORDS)]
        self._reach = list(itertools.accumulate(1 / n for n in range(1, WORDS + 1)))
        self._chance = random.Random(seed)

    def draw(self, count: int) -> list[str]:
        return self._chance.choices(self.words, cum_weights=self._reach, k=count)


def sentences(count: int, seed: int = 3) -> Iterator[SemanticClaim]:
    """Claims whose texts are about 12 words long, in the scope "world"."""
    words, chance = Words(seed), random.Random(seed)
    for n in range(count):
        yield SemanticClaim(
            id=str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            subject=f"person {n % 997}",
            predicate=chance.choice(PREDICATES),
            object=_phrase(words.draw(9), chance),
            confidence=0.8,
            source="user",
            scope="world",
            created_at=START + n,
        )


def _phrase(words: list[str], chance: random.Random) -> str:
    """Words in a row; every other time with a comma or a hyphen, as real texts have them."""
    at = chance.randrange(1, len(words))
    return f"{' '.join(words[:at])}{chance.choice(('', '', ',', '-'))} {' '.join(words[at:])}"


def scope(number: int) -> str:
    """The name of one scope of many."""
    return f"scope-{number:04}"


def placed(claim: SemanticClaim, number: int) -> SemanticClaim:
    """The claim in another scope, under an id of its own."""
    return replace(claim, id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{claim.id} {number}")), scope=scope(number))


def triples(count: int, people: int, seed: int = 4) -> Iterator[tuple[str, str, str]]:
    """Short facts as an extractor finds them: a name, what they do, one to three words."""
    words, chance = Words(seed), random.Random(seed)
    for _ in range(count):
        name = f"person {chance.randrange(people)}"
        yield name, chance.choice(PREDICATES), " ".join(words.draw(chance.randint(1, 3)))


def fact(parts: tuple[str, str, str], number: int, scope: str = "world") -> SemanticClaim:
    subject, predicate, object = parts
    return SemanticClaim(
        id=str(uuid.uuid5(uuid.NAMESPACE_OID, str(number))),
        subject=subject,
        predicate=predicate,
        object=object,
        confidence=0.8,
        source="user",
        scope=scope,
        created_at=START + number,
    )


def clustered(count: int, seed: int = 5) -> Vectors:
    """Unit vectors in clusters of unequal size, as embeddings of texts are."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((CLUSTERS, DIMENSION)).astype(np.float32)
    share = 1 / np.arange(1, CLUSTERS + 1)
    found = centres[chance.choice(CLUSTERS, count, p=share / share.sum())]
    found += 0.7 * chance.standard_normal(found.shape, dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def hashed(texts: Sequence[str]) -> Vectors:
    """The vectors of the package's hash embedder."""
    return HashEmbedder(DIMENSION).embed(texts)


def fill(memory: Memory, claims: Sequence[SemanticClaim], vectors: Vectors) -> None:
    """Write claims as they are, nothing decided, FILL in a transaction."""
    storage = memory.storage
    assert storage.embedding is not None
    storage.embedding.check()
    for start in range(0, len(claims), FILL):
        part = claims[start : start + FILL]
        given = dict(zip((claim.id for claim in part), vectors[start : start + FILL], strict=True))
        changes = [Assert(claim, assertion_of(claim)) for claim in part]
        storage.apply(changes, cause="store", vectors=given)


def built(path: Path, claims: Sequence[SemanticClaim], vectors: Vectors) -> Path:
    """A file filled with claims, or the one that is there from an earlier run."""
    if not path.exists():
        with Memory.open(path, scope="world", embedder=Given({})) as memory:
            fill(memory, claims, vectors)
            memory.storage.truncate_log()
    return path
