"""How well each row of a scope fits a question: by its words, its meaning, who said it and what was said around it.

Statistics (number of rows, document frequency, mean, spread) are those of all rows of the scope, so neither a
filter nor another scope can move a score. In the unit of one standard deviation (of the cosines over the rows that
have a vector, of BM25 over all rows) a row is worth

    own     = dense * z(cosine) + keyword * z(BM25) + speaker, if the question names one of the scope's sources
              and that one said it
    whole   = own + neighbours * the greater own of the turns one before and one after
                  + neighbours / 2 * the greater own of the turns two before and two after
                  + session * the greatest own of its session (a claim of no session is one of its own)

An absent arm adds nothing: a row without a vector is average in meaning, a question none of whose words is known is
asked by meaning only. Hits are the rows that have a vector or a word of the question. By words alone only a row with
a word of the question is a hit, what is around it lifts it and never brings in others, and the score is the share
of the most that could be reached.

Source of the stages: dialogue questions, README, "How good recall is". Reciprocal ranks instead of z did worse than
words alone, the sum of both neighbours or z over the matching rows made no difference beyond noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recollectx.columns import Columns, Floats, Mask, Rows
from recollectx.query import Weights
from recollectx.text import query_tokens

K1, B = 0.9, 0.4

_USUAL_SPREAD, _USUAL_ROWS = 0.2, 4
"""z as if this many rows more had this standard deviation (of cosines, and of BM25 as a share of the most): the
spread of two or three rows says nothing, and that of hundreds is hardly touched."""
_MIDDLE, _WIDTH = 8.0, 4.0
"""The whole that scores 1/2, and how far from it 1/4 and 3/4 are. The best of a question is mostly 8 to 24, an
average row's 0: so low a score keeps the weights of a claim's own numbers from lifting it over a match."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """What a question makes of every row; only `rows` are hits.

    keyword: BM25.  near: the cosines and which rows have one; None when the vectors have no say.
    lent, session, speaker: what the turns beside a row, its session and its source add; None where nothing of the kind can.
    score: the whole, in [0, 1].  idf: of each word of the question.
    """

    rows: Rows
    keyword: Floats
    near: tuple[Floats, Mask] | None
    lent: Floats | None
    session: Floats | None
    speaker: Floats | None
    score: Floats
    idf: dict[str, float]


def relevance(columns: Columns, text: str, weights: Weights, near: tuple[Floats, Mask] | None) -> Relevance:
    """The relevance of every row. near: the cosines and which rows have one; None: words alone decide."""
    words = query_tokens(text)
    keyword, idf = _keyword(columns, words if weights.keyword else [])
    share, alive = keyword / (sum(idf.values()) or 1.0), columns.column["alive"][: columns.used]
    if near is None:
        own, unit, rows = share.copy(), _spread(share[alive]), np.flatnonzero(keyword)
    else:
        cosine, embedded = near
        unit, own = 1.0, weights.dense * _standing(cosine, embedded)
        if idf:
            own += weights.keyword * _standing(share, alive)
        rows = np.flatnonzero(embedded | (keyword > 0))
    speaker = _speaker(columns, words, weights.speaker * unit)
    if speaker is not None:
        own += speaker
    lent = _lent(columns, rows, own, weights.neighbours)
    session = _session(columns, rows, own, weights.session)
    whole, reach = own, 1.0
    for part, most in ((lent, 1.5 * weights.neighbours), (session, weights.session)):
        if part is not None:
            whole, reach = whole + part, reach + most
    if near is None:
        score = whole / (reach * (1.0 if speaker is None else 1 + weights.speaker * unit))
    else:
        above = whole - _MIDDLE
        score = 0.5 + 0.5 * above / (_WIDTH + np.abs(above))
    return Relevance(rows, keyword, near, lent, session, speaker, score, idf)


def _keyword(columns: Columns, words: Sequence[str]) -> tuple[Floats, dict[str, float]]:
    """BM25 of every row, and the IDF of each word."""
    count, length = len(columns), columns.column["length"]
    average = max(columns.total_length, 1) / max(count, 1)
    keyword = np.zeros(columns.used)
    idf: dict[str, float] = {}
    for word in words:
        rows, counts = columns.posting(word)
        idf[word] = math.log(1 + (count - rows.size + 0.5) / (rows.size + 0.5))
        norm = K1 * (1 - B + B / average * length[rows])
        keyword[rows] += idf[word] * counts / (counts + norm)
    return keyword, idf


def _speaker(columns: Columns, words: Sequence[str], weight: float) -> Floats | None:
    """`weight` for the rows of the source that the question names; None if it names none, or more than one."""
    named = {source for word in words for source in columns.named.get(word, ())}
    said = [rows for rows in map(columns.said_by, named) if rows.size]
    if len(said) != 1 or not weight:
        return None
    speaker = np.zeros(columns.used)
    speaker[said[0]] = weight
    return speaker


def _lent(columns: Columns, rows: Rows, own: Floats, weight: float) -> Floats | None:
    turns = columns.column["turn"][rows]
    if not weight or not (turns >= 0).any():
        return None
    lent = np.zeros_like(own)
    lent[rows] = columns.turns.lent(turns, own[rows], (weight, weight / 2))
    return lent


def _session(columns: Columns, rows: Rows, own: Floats, weight: float) -> Floats | None:
    sessions = columns.labels["session"]
    place = columns.column["session"][rows].astype(np.int64)
    alone = place == sessions.get(None, -1)
    if not weight or alone.all():
        return None
    values, best = own[rows], np.full(len(sessions), -math.inf)
    np.maximum.at(best, place, values)
    session = np.zeros_like(own)
    session[rows] = weight * np.where(alone, values, best[place])
    return session


def shares(columns: Columns, rows: Rows, idf: Mapping[str, float]) -> Floats:
    """For each of `rows`, how much of the question's IDF its words make up, in [0, 1]."""
    matched = np.zeros(rows.size)
    for word, weight in idf.items():
        posting = columns.posting(word)[0]
        if posting.size:
            at = np.minimum(np.searchsorted(posting, rows), posting.size - 1)
            matched[posting[at] == rows] += weight
    share: Floats = matched / sum(idf.values())
    return share


def _spread(values: Floats) -> float:
    """The standard deviation, with that of a few usual rows counted in."""
    if not values.size:
        return _USUAL_SPREAD
    added = _USUAL_ROWS * _USUAL_SPREAD**2
    return math.sqrt((values.size * float(values.var()) + added) / (values.size + _USUAL_ROWS))


def _standing(values: Floats, among: Mask) -> Floats:
    """z: how many standard deviations each value lies from the mean of those `among`; 0 for the others."""
    whole = bool(among.all())
    counted = values if whole else values[among]
    standing: Floats = (values - counted.mean()) / _spread(counted)
    if not whole:
        standing[~among] = 0.0
    return standing
