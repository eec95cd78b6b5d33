"""Inheriting: what a claim that comes back contradicts, because what had taken its place does.

A value that is told while another one is in use is weighed against that one alone. When that one falls and the value
before it comes back, the two that now hold beside each other contradict.
"""

from collections.abc import Iterable

from recollectx.candidates import of_one_thing, overlap, says_the_same
from recollectx.claims import CURRENT
from recollectx.edges import Edge, Relation
from recollectx.storage.reading import Reader


def contradicting(reader: Reader, pks: Iterable[int]) -> set[int]:
    """The claims that contradict one of these, or are contradicted by it."""
    keys = list(pks)
    found = {edge.src for edge in reader.edges_in(keys) if edge.relation == Relation.CONTRADICTS}
    return found | {edge.dst for edge in reader.edges_out(keys) if edge.relation == Relation.CONTRADICTS}


def inherited(reader: Reader, heir: int, erased: Iterable[int]) -> list[Edge]:
    """The contradictions of a claim that is back with the other values that hold beside it.

    erased: what contradicted a claim that had superseded it and was erased.
    """
    fallen: set[int] = set()
    ring = {heir}
    while ring:
        over = {edge.src for edge in reader.edges_in(ring) if edge.relation == Relation.SUPERSEDES}
        ring = over - fallen
        fallen |= ring
    rivals = reader.claims(contradicting(reader, fallen) | set(erased))
    claim = reader.claims([heir])[heir]
    return [
        Edge(claim.id, rival.id, Relation.CONTRADICTS)
        for pk, rival in sorted(rivals.items())
        if pk not in fallen
        and rival.status in CURRENT
        and rival.scope == claim.scope
        and of_one_thing(claim, rival)
        and not says_the_same(claim, rival)
        and overlap(claim, rival)
    ]
