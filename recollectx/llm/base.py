"""The language model seam: a prompt in, a reply out.

A provider is anything with `generate`; `generate_structured` is optional. It may return LLMResponse, a string, or
anything with `.content`. Its parameters may be fewer than those below: only what its signature takes is passed on.

To write one, inherit BaseProvider (recollectx.llm.provider), which does errors, refused parameters and counting once.
To use one, call `ask` (recollectx.llm.asking), which gives a checked JSON value from any provider and never raises for
what a model or a service did. Test one with `recollectx.testing.LLMProviderContract`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

MAX_TOKENS = 4096


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """What a model said.

    usage: {"prompt_tokens", "completion_tokens", "total_tokens"}; None if the service did not tell.
    model: the name the service gives, which may be more exact than the one asked for.
    truncated: the text ends because the token limit was reached.  refusal: why the model declined, if it did.
    """

    content: str
    usage: Mapping[str, int] | None = None
    model: str | None = None
    metadata: Mapping[str, Any] | None = None
    truncated: bool = False
    refusal: str | None = None


@runtime_checkable
class LLMProvider(Protocol):
    """What turns a prompt into text. `recollectx.llm.asking.ask` says what becomes of its reply."""

    def generate(
        self,
        prompt: str,
        system_prompt: str | None = None,
        temperature: float = 0.7,
        max_tokens: int = MAX_TOKENS,
        **options: Any,
    ) -> Any:
        """The model's reply: LLMResponse, a string, or anything with `.content`. Raises whatever it likes."""


@runtime_checkable
class StructuredProvider(LLMProvider, Protocol):
    """A provider that can hold its model to a JSON Schema."""

    def generate_structured(
        self, prompt: str, schema: Mapping[str, Any], system_prompt: str | None = None, **options: Any
    ) -> Any:
        """A dict, or what `generate` may return with JSON as its text."""


@runtime_checkable
class EmbeddingProvider(Protocol):
    """0.2.7's seam for embedders, one text at a time; `FunctionEmbedder(provider.embed)` makes one of ours."""

    @property
    def dimension(self) -> int:
        """Length of its vectors."""

    def embed(self, text: str) -> list[float]:
        """The vector of one text."""

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent: calls of a model, failed ones included, and the tokens that their service reported."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    @property
    def total_tokens(self) -> int:
        """Of prompts and replies together."""
        return self.prompt_tokens + self.completion_tokens

    @classmethod
    def of_one(cls, reported: object) -> "Usage":
        """One call and the tokens in `reported`, a mapping or object by OpenAI's or Anthropic's names; else 0."""
        return cls(
            1,
            _count(reported, "prompt_tokens", "input_tokens"),
            _count(reported, "completion_tokens", "output_tokens"),
        )

    def as_dict(self) -> dict[str, int]:
        """As LLMResponse.usage."""
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
        }


def _count(reported: object, *names: str) -> int:
    for name in names:
        found = reported.get(name) if isinstance(reported, Mapping) else getattr(reported, name, None)
        if type(found) is int and found >= 0:
            return found
    return 0
