"""Belief strength: what a claim's own assertions and the claims that bear on it make of it.

Strength is a function of the present graph only, so order of arrival, repeats and retractions leave no trace.
LogOdds, the default, adds evidence in log-odds. For a claim with base b, c(v) = v kept in [.01, .99]:

    lam   = 2 atanh(w e r s)       of one arrow: weight of its relation, its strength, trust and strength of its src
    A+    = sum over groups of the greatest lam among supports, derivations, and assertions by other sources
    A-    = likewise over contradictions;  T_L(A) = L A / (L + A)
    x     = logit(c(b)) + T_L+(A+) - T_L-(A-);  strength = c(sigmoid(x))

A group is one independent source: what it says many times counts once. What comes from the base's own source adds
nothing to A+. A derivation weighs as its weakest premise, and nothing once a premise has fallen. No slope of x in any
neighbour's x exceeds (L+ + L-) / 4 in sum, so below 4 the equations of any graph, circles included, have one solution.
PropagationConfig keeps the fixed steps of 0.2.7 over the same groups.

A claim that is not alive (retired, superseded, unsupported, expired) weighs nothing on others. Its own strength goes
on being computed as if it were alive: should it return, it returns to what the graph says of it.
"""

import importlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import atanh, exp, fsum
from typing import Any, ClassVar, NamedTuple

from recollectx.errors import InvalidSetting
from recollectx.solving import Graph, Neighbours, Settled, held, settle
from recollectx.weighing import (
    POOL,
    UNSAID,
    Arrow,
    Belief,
    Contribution,
    Group,
    Node,
    Peer,
    Peers,
    Piece,
    Rule,
    Voice,
    clip,
    discounted,
    logit,
    pieces_of,
    strongest,
)

__all__ = [
    "Arrow",
    "Belief",
    "ConfidenceChangeEvent",
    "Contribution",
    "Graph",
    "LogOdds",
    "Neighbours",
    "Node",
    "Peer",
    "Peers",
    "PropagationConfig",
    "Rule",
    "Settled",
    "Voice",
    "held",
    "rule_from",
    "settle",
    "strongest",
]

LOW_TRUST = 0.5
SHARED = "one voice with the others that are trusted little"


@dataclass(frozen=True, slots=True)
class ConfidenceChangeEvent:
    """One move of a confidence. change_type: contradiction, support or manual.  timestamp: seconds since 1970 UTC.

    caused_by_id: the claim whose change moved it, None where no claim did.
    """

    claim_id: str
    old_confidence: float
    new_confidence: float
    reason: str
    change_type: str
    timestamp: float = field(default_factory=time.time)
    caused_by_id: str | None = None


def _counted(pieces: list[Piece], weights: list[float]) -> dict[int, dict[Group, int]]:
    """By side the place of the heaviest piece of each group; the first among equals."""
    best: dict[int, dict[Group, int]] = {1: {}, -1: {}}
    for place, piece in enumerate(pieces):
        if not piece.reason:
            side = best[piece.sign]
            rival = side.get(piece.group)
            if rival is None or weights[place] > weights[rival]:
                side[piece.group] = place
    return best


class _Case(NamedTuple):
    """A judged claim: chosen is the place of the base, own its group; scales turn weights into amounts."""

    belief: Belief
    pieces: list[Piece]
    weights: list[float]
    best: dict[int, dict[Group, int]]
    chosen: int | None
    own: Group
    scales: dict[int, float]

    def contributions(self) -> tuple[Contribution, ...]:
        return tuple([self._one(place) for place in range(len(self.pieces)) if place != self.chosen])

    def _one(self, place: int) -> Contribution:
        piece = self.pieces[place]
        reason, instead = piece.reason, None
        if not reason and piece.sign > 0 and piece.group == self.own:
            reason = SHARED if piece.group == POOL else "own source"
        elif not reason and (first := self.best[piece.sign][piece.group]) != place:
            reason = SHARED if piece.group == POOL else "same source as a stronger one"
            instead = self.pieces[first].src
        amount = 0.0 if reason else piece.sign * self.weights[place] * self.scales[piece.sign]
        return Contribution(piece.src, piece.source, piece.relation, amount, not reason, reason, instead)


