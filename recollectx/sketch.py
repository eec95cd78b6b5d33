"""Cosines with very many rows by fewer numbers: all by the main directions of the vectors, the best of them exactly.

Vectors of texts lie mostly along a few directions. The WIDTH strongest of a sample keep the order well enough that the
nearest rows are among the FIRST by them, at a fraction of the memory traffic that bounds an exact scan.

Source of the numbers: on 5,520 dialogue turns and 972 questions (512 numbers) 64 directions had .996 of the ten
nearest among the first 200 and .9995 among the first 500, and missed a cosine by .015 on average.
"""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

WIDTH = 64
FIRST = 2_000
SAMPLE = 20_000


class Sketch:
    """The shortened vectors of rows 0 .. n - 1. vectors: float32, shape (n, dimension), rows of length 1 or 0."""

    def __init__(self, vectors: Matrix) -> None:
        sample = vectors[:: max(1, len(vectors) // SAMPLE)]
        _, directions = np.linalg.eigh((sample.T @ sample).astype(np.float64))
        self._basis = np.ascontiguousarray(directions[:, ::-1][:, :WIDTH], np.float32)
        self._short: Matrix = vectors @ self._basis

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._short.nbytes + self._basis.nbytes

    def put(self, rows: NDArray[np.int64], directions: Matrix) -> None:
        """Takes rows in, also beyond those it has, or in place of them."""
        needed = int(rows.max()) + 1
        if needed > len(self._short):
            wider = np.zeros((max(needed, 2 * len(self._short)), self._short.shape[1]), np.float32)
            wider[: len(self._short)] = self._short
            self._short = wider
        self._short[rows] = directions @ self._basis

    def cosines(self, vectors: Matrix, direction: Matrix) -> Matrix:
        """Of every row with `direction`: exact for the FIRST, near for the others. vectors: all that was taken in."""
        found: Matrix = self._short[: len(vectors)] @ (direction @ self._basis)
        some = min(FIRST, len(found))
        first = np.argpartition(found, -some)[-some:]
        found[first] = vectors[first] @ direction
        return found
