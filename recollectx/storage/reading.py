"""Reading claims, edges and trust as they stand, or as they stood after a transaction, on one connection.

Claims are integer keys in here; ids are for people and are resolved at the border.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from sqlalchemy import (
    BindParameter,
    Connection,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    union_all,
)
from sqlalchemy.orm import aliased
from sqlalchemy.sql import Executable

from recollectx.candidates import Candidate
from recollectx.claims import (
    CURRENT,
    GLOBAL,
    MAX_COUNT,
    Assertion,
    Basis,
    Category,
    Claim,
    EpisodicClaim,
    FrozenMetadata,
    SemanticClaim,
    Status,
    check_member,
    check_text,
    in_words,
)
from recollectx.db.statements import fetch, fetch_bare
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    SettingRow,
    TextRow,
    TrustRow,
    VectorRow,
)
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidClaim
from recollectx.instants import from_micros, to_micros
from recollectx.propagation import Rule, Voice, rule_from, strongest
from recollectx.storage.past import THEN, as_of
from recollectx.text import indexed

CHUNK = 500
_Value = TypeVar("_Value", Assertion, Edge, EpisodicClaim, SemanticClaim)
RULE, MODEL = "rule", "embedder"


@dataclass(frozen=True, slots=True)
class Identity:
    """Which claim an id means."""

    pk: int
    id: str
    scope: str
    erased: bool


class StoredEdge(Protocol):
    """A row of an edge between claim keys."""

    pk: int
    src: int
    dst: int
    relation: str
    strength: float
    derivation: str | None
    at: int | None


@dataclass(frozen=True, slots=True)
class Wording:
    """A wording by its key, with its scope and, for a turn, its place."""

    text: int
    words: str
    scope: str
    session: str | None
    position: int | None


def keys_of(scope: str, claim: Claim) -> tuple[int, int | None, str]:
    """What a wording is found by: 63 bits that equal claims of one scope share, 63 that values of the same thing do
    (None for what is no value of anything), and its search tokens."""
    thing, says, words = indexed(claim)
    said = _hash(f"{scope}\x1e{claim.type}\x1e{says}")
    return said, _hash(f"{scope}\x1eslot\x1e{thing}") if thing else None, words


# To copy one takes half as long as to begin another.
_BLANK = blake2b(digest_size=8)


def _hash(words: str) -> int:
    state = _BLANK.copy()
    state.update(words.encode())
    return int.from_bytes(state.digest(), "big") >> 1


def chunks(items: Collection[Any], size: int = CHUNK) -> Iterator[list[Any]]:
    """`items` in lists that fit one IN (...)."""
    listed = list(items)
    for start in range(0, len(listed), size):
        yield listed[start : start + size]


_KEYS: BindParameter[Any] = bindparam("keys", expanding=True)
_IDENTITY = select(ClaimRow.pk, ClaimRow.id, ClaimRow.scope, ClaimRow.erased)
_LIVE: Any = exists().where(RevisionRow.claim == ClaimRow.pk, RevisionRow.tx_to.is_(None))
_BY_NAME = union_all(
    _IDENTITY.add_columns(_LIVE.label("live"), literal_column("0").label("aliased")).where(
        ClaimRow.id == bindparam("id")
    ),
    _IDENTITY.add_columns(_LIVE.label("live"), literal_column("1").label("aliased"))
    .join(AliasRow, AliasRow.claim == ClaimRow.pk)
    .where(AliasRow.id == bindparam("id"), AliasRow.tx_to.is_(None)),
)
_is_aliased = attrgetter("aliased")
_KNOWN_IDS = select(ClaimRow.id).where(ClaimRow.id.in_(_KEYS))
_BY_KEYS = _IDENTITY.where(ClaimRow.pk.in_(_KEYS))
_CLAIMS = (
    select(
        ClaimRow.pk,
        ClaimRow.id,
        ClaimRow.scope,
        ClaimRow.type,
        ClaimRow.created_at,
        ClaimRow.confidence,
        TextRow.subject,
        TextRow.predicate,
        TextRow.object,
        RevisionRow.importance,
        RevisionRow.category,
        RevisionRow.status,
        RevisionRow.basis,
        RevisionRow.entities,
        RevisionRow.meta,
        RevisionRow.valid_from,
        RevisionRow.valid_to,
        RevisionRow.due_at,
        RevisionRow.review_after,
        RevisionRow.session,
        RevisionRow.position,
    )
    .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
    .join(TextRow, TextRow.pk == RevisionRow.text)
    .where(ClaimRow.pk.in_(_KEYS), RevisionRow.tx_to.is_(None))
)
_ASSERTIONS = (
    select(AssertionRow)
    .where(AssertionRow.claim.in_(_KEYS), AssertionRow.tx_to.is_(None))
    .order_by(AssertionRow.pk)
    .with_only_columns(
        AssertionRow.pk,
        AssertionRow.claim,
        AssertionRow.source,
        AssertionRow.confidence,
        AssertionRow.evidence,
        AssertionRow.span,
        AssertionRow.said_at,
        AssertionRow.session,
        AssertionRow.times,
        AssertionRow.dates,
    )
)
_VOICES = (
    select(AssertionRow.claim, AssertionRow.source, AssertionRow.confidence)
    .where(AssertionRow.claim.in_(_KEYS), AssertionRow.tx_to.is_(None))
    .order_by(AssertionRow.pk)
)
_EDGE = select(
    EdgeRow.pk, EdgeRow.src, EdgeRow.dst, EdgeRow.relation, EdgeRow.strength, EdgeRow.derivation, EdgeRow.at
).where(EdgeRow.tx_to.is_(None))
_EDGES_IN = _EDGE.where(EdgeRow.dst.in_(_KEYS)).order_by(EdgeRow.pk)
_EDGES_OUT = _EDGE.where(EdgeRow.src.in_(_KEYS)).order_by(EdgeRow.pk)
_SRC, _DST = aliased(ClaimRow), aliased(ClaimRow)
_BEARING = (
    _EDGE.join(_SRC, _SRC.pk == EdgeRow.src)
    .join(_DST, _DST.pk == EdgeRow.dst)
    .where(
        or_(
            EdgeRow.dst.in_(_KEYS),
            and_(EdgeRow.src.in_(_KEYS), EdgeRow.relation == Relation.CONTRADICTS, _SRC.scope == _DST.scope),
        )
    )
)
_IN_SCOPE = _IDENTITY.where(ClaimRow.scope == bindparam("scope"), ClaimRow.erased.is_(None)).order_by(
    ClaimRow.pk
)
_LIVE_IN_SCOPE = (
    select(AssertionRow.claim)
    .join(ClaimRow, ClaimRow.pk == AssertionRow.claim)
    .where(AssertionRow.tx_to.is_(None), ClaimRow.scope == bindparam("scope"))
    .distinct()
    .order_by(AssertionRow.claim)
)
_ASSERTED_BY = _LIVE_IN_SCOPE.where(AssertionRow.source == bindparam("source"))
_ASSERTED_BY_NOBODY = _LIVE_IN_SCOPE.where(AssertionRow.source.is_(None))
_USED = RevisionRow.status.in_(sorted(CURRENT))
_ALIKE = (
    select(TextRow.claim)
    .join(RevisionRow, RevisionRow.text == TextRow.pk)
    .where(RevisionRow.tx_to.is_(None))
    .order_by(TextRow.claim)
)
_SAID = _ALIKE.where(
    TextRow.said == bindparam("said"),
    or_(RevisionRow.status != Status.SUPERSEDED, RevisionRow.valid_to > bindparam("since")),
)
_RIVALS = _ALIKE.where(
    TextRow.slot == bindparam("slot"),
    or_(_USED, and_(RevisionRow.status == Status.SUPERSEDED, RevisionRow.valid_to > bindparam("since"))),
)
_EVER_SAID = select(AssertionRow.pk).where(AssertionRow.claim == bindparam("claim")).limit(1)
_SAID_BY = _EVER_SAID.where(AssertionRow.source == bindparam("source"))
_SAID_BY_NOBODY = _EVER_SAID.where(AssertionRow.source.is_(None))
_WAS = (
    select(RevisionRow.status)
    .where(RevisionRow.claim == bindparam("claim"), _USED)
    .order_by(RevisionRow.pk.desc())
    .limit(1)
)
_STATED = select(RevisionRow.stated_to).where(
    RevisionRow.claim == bindparam("claim"), RevisionRow.tx_to.is_(None)
)
_TRUST = select(TrustRow.source, TrustRow.level, TrustRow.scope).where(
    TrustRow.source.in_(_KEYS),
    TrustRow.tx_to.is_(None),
    or_(TrustRow.scope.is_(None), TrustRow.scope == bindparam("scope")),
)
_NEXT_POSITION = (
    select(func.max(RevisionRow.position))
    .join(ClaimRow, ClaimRow.pk == RevisionRow.claim)
    .where(
        ClaimRow.scope == bindparam("scope"),
        RevisionRow.session == bindparam("session"),
        RevisionRow.tx_to.is_(None),
    )
)
_SETTING = select(SettingRow.value, SettingRow.tx_from).where(
    SettingRow.name == bindparam("name"), SettingRow.tx_to.is_(None)
)
_SETTING_BEGAN = _SETTING.with_only_columns(SettingRow.tx_from)
_LATER = aliased(RevisionRow)
_BARE = select(TextRow.pk).where(~exists().where(VectorRow.text == TextRow.pk))
_BARE_COUNT = select(func.count()).select_from(_BARE.subquery())
_UNEMBEDDED = (
    select(
        TextRow.pk,
        TextRow.subject,
        TextRow.predicate,
        TextRow.object,
        ClaimRow.scope,
        ClaimRow.type,
        RevisionRow.session,
        RevisionRow.position,
    )
    .join(ClaimRow, ClaimRow.pk == TextRow.claim)
    .join(RevisionRow, RevisionRow.text == TextRow.pk)
    .where(
        ~exists().where(VectorRow.text == TextRow.pk),
        ~exists().where(_LATER.text == TextRow.pk, _LATER.pk > RevisionRow.pk),
        TextRow.pk > bindparam("after"),
    )
    .order_by(TextRow.pk)
    .limit(bindparam("most"))
)
_TURN = (
    select(TextRow.object)
    .join(RevisionRow, RevisionRow.text == TextRow.pk)
    .join(ClaimRow, ClaimRow.pk == RevisionRow.claim)
    .where(
        RevisionRow.session == bindparam("session"),
        RevisionRow.position == bindparam("position"),
        RevisionRow.tx_to.is_(None),
        ClaimRow.scope == bindparam("scope"),
        ClaimRow.type == "episodic",
    )
    .order_by(ClaimRow.pk)
    .limit(1)
)
_SCOPES = select(ClaimRow.scope).distinct().where(ClaimRow.erased.is_(None)).order_by(ClaimRow.scope)


# What json.loads does besides takes as long again for a short text.
_raw_decode = json.JSONDecoder().raw_decode
_STATUSES = {each.value: each for each in Status}
_BASES = {each.value: each for each in Basis}
_NO_METADATA = FrozenMetadata()
_FIELDS = {
    kind: {each.name: getattr(kind, each.name).__set__ for each in fields(kind)}
    for kind in (Assertion, Edge, EpisodicClaim, SemanticClaim)
}


def _decoded(stored: str) -> Any:
    return _raw_decode(stored)[0]


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else from_micros(micros)


class Reader:
    """What is believed now. `flush` runs before each query: a writer's pending rows become visible.

    seq: a transaction; what was believed when it had been written is read then, in place of what is believed now.
    absent: ids that were asked for and that no claim has ever had.  trust_is_set: False where it is known that nobody ever said how far a source is trusted.
    """

    def __init__(
        self, conn: Connection, flush: Callable[[], None] = lambda: None, *, seq: int | None = None
    ) -> None:
        self.conn = conn
        self.seq = seq
        self._flush = flush
        self._trust: dict[tuple[str, str], float] = {}
        self.trust_is_set = True
        self.absent: set[str] = set()
        self._named: dict[str, Identity | None] = {}
        self._keys: tuple[Claim, str, tuple[int, int | None, str]] | None = None

    def _rows(self, statement: Executable, **params: Any) -> Sequence[Any]:
        self._flush()
        if self.seq is None:
            return fetch(self.conn, statement, params)
        return fetch(self.conn, as_of(statement), {**params, THEN: self.seq})

    def bare(self, statement: Executable, **params: Any) -> list[tuple[Any, ...]]:
        """What `rows` gives, as plain tuples; for thousands of them."""
        self._flush()
        if self.seq is None:
            return fetch_bare(self.conn, statement, params)
        return fetch_bare(self.conn, as_of(statement), {**params, THEN: self.seq})

    def rows(self, statement: Executable, **params: Any) -> Sequence[Any]:
        """Rows of any statement about what is believed, as this reader sees it."""
        return self._rows(statement, **params)

    def rows_in(self, statement: Executable, keys: Iterable[Any], **params: Any) -> Iterable[Any]:
        """Rows of a statement with an expanding parameter `keys`, asked in chunks as they are needed."""
        listed = list(dict.fromkeys(keys))
        if len(listed) <= CHUNK:
            return self._rows(statement, keys=listed, **params) if listed else ()
        parts = (self._rows(statement, keys=part, **params) for part in chunks(listed))
        return chain.from_iterable(parts)

    def resolve(self, claim_id: str, *, undone: bool = False) -> Identity | None:
        """The claim that `claim_id` names, directly or as an alias; None if there is none.

        undone: also one whose coming was undone: it has a past, and no present.
        """
        try:
            check_text(claim_id, "id")
        except InvalidClaim:
            return None
        if undone:
            return self._named_by(claim_id, undone=True)
        # One decision comes back to the same few claims over and over.
        if claim_id not in self._named:
            self._named[claim_id] = self._named_by(claim_id, undone=False)
        return self._named[claim_id]

    def _named_by(self, claim_id: str, *, undone: bool) -> Identity | None:
        rows = sorted(self._rows(_BY_NAME, id=claim_id), key=_is_aliased)
        if not rows or rows[0].aliased:
            self.absent.add(claim_id)
        for row in rows:
            if undone or row.live or row.erased is not None:
                return Identity(row.pk, row.id, row.scope, row.erased is not None)
        return None

    def forget_names(self, ids: Iterable[str] | None = None) -> None:
        """Look anew for what these ids name, None is all: it was changed."""
        if ids is None:
            self._named.clear()
        elif self._named:
            for claim_id in ids:
                self._named.pop(claim_id, None)

    def keys(self, scope: str, claim: Claim) -> tuple[int, int | None, str]:
        """`keys_of`: a claim that is stored is looked for first, and takes as long to take apart again."""
        if self._keys is None or self._keys[0] is not claim or self._keys[1] != scope:
            self._keys = claim, scope, keys_of(scope, claim)
        return self._keys[2]

    def ask_for(self, ids: Collection[str]) -> None:
        """Find out at once which of `ids` are absent."""
        self.absent |= set(ids) - {row.id for row in self.rows_in(_KNOWN_IDS, ids)}

    def identities(self, pks: Iterable[int]) -> dict[int, Identity]:
        """Ids and scopes by key."""
        return {
            row.pk: Identity(row.pk, row.id, row.scope, row.erased is not None)
            for row in self.rows_in(_BY_KEYS, pks)
        }

    def claims(self, pks: Iterable[int]) -> dict[int, Claim]:
        """Claims as they read now, by key; erased ones are absent."""
        return self._as_claims(*self._stored(pks))

    def _stored(self, pks: Iterable[int]) -> tuple[list[Any], dict[int, list[Any]]]:
        """The rows of claims, and by claim those of what is asserted."""
        rows = list(self.rows_in(_CLAIMS, pks))
        voices: dict[int, list[Any]] = {row.pk: [] for row in rows}
        for said in self.rows_in(_ASSERTIONS, voices):
            voices[said.claim].append(said)
        return rows, voices

    def _as_claims(self, rows: Sequence[Any], voices: Mapping[int, Sequence[Any]]) -> dict[int, Claim]:
        # Trust only tells which of several voices is the strongest.
        several = [row for row in rows if len(voices[row.pk]) > 1]
        trusts = self.trusts({(voice.source, row.scope) for row in several for voice in voices[row.pk]})
        return {row.pk: _claim(row, voices[row.pk], trusts) for row in rows}

    def voices(self, pks: Iterable[int]) -> dict[int, list[Any]]:
        """Source and confidence of each live assertion of these claims: what solving needs of them."""
        found: dict[int, list[Any]] = defaultdict(list)
        for row in self.rows_in(_VOICES, pks):
            found[row.claim].append(row)
        return found

    def assertions(self, pks: Iterable[int]) -> dict[int, list[tuple[int, Assertion]]]:
        """Open assertions by claim, each with its row key, oldest first."""
        found: dict[int, list[tuple[int, Assertion]]] = defaultdict(list)
        for row in self.rows_in(_ASSERTIONS, pks):
            found[row.claim].append((row.pk, assertion_from(row)))
        return found

    def edges_in(self, pks: Iterable[int]) -> list[StoredEdge]:
        """Live edges into these claims, oldest first."""
        return list(self.rows_in(_EDGES_IN, pks))

    def edges_out(self, pks: Iterable[int]) -> list[StoredEdge]:
        """Live edges out of these claims, oldest first."""
        return list(self.rows_in(_EDGES_OUT, pks))

    def bearing(self, pks: Collection[int]) -> list[StoredEdge]:
        """Live edges into these claims and contradictions with them in their scope, in one query per batch."""
        found: dict[int, StoredEdge] = {edge.pk: edge for edge in self.rows_in(_BEARING, pks)}
        return [found[pk] for pk in sorted(found)]

    def rivals(self, claims: Mapping[int, Claim]) -> dict[int, tuple[str, ...]]:
        """The ids of `rival_claims`."""
        return {pk: tuple(each.id for each in found) for pk, found in self.rival_claims(claims).items()}

    def rival_claims(self, claims: Mapping[int, Claim]) -> dict[int, tuple[Claim, ...]]:
        """The current claims that contradict each of these that is current, in its own scope or in global."""
        claims = {pk: claim for pk, claim in claims.items() if claim.status in CURRENT}
        pairs = set()
        for edge in self.bearing(claims):
            if edge.relation == Relation.CONTRADICTS:
                pairs |= {(edge.dst, edge.src), (edge.src, edge.dst)}
        others = self.claims(other for pk, other in pairs if pk in claims)
        found: dict[int, tuple[Claim, ...]] = {}
        for pk, other in sorted(pair for pair in pairs if pair[0] in claims):
            rival = others.get(other)
            if rival and rival.status in CURRENT and rival.scope in (claims[pk].scope, GLOBAL):
                found[pk] = (*found.get(pk, ()), rival)
        return found

    def in_scope(self, scope: str) -> list[Identity]:
        """Every claim of `scope` that is not erased, oldest first."""
        return [Identity(row.pk, row.id, row.scope, False) for row in self._rows(_IN_SCOPE, scope=scope)]

    def asserted_by(self, source: str | None, scope: str) -> list[int]:
        """Claims of `scope` that `source` stands behind."""
        statement = _ASSERTED_BY_NOBODY if source is None else _ASSERTED_BY
        named = {} if source is None else {"source": source}
        return [row.claim for row in self._rows(statement, scope=scope, **named)]

    def candidates(self, scope: str, claim: Claim, *, rivals: bool = True) -> list[Candidate]:
        """Known claims of `scope` that say the same as `claim`, and with `rivals` the values of the same
        thing that are in use, or were superseded only after `claim` began."""
        since = to_micros(claim.since)
        said, key, _ = self.keys(scope, claim)
        pks = [row.claim for row in self._rows(_SAID, said=said, since=since)]
        if rivals and key is not None:
            pks += [row.claim for row in self._rows(_RIVALS, slot=key, since=since)]
        return self.as_candidates(scope, pks)

    def as_candidates(self, scope: str, pks: Collection[int]) -> list[Candidate]:
        """Those of these claims that are in `scope`, as candidates."""
        if not pks:
            return []
        rows, voices = self._stored(pks)
        claims = self._as_claims(rows, voices)
        self._named |= {claim.id: Identity(pk, claim.id, claim.scope, False) for pk, claim in claims.items()}
        return [
            Candidate(
                claims[pk],
                {voice.source: self.trust(voice.source, scope) for voice in voices[pk]},
                tuple(map(assertion_from, voices[pk])),
            )
            for pk in dict.fromkeys(pks)
            if pk in claims and claims[pk].scope == scope
        ]

    def has_said(self, source: str | None, pk: int) -> bool:
        """Whether `source` stands behind a claim, or ever did."""
        if source is None:
            return any(self._rows(_SAID_BY_NOBODY, claim=pk))
        return any(self._rows(_SAID_BY, claim=pk, source=source))

    def was(self, pk: int) -> Status:
        """What a claim is, or was when it was last in use; active if it never was."""
        return next((Status(row.status) for row in self._rows(_WAS, claim=pk)), Status.ACTIVE)

    def stated_to(self, pk: int) -> int | None:
        """The end of validity that was stated of a claim (microseconds), whatever superseded it."""
        return next((row.stated_to for row in self._rows(_STATED, claim=pk)), None)

    def trust(self, source: str | None, scope: str) -> float:
        """How far `source` is trusted in `scope`, in [0, 1]; 1 unless something else was said."""
        if source is None or not self.trust_is_set:
            return 1.0
        known = self._trust.get((source, scope))
        return self.trusts([(source, scope)])[source, scope] if known is None else known

    def trusts(self, wanted: Iterable[tuple[str | None, str]]) -> dict[tuple[str | None, str], float]:
        """Trust by (source, scope): the scope's own level, else the one for everywhere, else 1."""
        wanted = set(wanted)
        if not self.trust_is_set:
            return dict.fromkeys(wanted, 1.0)
        missing: dict[str, list[str]] = {}
        for source, scope in wanted:
            if source is not None and (source, scope) not in self._trust:
                missing.setdefault(scope, []).append(source)
        for scope, sources in missing.items():
            own: dict[str, float] = {}
            everywhere: dict[str, float] = {}
            for row in self.rows_in(_TRUST, sorted(sources), scope=scope):
                (everywhere if row.scope is None else own)[row.source] = row.level
            for source in sources:
                self._trust[source, scope] = own.get(source, everywhere.get(source, 1.0))
        return {
            (source, scope): 1.0 if source is None else self._trust[source, scope] for source, scope in wanted
        }

    def forget_trust(self) -> None:
        """Read trust anew: it was changed."""
        self._trust.clear()
        self.trust_is_set = True

    def next_position(self, scope: str, session: str) -> int:
        """The place after the last turn of a session, from 0."""
        last = self._rows(_NEXT_POSITION, scope=scope, session=session)[0][0]
        return 0 if last is None else last + 1

    def rule(self) -> Rule | None:
        """How confidence follows from the graph, as the database keeps it; None in a new one."""
        rows = self._rows(_SETTING, name=RULE)
        return rule_of(rows[0].value) if rows else None

    def setting(self, name: str) -> dict[str, Any] | None:
        """A setting kept with the data."""
        return self.setting_since(name)[1]

    def setting_began(self, name: str) -> int | None:
        """The transaction that made a setting what it is, None if there is none."""
        rows = self._rows(_SETTING_BEGAN, name=name)
        return rows[0].tx_from if rows else None

    def setting_since(self, name: str) -> tuple[int | None, dict[str, Any] | None]:
        """The transaction that made a setting what it is, and the setting; both None if there is none."""
        rows = self._rows(_SETTING, name=name)
        return (rows[0].tx_from, dict(setting_of(rows[0].value))) if rows else (None, None)

    def count_unembedded(self) -> int:
        """How many wordings have no vector."""
        return int(self._rows(_BARE_COUNT)[0][0])

    def unembedded(self, most: int, *, after: int = 0) -> list[Wording]:
        """Up to `most` wordings without a vector, with keys above `after`, in order of keys."""
        return [
            Wording(
                row.pk,
                row.object if row.type == "episodic" else in_words(row.subject, row.predicate, row.object),
                row.scope,
                row.session if row.type == "episodic" else None,
                row.position,
            )
            for row in self._rows(_UNEMBEDDED, most=most, after=after)
        ]

    def turn(self, scope: str, session: str, position: int) -> str | None:
        """The words of the turn at a place of a session."""
        rows = self._rows(_TURN, scope=scope, session=session, position=position)
        return rows[0].object if rows else None

    def scopes(self) -> list[str]:
        """Every scope that holds a claim, sorted."""
        return [row.scope for row in self._rows(_SCOPES)]


