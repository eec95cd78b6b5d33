"""What came of a question to an agent, read from the messages of its run by fixed rules.

Messages are LangChain's; only their fields are read, so this file imports nothing of it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from recollectx.agents.records import distinct, handle
from recollectx.agents.tools import TOOLS
from recollectx.claims import MAX_TEXT, Claim
from recollectx.llm.asking import text_of
from recollectx.llm.base import Usage
from recollectx.llm.prompts import NO_ANSWER, NOTHING_KNOWN
from recollectx.llm.replies import THOUGHTS, spoken
from recollectx.query import Query, Recall

CITED = re.compile(r"\[([^\[\]\n]+)\]")
LOOKS_LIKE_AN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?")


@dataclass(frozen=True, slots=True)
class AgentResponse:
    """An answer and what it rests on.

    memories_used: the claims that the tools returned, each once, in the order they came.  tools_used: in order, one
    for each call.  reasoning: what the model thought or said on the way, None if nothing.
    trace_id: of the recorded answer, see `memory.traces`; None if the database would not take it.
    cited: ids of the claims that the answer names.  unknown_citations: ids it names that no tool returned.
    nothing_fits: whether no tool returned a claim that fits; what the answer says is then the model's own.
    step_limit_reached: whether the model was stopped before it came to an answer.
    usage: calls of the model and the tokens they cost, as far as it told.
    """

    answer: str
    memories_used: list[Claim]
    tools_used: list[str]
    reasoning: str | None = None
    trace_id: str | None = None
    cited: tuple[str, ...] = ()
    unknown_citations: tuple[str, ...] = ()
    nothing_fits: bool = True
    step_limit_reached: bool = False
    usage: Usage = field(default_factory=Usage)


class StepKind(StrEnum):
    """What happens in a run, as `MemoryAgent.stream` tells it."""

    WORDS = "words"
    CALL = "call"
    RESULT = "result"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One thing that happened.

    kind: words of the model as they come, the call of a tool, what it returned, or the answer, always last.
    text: the words, the arguments as JSON, the text the model gets, or the answer.
    tool: its name, with a call and a result.  memories: the claims of a result.  response: with the answer only.
    """

    kind: StepKind
    text: str
    tool: str | None = None
    memories: tuple[Claim, ...] = ()
    response: AgentResponse | None = None


def gathered(question: str, messages: Iterable[Any], scope: str) -> Recall:
    """What the tools of one run returned, as the recall its answer rests on; each claim as it first came."""
    hits = distinct(hit for found in _recalls(messages) for hit in found)
    return Recall(Query(text=question, scopes=(scope,), k=None), hits)


def response_of(messages: Sequence[Any], recall: Recall, *, unfinished: str | None = None) -> AgentResponse:
    """The answer in the messages of one run. unfinished: what is said in its place if the model was stopped."""
    nothing_fits = all(found.nothing_fits for found in _recalls(messages))
    said = _sound(spoken(text_of(messages[-1].content)))
    answer = unfinished or said or (NOTHING_KNOWN if nothing_fits else NO_ANSWER)
    handles = {handle(claim.id): claim.id for claim in recall.claims}
    named = [name.strip() for group in CITED.findall(answer) for name in re.split("[,;]", group)]
    cited = {name: handles.get(name) or _whole(name, recall) for name in dict.fromkeys(named)}
    replies = [message for message in messages if message.type == "ai"]
    return AgentResponse(
        answer=answer,
        memories_used=recall.claims,
        tools_used=[each.name for each in messages if each.type == "tool" and each.name in TOOLS],
        reasoning="\n".join(_thoughts(replies)) or None,
        cited=tuple(dict.fromkeys(claim_id for claim_id in cited.values() if claim_id)),
        unknown_citations=tuple(
            name for name, claim_id in cited.items() if not claim_id and LOOKS_LIKE_AN_ID.fullmatch(name)
        ),
        nothing_fits=nothing_fits,
        step_limit_reached=unfinished is not None,
        usage=sum((Usage.of_one(getattr(reply, "usage_metadata", None)) for reply in replies), Usage()),
    )


def _recalls(messages: Iterable[Any]) -> Iterator[Recall]:
    artifacts = (getattr(message, "artifact", None) for message in messages)
    return (found for found in artifacts if isinstance(found, Recall))


def _whole(name: str, recall: Recall) -> str | None:
    """The claim whose whole id a model wrote where its handle was shown."""
    return next((claim.id for claim in recall.claims if claim.id == name), None)


def _thoughts(replies: Sequence[Any]) -> Iterator[str]:
    """What was thought in any reply, and what was said in those that called tools."""
    for reply in replies:
        blocks = [] if isinstance(reply.content, str) else reply.content_blocks
        yield from (str(block.get("reasoning", "")) for block in blocks if block.get("type") == "reasoning")
        text = text_of(reply.content)
        if aloud := THOUGHTS.match(text):
            yield re.sub(r"</?\w+>", "", aloud[0]).strip()
        if reply.tool_calls and spoken(text):
            yield spoken(text)


def _sound(text: str) -> str:
    """A model's words as the database can hold them."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:MAX_TEXT]
