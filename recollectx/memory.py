"""Memory: the front door. Beliefs in, beliefs out, one scope at a time."""

import builtins
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from recollectx.calibration import Calibration, calibration, confirm
from recollectx.changes import (
    Action,
    Change,
    Erase,
    EraseReceipt,
    Link,
    Retire,
    Retract,
    Retracted,
    Trust,
    Undone,
    Unlink,
    Untrace,
    WriteResult,
)
from recollectx.claims import (
    GLOBAL,
    Claim,
    EpisodicClaim,
    SemanticClaim,
    Status,
    check_metadata,
    check_text,
)
from recollectx.correcting import Correcting
from recollectx.db.database import default_path
from recollectx.db.engine import BUSY_SECONDS
from recollectx.deciding import Decider, RuleDecider
from recollectx.deriving import derive
from recollectx.disputes import OpenDispute, queue, resolve
from recollectx.echoes import Shown
from recollectx.edges import Edge, Relation
from recollectx.embeddings import EmbedderLike
from recollectx.errors import InvalidClaim, InvalidQuery, InvalidSetting, ScopeError
from recollectx.explaining import deep, direct
from recollectx.extractors.base import Extraction, Extractor
from recollectx.graph.explanation import ExplanationResult
from recollectx.history import History
from recollectx.instants import Instant, to_seconds
from recollectx.intake import Intake
from recollectx.judging import BY_RULE
from recollectx.llm.base import Usage
from recollectx.llm.providers import provider_from
from recollectx.opening import (
    chosen_embedder,
    chosen_extractor,
    decider_of,
    deciding_model,
    open_store,
    opened_with,
)
from recollectx.policies.base import PolicyLike
from recollectx.propagation import ConfidenceChangeEvent, Rule
from recollectx.query import Query, Recall, check_count
from recollectx.reach import find, known
from recollectx.remembering import USER, Message, Remembered, read_messages, read_text, sessions_of
from recollectx.revising import WORDING, revised, revision
from recollectx.settings import settings_from
from recollectx.storage.erasing import holds_more
from recollectx.storage.journal import events
from recollectx.storage.live_graph import LiveGraph
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Reader
from recollectx.storage.retrieval import CACHE_BYTES
from recollectx.storage.transactions import last_of
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.text import TextProtocol
from recollectx.traces import Traces
from recollectx.updater import MemoryUpdater
from recollectx.what_if import Impact, WhatIf, impact, several, what_if

__all__ = ["ConfidenceChangeEvent", "Memory", "default_path"]


