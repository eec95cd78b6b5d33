"""Explaining: what bears on a claim, read from the database."""

from collections.abc import Iterable
from typing import Any

from recollectx.claims import CURRENT, GLOBAL, Status
from recollectx.edges import Relation
from recollectx.errors import InvalidQuery
from recollectx.graph.attribution import balances
from recollectx.graph.explanation import ExplanationResult, lay_out, walk
from recollectx.propagation import LogOdds
from recollectx.storage.belief import StoredGraph
from recollectx.storage.reading import Identity, Reader

FALLEN = frozenset({Status.RETIRED, Status.UNSUPPORTED})
QUOTED = 60


def direct(reader: Reader, known: Identity) -> dict[str, Any]:
    """What bears directly on a claim; see `Memory.explain`."""
    claims = reader.claims([known.pk])
    incoming, outgoing = reader.edges_in([known.pk]), reader.edges_out([known.pk])
    reachable = (known.scope, GLOBAL)
    near = reader.claims([edge.src for edge in incoming] + [edge.dst for edge in outgoing])

    around = {pk: claim for pk, claim in near.items() if claim.scope in reachable}

    def ids(edges: Iterable[tuple[int, str]], relation: str, *, used: bool = True) -> list[str]:
        return [
            around[pk].id
            for pk, how in edges
            if how == relation and pk in around and (not used or around[pk].status in CURRENT)
        ]

    onto = [(edge.src, edge.relation) for edge in incoming]
    from_here = [(edge.dst, edge.relation) for edge in outgoing]
    return {
        "belief": claims[known.pk],
        "supported_by": ids(onto, Relation.SUPPORTS),
        "contradicted_by": list(reader.rivals(claims).get(known.pk, ())),
        "derived_from": ids(onto, Relation.DERIVES),
        "superseded_by": ids(
            [pair for pair in onto if pair[0] in around and around[pair[0]].status not in FALLEN],
            Relation.SUPERSEDES,
            used=False,
        ),
        "supersedes": ids(from_here, Relation.SUPERSEDES, used=False),
        "assertions": [assertion for _, assertion in reader.assertions([known.pk]).get(known.pk, ())],
    }


def deep(reader: Reader, known: Identity, max_depth: int) -> ExplanationResult:
    """What bears on a claim, and on that, down to `max_depth`, with what each edge adds.

    One query per level of edges, one for the claims, and for the amounts a number that does not grow with the tree.
    """
    if isinstance(max_depth, bool) or not isinstance(max_depth, int) or max_depth < 0:
        raise InvalidQuery(f"max_depth must be a whole number from 0, got {max_depth!r}")
    found = walk(known.pk, max_depth, reader.bearing)
    claims = reader.claims(found.depths)

    def tell(pk: int) -> str:
        if pk not in claims:
            return "another claim"
        text = claims[pk].text
        return f"“{text if len(text) <= QUOTED else text[:QUOTED] + '…'}”"

    graph = StoredGraph(reader, onto=claims, bearing=found.bearing)
    accounts = balances(claims, graph, reader.rule() or LogOdds(), tell)
    return lay_out(known.pk, found, claims, accounts)
