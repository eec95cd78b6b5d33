"""Retelling: what was said of a value that is ended, left or comes back is decided on anew.

Each source's word keeps the dates from which on it said that the value holds. When another value ends it at some
date, what was said of later dates is told again after that; so the order of telling does not matter. When a source
takes its word back, what others said of the value is told again without it: they may not end what it could. When a
value comes back by another word or from another date, it takes nobody's place but as is decided then.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from recollectx.candidates import Candidate, says_the_same
from recollectx.changes import Action, Change, Link, Reinforce, Retract, Revise, Unlink, WriteDecision
from recollectx.claims import Assertion, Claim, EpisodicClaim, SemanticClaim, Status
from recollectx.deciding import RuleDecider, changes_for
from recollectx.edges import Edge, Relation
from recollectx.instants import from_micros
from recollectx.storage.reading import Identity, Reader, StoredEdge


@dataclass(frozen=True, slots=True)
class Retelling:
    """Tells anew by `rules`. clock: seconds since 1970 UTC."""

    rules: RuleDecider
    clock: Callable[[], float]

    def after(
        self, reader: Reader, decision: WriteDecision, claim: Claim, candidates: Iterable[Candidate]
    ) -> Iterator[Change]:
        """What was said, of dates after `claim` begins, of those claims that `decision` ends."""
        ended = {other for relation, other in decision.relations if relation == Relation.SUPERSEDES}
        anew: list[_Told] = []
        for known in candidates:
            old = known.claim
            if old.id not in ended or not isinstance(old, SemanticClaim):
                continue
            begun = [voice for voice in known.voices if not voice.dates or voice.dates[0] <= claim.since]
            if not begun and not says_the_same(old, claim):
                # It began by more than what was said: somebody set its date.
                continue
            for voice in known.voices:
                earlier = tuple(date for date in voice.dates if date <= claim.since)
                later = voice.dates[len(earlier) :]
                if later and earlier:
                    kept = replace(voice, dates=earlier, times=max(1, voice.times - len(later)))
                    yield Reinforce(old.id, kept, replace=True)
                elif later:
                    yield Retract(old.id, voice.source)
                anew += [_told(reader, old, voice, date) for date in later]
        yield from self._tell(reader, anew)

    def taken_back(self, reader: Reader, known: Identity, source: str | None) -> Iterator[Change]:
        """What it means that `source` takes back its word on one claim: what was read in its own turns goes too."""
        yield from _unread(reader, known, source)
        yield Retract(known.id, source, settle=True)
        yield from self.left(reader, known)

    def left(self, reader: Reader, known: Identity) -> Iterator[Change]:
        """What others say of a value that one of its sources has just taken back."""
        claim = reader.claims([known.pk])[known.pk]
        voices = [voice for _, voice in reader.assertions([known.pk]).get(known.pk, ())]
        if not isinstance(claim, SemanticClaim) or not self.rules.is_single_valued(claim.predicate):
            return
        if not voices or not all(voice.dates for voice in voices):
            return
        if not _taken(reader, known) and not _places(reader, known):
            began = min(voice.dates[0] for voice in voices)
            if began > claim.since:
                yield Revise(replace(claim, valid_from=began))
            return
        yield from _give_up(reader, known)
        for voice in voices:
            yield Retract(known.id, voice.source, settle=voice is voices[-1])
        anew = [_told(reader, claim, voice, date) for voice in voices for date in voice.dates]
        yield from self._tell(reader, anew)

    def _tell(self, reader: Reader, told: Iterable["_Told"]) -> Iterator[Change]:
        for each in sorted(told, key=lambda each: each.claim.since):
            shown = reader.candidates(each.claim.scope, each.claim)
            decision = self.rules(each.claim, shown, reader.trust(each.claim.source, each.claim.scope))
            decision = undisputed(reader, decision)
            yield from come_back(reader, decision, each.claim, shown)
            yield from changes_for(decision, each.claim, shown, now=self.clock(), span=each.span)
            yield from self.after(reader, decision, each.claim, shown)


@dataclass(frozen=True, slots=True)
class _Told:
    claim: SemanticClaim
    span: str | None


def _told(reader: Reader, old: SemanticClaim, voice: Assertion, date: float) -> _Told:
    """What a source said of `old`, as a claim of its own from one of its dates on."""
    known = reader.resolve(old.id)
    claim = replace(
        old,
        id=str(uuid4()),
        source=voice.source,
        confidence=voice.confidence,
        evidence=voice.evidence,
        session=voice.session,
        position=old.position if voice.session == old.session else None,
        last_reinforced_at=voice.said_at,
        support_count=1,
        status=Status.ACTIVE if known is None else reader.was(known.pk),
        valid_from=date,
        valid_to=None if old.status == Status.SUPERSEDED else old.valid_to,
    )
    return _Told(claim, voice.span)


def undisputed(reader: Reader, decision: WriteDecision) -> WriteDecision:
    """The decision without contradicting what took a known claim's place before it was taken back and said again."""
    known = reader.resolve(decision.target) if decision.target and decision.relations else None
    if known is None or decision.action != Action.UPDATE:
        return decision
    ids = {each.id for each in reader.identities(edge.src for edge in _taken(reader, known)).values()}
    kept = (pair for pair in decision.relations if pair[0] != Relation.CONTRADICTS or pair[1] not in ids)
    return replace(decision, relations=tuple(kept))


