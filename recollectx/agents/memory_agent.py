"""MemoryAgent: a LangChain chat model that answers questions by reading one memory with tools.

The model proposes what to look up and what to say; what was used, cited and known is read from the run by fixed
rules (recollectx.agents.answers). A run keeps its state in its own messages, so agents, and answers of one agent in
several threads, share nothing but the memory.
"""

import asyncio
import json
import logging
import operator
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Annotated, Any, TypedDict

from recollectx.agents.answers import AgentResponse, AgentStep, StepKind, gathered, response_of
from recollectx.agents.tools import get_memory_tools
from recollectx.claims import MAX_TEXT, Claim, check_text
from recollectx.errors import InvalidSetting, ModelError, NotFound, StorageError
from recollectx.extras import require
from recollectx.instants import iso
from recollectx.llm.asking import text_of
from recollectx.llm.prompts import AGENT_RULES, EXAMPLE_ID, LAST_STEP, NO_END
from recollectx.memory import Memory
from recollectx.query import Recall

log = logging.getLogger(__name__)

LOOK_UP = "look_up"
STREAMED = ["messages", "updates"]
PATHS = {"tools": "tools", "unreadable": "unreadable"}
DONE = "done"


class Run(TypedDict):
    """The state of one run. Messages are only ever added: LangGraph's own rule would take one with an old id for a
    correction, and a model may say the same twice."""

    messages: Annotated[list[Any], operator.add]


