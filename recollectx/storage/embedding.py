"""Embedding wordings: what is embedded for a claim, by which model, and what still waits for its vector.

The vectors lie in the database beside the words, so an index is only ever a copy. A model that fails costs nothing
but time: the claims are stored, and their wordings get vectors when the memory is next used.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from recollectx.changes import Change, Configure, Embed
from recollectx.claims import Claim, EpisodicClaim
from recollectx.db.engine import Database
from recollectx.embeddings import PROBE, BaseEmbedder, CachedEmbedder, Embedder, same_model
from recollectx.embeddings.base import Vectors
from recollectx.errors import BackendError, DimensionError, ModelMismatch
from recollectx.forks import Lock
from recollectx.storage.reading import MODEL, Reader, Wording
from recollectx.text import in_context

BATCH = 256
HEAL_AT_ONCE = 2_000
REFUSED = 3
"""Texts in a row that fail one by one before the model itself counts as away."""
FAULTS = (BackendError, DimensionError)
log = logging.getLogger("recollectx")


class Apply(Protocol):
    """`MemoryStore.apply`."""

    def __call__(
        self,
        changes: Iterable[Change] | Callable[[Reader], Iterable[Change]],
        *,
        cause: str,
        model: int | None = None,
    ) -> Any: ...


class Embedding:
    """The vectors of one database, made by one embedder.

    The first use in a process compares the model with the one whose vectors are there: by name and dimension, and
    by the vector of one fixed sentence. Raises ModelMismatch, then and always, if it is another.
    """

    def __init__(self, database: Database, embedder: Embedder, apply: Apply) -> None:
        self.embedder = embedder
        self._database = database
        self._apply = apply
        self._lock = Lock()
        self.key: int | None = None
        self._waiting = True

    def identity(self) -> dict[str, Any]:
        """What is kept of the model: name, dimension and the vector of one fixed sentence."""
        probe = self.embedder.embed([PROBE])[0]
        return {
            "name": self.embedder.name,
            "dimension": self.embedder.dimension,
            "probe": [round(float(number), 6) for number in probe],
        }

    def check(self) -> None:
        """See that the vectors in the database are of this model; a database without any takes it."""
        with self._lock:
            with self._database.read() as conn:
                reader = Reader(conn)
                since = reader.setting_began(MODEL)
                if since is not None and since == self.key:
                    return
                stored = reader.setting(MODEL)
            own = self.identity()
            if stored is None:
                # Another process may name its model at this very moment.
                self._apply(lambda reader: _first_model(reader, own), cause="embedder")
                with self._database.read() as conn:
                    since, stored = Reader(conn).setting_since(MODEL)
            refuse_other_model(stored or own, own)
            self.key = since

    def of_claims(self, claims: Sequence[Claim]) -> tuple[dict[str, Vectors], str]:
        """Vectors by claim id, and what went wrong ("" if nothing); a fault leaves the wordings waiting."""
        try:
            # Once it was seen to be the model, the transaction that takes the vectors looks again.
            if self.key is None:
                self.check()
            texts = self._texts(claims)
            return dict(zip([claim.id for claim in claims], self.embedder.embed(texts), strict=True)), ""
        except FAULTS as error:
            self._waiting = True
            log.warning("not embedded yet, will be at the next use: %s", error)
            return {}, f"; not embedded yet: {error}"

    def _texts(self, claims: Sequence[Claim]) -> list[str]:
        """What is embedded for each claim; the database is asked only for what came before a turn."""
        if not any(isinstance(claim, EpisodicClaim) and claim.position for claim in claims):
            return [claim.text for claim in claims]
        with self._database.read() as conn:
            return with_context(Reader(conn), claims)

    def of_question(self, text: str) -> Vectors | None:
        """The vector of a question, None if the model fails or finds nothing: recall then goes by words alone."""
        try:
            self.check()
            vector: Vectors = self.embedder.embed([text])[0]
            return vector if vector.any() else None
        except FAULTS as error:
            log.warning("recall goes by words alone: %s", error)
            return None

    def heal(self) -> int:
        """Embed what waits from an earlier fault, if it is not too much to do on the side; how many were done."""
        if not self._waiting:
            return 0
        with self._database.read() as conn:
            waiting = Reader(conn).count_unembedded()
        if waiting > HEAL_AT_ONCE:
            log.warning("%d wordings have no vector; run `recollectx reembed`", waiting)
            self._waiting = False
            return 0
        try:
            done = self.embed_waiting() if waiting else 0
        except FAULTS as error:
            log.warning("%d wordings still have no vector: %s", waiting, error)
            return 0
        self._waiting = False
        return done

    def doubt(self) -> None:
        """Look at the model again before the next vector is made: it was another one when vectors were to be kept."""
        self.key = None

    def wait(self) -> None:
        """Look for wordings without a vector at the next use."""
        self._waiting = True

    def embed_waiting(self, progress: Callable[[int], None] = lambda done: None) -> int:
        """Embed every wording without a vector, old ones included, a batch a transaction; how many were done.

        progress: is told how many more were done. Interrupted, it goes on where it stopped when called again.
        """
        self.check()
        done, last = 0, 0
        while True:
            with self._database.read() as conn:
                reader = Reader(conn)
                waiting = reader.unembedded(BATCH, after=last)
                texts = [_in_context(reader, wording) for wording in waiting]
            if not waiting:
                return done
            vectors = self._embedded(texts)
            self._apply(
                [
                    Embed(wording.text, vector)
                    for wording, vector in zip(waiting, vectors, strict=True)
                    if vector is not None
                ],
                cause="embed",
                model=self.key,
            )
            last = waiting[-1].text
            done += len(waiting)
            progress(len(waiting))

    def _embedded(self, texts: list[str]) -> list[Vectors | None]:
        """The vectors of texts; None for one that the model refuses while it takes others."""
        try:
            return list(self.embedder.embed(texts))
        except FAULTS as error:
            if len(texts) == 1:
                raise
            found: list[Vectors | None] = []
            refused = 0
            for text in texts:
                try:
                    found.append(self.embedder.embed([text])[0])
                except FAULTS:
                    found.append(None)
                    refused += 1
                    if refused == len(found) == min(REFUSED, len(texts)):
                        raise error from None
            log.warning("%d wordings cannot be embedded: %s", refused, error)
            return found

    def start_over(self) -> None:
        """Take this embedder for the database; the vectors of another model are let go in the same transaction."""
        own = self.identity()
        with self._lock:
            with self._database.read() as conn:
                stored = Reader(conn).setting(MODEL)
            if stored is None or not is_same_model(stored, own):
                self._apply([Configure(MODEL, own)], cause="embedder")
            with self._database.read() as conn:
                self.key = Reader(conn).setting_since(MODEL)[0]
            self._waiting = True


def _first_model(reader: Reader, own: Mapping[str, Any]) -> Iterator[Change]:
    if reader.setting(MODEL) is None:
        yield Configure(MODEL, own)


def is_same_model(stored: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether two identities are one model: same dimension, and the probe sentence lands in the same place."""
    if stored["dimension"] != own["dimension"]:
        return False
    return same_model(np.array(stored["probe"], np.float32), np.array(own["probe"], np.float32))


