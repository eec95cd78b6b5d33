"""A language model that follows a script, and what every provider must do, as tests to inherit."""

import json
import unittest
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from recollectx.errors import BackendError
from recollectx.llm.asking import ask, response_of
from recollectx.llm.base import LLMProvider, LLMResponse, Usage
from recollectx.llm.provider import BaseProvider, Wishes


@dataclass(frozen=True, slots=True)
class Asked:
    """One call that a ScriptedProvider got; temperature and max_tokens are in `options`."""

    prompt: str
    system_prompt: str | None
    schema: Mapping[str, Any] | None
    options: Mapping[str, Any]


class ScriptedProvider(BaseProvider):
    """Gives `replies`, one a call, and keeps what it was asked in `asked`, a list of Asked.

    A reply is a string, a dict or list (said as JSON), LLMResponse, an exception (raised), or a function of the prompt
    that returns one of these. One function instead of a list answers every call. After the last reply it fails with
    ModelError. Without usage in a reply, tokens are words.
    """

    def __init__(self, replies: Iterable[Any] | Callable[[str], Any], *, model: str = "script") -> None:
        super().__init__("scripted", model)
        self.asked: list[Asked] = []
        self._always = replies if callable(replies) else None
        self._replies = iter(()) if callable(replies) else iter(list(replies))

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        return {"prompt": prompt, "system_prompt": system_prompt}

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        given = {"schema": schema, "temperature": temperature, "max_tokens": max_tokens}
        return {name: [{name: value}] for name, value in given.items() if value is not None}

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        prompt: str = request.pop("prompt")
        with self._lock:
            self.asked.append(
                Asked(prompt, request.pop("system_prompt"), request.pop("schema", None), request)
            )
            reply = self._always or next(self._replies, None)
        if callable(reply) and not isinstance(reply, type):
            reply = reply(prompt)
        if reply is None:
            raise self.failure(f"its script ended after {len(self.asked) - 1} replies")
        if isinstance(reply, BaseException):
            raise reply
        response = response_of(reply)
        if response.usage is not None:
            return response
        usage = Usage(1, len(prompt.split()), len(response.content.split()))
        return LLMResponse(
            response.content,
            usage.as_dict(),
            self.model,
            response.metadata,
            truncated=response.truncated,
            refusal=response.refusal,
        )


COLOURS = {
    "title": "colours",
    "type": "object",
    "properties": {
        "colours": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "share": {"type": "number", "minimum": 0}},
                "required": ["name", "share"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["colours"],
    "additionalProperties": False,
}
RED = {"colours": [{"name": "rouge \u2013 \u8d64", "share": 0.5}]}


class LLMProviderContract:
    """What every provider must do. Override `saying`, and `failing` if its service can be out of reach."""

    def saying(self, replies: Sequence[str]) -> LLMProvider:
        """A provider whose model says `replies`, one a call."""
        raise NotImplementedError(f"{type(self).__name__} must implement saying(replies)")

    def failing(self) -> LLMProvider:
        """A provider whose service always fails; skips by default."""
        raise unittest.SkipTest(f"{type(self).__name__} has no service that fails")

    def test_says_what_the_model_says(self) -> None:
        said = response_of(self.saying(["Blau und grün, 青"]).generate("Which colours?")).content
        assert said == "Blau und grün, 青"

    def test_takes_the_parameters_of_the_seam(self) -> None:
        llm = self.saying(["one", "two"])
        assert response_of(llm.generate("Say one", "Be short.", 0.2, 100)).content == "one"
        options: dict[str, Any] = {"system_prompt": "Be short.", "temperature": 0.0, "max_tokens": 50}
        assert response_of(llm.generate("Say two", **options)).content == "two"

    def test_odd_prompts_do_no_harm(self) -> None:
        prompts = ["half a pair \ud83d", "zero\0byte", "x" * 50_000, "</s><|im_end|>", '{"role": "system"}']
        llm = self.saying(["fine"] * len(prompts))
        for prompt in prompts:
            assert response_of(llm.generate(prompt)).content == "fine"

    def test_gives_json_however_it_is_wrapped(self) -> None:
        bare = json.dumps(RED)
        wrapped = [
            bare,
            f"```json\n{bare}\n```",
            f"Gladly! Here it is:\n{bare}\nAnything else [1]?",
            f'<think>Maybe {{"colours": []}}?</think>{json.dumps(RED, indent=1, ensure_ascii=False)}',
        ]
        llm = self.saying(wrapped)
        for reply in wrapped:
            answer = ask(llm, "Which colours?", COLOURS)
            assert (answer.value, answer.problems, answer.usage.calls) == (RED, (), 1), reply

    def test_asks_once_more_for_what_does_not_fit(self) -> None:
        unfit = ["I'd rather talk.", json.dumps({"colours": [{"name": "red", "share": "half"}]}), "[1]"]
        llm = self.saying([reply for bad in unfit for reply in (bad, json.dumps(RED))])
        for bad in unfit:
            answer = ask(llm, "Which colours?", COLOURS)
            assert (answer.value, answer.problems, answer.usage.calls) == (RED, (), 2), bad

    def test_a_bad_item_does_not_cost_the_others(self) -> None:
        mixed = json.dumps({"colours": [{"name": "red", "share": None}, *RED["colours"]]})
        answer = ask(self.saying([mixed, "sorry"]), "Which colours?", COLOURS)
        assert answer.value["colours"][1:] == RED["colours"]
        assert answer.problems == ("colours[0].share: not of type number",)

    def test_hopeless_replies_are_told_not_raised(self) -> None:
        hopeless = ["no", "[" * 100_000, '{"colours": ', "null", '{"other": 1}', "<think>and so on"]
        llm = self.saying([reply for bad in hopeless for reply in (bad, bad)])
        for bad in hopeless:
            answer = ask(llm, "Which colours?", COLOURS)
            assert answer.value is None, bad
            assert answer.problems, bad

    def test_a_failing_service_is_told_not_raised(self) -> None:
        answer = ask(self.failing(), "Which colours?", COLOURS)
        assert answer.value is None
        assert answer.problems

    def test_a_failing_service_raises_our_error(self) -> None:
        try:
            self.failing().generate("Which colours?")
        except BackendError:
            return
        raise AssertionError("no BackendError was raised")

    def test_several_threads(self) -> None:
        llm = self.saying(["fine"] * 24)
        with ThreadPoolExecutor(4) as threads:
            said = list(threads.map(lambda at: response_of(llm.generate(f"Call {at}")).content, range(24)))
        assert said == ["fine"] * 24
