"""The filters of a query: which rows of a scope pass them."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from recollectx.claims import Claim
from recollectx.columns import Columns, Mask, Rows
from recollectx.query import Query


def passing(columns: Columns, rows: Rows, query: Query, now: float) -> Rows:
    """Those of `rows` that pass every filter of the query. now: seconds since 1970 UTC."""
    column = columns.column
    wanted = {
        "type": None if query.type is None else (query.type,),
        "category": None if query.category is None else (query.category,),
        "status": query.statuses,
        "session": None if query.session is None else (query.session,),
    }
    for name, values in wanted.items():
        if values is not None:
            rows = rows[_labelled(columns.labels[name], values)[column[name][rows]]]
    for entity in query.entities:
        rows = rows[np.isin(rows, columns.about(entity))]
    if query.min_confidence > 0:
        rows = rows[column["confidence"][rows] >= query.min_confidence]
    if query.since is not None:
        rows = rows[column["created_at"][rows] >= query.since]
    if query.until is not None:
        rows = rows[column["created_at"][rows] <= query.until]
    if query.valid_at is not None:
        rows = rows[column["valid_from"][rows] <= query.valid_at]
        rows = rows[column["valid_to"][rows] > query.valid_at]
    elif query.status is None:
        rows = rows[column["valid_to"][rows] > now]
        begins = column["valid_from"][rows]
        rows = rows[(begins <= now) | (begins == column["created_at"][rows])]
    if query.metadata:
        rows = rows[[_has(columns.metadata.get(at), query.metadata) for at in rows.tolist()]]
    return rows


def holds(claim: Claim, query: Query, now: float) -> bool:
    """Whether one claim passes the query's filters of status and validity, as `passing` has them for many."""
    if claim.status not in query.statuses:
        return False
    ends = math.inf if claim.valid_to is None else claim.valid_to
    if query.valid_at is not None:
        return claim.since <= query.valid_at < ends
    # One that states no start is known from the moment it is stored, whatever that says of its age.
    begun = claim.since <= now or claim.since == claim.created_at
    return query.status is not None or (begun and ends > now)


def _labelled(labels: Mapping[str | None, int], values: Iterable[str]) -> Mask:
    """For every label of a column, whether it is one of `values`."""
    allowed = np.zeros(len(labels), np.bool_)
    allowed[[labels[value] for value in values if value in labels]] = True
    return allowed


def _has(stored: str | None, wanted: Mapping[str, Any]) -> bool:
    found = {} if stored is None else json.loads(stored)
    return all(key in found and found[key] == value for key, value in wanted.items())
