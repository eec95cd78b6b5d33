"""Token vectors: a few numbers for every word of what is remembered, to compare the first hits word by word.

They are made after the claims are stored, at the next question or by `embed_waiting`, and read for the first hits of a
question only, so they cost disk and no memory.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from recollectx.changes import Embed
from recollectx.db.engine import Database
from recollectx.embeddings import TokenEmbedder
from recollectx.embeddings.base import Vectors
from recollectx.errors import BackendError, DimensionError
from recollectx.late_interaction import maxsim, packed, weights
from recollectx.ranking import Closer
from recollectx.storage.embedding import Apply
from recollectx.storage.reading import Reader
from recollectx.storage.token_rows import count_waiting, has_tokens, tokens_of, waiting

BATCH = 128
HEAL_AT_ONCE = 512
log = logging.getLogger("recollectx")


class TokenVectors:
    """The token vectors of one database, made by one embedder, whose identity the vectors of wordings answer for.

    wanted: True makes them for whatever is stored, None does where the database has some already.
    """

    def __init__(
        self, database: Database, embedder: TokenEmbedder, apply: Apply, *, wanted: bool | None = True
    ) -> None:
        self._embedder = embedder
        self._database = database
        self._apply = apply
        self._wanted = wanted
        self._done = 0  # every wording up to this key was seen

    @property
    def wanted(self) -> bool:
        """Whether they are made and asked."""
        if self._wanted is None:
            with self._database.read() as conn:
                self._wanted = has_tokens(Reader(conn))
        return self._wanted

    def count_waiting(self) -> int:
        """How many wordings have a vector and none for their tokens."""
        with self._database.read() as conn:
            return count_waiting(Reader(conn))

    def heal(self, *, anew: bool = False) -> None:
        """Make up for what was stored since, if it is not too much to do on the side. anew: also for older wordings."""
        if anew:
            self._done = 0
        self.embed_waiting(most=HEAL_AT_ONCE)

    def embed_waiting(
        self, progress: Callable[[int], None] = lambda done: None, *, most: int | None = None
    ) -> int:
        """Give every wording that has a vector those of its tokens, a batch a transaction; how many were done.

        most: stop, and leave the rest to the next time, where more are waiting.  A model that fails is logged.
        """
        done = 0
        while most is None or done < most:
            with self._database.read() as conn:
                wordings = waiting(Reader(conn), after=self._done, most=BATCH)
            if not wordings:
                break
            try:
                vectors = self._embedder.embed_tokens([words for _, words in wordings])
            except (BackendError, DimensionError) as error:
                log.warning("%d wordings have no token vectors yet: %s", len(wordings), error)
                break
            made = [
                Embed(text, tokens=packed(each))
                for (text, _), each in zip(wordings, vectors, strict=True)
                if len(each)
            ]
            if made:
                self._apply(made, cause="embed tokens")
            self._done = wordings[-1][0]
            done += len(wordings)
            progress(len(wordings))
        return done

    def asked(self, text: str) -> "Asked | None":
        """A question to compare claims with; None if the model fails."""
        try:
            (vectors,) = self._embedder.embed_tokens([text])
            return Asked(vectors, self._embedder.token_words(text))
        except (BackendError, DimensionError) as error:
            log.warning("recall goes without token vectors: %s", error)
            return None


@dataclass(frozen=True, slots=True)
class Asked:
    """The token vectors of a question and the word that each is of."""

    vectors: Vectors
    words: list[str]

    def closer(self, reader: Reader) -> Closer:
        """What compares the question with claims, in the wordings the reader sees."""

        def compare(claims: Sequence[int], idf: Callable[[str], float]) -> dict[int, float]:
            found = tokens_of(reader, claims, self.vectors.shape[1])
            return maxsim(self.vectors, weights(self.words, idf), found)

        return compare
