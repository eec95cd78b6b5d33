"""The base of providers: errors, refused parameters, thoughts and counting, once for all of them.

Write `_messages`, `_wishes` and `_send`. A service that answers 400 and names a parameter gets the next form of it, or
does without; once that worked, this object never sends the refused form again. Nothing is concluded from a model's name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from recollectx.errors import ModelError, ModelRefused, RecollectxError
from recollectx.forks import Lock
from recollectx.llm.asking import ask, told
from recollectx.llm.base import MAX_TOKENS, LLMResponse, Usage
from recollectx.llm.replies import spoken
from recollectx.llm.schemas import schema_of

# For each thing wished for, the forms to ask for it, best first; doing without is always the last.
Wishes: TypeAlias = dict[str, Sequence[Mapping[str, Any]]]

REFUSING = {400, 422, 501}
SCHEMA = "schema"
MAX_REASON = 500
# What is shorter is a stand-in such as "x" or "unused", which would only garble the messages.
SHORTEST_SECRET = 8


class BaseProvider:
    """Base of providers: call this constructor and write the three methods that raise TypeError here.

    service: its name in messages.  model: the model's.  options: parameters sent with every call, by the
    service's names, whatever the call itself asks for.
    secret: never printed, whatever the service writes into its errors.
    `usage` is the running total of this object, over all threads.
    """

    # Words by which a service may refuse a wish, besides the wish's name and the keys of its form.
    ALSO_CALLED: ClassVar[Mapping[str, Sequence[str]]] = {}

    def __init__(
        self, service: str, model: str, *, options: Mapping[str, Any] | None = None, secret: str | None = None
    ) -> None:
        self.service = service
        self.model = model
        self._options = dict(options or {})
        self._secret = secret if secret and len(secret) >= SHORTEST_SECRET else None
        self._lock = Lock()
        self._usage = Usage()
        self._refused: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self.model!r})"

    @property
    def usage(self) -> Usage:
        """All that this object has spent so far."""
        return self._usage

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        """The parameters without which there is no call."""
        raise TypeError(f"{type(self).__name__} must implement _messages(prompt, system_prompt)")

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        """How to ask for each of these that is not None; "schema" is the name of the first."""
        raise TypeError(f"{type(self).__name__} must implement _wishes(schema, temperature, max_tokens)")

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        """One call with these parameters; may raise anything."""
        raise TypeError(f"{type(self).__name__} must implement _send(request)")

    def generate(
        self,
        prompt: str,
        system_prompt: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = MAX_TOKENS,
        **options: Any,
    ) -> LLMResponse:
        """What the model says, without thinking aloud; may be `truncated`.

        temperature, max_tokens: None leaves them to the service.  options: more parameters, by the service's names.
        Raises ModelRefused if the model declines, ModelError for any other failure and for an empty reply.
        """
        response = self.respond(
            prompt, system_prompt, temperature=temperature, max_tokens=max_tokens, **options
        )
        content = spoken(response.content)
        if not content:
            used_up = "its tokens were used up before it said anything"
            raise self.failure(used_up if response.truncated else "the reply is empty", response.usage)
        return replace(response, content=content)

    def generate_structured(
        self,
        prompt: str,
        schema: Any,
        system_prompt: str | None = None,
        temperature: float | None = None,
        max_tokens: int | None = MAX_TOKENS,
    ) -> Any:
        """The reply as a JSON value that fits `schema`, a JSON Schema dict or a pydantic class.

        Raises ModelError if it does not; `recollectx.llm.ask` gives what can be used instead.
        """
        answer = ask(
            self, prompt, schema, system_prompt=system_prompt, temperature=temperature, max_tokens=max_tokens
        )
        if not answer.fits:
            raise self.failure("; ".join(answer.problems), answer.usage.as_dict())
        return answer.value

    def respond(
        self,
        prompt: str,
        system_prompt: str | None = None,
        *,
        schema: Any = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **options: Any,
    ) -> LLMResponse:
        """One reply as it came, also if it is empty or truncated, by the schema as far as the service can.

        Raises ModelRefused and ModelError as `generate`.
        """
        shape = schema_of(schema) if schema is not None else None
        wishes = self._wishes(shape, temperature, max_tokens)
        wishes |= {name: [{name: value}] for name, value in {**self._options, **options}.items()}
        refused = dict(self._refused)
        while True:
            forms = _forms(wishes, refused)
            told_in_words = shape is not None and (SCHEMA not in forms or SCHEMA in refused)
            text = told(prompt, shape) if told_in_words and shape is not None else prompt
            messages = self._messages(_sendable(text), system_prompt and _sendable(system_prompt))
            request = _merged(messages, forms)
            try:
                response = self._send(request)
            except RecollectxError:
                raise
            except Exception as error:  # noqa: BLE001 - every client has its own errors; one of ours comes of them
                name = self._refused_in(error, forms)
                if name is None:
                    reason = f"{type(error).__name__}: {error}"
                    raise self.failure(reason) from (None if self._tells_secret(error) else error)
                refused[name] = refused.get(name, 0) + 1
                continue
            return self._noted(response, refused)

    def ignored_schema(self) -> None:
        """Notes that a schema asked for natively was passed over: from now on it is told in the prompt as well."""
        with self._lock:
            self._refused[SCHEMA] = self._refused.get(SCHEMA, 0) + 1

    def failure(self, reason: str, usage: Mapping[str, int] | None = None) -> ModelError:
        """A ModelError that names the service and the model."""
        return ModelError(f"{self.service} model {self.model}: {self._told(reason)}", usage)

    def _noted(self, response: LLMResponse, refused: Mapping[str, int]) -> LLMResponse:
        """`response` counted, and what the service refused on the way to it remembered."""
        with self._lock:
            self._usage += Usage.of_one(response.usage)
            for name, count in refused.items():
                self._refused[name] = max(count, self._refused.get(name, 0))
        if response.refusal is not None:
            said = self._told(response.refusal)
            raise ModelRefused(f"{self.service} model {self.model} declined: {said}", response.usage)
        return response

    def _refused_in(self, error: Exception, forms: Mapping[str, Mapping[str, Any]]) -> str | None:
        """The wish that the service refused by name, if that is what `error` says."""
        if getattr(error, "status_code", None) not in REFUSING:
            return None
        named = getattr(error, "param", None)
        text = named if isinstance(named, str) and named else f"{error} {getattr(error, 'body', '')}"
        for name, form in forms.items():
            words = {name, *form, *self.ALSO_CALLED.get(name, ())} - {"extra_body", "options"}
            if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words):
                return name
        return None

    def _tells_secret(self, error: Exception) -> bool:
        return bool(self._secret and self._secret in f"{error!r}{error}")

    def _told(self, reason: str) -> str:
        """The beginning of `reason`, cut after the key is out of it, so that no part of one is left at the end."""
        return (reason.replace(self._secret, "***") if self._secret else reason)[:MAX_REASON]


def _sendable(text: str) -> str:
    """`text` as every client can encode it: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _forms(wishes: Wishes, refused: Mapping[str, int]) -> dict[str, Mapping[str, Any]]:
    """For each wish the best form that was not refused; none for a wish that was refused in all its forms."""
    left = {name: ways[refused.get(name, 0) :] for name, ways in wishes.items()}
    return {name: ways[0] for name, ways in left.items() if ways}


def _merged(request: dict[str, Any], forms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One dict of all, in which the dicts of one name are united."""
    for form in forms.values():
        for name, value in form.items():
            held = request.get(name)
            request[name] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value
    return request