def refuse_other_model(stored: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise ModelMismatch, by name, unless both are one model."""
    if not is_same_model(stored, own):
        raise ModelMismatch(
            f"the memory holds {stored['dimension']}-d vectors of {stored['name']}, "
            f"got {own['dimension']}-d of {own['name']}; run `recollectx reembed` to change the model"
        )


def with_context(reader: Reader, claims: Sequence[Claim]) -> list[str]:
    """What is embedded for each claim: a turn joined with the turn before it in its session, else the claim."""
    turns = {
        (claim.scope, claim.session, claim.position): claim.text
        for claim in claims
        if isinstance(claim, EpisodicClaim) and claim.session is not None and claim.position is not None
    }
    found = []
    for claim in claims:
        before = None
        if isinstance(claim, EpisodicClaim) and claim.session is not None and claim.position:
            place = (claim.scope, claim.session, claim.position - 1)
            before = turns[place] if place in turns else reader.turn(*place)
        found.append(in_context(before, claim.text))
    return found


def _in_context(reader: Reader, wording: Wording) -> str:
    before = None
    if wording.session is not None and wording.position:
        before = reader.turn(wording.scope, wording.session, wording.position - 1)
    return in_context(before, wording.words)


class Foreign(BaseEmbedder):
    """An embedder of somebody else's, its answers checked and its faults wrapped."""

    def __init__(self, embedder: Any) -> None:
        super().__init__(getattr(embedder, "name", type(embedder).__qualname__), None)
        self.wrapped = embedder

    def _embed(self, texts: Sequence[str]) -> Any:
        return self.wrapped.embed(texts)


def checked(embedder: Embedder) -> Embedder:
    """The embedder itself if it checks its answers, else wrapped so that they are."""
    return embedder if isinstance(embedder, BaseEmbedder | CachedEmbedder) else Foreign(embedder)