class Memory:
    """A memory of one scope. Safe to share between threads.

    storage: a MemoryStore.  scope: what this Memory reads and writes; other scopes are out of its reach except
    where a call names them.  write_policy: see recollectx.policies.  decider: what a new claim means for known ones.
    extractor: finds claims in text; None keeps text as it is.  propagation_config: the rule, as MemoryStore's `rule`.
    updater: another name for `decider`.
    graph: the edges between the claims of this scope, read from the database each time.  history: what was believed
    at any moment, what happened, and what changed between two moments.
    traces: the answers that were given on what it recalled (record, list, explain, using).
    """

    def __init__(
        self,
        storage: MemoryStore,
        *,
        scope: str = GLOBAL,
        write_policy: PolicyLike | None = None,
        decider: Decider | None = None,
        extractor: Extractor | None = None,
        propagation_config: Rule | None = None,
        updater: Decider | None = None,
    ) -> None:
        if updater is not None and decider is not None:
            raise InvalidSetting("updater is another name for decider: give one")
        self.storage = storage
        if propagation_config is not None:
            storage.use_rule(propagation_config)
        self.scope = check_text(scope, "scope")
        self.policy = write_policy
        self.decider: Decider = _decider(updater if decider is None else decider, storage)
        self.extractor = extractor
        self.graph = LiveGraph(storage, self.scope)
        self.history = History(storage, self.scope)
        self.traces = Traces(storage, self.scope)

    @classmethod
    def open(
        cls,
        path_or_url: str | os.PathLike[str] | None = None,
        *,
        scope: str = GLOBAL,
        write_policy: PolicyLike | None = None,
        decider: Decider | None = None,
        extractor: Extractor | str | None = "auto",
        embedder: EmbedderLike = "auto",
        token_vectors: bool | None = None,
        vectors: VectorBackend | TextProtocol | str | None = None,
        vectors_api_key: str | None = None,
        llm: Any = None,
        rule: Rule | None = None,
        clock: Callable[[], float] = time.time,
        updater: Any = None,
        busy_seconds: float = BUSY_SECONDS,
        cache_bytes: int = CACHE_BYTES,
    ) -> "Memory":
        """A memory on a file, `:memory:` or a database URL; close it, or use it in a `with`.

        path_or_url: None takes RECOLLECTX_DB from the environment, else ~/.recollectx/memory.db.
        embedder: "auto" takes RECOLLECTX_EMBEDDER from the environment ("none" for none), else the embedded model if
        it is installed, None leaves recall to words; also an Embedder, a name or a plain function.
        vectors: a VectorBackend, which brings its own embedder, or a name: "faiss", "pgvector", "pinecone://index",
        "qdrant://host:6333/collection" (see recollectx.storage.vector.named).
        llm: a language model, or its name as "openai:gpt-5.4-mini", that extracts and decides where no extractor,
        decider or updater is given.  updater: one that only decides.
        extractor: "auto" is `llm`, else "phrases", the English phrase set that needs no model.
        rule, token_vectors, vectors_api_key, busy_seconds, cache_bytes: see MemoryStore.
        """
        check_text(scope, "scope")
        model = None if llm is None else provider_from(llm)
        deciding = deciding_model(updater, model, decider)
        reading = chosen_extractor(extractor, model)
        storage = open_store(
            path_or_url,
            vectors=vectors,
            vectors_api_key=vectors_api_key,
            embedder=chosen_embedder(embedder, vectors),
            token_vectors=token_vectors,
            rule=rule,
            clock=clock,
            busy_seconds=busy_seconds,
            cache_bytes=cache_bytes,
        )
        try:
            decides = decider_of(storage, deciding) if decider is None else decider
            return cls(storage, scope=scope, write_policy=write_policy, decider=decides, extractor=reading)
        except BaseException:
            storage.close()
            raise

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        *,
        write_policy: PolicyLike | None = None,
        decider: Decider | None = None,
        extractor: Extractor | str | None = "auto",
        rule: Rule | None = None,
        clock: Callable[[], float] = time.time,
        **given: Any,
    ) -> "Memory":
        """A memory by configuration: a mapping or the path of a TOML file, completed from the environment.

        given: single settings, which count before all else; see recollectx.settings. The others are as in `open`.
        Raises InvalidSetting for an unknown setting and a value of the wrong kind, before anything is opened.
        """
        return cls.open(
            **opened_with(settings_from(config, **given)),
            write_policy=write_policy,
            decider=decider,
            extractor=extractor,
            rule=rule,
            clock=clock,
        )

    def in_scope(self, scope: str) -> "Memory":
        """A memory of another scope over the same store, with the same policy, decider and extractor; close one of
        them."""
        return Memory(
            self.storage,
            scope=scope,
            write_policy=self.policy,
            decider=self.decider,
            extractor=self.extractor,
        )

    def settle(self, timeout: float = 30.0) -> bool:
        """Wait until an index outside the process has all that is written now; False if `timeout` seconds did not do.

        Recall does not need it. An erasure whose receipt is `pending` is complete after it.
        """
        return self.storage.settle(timeout)

    def close(self) -> None:
        """Let the database go."""
        self.storage.close()

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing ---------------------------------------------------------------------------------------------

    def store(self, claim: Claim) -> WriteResult:
        """Store one claim: policy, then decider, then one transaction."""
        return self._intake().store([self._place(claim)])[0]

    def store_many(
        self,
        claims: Iterable[Claim],
        *,
        batch: int | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> builtins.list[WriteResult]:
        """Store claims in order, in one transaction: an invalid one raises and nothing is written.

        batch: how many go into a transaction, for more than should wait for each other; what was stored before an
        invalid one stays then.  progress: is told after each transaction how many more are stored.
        """
        if batch is not None and (type(batch) is not int or batch < 1):
            raise InvalidSetting(f"batch must be a whole number from 1, got {batch!r}")
        waiting, results = iter(claims), []
        while part := [self._place(claim) for claim in islice(waiting, batch)]:
            results += self._intake().store(part)
            progress(len(part))
        return results

    def remember(
        self,
        text_or_messages: str | Sequence[Message],
        *,
        scope: str | None = None,
        source: str | None = None,
        at: Instant | None = None,
        metadata: Mapping[str, Any] | None = None,
        shown: Any = None,
    ) -> Remembered:
        """Keep what was said and the claims found in it, in one transaction; one result per claim, in order.

        A text is a statement by `source` (default "user"). Messages are mappings with role and content, or with
        speaker and text; time, session, position and metadata are optional. Each becomes an episode; a turn that is
        known already is not read again. at: when it was said, default now; a message's own time comes first.
        shown: what the speakers had been shown, such as the Recall in the prompt, a persona, texts: what they repeat
        of it makes no claim. The result is a list with `problems`, what was left out and why, and `usage`.
        """
        scope = self._named(scope)
        when = self.storage.clock() if at is None else _time(at)
        extra = check_metadata({} if metadata is None else metadata)
        if source is not None:
            check_text(source, "source")
        seen = Shown.of(shown)
        if isinstance(text_or_messages, str):
            check_text(text_or_messages, "text", 10**9)
            said = source or USER
            places: dict[str, int] = {}
            taken = read_text(
                text_or_messages,
                source=said,
                at=when,
                scope=scope,
                metadata=extra,
                extractor=self.extractor,
                shown=seen,
            )
        else:
            messages = list(text_or_messages)
            with self.storage.reader() as reader:
                places = {name: reader.next_position(scope, name) for name in sessions_of(messages)}
            taken = read_messages(
                messages,
                source=source,
                at=when,
                scope=scope,
                metadata=extra,
                extractor=self.extractor,
                next_position=places,
                shown=seen,
                known=self._has_heard,
            )
        results = self._intake().keep(taken.readings, scope, places)
        return Remembered(results, _with_decisions(taken.extraction, results))

    def _has_heard(self, turn: EpisodicClaim) -> bool:
        with self.storage.reader() as reader:
            held = reader.candidates(turn.scope, turn, rivals=False)
            return any(turn.source in each.sources and each.stands() for each in held)

    def _place(self, claim: Claim) -> Claim:
        if not isinstance(claim, SemanticClaim | EpisodicClaim):
            raise InvalidClaim(f"only SemanticClaim and EpisodicClaim can be stored, got {claim!r}")
        if claim.scope == self.scope:
            return claim
        if claim.scope != GLOBAL:
            raise ScopeError(
                f"the claim is for scope {claim.scope!r}, this Memory for {self.scope!r}; open one for it"
            )
        return replace(claim, scope=self.scope)

    def _intake(self) -> Intake:
        return Intake(self.storage, self.policy, self.decider, self)

    def _correcting(self) -> Correcting:
        return Correcting(self.storage, self.scope, self._intake(), decider=self.decider, place=self._place)

    def update(self, /, claim_id: str, **changes: Any) -> WriteResult:
        """Change fields of a claim; the id stays and both versions are kept in history.

        confidence and evidence replace what its source asserted. Raises NotFound for an unknown id, InvalidClaim
        for a field that cannot be changed or a value that says the same as another claim.
        """
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            made.extend(revision(reader, find(reader, self.scope, claim_id), changes))
            yield from made

        current = self.get(claim_id)
        reworded = [revised(current, changes)] if current is not None and WORDING & set(changes) else []
        vectors, _ = self.storage.vectors_for(reworded)
        done = self.storage.apply(plan, cause="update", vectors=vectors)
        return WriteResult(Action.UPDATE, self._canonical(claim_id), tuple(made), "revised", done.seq)

    def forget(self, claim_id: str) -> WriteResult:
        """Put a claim out of use: recall leaves it out, it weighs nothing, its history stays."""
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            known = find(reader, self.scope, claim_id)
            if reader.claims([known.pk])[known.pk].status != Status.RETIRED:
                made.append(Retire(known.id))
            yield from made

        done = self.storage.apply(plan, cause="forget")
        canonical = self._canonical(claim_id)
        if not made:
            return WriteResult(Action.NONE, canonical, (), "it was forgotten already")
        return WriteResult(Action.DELETE, canonical, tuple(made), "forgotten", done.seq)

    def correct(
        self, old_id: str, new: Claim | str, *, reason: str = "", source: str | None = None
    ) -> WriteResult:
        """Say that a claim was never true, and what is; one transaction, and nothing if the policy refuses `new`.

        The old one is out of use and valid at no time; the past before the correction still shows it. new: a claim
        of this scope, which may be about something else, or a text: another object or summary, the rest kept but the
        evidence and the source. A new value of the same thing takes the old one's place among the values that
        superseded each other. reason: kept in the new claim's metadata as correction_reason, until the old claim is
        erased.  source: who says so, if `new` is a text.
        Raises NotFound, or InvalidClaim for a claim that is out of use or already says so.
        """
        return self._correcting().correct(old_id, new, reason, source)

    def supersede(
        self, old_id: str, new: Claim | str, *, at: Instant | None = None, source: str | None = None
    ) -> WriteResult:
        """Say that a claim is no longer true from `at` on (default: when `new` begins), and what is.

        The old one stays valid up to then, never longer than it was. new: a claim, or a text: another object or
        summary, without the evidence and the source. One without a valid_from holds from `at`. source: who says so,
        if `new` is a text. Raises NotFound, or InvalidClaim if the old one is out of use or begins after `at`.
        """
        return self._correcting().supersede(old_id, new, None if at is None else _time(at), source)

    def restore(self, claim_id: str) -> WriteResult:
        """Bring back a claim that was forgotten, superseded or corrected, valid as long as was stated.

        What superseded or corrected it does so no longer; where a single-valued predicate has another value at the
        same time, the two contradict. One that was forgotten after it had been superseded is superseded again.
        Raises NotFound, or InvalidClaim if no source stands behind it any more.
        """
        return self._correcting().restore(claim_id)

    def derive(
        self, claim: Claim, premises: Sequence[str], *, strength: float = 1.0, name: str | None = None
    ) -> WriteResult:
        """Store a claim that stands on `premises`, jointly: it falls with any of them, and comes back with it.

        Deriving it again from others adds an alternative; one that holds is enough. Circles hold nothing up.
        A confidence of 0 counts as unsaid. strength: of each edge, in [0, 1].  name: of the derivation, by default
        one that stands for its premises.
        """
        return derive(self._intake(), self.scope, self._place(claim), premises, strength=strength, name=name)

    def undo(self, tx: int) -> Undone:
        """Take a transaction back, as a transaction of its own; undoing that one redoes the first.

        tx: as a WriteResult names it. All numbers return to what they were, also where another scope followed. Raises
        CannotUndo for one that a later transaction builds on, naming it; for one about claims that were erased,
        naming them; for an erasure, a recorded answer, and what only keeps vectors; NotFound if there is none;
        ScopeError for one that acted on another scope.
        """
        return self._correcting().undo(tx)

    def last_tx(self) -> int:
        """The last transaction that wrote to this scope, 0 if there is none."""
        with self.storage.reader() as reader:
            return last_of(reader.conn, self.scope)

    def erase(self, claim_id: str | None = None, *, scope: str | None = None) -> EraseReceipt:
        """Remove every word of one claim, or of a whole scope, for good: from the present and from every past.

        What quoted it goes too. The receipt is `pending` while another reader holds old pages of the file.
        """
        if (claim_id is None) == (scope is None):
            raise InvalidClaim("erase takes either the id of a claim or a scope")
        if scope is not None:
            check_text(scope, "scope")

        def plan(reader: Reader) -> Iterator[Change]:
            if claim_id is not None:
                yield Erase(find(reader, self.scope, claim_id, undone=True).id)
                return
            if holds_more(reader.conn, str(scope)):
                yield Untrace(str(scope))
            # What derives comes later than its premises: erased first, it need not be searched for what it quotes.
            for each in reversed(reader.in_scope(str(scope))):
                known = reader.resolve(each.id, undone=True)
                if known is not None and not known.erased:
                    yield Erase(each.id)

        done = self.storage.apply(plan, cause="erase")
        pending = not self.storage.truncate_log()
        return EraseReceipt(
            done.erased_ids,
            done.erased_rows,
            done.at,
            pending or done.index_waits,
            cut=done.cut_ids,
            answers=done.erased_answers,
        )

    def retract(self, source: str | None, claim_id: str | None = None) -> Retracted:
        """Take back what `source` asserted: of one claim, or of all in this scope. Returns the ids it had asserted.

        source: None means all that nobody is named for.
        """
        if source is not None:
            check_text(source, "source")
        taken: list[str] = []

        def plan(reader: Reader) -> Iterator[Change]:
            if claim_id is not None:
                pks = [find(reader, self.scope, claim_id).pk]
            else:
                pks = reader.asserted_by(source, self.scope)
            ids = reader.identities(pks)
            said = [
                ids[pk]
                for pk, assertions in sorted(reader.assertions(pks).items())
                if any(assertion.source == source for _, assertion in assertions)
            ]
            taken.extend(each.id for each in said)
            retelling = self._intake().retelling
            if claim_id is not None:
                for each in said:
                    yield from retelling.taken_back(reader, each, source)
                return
            for each in said:
                yield Retract(each.id, source, settle=each is said[-1])
            for each in said:
                yield from retelling.left(reader, each)

        done = self.storage.apply(plan, cause="retract")
        return Retracted(taken, done.seq)

    def trust(self, source: str, level: float, scope: str | None = None) -> WriteResult:
        """Say how far `source` is trusted in this scope, or another, in [0, 1]; what it asserted is weighed anew."""
        change = Trust(check_text(source, "source"), level, self._named(scope))
        done = self.storage.apply([change], cause="trust")
        return WriteResult(Action.UPDATE, None, (change,), f"trusted {level:g}", done.seq)

    # -- the graph -------------------------------------------------------------------------------------------

    def add_support(self, src_id: str, dst_id: str, *, strength: float = 1.0) -> WriteResult:
        """Say that one claim supports another."""
        return self.relate(src_id, dst_id, Relation.SUPPORTS, strength=strength)

    def add_contradiction(self, src_id: str, dst_id: str, *, strength: float = 1.0) -> WriteResult:
        """Say that two claims contradict each other."""
        return self.relate(src_id, dst_id, Relation.CONTRADICTS, strength=strength)

    def relate(
        self, src_id: str, dst_id: str, relation: str, *, strength: float = 1.0, derivation: str | None = None
    ) -> WriteResult:
        """Add an edge: "src supports / contradicts / corrects dst", "dst derives from src", or any plain relation.

        strength: in [0, 1].  derivation: derives edges into one claim that share a name are joint premises.
        Raises NotFound for an id this scope does not hold; src may be in "global".
        """
        if relation == Relation.SUPERSEDES:
            raise InvalidClaim(
                f"{relation} is more than an edge; store the newer claim, the decider relates them"
            )
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            src = find(reader, self.scope, src_id, also_global=True)
            dst = find(reader, self.scope, dst_id)
            made.append(Link(Edge(src.id, dst.id, relation, strength, derivation)))
            yield from made

        done = self.storage.apply(plan, cause="relate")
        return WriteResult(Action.UPDATE, self._canonical(dst_id), tuple(made), f"{relation} added", done.seq)

    def unrelate(self, src_id: str, dst_id: str, relation: str) -> WriteResult:
        """Take an edge away; confidence returns to what it would be without it."""
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            src = find(reader, self.scope, src_id, also_global=True)
            dst = find(reader, self.scope, dst_id)
            made.append(Unlink(src.id, dst.id, relation))
            yield from made

        done = self.storage.apply(plan, cause="unrelate")
        return WriteResult(
            Action.UPDATE, self._canonical(dst_id), tuple(made), f"{relation} removed", done.seq
        )

    # -- reading ---------------------------------------------------------------------------------------------

    def recall(self, /, text: str, k: int = 10, **filters: Any) -> Recall:
        """The `k` claims that answer `text` best; filters are the fields of Query, `scopes` and `as_of` among them."""
        return self.storage.recall(self._query(text=text, k=k, **filters))

    def retrieve(self, /, **filters: Any) -> builtins.list[Claim]:
        """Every current claim that passes the filters, newest first; filters are the fields of Query."""
        return self.storage.recall(self._query(**{"k": None, **filters})).claims

    def list(self, /, limit: int = 50, offset: int = 0, **filters: Any) -> builtins.list[Claim]:
        """One page of `retrieve`."""
        return self.retrieve(k=limit, offset=offset, **filters)

    def get(self, claim_id: str) -> Claim | None:
        """The claim of this id or alias as it reads now; None if this scope holds none."""
        return self.storage.get(claim_id, scopes=(self.scope,), retired=True)

    def count(self, /, **filters: Any) -> int:
        """How many current claims pass the filters."""
        return self.storage.count_hits(self._query(**{"k": None, **filters}))

    def explain(self, claim_id: str) -> dict[str, Any] | None:
        """What bears directly on a claim: `belief`, and ids under supported_by, contradicted_by, derived_from (of claims
        in use), supersedes, superseded_by; `assertions` says who stands behind it. None if there is no such claim."""
        with self.storage.reader() as reader:
            found = known(reader, self.scope, claim_id)
            return None if found is None else direct(reader, found)

    def explain_deep(self, claim_id: str, max_depth: int = 3) -> ExplanationResult | None:
        """What bears on a claim, and on that, down to `max_depth`. None if this scope holds no such claim."""
        with self.storage.reader() as reader:
            found = known(reader, self.scope, claim_id)
            return None if found is None else deep(reader, found, max_depth)

    def explain_confidence_history(self, claim_id: str) -> builtins.list[ConfidenceChangeEvent]:
        """Every move of a claim's confidence with its cause, newest first. Raises NotFound."""
        with self.storage.reader() as reader:
            return events(reader, find(reader, self.scope, claim_id))

    # -- doubt -----------------------------------------------------------------------------------------------

    def what_if(
        self,
        *,
        withdraw: str | Sequence[str] = (),
        assert_: Claim | Sequence[Claim] = (),
        relate: Edge | Sequence[Edge] = (),
        trust: Mapping[str, float] | None = None,
        retract: str | Sequence[str] = (),
    ) -> WhatIf:
        """What would move in this scope, with old and new confidence and status; nothing is written.

        withdraw: ids, as `forget`.  assert_: claims, as `store`.  relate: edges, as `relate`.  trust: levels by
        source, as `trust`.  retract: sources, as `retract`.  All at once, as if done in the order trust, assert_, relate,
        retract, withdraw. It waits its turn like a write. Raises what these would.
        """
        return what_if(
            self.storage,
            self.scope,
            self._intake(),
            withdraw=several(withdraw, str, "withdraw"),
            retract=several(retract, str, "retract"),
            assert_=[self._place(each) for each in several(assert_, Claim, "assert_")],
            relate=several(relate, Edge, "relate"),
            trust={} if trust is None else trust,
        )

    def impact(self, claim_id: str) -> Impact:
        """What rests on a claim, what it would become without it, and the recorded answers that used it."""
        return impact(self.storage, self.scope, self.traces, claim_id)

    def disputes(self, scope: str | int | None = None, limit: int = 100) -> builtins.list[OpenDispute]:
        """Pairs of claims in use that contradict each other while neither clearly wins, the most even first.

        scope: this Memory's, unless another is named; a number alone is the limit.
        """
        named = self._named(None if isinstance(scope, int) else scope)
        limit = check_count(scope if isinstance(scope, int) else limit, "limit")
        with self.storage.reader() as reader:
            return queue(reader, named, self.storage.clock())[:limit]

    def resolve(self, keep: str, drop: str | None = None, *, reason: str = "") -> WriteResult:
        """Close a dispute: `drop` is retired, and weighs nothing on `keep` any more; restoring it, or saying it again,
        opens it again.

        drop: None means the one claim that `keep` is in open dispute with. reason: kept with the transaction.
        Raises InvalidClaim where there is no such contradiction, InvalidQuery if several disputes are open.
        """
        return resolve(self.storage, self.scope, keep, drop, reason)

    def confirm(self, claim_id: str) -> WriteResult:
        """Record that a claim turned out to be true, for `calibration`. It is no evidence: no confidence moves.

        Raises NotFound, or InvalidClaim for a claim out of use.
        """
        return confirm(self.storage, self.scope, claim_id)

    def calibration(self, scope: str | None = None) -> Calibration:
        """How the confidences of this scope, or another, compare with what was later confirmed or corrected."""
        named = self._named(scope)
        with self.storage.reader() as reader:
            return calibration(reader, named)

    # -- helpers ---------------------------------------------------------------------------------------------

    def _named(self, scope: str | None) -> str:
        return self.scope if scope is None else check_text(scope, "scope")

    def _query(self, **given: Any) -> Query:
        try:
            return Query(**{"scopes": (self.scope,), **given})
        except TypeError as error:
            raise InvalidQuery(f"{error}; filters are the fields of Query") from None

    def _canonical(self, claim_id: str) -> str:
        with self.storage.reader() as reader:
            return find(reader, self.scope, claim_id).id


def _with_decisions(found: Extraction, results: Sequence[WriteResult]) -> Extraction:
    """What was found, with what the decisions on it cost and which of them a model failed to make."""
    spent = (
        Usage(each.calls, each.tokens - each.completion_tokens, each.completion_tokens) for each in results
    )
    failed = (f"claim {each.claim_id}: {each.reason}" for each in results if BY_RULE in each.reason)
    return replace(found, usage=sum(spent, found.usage), problems=(*found.problems, *failed))


def _decider(given: Decider | None, storage: MemoryStore) -> Decider:
    if given is None:
        return RuleDecider()
    if isinstance(given, type) or not callable(given):
        raise InvalidSetting(f"a decider is a callable (claim, candidates, trust), got {given!r}")
    if isinstance(given, MemoryUpdater) and given.store is not storage:
        raise InvalidSetting("the updater reads another store than this memory's; build it on the same")
    return given


def _time(value: Instant) -> float:
    try:
        return to_seconds(value, "at")
    except ValueError as error:
        raise InvalidClaim(str(error)) from None
