"""What every vector index checks before it changes anything: names, counts, and rows of length 1."""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recollectx.errors import BackendError, DimensionError, InvalidClaim, InvalidQuery, RecollectxError

Vectors: TypeAlias = NDArray[np.float32]


def check_text(name: str, value: str, error: type[RecollectxError] = InvalidClaim) -> None:
    """Raise unless `value` is text that is not empty and can be written as UTF-8."""
    if not isinstance(value, str) or not value:
        raise error(f"{name} must be text that is not empty, got {value!r}")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise error(f"{name} {value!r} has half a surrogate pair, which cannot be written")


def checked_ids(ids: Iterable[str], *, distinct: bool = True) -> list[str]:
    """The ids as a list, or InvalidClaim for one that is no text or, if `distinct`, comes twice."""
    if isinstance(ids, str):
        raise InvalidClaim(f"ids are a list of texts; write [{ids!r}]")
    found = list(ids)
    for id in found:
        check_text("id", id)
    once = list(dict.fromkeys(found))
    if distinct and len(once) < len(found):
        raise InvalidClaim("an id comes twice in one call; give each id once")
    return once


def check_k(k: int) -> None:
    """Raise InvalidQuery unless `k` is a whole number from 1."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidQuery(f"k must be a whole number from 1, got {k!r}")


def unit_rows(
    vectors: ArrayLike | Sequence[ArrayLike],
    shape: tuple[int, int],
    error: type[RecollectxError] = InvalidClaim,
) -> Vectors:
    """Rows of length 1, all zeros left so; DimensionError for another shape, `error` for numbers not finite."""
    try:
        with np.errstate(over="ignore"):
            given = np.asarray(vectors, np.float32)
    except (TypeError, ValueError) as fault:
        raise DimensionError(f"these are no {shape[1]}-d vectors: {fault}") from None
    if not shape[0] and not given.size:
        return np.zeros(shape, np.float32)
    if given.shape != shape:
        raise DimensionError(
            f"expected vectors of shape {shape}, got {given.shape}; vectors of another model need another index"
        )
    if not np.isfinite(given).all():
        raise error("a vector has numbers that are not finite in 32 bits")
    # Dividing by the greatest number first keeps the squares of very large and very small ones in range.
    peaks = np.abs(given).max(axis=1, keepdims=True)
    peaks[peaks == 0] = 1
    scaled: Vectors = given / peaks
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    unit: Vectors = scaled / lengths
    return unit


def checked_nearest(found: Iterable[Any], k: int) -> list[Any]:
    """The first `k` neighbours as a list; BackendError unless each is one, as an index of somebody else's may give anything."""
    nearest = list(islice(found, k))
    for each in nearest:
        id, score = getattr(each, "id", None), getattr(each, "score", None)
        if (
            not isinstance(id, str)
            or not isinstance(score, int | float | np.floating)
            or not math.isfinite(score)
        ):
            raise BackendError(f"an index must give Near(id, score), got {each!r}")
    return nearest
