"""The five tools an agent reads a memory with, for MemoryAgent or any other LangChain agent.

Each returns text for the model and, as the artifact of its ToolMessage, the Recall it rests on.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any

from recollectx.agents.records import claim_of, distinct, hit_of, record, shown
from recollectx.claims import Claim
from recollectx.errors import InvalidQuery
from recollectx.extras import require
from recollectx.instants import iso
from recollectx.memory import Memory
from recollectx.query import Parts, Query, Recall, Weights

MOST = 50
DAY = 86_400.0
# Claims about somebody are found by the name alone; what else is near it would only take their places.
BY_NAME = Weights(dense=0, neighbours=0, session=0, speaker=0, date=0)
LOOKED_THROUGH = 500
# Of a topic: claims found, of how many of them the subject counts, and how many facts are told of each subject.
TOPIC, LEADING, OF_EACH = 10, 3, 10
BEARING = ("supported_by", "derived_from", "contradicted_by", "supersedes", "superseded_by")
MOVES = 5

Told = tuple[str, Recall]


class MemoryTools:
    """What the tools do, as plain methods on one memory; their docstrings are what a model is told of them."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def search_memories(
        self,
        query: Annotated[str, "What to look for, in plain words or as a question"],
        limit: Annotated[int, "How many at most, 1 to 50"] = 10,
    ) -> Told:
        """Find what was said or is believed that fits a question, the best first. The first tool to try."""
        found = self._memory.recall(query, k=_within(limit, MOST))
        return shown(found), found

    def get_recent_memories(
        self,
        days: Annotated[float, "How many days back from today"] = 7,
        limit: Annotated[int, "How many at most, 1 to 50"] = 50,
    ) -> Told:
        """List what came in during the last days, the newest first; for questions about what happened lately."""
        now = self._memory.storage.clock()
        found = self._all(since=max(now - days * DAY, 0.0), k=_within(limit, MOST))
        newest = () if found.hits else self._all(k=1).claims
        if not newest:
            return shown(found), found
        return f"Nothing came in then. The newest record is of {iso(newest[0].created_at)}.", found

    def get_facts_about(
        self, subject: Annotated[str, "A name as the memory has it, or user for the user"] = "user"
    ) -> Told:
        """List the facts about one person, place or thing."""
        found = self._facts(subject, MOST)
        return shown(found), found

    def combine_facts(self, topic: Annotated[str, "What the question is about, in a few words"]) -> Told:
        """Gather what is held on a topic together with the other facts about whom or what it concerns; for questions
        that several facts must answer together, such as whether somebody would like or could do something."""
        on_topic = self._memory.recall(topic, k=TOPIC)
        concerned = dict.fromkeys(hit.claim.source or "" for hit in on_topic.hits[:LEADING])
        concerned |= dict.fromkeys(getattr(hit.claim, "subject", "") for hit in on_topic.hits[:LEADING])
        around = [hit for name in concerned if name for hit in self._facts(name, OF_EACH)]
        found = Recall(on_topic.query, distinct([*on_topic.hits, *around]))
        return shown(found), found

    def explain_belief(
        self, claim_id: Annotated[str, "The id of a record, as another tool returned it"]
    ) -> Told:
        """Tell why one record is believed or doubted: who said it, what supports and contradicts it, what it replaced,
        and how its confidence moved."""
        claim = claim_of(self._memory, claim_id)
        told = self._memory.explain(claim.id) or {}
        near = {role: _present(map(self._memory.get, told.get(role, ()))) for role in BEARING}
        moves = self._memory.explain_confidence_history(claim.id)[:MOVES]
        belief = record(
            hit_of(claim),
            role="belief",
            sources=[
                {
                    "source": each.source,
                    "confidence": each.confidence,
                    "times": each.times,
                    "words": each.evidence,
                }
                for each in told.get("assertions", ())
            ],
            moves=[
                f"{iso(move.timestamp)}: {move.old_confidence:.2f} to {move.new_confidence:.2f}, {move.reason}"
                for move in moves
            ],
        )
        others = [record(hit_of(other), role=role) for role, claims in near.items() for other in claims]
        hits = distinct(
            hit_of(each) for each in (claim, *(other for claims in near.values() for other in claims))
        )
        found = Recall(Query(scopes=(self._memory.scope,), k=None), hits)
        return shown(found, [belief, *others]), found

    def _all(self, **filters: Any) -> Recall:
        return self._memory.storage.recall(Query(scopes=(self._memory.scope,), **filters))

    def _facts(self, subject: str, most: int) -> Recall:
        """Current facts of which `subject` is the subject or an entity, however it is spelled as to case."""
        name = subject.strip().casefold()
        if not name:
            raise InvalidQuery("subject is empty; name a person, place or thing")
        by_words = self._memory.recall(subject, k=LOOKED_THROUGH, type="semantic", weights=BY_NAME)
        own = [hit for hit in by_words if getattr(hit.claim, "subject", "").casefold() == name]
        named = self._all(type="semantic", entities=(subject.strip(),), k=most).hits
        # Without a question, and without parts of a score, every hit fits: each of these is about the subject.
        hits = (replace(hit, score=1.0, parts=Parts()) for hit in distinct([*own, *named])[:most])
        return Recall(Query(scopes=(self._memory.scope,), type="semantic", k=most), tuple(hits))


TOOLS = ("search_memories", "get_recent_memories", "get_facts_about", "combine_facts", "explain_belief")


def get_memory_tools(memory: Memory) -> list[Any]:
    """The tools as LangChain tools that read `memory` and no other; needs the extra `agents`."""
    core = require("langchain_core.tools", "agents")
    own = MemoryTools(memory)
    return [
        core.StructuredTool.from_function(
            getattr(own, name),
            name=name,
            description=" ".join((getattr(own, name).__doc__ or "").split()),
            response_format="content_and_artifact",
        )
        for name in TOOLS
    ]


def _within(limit: int, most: int) -> int:
    """A model's number of results, brought into the range."""
    return min(max(limit, 1), most)


def _present(claims: Iterable[Claim | None]) -> list[Claim]:
    return [claim for claim in claims if claim is not None]
