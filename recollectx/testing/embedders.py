"""What every embedder must do, as tests to inherit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from recollectx.embeddings.base import PROBE, Embedder, Vectors

SAME = 1e-5
"""How far two vectors of one text may be apart: services round, and batches change the order of sums."""


class EmbedderContract:
    """What every embedder must do. Override `fresh`, and `texts` if the model knows other words."""

    texts = (
        "The kettle is blue.",
        "Trains leave at noon.",
        "  spaces around  ",
        "caf\u00e9 cafe\u0301 \U0001f98a \u6771\u4eac",
        "one\nword\ta\nline",
        "word " * 2_000,
        PROBE,
    )

    def fresh(self) -> Embedder:
        """The embedder, made anew: the same model each time."""
        raise NotImplementedError(f"{type(self).__name__} must implement fresh()")

    def test_it_says_what_it_is(self) -> None:
        one, other = self.fresh(), self.fresh()
        assert isinstance(one.name, str)
        assert one.name.strip() == one.name != ""
        assert type(one.dimension) is int
        assert one.dimension >= 1
        assert (one.name, one.dimension) == (other.name, other.dimension)

    def test_a_row_for_each_text_of_length_one_or_zeros(self) -> None:
        vectors = self.embedded(self.texts)
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
        assert ((abs(lengths - 1) < SAME) | (lengths == 0)).all(), f"lengths {lengths}"
        assert lengths[-1] > 0, f"the sentence that tells models apart says nothing to it: {PROBE!r}"

    def test_no_texts_give_no_rows(self) -> None:
        self.embedded(())

    def test_blank_texts_are_no_error(self) -> None:
        self.embedded(("", " ", "\n"))

    def test_a_text_has_one_vector_in_any_company_order_and_process(self) -> None:
        model = self.fresh()
        alone = np.concatenate([model.embed([text]) for text in self.texts])
        assert abs(alone - self.embedded(self.texts)).max() < SAME
        backwards = self.embedded(tuple(reversed(self.texts)))
        assert abs(alone - backwards[::-1]).max() < SAME

    def test_many_texts_at_once(self) -> None:
        many = tuple(f"{text} {number}" for number in range(60) for text in self.texts[:2])
        vectors = self.embedded(many)
        assert abs(vectors[-1] - self.fresh().embed([many[-1]])[0]).max() < SAME

    def test_texts_that_differ_have_vectors_that_differ(self) -> None:
        first, second = self.embedded(self.texts[:2])
        assert abs(first - second).max() > SAME

    def test_what_is_returned_is_the_callers_own(self) -> None:
        model = self.fresh()
        before = model.embed([PROBE]).copy()
        model.embed([PROBE])[:] = 7
        assert abs(model.embed([PROBE]) - before).max() < SAME

    def test_eight_threads(self) -> None:
        model = self.fresh()
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda text: model.embed([text])[0], self.texts * 4))
        expected = self.embedded(self.texts)
        for number, vector in enumerate(found):
            assert abs(vector - expected[number % len(self.texts)]).max() < SAME

    def embedded(self, texts: tuple[str, ...]) -> Vectors:
        """The vectors of texts, of the right shape."""
        model = self.fresh()
        vectors = model.embed(list(texts))
        assert isinstance(vectors, np.ndarray)
        assert vectors.dtype == np.float32, f"{vectors.dtype} in place of float32"
        assert vectors.shape == (len(texts), model.dimension), f"shape {vectors.shape}"
        assert np.isfinite(vectors).all()
        return vectors
