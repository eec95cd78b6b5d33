"""How well each row of a scope fits a question: by words, meaning, who said it, when, and what was said around it.

Statistics (number of rows, document frequency, mean, spread) are those of all rows of the scope, so neither a
filter nor another scope can move a score. In the unit of one standard deviation (of the cosines over the rows that
have a vector, of BM25 over all rows) a row is worth

    own     = dense * z(cosine) + keyword * z(BM25)
              + speaker, if the question names one of the scope's sources and that one said it, or is its subject
              + date, if the question names a period and the turn is of it, or the fact held in it
    whole   = own + neighbours * the greater own of the turns one before and one after
                  + neighbours / 2 * the greater own of the turns two before and two after
                  + session * the greatest own of its session (a claim of no session is one of its own)

An absent arm adds nothing: a row without a vector is average in meaning, a question none of whose words is known is
asked by meaning only. Hits are the rows that have a vector or a word of the question. By words alone only a row with
a word of the question, or of a period it names, is a hit, what is around it lifts it and never brings in others, and the score is the share
of the most that could be reached.

Source of the stages: dialogue questions, README, "How good recall is". Reciprocal ranks instead of z did worse than
words alone, the sum of both neighbours or z over the matching rows made no difference beyond noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from recollectx.columns import Columns, Floats, Mask, Rows
from recollectx.dates import periods
from recollectx.query import Weights
from recollectx.text import names_in, query_tokens

K1, B = 0.9, 0.4
DAY = 86_400.0

_USUAL_SPREAD, _USUAL_ROWS = 0.2, 4
"""z as if this many rows more had this standard deviation (of cosines, and of BM25 as a share of the most): the
spread of two or three rows says nothing, and that of hundreds is hardly touched."""
_DIGITS = 10
_MIDDLE, _WIDTH = 8.0, 4.0
"""The whole that scores 1/2, and how far from it 1/4 and 3/4 are. The best of a question is mostly 8 to 24, an
average row's 0: so low a score keeps the weights of a claim's own numbers from lifting it over a match."""


class Meaning(NamedTuple):
    """The cosine of every row with the question, and which rows have one.

    mean, spread: of the cosines of all rows of the scope, where only some are known; None: as those known have them.
    """

    cosine: Floats
    embedded: Mask
    mean: float | None = None
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Relevance:
    """What a question makes of every row; only `rows` are hits.

    keyword: BM25.  near: the cosines and which rows have one; None when the vectors have no say.
    lent, session, speaker, date: what the turns beside a row, its session, its source and its time add; None where
    nothing of the kind can.
    whole: the sum.  score: the same in [0, 1].  idf: of each word of the question.  holding: the rows that hold it.
    since: when the first period that the question names begins.
    """

    rows: Rows
    keyword: Floats
    near: Meaning | None
    lent: Floats | None
    session: Floats | None
    speaker: Floats | None
    date: Floats | None
    whole: Floats
    score: Floats
    idf: dict[str, float]
    holding: dict[str, Rows]
    since: float | None


def relevance(columns: Columns, text: str, weights: Weights, near: Meaning | None) -> Relevance:
    """The relevance of every row. near: None where words alone decide."""
    words = query_tokens(text)
    keyword, idf, holding = _keyword(columns, words if weights.keyword else [])
    share, alive = keyword / (sum(idf.values()) or 1.0), columns.column["alive"][: columns.used]
    if near is None:
        own, unit, rows = share.copy(), spread_of(share[alive]), np.flatnonzero(keyword)
    else:
        embedded = near.embedded
        unit, own = 1.0, weights.dense * _meant(near)
        if idf:
            own += weights.keyword * _standing(share, alive)
        rows = np.flatnonzero(embedded | (keyword > 0))
    reach = 1.0
    speaker = _speaker(columns, text, weights.speaker * unit)
    spans = spans_of(columns, text)
    date = _date(columns, spans, weights.date * unit)
    if near is None and date is not None:
        rows = np.flatnonzero((keyword > 0) | (alive & (date > 0)))
    for gain, weight in ((speaker, weights.speaker), (date, weights.date)):
        if gain is not None:
            own, reach = own + gain, reach + weight * unit
    lent = _lent(columns, rows, own, weights.neighbours)
    session = _session(columns, rows, own, weights.session)
    whole, share_lent = own, 1.0
    for part, most in ((lent, 1.5 * weights.neighbours), (session, weights.session)):
        if part is not None:
            whole, share_lent = whole + part, share_lent + most
    score = whole / (reach * share_lent) if near is None else scored(whole)
    since = min(spans)[0] if spans else None
    return Relevance(rows, keyword, near, lent, session, speaker, date, whole, score, idf, holding, since)


def scored(whole: Floats) -> Floats:
    """A sum in standard deviations as a score in (0, 1), in the same order."""
    above = whole - _MIDDLE
    score: Floats = 0.5 + 0.5 * above / (_WIDTH + np.abs(above))
    return score


def idf_of(columns: Columns, word: str) -> float:
    """How much a word tells: the logarithm of how rare it is in the scope."""
    return _idf(len(columns), columns.posting(word)[0].size)


def _idf(count: int, holding: int) -> float:
    return math.log(1 + (count - holding + 0.5) / (holding + 0.5))


def _keyword(columns: Columns, words: Sequence[str]) -> tuple[Floats, dict[str, float], dict[str, Rows]]:
    """BM25 of every row, and of each word the IDF and the rows that hold it."""
    count, length = len(columns), columns.column["length"]
    average = max(columns.total_length, 1) / max(count, 1)
    keyword = np.zeros(columns.used)
    idf: dict[str, float] = {}
    holding: dict[str, Rows] = {}
    for word in words:
        rows, counts = columns.posting(word)
        holding[word] = rows
        idf[word] = _idf(count, rows.size)
        norm = K1 * (1 - B + B / average * length[rows])
        keyword[rows] += idf[word] * counts / (counts + norm)
    return keyword, idf, holding


def _speaker(columns: Columns, text: str, weight: float) -> Floats | None:
    """`weight` for what the source that the question names said, and of it as far as they are believed for facts about
    it that others state; None if it names none, or more than one."""
    named = [source for source in _named(columns, text) if columns.said_by(source).size]
    if len(named) != 1 or not weight:
        return None
    speaker, told = np.zeros(columns.used), columns.said_of(named[0])
    speaker[told] = weight * columns.column["confidence"][told]
    speaker[columns.said_by(named[0])] = weight
    return speaker


def _named(columns: Columns, text: str) -> list[str]:
    """The sources of which a question names the most words; of equals those that it names in full."""
    words = names_in(text)
    counts = {
        source: (len(name & words), name <= words)
        for word in words
        for source in columns.named.get(word, ())
        if (name := frozenset(columns.name_of(source)))
    }
    best = max(counts.values(), default=None)
    return [source for source, count in counts.items() if count == best]


def _date(columns: Columns, spans: Sequence[tuple[float, float]], weight: float) -> Floats | None:
    """`weight` for the turns of a period that the question names, and the facts that held in it."""
    if not spans or not weight:
        return None
    used = slice(columns.used)
    begins, ends = columns.column["valid_from"][used], columns.column["valid_to"][used]
    facts = columns.column["type"][used] == columns.labels["type"].get("semantic", -1)
    date = np.zeros(columns.used)
    for begin, end in spans:
        date[np.where(facts, (begins < end) & (ends > begin), (begins >= begin) & (begins < end))] = weight
    return date


def spans_of(columns: Columns, text: str) -> list[tuple[float, float]]:
    """The periods that a question names, in seconds since 1970 UTC; a day ends with the next one, as most is told by
    then. One without a year is of every year in which something in the scope began."""
    named = periods(text)
    if not named or not columns.used:
        return []
    begins = columns.column["valid_from"][: columns.used]
    first, last = (datetime.fromtimestamp(at, UTC).year for at in (begins.min(), begins.max()))
    return [
        (begin, end + (0 if period.day is None else DAY))
        for period in named
        for begin, end in period.spans(first, last)
    ]


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


def shares(found: Relevance, rows: Rows) -> Floats:
    """For each of `rows`, how much of the question's IDF its words make up, in [0, 1]."""
    matched = np.zeros(rows.size)
    for word, weight in found.idf.items():
        posting = found.holding[word]
        if posting.size:
            at = np.minimum(np.searchsorted(posting, rows), posting.size - 1)
            matched[posting[at] == rows] += weight
    share: Floats = matched / sum(found.idf.values())
    return share


def spread_of(values: Floats) -> float:
    """The standard deviation that z goes by, with that of a few usual rows counted in; rounded, as its last digits depend on the
    order in which rows were put."""
    if not values.size:
        return _USUAL_SPREAD
    added = _USUAL_ROWS * _USUAL_SPREAD**2
    spread = math.sqrt((values.size * float(values.var()) + added) / (values.size + _USUAL_ROWS))
    return round(spread, _DIGITS)


def _meant(near: Meaning) -> Floats:
    """z of each cosine, by the numbers of the whole scope where they were given; 0 for a row without one."""
    if near.mean is None or near.spread is None:
        return _standing(near.cosine, near.embedded)
    standing: Floats = np.where(near.embedded, (near.cosine - near.mean) / near.spread, 0.0)
    return standing


def _standing(values: Floats, among: Mask) -> Floats:
    """z: how many standard deviations each value lies from the mean of those `among`; 0 for the others."""
    whole = bool(among.all())
    counted = values if whole else values[among]
    standing: Floats = (values - round(float(counted.mean()), _DIGITS)) / spread_of(counted)
    if not whole:
        standing[~among] = 0.0
    return standing
