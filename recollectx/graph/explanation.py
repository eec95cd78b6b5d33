"""Explanations: a claim and, level by level, what bears on it.

The walk goes against the edges, from a claim to what supports, contradicts and founds it; a contradiction is met
from both of its ends, but never walked back the way it came. A claim met twice is laid out once (`repeated` marks
the other places). A cycle is reported when, and only when, the edges lead back to a claim on the way.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from recollectx.claims import Claim
from recollectx.edges import Relation
from recollectx.graph.attribution import Balance, Way, Weight, Witness

MAX_NODES = 500
# What the claim explained says of itself, in place of a Weight.
_NOTHING: tuple[float | None, bool, str] = (None, True, "")


class Bearing(Protocol):
    """An edge as stored: both ends, its relation, the derivation it belongs to."""

    @property
    def pk(self) -> int: ...
    @property
    def src(self) -> int: ...
    @property
    def dst(self) -> int: ...
    @property
    def relation(self) -> str: ...
    @property
    def derivation(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class ExplanationNode:
    """One claim of an explanation. depth: 0 for the one explained.  relation: how it bears on its parent.

    children holds supported_by, contradicted_by and derived_from, and what bears on it by other relations.
    repeated: it is laid out elsewhere in the tree.
    contribution: what it adds to its parent by this edge, in log-odds; None at the root.  counted, why_not: whether
    it has a say, and the reason if not, such as "same source as ...".
    start, x: log-odds where the claim begins by its own assertion, and where it stands.  witnesses: its other
    assertions.  returned: what its parent adds to it by the contradiction they share, which is not laid out again.
    whole: all that bears on it is shown, so that start + the contributions of children and witnesses + returned = x.
    These are None, empty or False in a repeated node.
    """

    belief: Claim
    depth: int
    relation: str | None
    children: tuple["ExplanationNode", ...] = ()
    repeated: bool = False
    contribution: float | None = None
    counted: bool = True
    why_not: str = ""
    start: float | None = None
    x: float | None = None
    witnesses: tuple[Witness, ...] = ()
    returned: float | None = None
    whole: bool = False

    def _by(self, relation: str) -> tuple["ExplanationNode", ...]:
        return tuple(child for child in self.children if child.relation == relation)

    @property
    def supported_by(self) -> tuple["ExplanationNode", ...]:
        """What supports it."""
        return self._by(Relation.SUPPORTS)

    @property
    def contradicted_by(self) -> tuple["ExplanationNode", ...]:
        """What contradicts it."""
        return self._by(Relation.CONTRADICTS)

    @property
    def derived_from(self) -> tuple["ExplanationNode", ...]:
        """What it derives from."""
        return self._by(Relation.DERIVES)


@dataclass(frozen=True, slots=True)
class ExplanationResult:
    """An explanation. max_depth_reached: the depth of its deepest claim.  total_nodes: distinct claims in it.

    truncated: more bears on it than the depth or the cap on claims let in.
    """

    root: ExplanationNode
    max_depth_reached: int
    cycle_detected: bool
    total_nodes: int
    truncated: bool = False


class Step(NamedTuple):
    """One edge as met from the claim it bears on; mirrored: a contradiction met from its src."""

    other: int
    relation: str
    edge: int
    mirrored: bool
    derivation: str | None

    @property
    def way(self) -> Way:
        """How it bears on that claim."""
        return self.other, self.relation, self.mirrored, self.derivation


@dataclass(frozen=True, slots=True)
class Walk:
    """Which claims were met at which depth, and the edges between them by the claim they bear on.

    bearing: every edge that bears on one of these claims, also from beyond.
    """

    depths: Mapping[int, int]
    onto: Mapping[int, Sequence[Step]]
    truncated: bool
    bearing: Sequence[Bearing]


def walk(
    root: int,
    max_depth: int,
    neighbours: Callable[[Collection[int]], Iterable[Bearing]],
    *,
    max_nodes: int = MAX_NODES,
) -> Walk:
    """Breadth first from `root` against the edges; `neighbours` is called once per level.

    neighbours(claims): the edges into these claims and the contradictions out of them.
    """
    depths = {root: 0}
    onto: dict[int, list[Step]] = defaultdict(list)
    bearing: dict[int, Bearing] = {}
    frontier, truncated = [root], False
    for depth in range(max_depth + 1):
        edges = list(neighbours(frontier))
        bearing.update((edge.pk, edge) for edge in edges)
        level = set(frontier)
        frontier = []
        for edge in edges:
            for claim, other in ((edge.dst, edge.src), (edge.src, edge.dst)):
                mirrored = claim == edge.src
                if claim not in level or (mirrored and edge.relation != Relation.CONTRADICTS):
                    continue
                if other not in depths:
                    if depth == max_depth or len(depths) >= max_nodes:
                        truncated = True
                        continue
                    depths[other] = depth + 1
                    frontier.append(other)
                onto[claim].append(Step(other, edge.relation, edge.pk, mirrored, edge.derivation))
        if not frontier:
            break
    return Walk(depths, onto, truncated, tuple(bearing.values()))


def lay_out(
    root: int, found: Walk, claims: Mapping[int, Claim], accounts: Mapping[int, Balance]
) -> ExplanationResult:
    """The tree of a walk: each claim laid out once, where it is nearest to the root. accounts: of every claim."""
    reached = [pk for pk in found.depths if pk in claims]
    parents: dict[int, tuple[int, Step]] = {}
    for pk in reached:
        below = found.depths[pk] + 1
        for step in found.onto.get(pk, ()):
            if found.depths[step.other] == below:
                parents.setdefault(step.other, (pk, step))
    laid: dict[int, ExplanationNode] = {}
    # Deepest first: what bears on a claim is laid out before it, without recursion.
    for pk in reversed(reached):
        parent, came = parents.get(pk, (pk, None))
        account, depth = accounts[pk], found.depths[pk]
        children, returned = [], None
        unseen = set(account.edges)
        for step in found.onto.get(pk, ()):
            if step.other not in claims:
                continue
            unseen.discard(step.way)
            if came is not None and step.edge == came.edge:
                returned = account.weight(step.way).amount
            elif parents.get(step.other) == (pk, step):
                children.append(laid[step.other])
            else:
                children.append(
                    _again(claims[step.other], depth + 1, step.relation, account.weight(step.way))
                )
        # What it adds above is known before what is above is laid out: nothing is made twice.
        adds, counted, why_not = _NOTHING if came is None else accounts[parent].weight(came.way)
        laid[pk] = ExplanationNode(
            claims[pk],
            depth,
            came and came.relation,
            tuple(children),
            False,
            adds,
            counted,
            why_not,
            start=account.start,
            x=account.x,
            witnesses=account.witnesses,
            returned=returned,
            whole=not unseen,
        )
    return ExplanationResult(
        root=laid[root],
        max_depth_reached=max(found.depths.values()),
        cycle_detected=_has_cycle(found),
        total_nodes=len(reached),
        truncated=found.truncated,
    )


def _again(claim: Claim, depth: int, relation: str, weight: Weight) -> ExplanationNode:
    """A claim at another of its places: what bears on it is not laid out again."""
    return ExplanationNode(claim, depth, relation, (), True, weight.amount, weight.counted, weight.why_not)


def _has_cycle(found: Walk) -> bool:
    """Whether stored edges lead back to a claim on the way; a contradiction read backwards is not one of them."""
    ahead = found.depths
    if all(
        step.mirrored or ahead[step.other] > ahead[pk] for pk, onto in found.onto.items() for step in onto
    ):
        return False
    open_, done = 1, 2
    state: dict[int, int] = {}
    for start in found.depths:
        if start in state:
            continue
        state[start] = open_
        stack = [(start, _stored(found, start))]
        while stack:
            pk, rest = stack[-1]
            for other in rest:
                if state.get(other) == open_:
                    return True
                if other not in state:
                    state[other] = open_
                    stack.append((other, _stored(found, other)))
                    break
            else:
                state[pk] = done
                stack.pop()
    return False


def _stored(found: Walk, pk: int) -> Iterator[int]:
    return (step.other for step in found.onto.get(pk, ()) if not step.mirrored)
