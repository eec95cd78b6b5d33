"""Attribution: what each edge and each further assertion adds to the claims of an explanation, in log-odds.

The amounts are the rule's own and exact: for a claim all of whose edges are shown, where it starts from, plus what
its edges and witnesses add, is where it stands.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

from recollectx.propagation import SHARED, Contribution, Graph, Neighbours, Rule
from recollectx.weighing import Arrow, Node, Voice, clip, logit

Way: TypeAlias = tuple[int, str, bool, str | None]
"""How something bears on a claim: from which one, by which relation, read against its direction or not, and in which
derivation."""
WhyNot: TypeAlias = Callable[[Contribution], str]

_SAME, _OWN = "same source as a stronger one", "own source"
ONE_WAY = "contradictions out of global act one way"


class Weight(NamedTuple):
    """What one edge adds to a claim, in log-odds; why_not: the reason why it was not counted, "" if it was."""

    amount: float
    counted: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """An assertion of a claim beside the one it starts from. confidence: as asserted.  trust: in its source.

    amount: what it adds, in log-odds.  why_not: the reason why it was not counted, "" if it was.
    """

    source: str | None
    confidence: float
    trust: float
    amount: float
    counted: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Balance:
    """A claim's account. start: log-odds of what it stands on by itself.  x: log-odds of where it stands.

    edges: by the way each bears on it; they and the witnesses are all that lies between start and x.
    """

    start: float
    x: float
    edges: Mapping[Way, Weight]
    witnesses: tuple[Witness, ...]

    def weight(self, way: Way) -> Weight:
        """What an edge adds; nothing, with the reason, for one that the rule does not know."""
        known = self.edges.get(way)
        if known is not None:
            return known
        return Weight(0.0, False, ONE_WAY if way[2] else f"{way[1]} does not move confidence")


def balances(pks: Iterable[int], graph: Graph, rule: Rule, tell: Callable[[int], str]) -> dict[int, Balance]:
    """The accounts of these claims, read in a fixed number of loads. tell: a claim in a few words."""
    asked = list(pks)
    neighbours = Neighbours(graph, rule.low_trust)
    neighbours.load(asked)
    why_not = partial(_why_not, tell=tell, low_trust=rule.low_trust)
    found = {}
    for pk in asked:
        node = graph.node(pk)
        belief, given = rule.account(node, neighbours)
        cut = len(given) - len(node.arrows)
        edges = {
            _way(arrow): Weight(each.amount, each.counted, "" if each.counted else why_not(each))
            for arrow, each in zip(node.arrows, given[cut:], strict=True)
        }
        witnesses = tuple(_witnesses(node, given[:cut], why_not)) if cut else ()
        found[pk] = Balance(logit(clip(belief.base)), belief.x, edges, witnesses)
    return found


def _way(arrow: Arrow) -> Way:
    return arrow.src, arrow.relation, arrow.mirrored, arrow.derivation


def _witnesses(node: Node, given: Sequence[Contribution], why_not: WhyNot) -> Iterable[Witness]:
    voices: dict[str | None, Voice] = {voice.source: voice for voice in node.voices}
    for each in given:
        voice = voices[each.source]
        yield Witness(each.source, voice.confidence, voice.trust, each.amount, each.counted, why_not(each))


def _why_not(given: Contribution, tell: Callable[[int], str], low_trust: float) -> str:
    if given.reason == SHARED:
        return f"shares the one voice of sources trusted below {low_trust:g}"
    if given.reason == _OWN:
        return "same source as the claim's own"
    if given.reason == _SAME:
        return "same source as " + ("a witness" if given.instead is None else tell(given.instead))
    return given.reason
