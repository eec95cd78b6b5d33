"""One question to any provider, one checked JSON value back.

    answer = ask(llm, "Which colours are named? ...", schema, max_tokens=500)
    for item in (answer.value or {}).get("colours", []): ...
    report(answer.problems, answer.usage)

`llm` is any provider (see recollectx.llm.base) or a plain function of a prompt. A model that cannot be held to the
schema natively is told it in the prompt; a reply that does not fit is sent back once with what is wrong with it. A value
with problems is still given, so that one bad item need not cost the others: check each item before use.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recollectx.errors import InvalidSetting, ModelRefused, RecollectxError
from recollectx.llm.base import MAX_TOKENS, LLMResponse, Usage
from recollectx.llm.replies import json_cut_off, json_in, spoken
from recollectx.llm.schemas import Schema, faults, schema_of

MAX_SHOWN = 4_000
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question.

    value: the JSON value that fits best; None if there was none.
    problems: what is wrong with the value, or why there is none, each in one sentence; empty if it fits the schema.
    usage: all calls of this question together.  text: the reply the value was read from.
    """

    value: Any
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    text: str = ""

    @property
    def fits(self) -> bool:
        """Whether the value is as the schema wants it."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class _Question:
    prompt: str
    schema: dict[str, Any]
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An answer, and whether asking once more could give a better one."""

    answer: Answer
    again: bool = False
    truncated: bool = False


def ask(
    llm: Any,
    prompt: str,
    schema: Any,
    *,
    system_prompt: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = MAX_TOKENS,
) -> Answer:
    """The answer of `llm` to `prompt` as a JSON value by `schema`, in one call or, if that does not fit, in two.

    schema: a JSON Schema dict or a pydantic class.  temperature, max_tokens: None leaves them to the service.
    A reply cut off at `max_tokens` is asked for again with twice as many.
    Raises InvalidSetting for an `llm` or a schema that is none; whatever a model or service does is in the Answer.
    """
    if not callable(getattr(llm, "generate", llm)):
        raise InvalidSetting(f"neither a provider with generate() nor a function of a prompt: {llm!r}")
    options = {"system_prompt": system_prompt, "temperature": temperature, "max_tokens": max_tokens}
    question = _Question(prompt, schema_of(schema), options)
    first = _attempt(llm, question, natively=True)
    if not first.again:
        return first.answer
    second = _attempt(llm, _once_more(question, first), natively=False)
    usage = first.answer.usage + second.answer.usage
    return replace(min(second.answer, first.answer, key=_badness), usage=usage)


def told(prompt: str, schema: Schema) -> str:
    """`prompt` with the shape of the reply in words, once, for models that take it no other way."""
    words = f"Reply with one JSON value that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
    return prompt if words in prompt else f"{prompt}\n\n{words}"


def response_of(given: Any) -> LLMResponse:
    """What a provider returned as LLMResponse: a string, a JSON value, a pydantic object, anything with `.content`.

    Raises TypeError for anything else.
    """
    if isinstance(given, LLMResponse):
        return given if isinstance(given.content, str) else replace(given, content=text_of(given.content))
    if isinstance(given, str):
        return LLMResponse(given)
    if isinstance(given, (Mapping, list)):
        return LLMResponse(json.dumps(given, default=str))
    dump: Callable[[], str] | None = getattr(given, "model_dump_json", None)
    if dump is not None and not hasattr(given, "content"):
        return LLMResponse(dump())
    if not hasattr(given, "content"):
        raise TypeError(
            f"a provider returns LLMResponse, a string or something with .content, not {type(given).__name__}"
        )
    usage = next((used for name in ("usage", "usage_metadata") if (used := getattr(given, name, None))), None)
    return LLMResponse(text_of(given.content), Usage.of_one(usage).as_dict() if usage else None)


def text_of(content: Any) -> str:
    """The text in a message's content: a string, or blocks of which those of type text count."""
    if content is None or isinstance(content, str):
        return content or ""
    blocks = content if isinstance(content, list) else [content]
    return "".join(_block_text(block) for block in blocks)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    read = (
        block
        if isinstance(block, Mapping)
        else {"type": getattr(block, "type", None), "text": getattr(block, "text", None)}
    )
    return str(read.get("text") or "") if read.get("type") == "text" else ""


