"""Settling beliefs: from the claims that changed outwards, as far as the change is felt.

`settle` works in rounds. A round evaluates its frontier in the order of keys, each claim with the newest strengths
of its neighbours; a claim that moved puts those it bears on into the next round. What a claim is to others (trust,
group, whether it is alive) may have changed without its strength moving, so what depends on a changed claim is
always evaluated, and on from there through claims that take their group from their premises.

Up to EXACT_REGION claims beyond those that changed, it goes on until no log-odds move by EXACT. A larger region is
done again from the stored strengths, where a move of strength under COARSE is neither passed on nor written: a
written strength is always one that was passed on, so what is left out never adds up from write to write.

`held` is the other layer: which derived claims stand at all.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Generic, Protocol, TypeVar

from recollectx.edges import Relation
from recollectx.weighing import HOPS, Belief, Group, Node, Peer, Rule, group_of, inherits, logit, trust_of

EXACT = 1e-12
COARSE = 1e-4
EXACT_REGION = 2_000

C = TypeVar("C")


class Graph(Protocol):
    """Claims and their edges, read lazily by whoever keeps them; `load` is one query."""

    def load(self, pks: Collection[int]) -> None:
        """Make these claims available to the other four."""

    def node(self, pk: int) -> Node:
        """A loaded claim."""

    def strength(self, pk: int) -> float:
        """Its stored strength, in [.01, .99]; any such number for one that has none yet."""

    def confidence(self, pk: int) -> float:
        """Its stored confidence, in [0, 1]."""

    def dependents(self, pk: int) -> Collection[int]:
        """The claims it bears on, those that read its contradiction the other way included."""


@dataclass(frozen=True, slots=True)
class Settled(Generic[C]):
    """The claims whose belief is not the stored one, in order of keys, each with the cause it inherited.

    evaluations: how often a claim was looked at.
    """

    moved: Mapping[int, tuple[Belief, C]]
    evaluations: int


class Neighbours:
    """Claims as those they bear on see them: `load` a frontier, then call with a key for a Peer.

    For `Rule.attribute` on its own: neighbours.load([pk]); rule.attribute(graph.node(pk), neighbours).
    """

    def __init__(self, graph: Graph, low_trust: float) -> None:
        self._graph = graph
        self._low_trust = low_trust
        self._loaded: set[int] = set()
        self._shapes: dict[int, tuple[float, Group, bool]] = {}
        self._moved: dict[int, float] = {}
        self._peers: dict[int, Peer] = {}

    def load(self, pks: Iterable[int]) -> None:
        """Make claims and what bears on them available: two loads, and one more for each level of derived
        claims without a source that has to be climbed to find their group."""
        frontier = set(pks)
        self._fetch(frontier)
        ring = {arrow.src for pk in frontier for arrow in self._graph.node(pk).arrows} - self._shapes.keys()
        climbed: set[int] = set()
        for _ in range(HOPS + 1):
            self._fetch(ring)
            climbed |= ring
            derived = [node for node in map(self._graph.node, ring) if node.derived]
            ring = {src for node in derived for src in self._sources(node)} - climbed
            if not ring:
                break

    def _sources(self, node: Node) -> Iterable[int]:
        if inherits(node, self._low_trust):
            return (arrow.src for arrow in node.arrows if arrow.relation == Relation.DERIVES)
        return ()

    def _fetch(self, pks: set[int]) -> None:
        missing = pks - self._loaded
        if missing:
            self._graph.load(sorted(missing))
            self._loaded |= missing

    def strength(self, pk: int) -> float:
        """Its newest strength: as moved, else as stored."""
        moved = self._moved.get(pk)
        return self._graph.strength(pk) if moved is None else moved

    def move(self, pk: int, strength: float) -> None:
        """Let a claim weigh with another strength from now on."""
        self._moved[pk] = strength
        self._peers.pop(pk, None)

    def reset(self) -> None:
        """Go back to the stored strengths."""
        self._moved.clear()
        self._peers.clear()

    def __call__(self, pk: int) -> Peer:
        """What `pk` is to the claims it bears on, at its newest strength."""
        peer = self._peers.get(pk)
        if peer is None:
            if pk not in self._shapes:
                node = self._graph.node(pk)
                group = group_of(pk, self._graph.node, self._low_trust)
                self._shapes[pk] = (trust_of(node), group, node.alive)
            peer = self._peers[pk] = Peer(self.strength(pk), *self._shapes[pk])
        return peer


def settle(rule: Rule, graph: Graph, dirty: Mapping[int, C]) -> Settled[C]:
    """The beliefs that follow once the `dirty` claims changed; writes nothing.

    dirty: claims whose assertions, incoming edges, trust or standing changed, with the cause that whatever they
    move inherits. Both ends of a contradiction that is read both ways are dirty. The result does not depend on
    the order of `dirty`.
    """
    work = _Worklist(rule, graph, dirty)
    moved = work.run(_moved_exactly, limit=len(dirty) + EXACT_REGION)
    if moved is None:
        moved = work.run(_moved_coarsely, limit=None)
    return Settled(moved or {}, work.evaluations)


def _moved_exactly(old: float, new: float) -> bool:
    return old != new and abs(logit(new) - logit(old)) >= EXACT


def _moved_coarsely(old: float, new: float) -> bool:
    return abs(new - old) >= COARSE


class _Worklist(Generic[C]):
    def __init__(self, rule: Rule, graph: Graph, dirty: Mapping[int, C]) -> None:
        self.rule, self.graph, self.dirty = rule, graph, dirty
        self.neighbours = Neighbours(graph, rule.low_trust)
        self.evaluations = 0

    def run(
        self, moved: Callable[[float, float], bool], *, limit: int | None
    ) -> dict[int, tuple[Belief, C]] | None:
        """What came of it once nothing is left that `moved`; None if more than `limit` claims were reached."""
        self.neighbours.reset()
        found: dict[int, tuple[Belief, C]] = {}
        reached: set[int] = set()
        reshaped: set[int] = set()
        queue = {pk: (inf, cause) for pk, cause in self.dirty.items()}
        hops = 0
        while queue:
            reached |= queue.keys()
            if limit is not None and len(reached) > limit:
                return None
            self.neighbours.load(queue)
            frontier, queue = queue, {}
            for pk in sorted(frontier):
                node = self.graph.node(pk)
                belief = self._evaluate(node)
                before = self.neighbours.strength(pk)
                travels = moved(before, belief.strength)
                fresh = pk in self.dirty and pk not in found
                cause = found[pk][1] if pk in found else frontier[pk][1]
                if fresh or travels:
                    found[pk] = (belief, cause)
                    self.neighbours.move(pk, belief.strength)
                reshapes = hops <= HOPS and pk not in reshaped and (fresh or self._follows(node, reshaped))
                if reshapes:
                    reshaped.add(pk)
                if reshapes or (travels and node.alive):
                    self._push(pk, abs(belief.strength - before), cause, queue)
            hops += 1
        return {pk: found[pk] for pk in sorted(found) if self._differs(pk, found[pk][0], moved)}

    def _evaluate(self, node: Node) -> Belief:
        self.evaluations += 1
        return self.rule.local(node, self.neighbours)

    def _push(self, pk: int, shift: float, cause: C, queue: dict[int, tuple[float, C]]) -> None:
        """Queue what `pk` bears on; the greatest shift names the cause, the first among equals."""
        for each in self.graph.dependents(pk):
            if each not in queue or shift > queue[each][0]:
                queue[each] = (shift, cause)

    def _differs(self, pk: int, belief: Belief, moved: Callable[[float, float], bool]) -> bool:
        before = self.graph.strength(pk)
        if pk in self.dirty:
            shift = max(abs(belief.strength - before), abs(belief.confidence - self.graph.confidence(pk)))
            return shift >= EXACT
        return moved(before, belief.strength)

    def _follows(self, node: Node, reshaped: set[int]) -> bool:
        """Whether the claim takes its group from one whose group may have changed."""
        return inherits(node, self.rule.low_trust) and any(
            arrow.src in reshaped for arrow in node.arrows if arrow.relation == Relation.DERIVES
        )


def held(derivations: Mapping[int, Sequence[frozenset[int]]], grounded: Collection[int]) -> set[int]:
    """Which of the derived claims stand, given those that stand by themselves.

    derivations: for each derived claim its alternative sets of joint premises; one whole set that stands is
    enough, an empty one is none. Least fixed point: claims that only hold each other up do not stand.
    """
    waiting: list[int] = []
    conclusions: list[int] = []
    uses: dict[int, list[int]] = {}
    for claim, alternatives in derivations.items():
        for premises in alternatives:
            for premise in premises:
                uses.setdefault(premise, []).append(len(waiting))
            waiting.append(len(premises))
            conclusions.append(claim)
    standing = set(grounded)
    ready = list(standing)
    while ready:
        for place in uses.get(ready.pop(), ()):
            waiting[place] -= 1
            claim = conclusions[place]
            if not waiting[place] and claim not in standing:
                standing.add(claim)
                ready.append(claim)
    return standing & derivations.keys()
