"""JSON Schema, as far as replies need it: what is wrong with a value, and what a class's schema is.

Known words: type, enum, const, properties, required, additionalProperties (false), items, anyOf, oneOf, allOf, $ref to
$defs, minimum, maximum, minLength, maxLength, minItems, maxItems. Any other word asks for nothing.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from recollectx.errors import InvalidSetting

Schema: TypeAlias = Mapping[str, Any]


def _number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


IS_TYPE: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": _number,
    "integer": lambda value: _number(value) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "minimum": ("number", lambda value, bound: value >= bound),
    "maximum": ("number", lambda value, bound: value <= bound),
    "minLength": ("string", lambda value, bound: len(value) >= bound),
    "maxLength": ("string", lambda value, bound: len(value) <= bound),
    "minItems": ("array", lambda value, bound: len(value) >= bound),
    "maxItems": ("array", lambda value, bound: len(value) <= bound),
}


def schema_of(given: Any) -> dict[str, Any]:
    """`given` as a JSON Schema: a mapping as it is, a pydantic class converted.

    Raises InvalidSetting for anything else.
    """
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, type) and callable(convert := getattr(given, "model_json_schema", None)):
        return dict(convert())
    raise InvalidSetting(f"a schema is a JSON Schema dict or a pydantic class, got {given!r}")


def is_closed(schema: Any) -> bool:
    """Whether every object in `schema` lists all its keys as required and allows no other.

    OpenAI's strict mode takes no other schema.
    """
    if isinstance(schema, Mapping):
        if "properties" in schema or schema.get("type") == "object":
            named = schema.get("properties") or {}
            if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(
                named
            ):
                return False
        return all(is_closed(inner) for inner in schema.values())
    if isinstance(schema, Sequence) and not isinstance(schema, str):
        return all(is_closed(inner) for inner in schema)
    return True


def faults(value: Any, schema: Schema) -> list[str]:
    """What is wrong with `value`, each with its place, as in "memories[2].confidence: not a number"; [] if it fits."""
    try:
        return [f"{place or 'the reply'}: {fault}" for place, fault in _faults(value, schema, "", schema)]
    except RecursionError:
        return ["the reply: nested too deeply"]


def known_part(value: Any, schema: Schema) -> Any:
    """`value` without the keys that `schema` forbids, at any depth; a remark that nobody asked for does no harm."""
    try:
        return _known_part(value, schema, schema)
    except RecursionError:
        return value


def _known_part(value: Any, schema: Any, root: Schema) -> Any:
    if not isinstance(schema, Mapping):
        return value
    if isinstance(reference := schema.get("$ref"), str):
        value = _known_part(value, _resolved(reference, root), root)
    if isinstance(value, list) and "items" in schema:
        return [_known_part(item, schema["items"], root) for item in value]
    if isinstance(value, dict) and "properties" in schema:
        closed, known = schema.get("additionalProperties") is False, schema["properties"]
        return {
            name: _known_part(item, known.get(name), root)
            for name, item in value.items()
            if name in known or not closed
        }
    return value


def _faults(value: Any, schema: Any, place: str, root: Schema) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping):
        if schema is False:
            yield place, "not allowed"
        return
    if isinstance(reference := schema.get("$ref"), str):
        yield from _faults(value, _resolved(reference, root), place, root)
    for part in schema.get("allOf", ()):
        yield from _faults(value, part, place, root)
    for word in ("anyOf", "oneOf"):
        if (parts := schema.get(word)) and all(any(_faults(value, part, place, root)) for part in parts):
            yield place, "fits none of the allowed forms"
    allowed = schema["enum"] if "enum" in schema else [schema["const"]] if "const" in schema else None
    if allowed is not None and not any(_same(value, one) for one in allowed):
        yield place, "not one of " + ", ".join(repr(one) for one in allowed)
    types = schema.get("type", ())
    types = [types] if isinstance(types, str) else types
    if types and not any(IS_TYPE[name](value) for name in types if name in IS_TYPE):
        yield place, f"not of type {' or '.join(types)}"
        return
    for word, (kind, holds) in BOUNDS.items():
        if word in schema and IS_TYPE[kind](value) and not holds(value, schema[word]):
            yield place, f"{word} is {schema[word]}"
    yield from _faults_inside(value, schema, place, root)


def _faults_inside(value: Any, schema: Schema, place: str, root: Schema) -> Iterator[tuple[str, str]]:
    if isinstance(value, list) and "items" in schema:
        for at, item in enumerate(value):
            yield from _faults(item, schema["items"], f"{place}[{at}]", root)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield place, f"{name!r} is missing"
        for name, item in value.items():
            inner = f"{place}.{name}" if place else name
            if name in known:
                yield from _faults(item, known[name], inner, root)
            elif schema.get("additionalProperties") is False:
                yield inner, "unknown key"


def _resolved(reference: str, root: Schema) -> Any:
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            found = (
                found.get(step.replace("~1", "/").replace("~0", "~"), {})
                if isinstance(found, Mapping)
                else {}
            )
    return found


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON, where true is not 1."""
    return isinstance(value, bool) == isinstance(other, bool) and bool(value == other)