def come_back(
    reader: Reader, decision: WriteDecision, claim: Claim, candidates: Sequence[Candidate]
) -> Iterator[Change]:
    """What a claim lets go of that comes back by another word, or from another date, than it was known by."""
    known = next((each for each in candidates if each.claim.id == decision.target), None)
    if known is None or decision.action != Action.UPDATE or not known.withdrawn(claim.since):
        return
    found = reader.resolve(known.claim.id)
    if found is None or (claim.since == known.claim.since and reader.has_said(claim.source, found.pk)):
        return
    yield from _give_up(reader, found)
    over = _taken(reader, found)
    ids = reader.identities(edge.src for edge in over)
    begun = {pk: each.since for pk, each in reader.claims(edge.src for edge in over).items()}
    for edge in over:
        at = _seconds(edge)
        if (begun[edge.src] if at is None else at) <= claim.since:
            yield Unlink(ids[edge.src].id, found.id, Relation.SUPERSEDES)


def _unread(reader: Reader, known: Identity, source: str | None) -> Iterator[Change]:
    """A claim stands on the turns it was read in no more, as far as they are this source's."""
    read = [edge for edge in reader.edges_in([known.pk]) if edge.relation == Relation.DERIVES]
    turns, ids = reader.claims(edge.src for edge in read), reader.identities(edge.src for edge in read)
    for pk, turn in turns.items():
        if isinstance(turn, EpisodicClaim) and turn.source == source:
            yield Unlink(ids[pk].id, known.id, Relation.DERIVES)


def _give_up(reader: Reader, known: Identity) -> Iterator[Change]:
    """Whom a claim superseded is superseded by whoever superseded the claim itself."""
    below, above = _places(reader, known), _taken(reader, known)
    ids = reader.identities([*(edge.dst for edge in below), *(edge.src for edge in above)])
    for under in below:
        yield Unlink(known.id, ids[under.dst].id, Relation.SUPERSEDES)
        for over in above:
            if over.src != under.dst:
                yield Link(Edge(ids[over.src].id, ids[under.dst].id, Relation.SUPERSEDES), _seconds(over))


def _places(reader: Reader, known: Identity) -> list[StoredEdge]:
    """The places that a claim took."""
    return [edge for edge in reader.edges_out([known.pk]) if edge.relation == Relation.SUPERSEDES]


def _taken(reader: Reader, known: Identity) -> list[StoredEdge]:
    """What took a claim's place."""
    return [edge for edge in reader.edges_in([known.pk]) if edge.relation == Relation.SUPERSEDES]


def _seconds(edge: StoredEdge) -> float | None:
    return None if edge.at is None else from_micros(edge.at)
