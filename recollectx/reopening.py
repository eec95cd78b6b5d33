"""Reopening: a claim that was put out of use and is said again meets what it contradicted.

So a dispute that was closed is open again once somebody repeats what was dropped, and nothing comes back undisputed.
"""

from collections.abc import Iterable, Iterator

from recollectx.candidates import Candidate, overlap, says_the_same
from recollectx.changes import Action, Link, WriteDecision
from recollectx.claims import CURRENT, Claim, Status
from recollectx.edges import Edge, Relation
from recollectx.storage.reading import Reader
from recollectx.values import SUPERSEDED_BY


def reopened(
    reader: Reader, claim: Claim, decision: WriteDecision, candidates: Iterable[Candidate]
) -> Iterator[Link]:
    """The contradictions of a new claim with what the same words contradicted before, beside those of the decision."""
    said = [each.claim for each in candidates if says_the_same(each.claim, claim)]
    ids = [each.id for each in said if each.status == Status.RETIRED]
    relations = {relation for relation, _ in decision.relations}
    if not ids or decision.action not in (Action.ADD, Action.DELETE) or SUPERSEDED_BY in relations:
        return
    old = {found.pk for found in map(reader.resolve, ids) if found is not None}
    edges = [edge for edge in reader.bearing(old) if edge.relation == Relation.CONTRADICTS]
    rivals = reader.claims({end for edge in edges for end in (edge.src, edge.dst)} - old)
    settled = {other for _, other in decision.relations}
    for edge in edges:
        rival = rivals.get(edge.dst if edge.src in old else edge.src)
        if rival is None or rival.id in settled or rival.status not in CURRENT or not overlap(rival, claim):
            continue
        settled.add(rival.id)
        ends = (claim.id, rival.id) if edge.src in old else (rival.id, claim.id)
        yield Link(Edge(*ends, Relation.CONTRADICTS, edge.strength))