# Both are asked for in every transaction, and a model's probe takes longer to parse than a claim to store.
@lru_cache(maxsize=64)
def setting_of(value: str) -> dict[str, Any]:
    """The value of a row of rx_settings; not to be changed."""
    return dict(json.loads(value))


@lru_cache(maxsize=64)
def rule_of(value: str) -> Rule:
    """The rule of a row of rx_settings."""
    return rule_from(setting_of(value))


def assertion_from(row: Any) -> Assertion:
    """The assertion of a row of rx_assertions."""
    return as_stored(
        Assertion,
        {
            "source": row.source,
            "confidence": row.confidence,
            "said_at": from_micros(row.said_at),
            "evidence": tuple(_decoded(row.evidence)) if row.evidence else (),
            "span": row.span,
            "session": row.session,
            "times": row.times,
            "dates": tuple(map(from_micros, json.loads(row.dates))) if row.dates else (),
        },
    )


def as_stored(kind: type[_Value], values: Mapping[str, Any]) -> _Value:
    """A value with all its fields as they were stored. They were checked then; again would take most of a read."""
    made = object.__new__(kind)
    setters = _FIELDS[kind]
    for name, value in values.items():
        setters[name](made, value)
    return made


def _claim(row: Any, voices: Sequence[Any], trusts: dict[tuple[str | None, str], float]) -> Claim:
    """The claim of a row and of its open rows of rx_assertions."""
    if len(voices) == 1:
        best: Any = voices[0]
        evidence = _decoded(best.evidence) if best.evidence else ()
        said_at, times = best.said_at, best.times
    else:
        best = strongest(
            [Voice(voice.source, voice.confidence, trusts[voice.source, row.scope]) for voice in voices]
        )
        pieces = [piece for voice in voices if voice.evidence for piece in _decoded(voice.evidence)]
        evidence = dict.fromkeys(pieces)
        said_at = max([voice.said_at for voice in voices], default=row.created_at)
        times = min(sum([voice.times for voice in voices]), MAX_COUNT)
    values: dict[str, Any] = {
        "id": row.id,
        "confidence": row.confidence,
        "importance": row.importance,
        "evidence": tuple(evidence),
        "created_at": from_micros(row.created_at),
        "last_reinforced_at": from_micros(said_at),
        "support_count": times,
        "scope": row.scope,
        "entities": tuple(_decoded(row.entities)) if row.entities else (),
        "category": None if row.category is None else check_member(row.category, "category", Category),
        "status": _STATUSES.get(row.status) or check_member(row.status, "status", Status),
        "source": best.source if best else None,
        "basis": _BASES.get(row.basis) or check_member(row.basis, "basis", Basis),
        "valid_from": _seconds(row.valid_from),
        "valid_to": _seconds(row.valid_to),
        "due_at": _seconds(row.due_at),
        "review_after": _seconds(row.review_after),
        "session": row.session,
        "position": row.position,
        "metadata": FrozenMetadata(_decoded(row.meta)) if row.meta else _NO_METADATA,
        "prior": best.confidence if best else None,
        "type": row.type,
    }
    if row.type == "episodic":
        values["summary"] = row.object
        return as_stored(EpisodicClaim, values)
    if row.subject is None or row.predicate is None:
        raise InvalidClaim(f"claim {row.id!r} has lost its wording; `recollectx doctor` looks for the cause")
    values |= {"subject": row.subject, "predicate": row.predicate, "object": row.object}
    return as_stored(SemanticClaim, values)