class MemoryAgent:
    """Answers questions from `memory`; needs the extra `agents`.

    llm: a LangChain chat model.
    verbose: whether the log names the tools of an answer at level INFO, else at DEBUG.
    max_steps: how often the model is asked for one answer, at most.
    search_first: whether a search for the question comes first, unasked: it steadies weak models. One that cannot
    call tools gets that in any case.
    """

    def __init__(
        self,
        memory: Memory,
        llm: Any,
        verbose: bool = False,
        *,
        max_steps: int = 8,
        search_first: bool = False,
    ) -> None:
        if not callable(getattr(llm, "invoke", None)) or not hasattr(llm, "bind_tools"):
            raise InvalidSetting(f"llm must be a LangChain chat model, got {llm!r}")
        if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1:
            raise InvalidSetting(f"max_steps must be a whole number from 1, got {max_steps!r}")
        self._core = require("langchain_core.messages", "agents")
        self.memory = memory
        self.llm = llm
        self.verbose = verbose
        self.max_steps = max_steps
        self.tools = get_memory_tools(memory)
        try:
            self._model, self.search_first = llm.bind_tools(self.tools), search_first
        except NotImplementedError:
            self._model, self.search_first = llm, True
        self.graph = self._build()

    def answer(self, question: str) -> AgentResponse:
        """The answer to `question`, recorded as a trace.

        What a tool fails at is told to the model. Raises ModelError if the model itself fails.
        """
        state = self.graph.invoke(self._start(question), self._config)
        return self._finish(question, state["messages"])

    async def aanswer(self, question: str) -> AgentResponse:
        """As `answer`, without holding up the event loop."""
        state = await self.graph.ainvoke(self._start(question), self._config)
        return await asyncio.to_thread(self._finish, question, state["messages"])

    def stream(self, question: str) -> Iterator[AgentStep]:
        """As `answer`, told step by step; the last step carries the response."""
        start = self._start(question)
        messages = list(start["messages"])
        for mode, chunk in self.graph.stream(start, self._config, stream_mode=STREAMED):
            yield from _steps(mode, chunk, messages)
        yield _last(self._finish(question, messages))

    async def astream(self, question: str) -> AsyncIterator[AgentStep]:
        """As `stream`, without holding up the event loop."""
        start = self._start(question)
        messages = list(start["messages"])
        async for mode, chunk in self.graph.astream(start, self._config, stream_mode=STREAMED):
            for step in _steps(mode, chunk, messages):
                yield step
        yield _last(await asyncio.to_thread(self._finish, question, messages))

    def search(self, query: str, limit: int = 10) -> list[Claim]:
        """The claims that answer `query` best, without the model."""
        return self.memory.recall(query, k=limit).claims

    def get_context(self, limit_per_type: int = 10) -> dict[str, list[Claim]]:
        """The newest claims of each type, without the model."""
        return {kind: self.memory.list(limit_per_type, type=kind) for kind in ("episodic", "semantic")}

    # -- the graph -------------------------------------------------------------------------------------------

    def _build(self) -> Any:
        """model -> tools -> model ..., until the model calls none or its steps are used up."""
        langgraph = require("langgraph.graph", "agents")
        runnables = require("langchain_core.runnables", "agents")
        self._tool_node = require("langgraph.prebuilt", "agents").ToolNode(
            self.tools, handle_tool_errors=_told
        )
        graph = langgraph.StateGraph(Run)
        graph.add_node("model", runnables.RunnableLambda(self._ask, afunc=self._aask))
        graph.add_node("tools", self._tool_node)
        graph.add_node("unreadable", self._unreadable)
        graph.add_node("look_up", self._look_up)
        graph.add_edge(langgraph.START, "look_up" if self.search_first else "model")
        graph.add_edge("look_up", "model")
        graph.add_conditional_edges("model", self._next, PATHS | {DONE: langgraph.END})
        graph.add_edge("tools", "model")
        graph.add_edge("unreadable", "model")
        return graph.compile(name="MemoryAgent")

    @property
    def _config(self) -> dict[str, Any]:
        # Every step is a model and a tool node; LangGraph's own limit must not come first.
        return {"recursion_limit": 2 * self.max_steps + 5}

    def _start(self, question: str) -> dict[str, Any]:
        return {"messages": [self._core.HumanMessage(check_text(question, "question", MAX_TEXT))]}

    def _ask(self, state: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._reply(self._model.invoke(self._prompt(state["messages"])))
        except Exception as error:
            raise _failure(error) from error

    async def _aask(self, state: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._reply(await self._model.ainvoke(self._prompt(state["messages"])))
        except Exception as error:
            raise _failure(error) from error

    def _prompt(self, messages: list[Any]) -> list[Any]:
        today = iso(self.memory.storage.clock())[:10]
        system = self._core.SystemMessage(AGENT_RULES.format(today=today, example=EXAMPLE_ID))
        last = self._asked(messages) == self.max_steps - 1 and self._asked(messages) > 0
        end = [self._core.HumanMessage(LAST_STEP)] if last else []
        given = [
            # A service would refuse the result of a call that its model never made.
            self._core.HumanMessage(message.content)
            if message.type == "tool" and message.tool_call_id == LOOK_UP
            else message
            for message in messages
        ]
        return [system, *given, *end]

    def _reply(self, reply: Any) -> dict[str, Any]:
        """A reply as a message; a call without an id gets one, for its result must name it."""
        if not hasattr(reply, "tool_calls"):
            raise TypeError(f"a chat model replies with an AIMessage, not {type(reply).__name__}")
        for at, call in enumerate([*reply.tool_calls, *reply.invalid_tool_calls]):
            call["id"] = call["id"] or f"call_{at}"
        return {"messages": [reply]}

    def _next(self, state: dict[str, Any]) -> Any:
        reply = state["messages"][-1]
        if self._asked(state["messages"]) >= self.max_steps:
            return DONE
        called = {"tools": reply.tool_calls, "unreadable": reply.invalid_tool_calls}
        return [node for node, calls in called.items() if calls] or DONE

    def _unreadable(self, state: dict[str, Any]) -> dict[str, Any]:
        """Tells the model which of its calls had arguments that are not JSON."""
        return {
            "messages": [
                self._core.ToolMessage(
                    f"The arguments could not be read: {call.get('error') or 'not JSON'}. Call again.",
                    tool_call_id=call["id"],
                    name=call["name"],
                    status="error",
                )
                for call in state["messages"][-1].invalid_tool_calls
            ]
        }

    def _look_up(self, state: dict[str, Any]) -> dict[str, Any]:
        question = state["messages"][-1].content
        call = {"type": "tool_call", "name": "search_memories", "args": {"query": question}, "id": LOOK_UP}
        return {"messages": self._tool_node.invoke([call])["messages"]}

    def _asked(self, messages: list[Any]) -> int:
        return sum(message.type == "ai" for message in messages)

    def _finish(self, question: str, messages: list[Any]) -> AgentResponse:
        found = gathered(question, messages, self.memory.scope)
        stopped = bool(messages[-1].tool_calls or messages[-1].invalid_tool_calls)
        unfinished = NO_END.format(steps=self.max_steps) if stopped else None
        response = response_of(messages, found, unfinished=unfinished)
        log.log(
            logging.INFO if self.verbose else logging.DEBUG,
            "answered with %s: %d claims, %d cited",
            ", ".join(response.tools_used) or "no tool",
            len(response.memories_used),
            len(response.cited),
        )
        return replace(response, trace_id=self._recorded(found, response))

    def _recorded(self, found: Recall, response: AgentResponse) -> str | None:
        about = {"tools": response.tools_used, "cited": list(response.cited)}
        try:
            return self.memory.traces.record(found, response.answer, about)
        except (StorageError, NotFound) as error:
            # The answer is paid for: neither a busy database nor a claim undone meanwhile must cost it.
            log.warning("the answer was not recorded: %s", error)
            return None


def _told(error: Exception) -> str:
    """What a model is told of an error in a tool."""
    return f"That failed: {error}"


def _failure(error: Exception) -> ModelError:
    return ModelError(f"the chat model failed: {type(error).__name__}: {error}")


def _steps(mode: str, chunk: Any, messages: list[Any]) -> Iterator[AgentStep]:
    """The steps in one part of a stream; whole messages are added to `messages`."""
    if mode == "messages":
        message, about = chunk
        words = text_of(message.content) if about.get("langgraph_node") == "model" else ""
        if words:
            yield AgentStep(StepKind.WORDS, words)
        return
    for update in chunk.values():
        for message in update["messages"]:
            messages.append(message)
            for call in getattr(message, "tool_calls", ()):
                yield AgentStep(StepKind.CALL, json.dumps(call["args"], ensure_ascii=False), call["name"])
            if message.type == "tool":
                artifact = getattr(message, "artifact", None)
                claims = tuple(artifact.claims) if isinstance(artifact, Recall) else ()
                yield AgentStep(StepKind.RESULT, text_of(message.content), message.name, claims)


def _last(response: AgentResponse) -> AgentStep:
    return AgentStep(StepKind.ANSWER, response.answer, response=response)
