"""From what a model wrote to the JSON it means: thoughts, fences and prose set aside, a cut-off list closed.

Nothing is guessed: a value is what a JSON parser reads, less the keys its schema forbids, or the complete items of a
list that was cut off.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from recollectx.llm.schemas import Schema, faults, known_part

THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
# Some chat templates write the opening tag into the prompt, so that only the closing one is in the reply. At the
# beginning or end of a line it cannot stand within a JSON string.
END_OF_THOUGHTS = re.compile(r"^\s*</think>|</think>\s*$", re.MULTILINE | re.IGNORECASE)
TOKENS = re.compile(r'"(?:\\.|[^"\\])*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
BEGINNING = re.compile(r"[\[{]")
CLOSER = {"{": "}", "[": "]"}
# A text of many brackets that begin nothing would otherwise take time in the square of its length.
MAX_STARTS = 200


def spoken(text: str) -> str:
    """`text` without the thinking aloud at its beginning; "" if there is nothing else."""
    begun = THOUGHTS.match(text)
    if begun:
        return text[begun.end() :].strip()
    ended = END_OF_THOUGHTS.search(text)
    if ended and not text.lstrip().startswith(tuple(CLOSER)):
        return text[ended.end() :].strip()
    return text.strip()


def json_in(text: str, schema: Schema) -> Any:
    """The JSON value in `text` that fits `schema` best, the later of two equal ones; None if none resembles it."""
    best, fewest = None, -1
    for at, value in enumerate(_values(spoken(text))):
        meant = _wrapped(value, schema) if at == 0 else value
        if not _resembles(meant, schema):
            continue
        meant = known_part(meant, schema)
        count = len(faults(meant, schema))
        if fewest < 0 or count <= fewest:
            best, fewest = meant, count
    return best


def json_cut_off(text: str, schema: Schema) -> Any:
    """What is complete of a JSON value that was cut off inside its outer list; None if no item is."""
    said = spoken(text)
    begin = BEGINNING.search(said)
    if begin is None:
        return None
    closers: list[str] = []
    kept = None
    for token in TOKENS.finditer(said, begin.start()):
        mark = token[0]
        if mark in CLOSER:
            closers.append(CLOSER[mark])
        elif mark in ("}", "]"):
            if closers.pop() != mark or not closers:
                return None
            # Only the outer list: an item that holds a list may itself be incomplete.
            if closers[-1] == "]" and "]" not in closers[:-1]:
                kept = token.end(), "".join(reversed(closers))
    return json_in(said[begin.start() : kept[0]] + kept[1], schema) if kept else None


def _values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_constant=lambda _: None)
    at = 0
    for _ in range(MAX_STARTS):
        begin = BEGINNING.search(text, at)
        if begin is None:
            return
        try:
            value, at = decoder.raw_decode(text, begin.start())
        except ValueError:
            at = begin.end()
            continue
        except RecursionError:
            return
        yield value


def _wrapped(value: Any, schema: Schema) -> Any:
    """A bare list as the one list that the schema's object has."""
    known: Schema = schema.get("properties", {})
    lists = [
        name for name, inner in known.items() if isinstance(inner, Mapping) and inner.get("type") == "array"
    ]
    return {lists[0]: value} if isinstance(value, list) and len(lists) == 1 else value


def _resembles(value: Any, schema: Schema) -> bool:
    """Whether `value` could be meant: not a fragment of a broken one, nor a list in the prose."""
    known = schema.get("properties")
    if known:
        return isinstance(value, dict) and not known.keys().isdisjoint(value)
    return "type" not in schema or not faults(value, {"type": schema["type"]})