def _check(rule: object, values: Mapping[str, object], limit: float) -> None:
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= limit:  # type: ignore[operator]
            raise InvalidSetting(f"{type(rule).__name__}.{name} must be in [0, {limit:g}], got {value!r}")


def _check_flag(rule: object, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidSetting(
            f"{type(rule).__name__}.symmetric_contradiction must be True or False, got {value!r}"
        )


@dataclass(frozen=True, slots=True)
class LogOdds:
    """Bounded log-odds; the numbers are the weights of the relations and the caps of both sides.

    At the defaults .6 supported by .9 reads .707, and .9 contradicted by .9 reads .767; all supports together
    lift .5 to .79 at most, all contradictions press .9 down to .40 at most.
    Raises InvalidSetting for a number out of range, or caps that sum to 4 or more (no unique solution then).
    """

    name: ClassVar[str] = "log_odds"

    supports: float = 0.40
    derives: float = 0.60
    contradicts: float = 0.75
    support_cap: float = 1.3
    contradict_cap: float = 2.6
    symmetric_contradiction: bool = True
    low_trust: float = LOW_TRUST

    def __post_init__(self) -> None:
        numbers = asdict(self)
        _check_flag(self, numbers.pop("symmetric_contradiction"))
        caps = {name: numbers.pop(name) for name in ("support_cap", "contradict_cap")}
        _check(self, numbers, 1)
        _check(self, caps, 4)
        if self.support_cap + self.contradict_cap >= 4:
            raise InvalidSetting(f"support_cap + contradict_cap must stay below 4, got {caps}; lower one")

    def local(self, node: Node, peers: Peers) -> Belief:
        """The belief in `node`."""
        return _alone(node) or self._judge(node, peers).belief

    def attribute(self, node: Node, peers: Peers) -> tuple[Contribution, ...]:
        """What each assertion other than the base, then each arrow, adds."""
        return self.account(node, peers)[1]

    def account(self, node: Node, peers: Peers) -> tuple[Belief, tuple[Contribution, ...]]:
        """Both, at the price of one."""
        alone = _alone(node)
        if alone is not None:
            return alone, ()
        case = self._judge(node, peers)
        return case.belief, case.contributions()

    def settings(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {"rule": self.name, **asdict(self)}

    def _judge(self, node: Node, peers: Peers) -> _Case:
        pieces = pieces_of(node, peers, self.low_trust, symmetric=self.symmetric_contradiction)
        # The weights bear the names of their relations.
        lams = [0.0 if p.reason else 2 * atanh(getattr(self, p.relation) * p.push) for p in pieces]
        best = _counted(pieces, lams)
        # fsum rounds once, whatever the order, so a permuted graph gives the same number to the last bit.
        total, against = [fsum([lams[place] for place in best[sign].values()]) for sign in (1, -1)]
        lifts = []
        for voice, piece in zip(node.voices, pieces, strict=False):
            base, own = discounted(voice), best[1].get(piece.group)
            up = total if own is None else total - lams[own]
            lifts.append((logit(clip(base)) + _bounded(up, self.support_cap), base, up))
        chosen = lifts.index(max(lifts)) if lifts else None
        base, up = (UNSAID, total) if chosen is None else lifts[chosen][1:]
        scales = {1: _share(up, self.support_cap), -1: _share(against, self.contradict_cap)}
        pull = up * scales[1] - against * scales[-1]
        group = None if chosen is None else pieces[chosen].group
        return _Case(_belief(base, pull), pieces, lams, best, chosen, group, scales)


def _alone(node: Node) -> Belief | None:
    """The belief in a claim on which nothing bears but one assertion at most: under any rule what that is worth."""
    if node.arrows or len(node.voices) > 1:
        return None
    return _belief(discounted(node.voices[0]) if node.voices else UNSAID, 0.0)


def _share(amount: float, cap: float) -> float:
    return cap / (cap + amount) if amount else 1.0


def _bounded(amount: float, cap: float) -> float:
    return amount * _share(amount, cap)


def _belief(base: float, pull: float) -> Belief:
    start = clip(base)
    x = logit(start) + pull
    strength = clip(1 / (1 + exp(-x))) if pull else start
    return Belief(base, x, strength, base + (strength - start))


@dataclass(frozen=True, slots=True)
class PropagationConfig:
    """Fixed steps: each independent support adds support_boost, each contradiction takes contradiction_decay.

    One hop, whatever the strength of the neighbour; the base is the best assertion, .5 if there is none; the sum is
    kept within [min_confidence, max_confidence], widened to the base. A derivation counts as a support.
    Raises InvalidSetting for a number outside [0, 1] or a minimum above the maximum.
    """

    name: ClassVar[str] = "fixed_steps"
    low_trust: ClassVar[float] = LOW_TRUST

    contradiction_decay: float = 0.15
    support_boost: float = 0.10
    min_confidence: float = 0.01
    max_confidence: float = 0.99
    symmetric_contradiction: bool = True

    def __post_init__(self) -> None:
        numbers = asdict(self)
        _check_flag(self, numbers.pop("symmetric_contradiction"))
        _check(self, numbers, 1)
        if self.min_confidence > self.max_confidence:
            raise InvalidSetting(
                f"min_confidence {self.min_confidence} is above max_confidence {self.max_confidence}; swap them"
            )

    def local(self, node: Node, peers: Peers) -> Belief:
        """The belief in `node`."""
        return _alone(node) or self._judge(node, peers).belief

    def attribute(self, node: Node, peers: Peers) -> tuple[Contribution, ...]:
        """What each assertion other than the base, then each arrow, adds; a bound is shared out in proportion."""
        return self.account(node, peers)[1]

    def account(self, node: Node, peers: Peers) -> tuple[Belief, tuple[Contribution, ...]]:
        """Both, at the price of one."""
        alone = _alone(node)
        if alone is not None:
            return alone, ()
        case = self._judge(node, peers)
        return case.belief, case.contributions()

    def settings(self) -> dict[str, Any]:
        """The rule as JSON."""
        return {"rule": self.name, **asdict(self)}

    def _judge(self, node: Node, peers: Peers) -> _Case:
        pieces = pieces_of(node, peers, self.low_trust, symmetric=self.symmetric_contradiction)
        weights = [self.support_boost if piece.sign > 0 else self.contradiction_decay for piece in pieces]
        best = _counted(pieces, weights)

        def lift(place: int) -> tuple[float, int]:
            supports = len(best[1]) - (pieces[place].group in best[1])
            return discounted(node.voices[place]), supports

        chosen = max(range(len(node.voices)), key=lift, default=None)
        base, supports = (UNSAID, len(best[1])) if chosen is None else lift(chosen)
        steps = self.support_boost * supports - self.contradiction_decay * len(best[-1])
        low, high = min(self.min_confidence, base), max(self.max_confidence, base)
        confidence = min(max(base + steps, low), high)
        strength, start = clip(confidence), clip(base)
        x = logit(strength)
        scale = (x - logit(start)) / steps if abs(steps) > 1e-9 else 1 / (start * (1 - start))
        own = None if chosen is None else pieces[chosen].group
        belief = Belief(base, x, strength, confidence)
        return _Case(belief, pieces, weights, best, chosen, own, {1: scale, -1: scale})


_RULES: dict[str, type[LogOdds] | type[PropagationConfig]] = {
    LogOdds.name: LogOdds,
    PropagationConfig.name: PropagationConfig,
}


def rule_from(settings: Mapping[str, Any]) -> Rule:
    """The rule that `settings` describes; InvalidSetting for a name or number it does not know."""
    numbers = dict(settings)
    name = numbers.pop("rule", None)
    if name not in _RULES:
        raise InvalidSetting(f"rule {name!r} is none of {', '.join(_RULES)}")
    try:
        return _RULES[name](**numbers)
    except TypeError as error:
        raise InvalidSetting(f"settings of rule {name}: {error}") from None


def __getattr__(name: str) -> Any:
    # 0.2.7 kept the propagator here. It writes, so it lives above the rules, which must not import it.
    if name == "ConfidencePropagator":
        return importlib.import_module("recollectx.propagator").ConfidencePropagator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