def _attempt(llm: Any, question: _Question, *, natively: bool) -> _Attempt:
    try:
        response = _reply(llm, question, natively=natively)
    except Exception as error:  # noqa: BLE001 - a third party's model may fail in any way; the answer says how
        usage = Usage.of_one(getattr(error, "usage", None))
        reason = str(error) if isinstance(error, RecollectxError) else f"{type(error).__name__}: {error}"
        other_way = natively and not hasattr(llm, "respond") and hasattr(llm, "generate_structured")
        return _Attempt(Answer(None, (reason,), usage), other_way and not isinstance(error, ModelRefused))
    usage, text = Usage.of_one(response.usage), response.content
    if response.refusal is not None:
        return _Attempt(Answer(None, (f"the model declined: {response.refusal}",), usage, text))
    value = json_in(text, question.schema)
    wrong = faults(value, question.schema) if value is not None else []
    if wrong or value is None:
        value, wrong = _made_the_best_of(value, wrong, response, question.schema)
    ignored = value is None and natively and not response.truncated and spoken(text)
    if ignored and callable(learn := getattr(llm, "ignored_schema", None)):
        learn()
    return _Attempt(Answer(value, tuple(wrong[:MAX_PROBLEMS]), usage, text), bool(wrong), response.truncated)


def _made_the_best_of(
    value: Any, wrong: list[str], response: LLMResponse, schema: Schema
) -> tuple[Any, list[str]]:
    """The complete items of a reply that was cut off, if there are any; what is wrong in any case."""
    cut = json_cut_off(response.content, schema)
    if cut is not None and (value is None or len(faults(cut, schema)) <= len(wrong)):
        return cut, ["the reply was cut off, only its complete items count", *faults(cut, schema)]
    if value is not None:
        return value, wrong
    if response.truncated:
        return None, ["the reply was cut off at the token limit"]
    return None, ["the reply holds no JSON as asked" if spoken(response.content) else "the reply is empty"]


def _once_more(question: _Question, first: _Attempt) -> _Question:
    limit = question.options["max_tokens"]
    if first.truncated and limit:
        options = {**question.options, "max_tokens": 2 * limit}
        return replace(question, options=options)
    problems = "\n".join(f"- {problem}" for problem in first.answer.problems)
    shown = f"\n\nYour reply was:\n{first.answer.text[:MAX_SHOWN]}" if spoken(first.answer.text) else ""
    prompt = f"{question.prompt}{shown}\n\nIt cannot be used:\n{problems}" if shown else question.prompt
    return replace(question, prompt=told(prompt, question.schema))


def _badness(answer: Answer) -> tuple[bool, int]:
    return answer.value is None, len(answer.problems)


def _reply(llm: Any, question: _Question, *, natively: bool) -> LLMResponse:
    if callable(respond := getattr(llm, "respond", None)):
        return response_of(respond(question.prompt, schema=question.schema, **question.options))
    structured = getattr(llm, "generate_structured", None)
    if natively and callable(structured):
        try:
            return response_of(
                call_by_signature(structured, question.prompt, schema=question.schema, **question.options)
            )
        except NotImplementedError:
            pass
    prompt = told(question.prompt, question.schema) if natively else question.prompt
    return response_of(call_by_signature(getattr(llm, "generate", llm), prompt, **question.options))


def call_by_signature(function: Callable[..., Any], prompt: str, **options: Any) -> Any:
    """`function(prompt, ...)` with those of `options` that it takes and that are not None.

    A system prompt that it does not take goes before the prompt.
    """
    given = {name: value for name, value in options.items() if value is not None}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = {}.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        names = {
            parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY
        }
        if "system_prompt" in given and "system_prompt" not in names:
            prompt = f"{given['system_prompt']}\n\n{prompt}"
        given = {name: value for name, value in given.items() if name in names}
    return function(prompt, **given)
