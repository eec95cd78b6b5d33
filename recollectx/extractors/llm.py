"""A language model as an extractor: it proposes what messages state, items.py decides what of that is a claim."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from recollectx.claims import Claim, check_time, check_unit
from recollectx.echoes import NOTHING, Shown
from recollectx.errors import InvalidClaim, InvalidSetting
from recollectx.extractors.base import Extraction, Extractor, Finding, Turn, read_turns
from recollectx.extractors.items import Read, Scene
from recollectx.extractors.windows import Part, Window, windows
from recollectx.llm.asking import ask
from recollectx.llm.base import MAX_TOKENS, Usage
from recollectx.llm.prompts import (
    EXTRACTION_EXAMPLE,
    EXTRACTION_SCHEMA,
    EXTRACTION_SYSTEM,
    extraction_prompt,
)
from recollectx.llm.providers import provider_from

HOTTEST = 2
"""The highest temperature that a service takes."""
_EXAMPLE = Shown.of(
    str(value) for each in EXTRACTION_EXAMPLE for value in each.values() if isinstance(value, str)
)


class Extracted(list[Claim]):
    """The claims of one text. problems: what was left out or failed, and why.  usage: what it cost."""

    def __init__(self, claims: Sequence[Claim], problems: Sequence[str] = (), usage: Usage = Usage()) -> None:  # noqa: B008 - Usage is immutable
        super().__init__(claims)
        self.problems = tuple(problems)
        self.usage = usage


class LLMExtractor:
    """Finds claims with a language model; give it to `Memory.open(extractor=...)`, or call `extract`.

    llm_provider: a provider, a LangChain chat model, a function of a prompt, or a name as `provider_from` takes it.
    min_confidence: less sure claims are left out.  max_claims_per_text: of one message.
    fallback: an extractor for the messages on which the model fails.  turns_per_call: of a conversation.
    A model that fails costs its claims, never the messages: what went wrong is in the `problems` of the result.
    """

    def __init__(
        self,
        llm_provider: Any,
        min_confidence: float = 0.5,
        max_claims_per_text: int = 20,
        temperature: float | None = 0.1,
        *,
        fallback: Extractor | None = None,
        turns_per_call: int = 10,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        for name, count in (
            ("max_claims_per_text", max_claims_per_text),
            ("turns_per_call", turns_per_call),
            ("max_tokens", max_tokens),
        ):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise InvalidSetting(f"{name} must be a whole number from 1, got {count!r}")
        reads = callable(getattr(fallback, "find", getattr(fallback, "read", None)))
        if fallback is not None and (isinstance(fallback, type) or not reads):
            raise InvalidSetting(f"fallback is an extractor, which has find() or read(), got {fallback!r}")
        self.llm = provider_from(llm_provider)
        self.min_confidence = check_unit(min_confidence, "min_confidence")
        self.max_claims_per_text = max_claims_per_text
        self.temperature = _checked_temperature(temperature)
        self.fallback = fallback
        self.turns_per_call = turns_per_call
        self.max_tokens = max_tokens

    def extract(self, text: str, context: Mapping[str, Any] | None = None, *, shown: Any = None) -> Extracted:
        """The claims of one text, semantic and episodic, in the order in which the model gives them.

        context: user_id (who says it), timestamp (when; default now), role and session; anything else in it helps the
        model to understand the text, and is no source of claims.
        shown: what the speaker had been shown before: a Recall, claims, texts. Nothing of that comes back as a claim.
        Raises InvalidClaim for a text that cannot be stored; whatever the model does is in the result.
        """
        about = dict(context or {})
        said_at = about.pop("timestamp", None)
        turn = Turn(
            text,
            about.pop("user_id", None),
            datetime.now(UTC).timestamp() if said_at is None else check_time(said_at, "timestamp"),
            about.pop("session", None),
            None,
            about.pop("role", None),
        )
        found = self._read([turn], Shown.of(shown), about)
        return Extracted([each.claim for each in found.findings[0]], found.problems, found.usage)

    def extract_batch(
        self, texts: Sequence[str], context: Mapping[str, Any] | None = None, *, shown: Any = None
    ) -> list[Extracted]:
        """`extract` for each text on its own; one that cannot be stored costs only itself."""
        together: list[Extracted] = []
        for text in texts:
            try:
                together.append(self.extract(text, context, shown=shown))
            except InvalidClaim as error:
                together.append(Extracted((), (str(error),)))
        return together

    def find(self, turn: Turn) -> list[Finding]:
        """The claims of one turn."""
        return list(self.read([turn]).findings[0])

    def read(self, turns: Sequence[Turn], shown: Shown = NOTHING) -> Extraction:
        """What the turns of one conversation state, by at most `turns_per_call` turns a call.

        Turns of machines are read to understand the others, and make no claim.
        """
        return self._read(turns, shown, {})

    def _read(self, turns: Sequence[Turn], shown: Shown, about: Mapping[str, Any]) -> Extraction:
        findings: list[list[Finding]] = [[] for _ in turns]
        problems: list[str] = []
        usage = Usage()
        told = shown + Shown.of(str(value) for value in about.values())
        foreign = told + Shown.of(turn.text for turn in turns if turn.by_machine) + _EXAMPLE
        for window in windows(turns, self.turns_per_call):
            found, cost = self._asked(window, foreign, about)
            problems += found.problems
            usage += cost
            by_part = [found.findings.get(number, []) for number in range(len(window.read))]
            if self.fallback is not None and found.problems and not any(by_part):
                fallen = read_turns(self.fallback, [part.turn for part in window.read], told)
                problems += [f"the fallback read {len(window.read)} message(s)", *fallen.problems]
                by_part = [list(each) for each in fallen.findings]
            for part, here in zip(window.read, by_part, strict=True):
                findings[part.at] += here
        # A long message has several parts, each with as many as are allowed.
        over = sum(max(0, len(found) - self.max_claims_per_text) for found in findings)
        problems += [f"{over} more than {self.max_claims_per_text} of one message were left out"] * (over > 0)
        return Extraction(
            tuple(tuple(each[: self.max_claims_per_text]) for each in findings), tuple(problems), usage
        )

    def _asked(self, window: Window, foreign: Shown, about: Mapping[str, Any]) -> tuple[Read, Usage]:
        """What the model finds in a window, and what that cost."""
        answer = ask(
            self.llm,
            extraction_prompt(_rows(window), self.max_claims_per_text, about),
            EXTRACTION_SCHEMA,
            system_prompt=EXTRACTION_SYSTEM,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
        )
        turns, beside = ([part.turn for part in parts] for parts in (window.read, window.beside))
        found = Read(Scene(turns, beside, foreign), self.min_confidence, self.max_claims_per_text)
        # What is wrong with an item is judged by items.py, which may still have a use for it.
        found.problems += [each for each in answer.problems if not each.startswith("memories[")]
        if answer.value is None:
            found.problems.append(f"the model gave nothing to use for {len(turns)} message(s)")
        else:
            found.take(answer.value.get("memories"))
        return found, answer.usage


def _checked_temperature(value: Any) -> float | None:
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HOTTEST
    ):
        raise InvalidSetting(f"temperature must be a number from 0 to {HOTTEST}, or None, got {value!r}")
    return None if value is None else float(value)


def _rows(window: Window) -> list[dict[str, Any]]:
    numbers = {id(part): number for number, part in enumerate(window.read, 1)}
    return [_row(part, numbers.get(id(part))) for part in window.parts]


def _row(part: Part, number: int | None) -> dict[str, Any]:
    turn = part.turn
    day = datetime.fromtimestamp(turn.said_at, UTC)
    row = {"speaker": turn.said_by, "date": f"{day:%Y-%m-%d, %A}", "text": turn.text}
    return {**({} if number is None else {"number": number}), **row}


__all__ = ["Extracted", "LLMExtractor"]
