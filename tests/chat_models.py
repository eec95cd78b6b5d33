"""A LangChain chat model that follows a script, for invoke, stream and their async forms."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field


def call(name: str, call_id: str | None = "c1", **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, id=call_id, type="tool_call")


def calls(*made: ToolCall, text: str = "") -> AIMessage:
    return AIMessage(text, tool_calls=list(made))


class ScriptedChatModel(BaseChatModel):
    """Each entry is a message, a text, an exception, or a function of the messages that gives one of these."""

    script: list[Any]
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        self.bound = list(tools)
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        self.asked.append(list(messages))
        entry = self.script[len(self.asked) - 1]
        if isinstance(entry, Callable) and not isinstance(entry, AIMessage):  # type: ignore[arg-type]
            entry = entry(messages)
        if isinstance(entry, Exception):
            raise entry
        return AIMessage(entry) if isinstance(entry, str) else entry

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        """Words one by one, then the calls with their arguments in two pieces."""
        said = self._next(messages)
        for word in str(said.content).split(" ") if said.content else []:
            yield ChatGenerationChunk(message=AIMessageChunk(f"{word} "))
        for index, made in enumerate([*said.tool_calls, *said.invalid_tool_calls]):
            args = made["args"] if isinstance(made["args"], str) else json.dumps(made["args"])
            half = len(args) // 2
            pieces = [{"name": made["name"], "args": args[:half], "id": made["id"]}, {"args": args[half:]}]
            for piece in pieces:
                chunk = {"name": None, "id": None, **piece, "index": index, "type": "tool_call_chunk"}
                yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[chunk]))
        if not said.content and not said.tool_calls and not said.invalid_tool_calls:
            yield ChatGenerationChunk(message=AIMessageChunk(""))


class WithoutTools(ScriptedChatModel):
    """A model that cannot call tools."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        raise NotImplementedError
