"""Proposing: asking a model what new claims mean for known ones, and reading its answer.

Each new claim is shown with a few known claims, numbered through from 1; a number is all by which the model can name
one. One question is about several new claims, and what is wrong with the answer to one of them costs only that one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from recollectx.changes import Action
from recollectx.claims import Claim
from recollectx.instants import iso
from recollectx.judging import LONGEST_REASON, Proposal
from recollectx.llm.asking import Answer, ask
from recollectx.llm.base import Usage
from recollectx.llm.prompts import (
    ACTIONS,
    DECIDING_SYSTEM,
    DECISIONS,
    RELATIONS,
    deciding_prompt,
    shortened,
)

AT_ONCE = 8
"""New claims in one question: a small model loses count of more, and a bad answer costs at most these."""
TOKENS_AT_LEAST, TOKENS_EACH = 200, 150


@dataclass(frozen=True, slots=True)
class Shown:
    """A new claim with the known ones it is shown with, the most alike first, and how alike each is, by id."""

    claim: Claim
    known: tuple[Claim, ...]
    likeness: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal, or why there is none. usage: of the question, told with the first of its claims."""

    proposal: Proposal | str
    usage: Usage


def proposed(llm: Any, shown: Sequence[Shown], *, temperature: float) -> Iterator[Proposed]:
    """What the model proposes for each new claim, in order. Raises nothing for what a model does."""
    for start in range(0, len(shown), AT_ONCE):
        several = shown[start : start + AT_ONCE]
        answer = ask(
            llm,
            deciding_prompt(list(_lines(several))),
            DECISIONS,
            system_prompt=DECIDING_SYSTEM,
            temperature=temperature,
            max_tokens=TOKENS_AT_LEAST + TOKENS_EACH * len(several),
        )
        read = proposals_in(answer, several)
        yield from (Proposed(each, answer.usage if at == 0 else Usage()) for at, each in enumerate(read))


def _lines(shown: Sequence[Shown]) -> Iterator[dict[str, Any]]:
    numbers = count(1)
    for new, each in enumerate(shown, 1):
        known = [{"number": next(numbers), **_told(claim)} for claim in each.known]
        yield {"new": new, **_told(each.claim), "known": known}


def _told(claim: Claim) -> dict[str, Any]:
    told = {"claim": shortened(claim.text), "since": iso(claim.since)[:10]}
    content = getattr(claim, "object", None)
    if content is not None and content != claim.text:
        told["content"] = shortened(content)
    if claim.source is not None:
        told["said_by"] = shortened(claim.source)
    return told


def proposals_in(answer: Answer, shown: Sequence[Shown]) -> list[Proposal | str]:
    """What an answer proposes for each new claim, or in words why nothing of it counts."""
    items = answer.value.get("decisions") if isinstance(answer.value, dict) else None
    if not isinstance(items, list):
        why = answer.problems[0] if answer.problems else "the reply is no list of decisions"
        return [f"the model gave no decision: {_clean(why)}" for _ in shown]
    found: list[Proposal | str] = []
    first = 1
    for new, each in enumerate(shown, 1):
        about = [item for item in items if isinstance(item, dict) and _is_about(item, new, len(shown))]
        found.append(_only(about, items, dict(enumerate(each.known, first)), each))
        first += len(each.known)
    return found


def _is_about(item: Mapping[str, Any], new: int, of: int) -> bool:
    # Where there is one new claim only, a model that leaves its number out can mean no other.
    number = item.get("new", new if of == 1 else None)
    return type(number) in (int, float) and number == new


def _only(
    about: Sequence[Mapping[str, Any]], items: Sequence[Any], numbered: Mapping[int, Claim], shown: Shown
) -> Proposal | str:
    if not about:
        wrong = f", its decision is {_clean(repr(items[0]))}" if len(items) == 1 else ""
        return f"the model decided nothing on this claim{wrong}"
    if any(item != about[0] for item in about):
        return f"the model gave {len(about)} different decisions"
    return _read(about[0], numbered, shown.likeness)


def _read(
    item: Mapping[str, Any], numbered: Mapping[int, Claim], likeness: Mapping[str, float]
) -> Proposal | str:
    named = item.get("action")
    action = named.strip().upper() if isinstance(named, str) else None
    if action not in ACTIONS:
        return f"the model's action {_clean(repr(named))} is none of {', '.join(ACTIONS)}"
    number = item.get("candidate")
    if action != Action.ADD and _numbered(number, numbered) is None:
        return f"the model's {action} names {_clean(repr(number))}, which is none of the claims it was shown"
    content = item.get("merged_content")
    if action == Action.UPDATE and content is not None and not isinstance(content, str):
        return f"the model's merged content is {_clean(repr(content))}, no text"
    if action == Action.UPDATE and isinstance(content, str) and not content.strip():
        return "the model's merged content is empty"
    relations, oddities = _relations(item.get("relationships"), numbered)
    reason = item.get("reasoning")
    return Proposal(
        Action(action),
        _clean(reason) if isinstance(reason, str) else "",
        None if action == Action.ADD else _numbered(number, numbered),
        content.strip() if action == Action.UPDATE and content is not None else None,
        tuple(relations),
        likeness,
        tuple(oddities),
    )


def _relations(given: Any, numbered: Mapping[int, Claim]) -> tuple[list[tuple[str, str]], list[str]]:
    """The relationships that name a claim that was shown and a relation there is, and what is wrong with the others."""
    if given is None:
        return [], []
    if not isinstance(given, list):
        return [], [f"relationships {_clean(repr(given))}"]
    kept: list[tuple[str, str]] = []
    odd: list[str] = []
    for each in given:
        claim = _numbered(each.get("candidate"), numbered) if isinstance(each, dict) else None
        relation = each.get("relation") if isinstance(each, dict) else None
        if claim is None or not isinstance(relation, str) or relation.strip().lower() not in RELATIONS:
            odd.append(f"the relationship {_clean(repr(each))}")
        else:
            kept.append((relation.strip().lower(), claim.id))
    return kept, odd


def _numbered(number: object, numbered: Mapping[int, Claim]) -> Claim | None:
    """The claim that was shown under a number; None for anything else, a number in a text and true included."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return numbered.get(int(number)) if number in numbered else None


def _clean(text: str) -> str:
    """A model's words as one short line that can be shown anywhere."""
    line = " ".join(text.encode("utf-8", "replace").decode().replace("\0", " ").split())
    line = "".join(char for char in line if char.isprintable())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 3] + "..."
