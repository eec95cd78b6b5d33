"""What bears on a claim: its assertions and arrows, what each may weigh, and whose evidence it is.

A group is one independent source: what it says many times, in its own words or through claims it stands behind,
counts once. All sources trusted little are one group, so a flood of them weighs no more than one.
"""

from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from math import log
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

from recollectx.edges import SIGN, Relation

HOPS = 32
FLOOR, CEILING = 0.01, 0.99
UNSAID = 0.5

Group: TypeAlias = Hashable
POOL: Group = ("low trust",)
"""The one group of all sources that are trusted little."""

_SIGN = {str(relation): sign for relation, sign in SIGN.items()}


class Voice(NamedTuple):
    """One open assertion of a claim; trust is that of its source, in [0, 1]."""

    source: str | None
    confidence: float
    trust: float = 1.0


class Arrow(NamedTuple):
    """One live edge bearing on a claim, by the key of the claim it comes from.

    mirrored: a contradiction stored as going out from the claim, read the other way too.
    """

    src: int
    relation: str
    strength: float = 1.0
    derivation: str | None = None
    mirrored: bool = False


class Node(NamedTuple):
    """A claim as propagation sees it; alive says whether it weighs on others."""

    pk: int
    voices: tuple[Voice, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    derived: bool = False
    alive: bool = True


class Peer(NamedTuple):
    """A claim as those it bears on see it; group is the key of its independent source."""

    strength: float
    trust: float
    group: Group
    alive: bool


class Belief(NamedTuple):
    """base: the assertion it stands on, discounted by trust.  x: log-odds.  strength: in [.01, .99], what weighs
    on others.  confidence: in [0, 1], what is read; an unopposed 1.0 reads 1.0."""

    base: float
    x: float
    strength: float
    confidence: float


class Contribution(NamedTuple):
    """What one arrow (src) or another source's assertion (src None) adds to a belief, in log-odds, signed.

    source: the stated source it counts for, if any.  reason: why it was not counted, "" if it was.
    instead: the claim counted in its place, None if that is an assertion or none was.
    """

    src: int | None
    source: str | None
    relation: str
    amount: float
    counted: bool
    reason: str = ""
    instead: int | None = None


Peers: TypeAlias = Callable[[int], Peer]


class Rule(Protocol):
    """How strength follows from assertions and arrows. `low_trust`: sources trusted less share one group.

    A value, which can be hashed: what it makes of a claim is remembered.
    """

    name: ClassVar[str]

    def __hash__(self) -> int: ...

    @property
    def low_trust(self) -> float:
        """The trust below which sources are not told apart."""

    @property
    def symmetric_contradiction(self) -> bool:
        """Whether a contradiction is read both ways."""

    def local(self, node: Node, peers: Peers) -> Belief:
        """The belief in `node`, given the claims its arrows come from."""

    def attribute(self, node: Node, peers: Peers) -> tuple[Contribution, ...]:
        """What each assertion other than the base, then each arrow, adds; the sum is x - logit(c(base))."""

    def account(self, node: Node, peers: Peers) -> tuple[Belief, tuple[Contribution, ...]]:
        """What `local` and `attribute` give, at the price of one."""

    def settings(self) -> dict[str, Any]:
        """The rule as JSON; `rule_from` reads it back."""


def clip(value: float) -> float:
    """`value` kept within [.01, .99], where log-odds are finite."""
    return FLOOR if value < FLOOR else CEILING if value > CEILING else value


def logit(value: float) -> float:
    """Log-odds of a probability strictly between 0 and 1."""
    return log(value / (1 - value))


def discounted(voice: Voice) -> float:
    """What an assertion is worth at the trust of its source: towards .5 from above, unchanged below."""
    above = voice.confidence - UNSAID
    return UNSAID + voice.trust * above if above > 0 else voice.confidence


def trust_of(node: Node) -> float:
    """The highest trust among those who assert the claim, 1 if nobody does."""
    if len(node.voices) == 1:
        return node.voices[0].trust
    return max((voice.trust for voice in node.voices), default=1.0)


def strongest(voices: Collection[Voice]) -> Voice | None:
    """The assertion worth most at the trust of its source; equals go by name, so that arrival does not matter."""
    if len(voices) == 1:
        return next(iter(voices))
    return min(voices, key=lambda v: (-discounted(v), v.source is None, v.source or ""), default=None)


def group_of_voice(voice: Voice, pk: int, low_trust: float) -> Group:
    """The source, or the one group of all that are trusted little; the claim itself where none is stated."""
    if voice.source is None:
        return pk
    return voice.source if voice.trust >= low_trust else POOL


def _stated(node: Node, low_trust: float) -> Group | None:
    """The group of the strongest assertion, None where that states no source."""
    voice = strongest(node.voices)
    return None if voice is None or voice.source is None else group_of_voice(voice, node.pk, low_trust)


def inherits(node: Node, low_trust: float) -> bool:
    """Whether the claim takes its group from its premises."""
    return node.derived and _stated(node, low_trust) is None


def _premises(node: Node, nodes: Callable[[int], Node]) -> set[int]:
    """The premises of the derivations that are still in force."""
    derivations: dict[tuple[str | None, int], set[int]] = {}
    for place, arrow in enumerate(node.arrows):
        if arrow.relation == Relation.DERIVES:
            key = (arrow.derivation, place if arrow.derivation is None else -1)
            derivations.setdefault(key, set()).add(arrow.src)
    standing = (d for d in derivations.values() if all(nodes(src).alive for src in d))
    return set().union(*standing)


def group_of(pk: int, nodes: Callable[[int], Node], low_trust: float) -> Group:
    """The key of the independent source behind a claim.

    The source it states (all those trusted below `low_trust` are one); else, if derived, the one group of all its
    premises; else itself. Derivations are followed HOPS deep, and a derived claim
    down there counts as its own group; so does one whose derivations run in a circle.
    """
    own = _stated(nodes(pk), low_trust)
    if own is not None or not nodes(pk).derived:
        return pk if own is None else own
    groups: dict[int, Group] = {}
    inner: dict[int, set[int]] = {}
    ring = {pk}
    for hop in range(HOPS + 1):
        for each in ring:
            node = nodes(each)
            stated = _stated(node, low_trust)
            premises = _premises(node, nodes) if stated is None and node.derived and hop < HOPS else None
            if premises:
                inner[each] = premises
            else:
                groups[each] = each if stated is None else stated
        ring = set().union(*(inner.get(each, ()) for each in ring)) - groups.keys() - inner.keys()
    sorter = TopologicalSorter(inner)
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        for each in ready:
            if each in inner:
                found = {groups[premise] for premise in inner[each]}
                groups[each] = found.pop() if len(found) == 1 else each
        sorter.done(*ready)
    return groups.get(pk, pk)


class Piece(NamedTuple):
    """One assertion or arrow before weighing: push = e r s; a reason says why it weighs nothing."""

    src: int | None
    source: str | None
    relation: str
    sign: int
    push: float
    group: Group
    reason: str


def pieces_of(node: Node, peers: Peers, low_trust: float, *, symmetric: bool) -> list[Piece]:
    """The voices in their order, then the arrows in theirs."""
    pieces = []
    for voice in node.voices:
        push = voice.trust * clip(voice.confidence)
        group = group_of_voice(voice, node.pk, low_trust)
        reason = "" if push else "its source is not trusted at all"
        pieces.append(Piece(None, voice.source, Relation.SUPPORTS, 1, push, group, reason))
    joint: dict[str, list[int]] = {}
    for arrow in node.arrows:
        if arrow.derivation is not None and arrow.relation == Relation.DERIVES:
            joint.setdefault(arrow.derivation, []).append(len(pieces))
        pieces.append(_piece_of_arrow(arrow, peers(arrow.src), symmetric=symmetric))
    for name, places in joint.items():
        if len(places) > 1:
            _join(pieces, places, name)
    return pieces


def _piece_of_arrow(arrow: Arrow, peer: Peer, *, symmetric: bool) -> Piece:
    sign = _SIGN.get(arrow.relation, 0)
    push = arrow.strength * peer.trust * peer.strength
    reason = ""
    if not sign:
        reason = f"{arrow.relation} does not move confidence"
    elif not peer.alive:
        reason = "no longer in force"
    elif arrow.mirrored and not symmetric:
        reason = "contradictions are read one way"
    elif not push:
        reason = "trust or edge strength is 0"
    source = peer.group if isinstance(peer.group, str) else None
    return Piece(arrow.src, source, arrow.relation, sign, push, peer.group, reason)


def _join(pieces: list[Piece], places: list[int], name: str) -> None:
    """Let the weakest of joint premises stand for their derivation, and the others weigh nothing."""
    fallen = any(pieces[place].reason for place in places)
    groups = {pieces[place].group for place in places}
    group = groups.pop() if len(groups) == 1 else ("derivation", name)
    weakest = min(places, key=lambda place: pieces[place].push)
    for place in places:
        reason = pieces[place].reason
        if fallen:
            reason = reason or "a joint premise weighs nothing"
        elif place != weakest:
            reason = "the weakest joint premise stands for the derivation"
        pieces[place] = pieces[place]._replace(group=group, reason=reason)
