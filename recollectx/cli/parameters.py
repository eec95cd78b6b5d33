"""Types of options, the filters that recall and list share, and ids that were cut short."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from recollectx.claims import Category, Status
from recollectx.cli.render import plain
from recollectx.errors import InvalidQuery, NotFound
from recollectx.instants import to_seconds
from recollectx.memory import Memory
from recollectx.query import ALL_SCOPES
from recollectx.reach import beginning

SHORTEST_PREFIX = 6
_DATE_ONLY = len("2024-05-31")
_LAST_OF_DAY = 86_400 - 1e-6
_LISTED = 10

F = TypeVar("F", bound=Callable[..., Any])


class InstantType(click.ParamType[float]):
    """A time. end: a date alone means its last moment, not its first."""

    name = "iso"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since 1970 UTC."""
        try:
            seconds = to_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        ends = self.end and isinstance(value, str) and len(value) == _DATE_ONLY
        return seconds + _LAST_OF_DAY if ends else seconds


class KeyValueType(click.ParamType[tuple[str, Any]]):
    """key=value; the value is JSON where it is JSON, else text."""

    name = "k=v"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """The key and the value."""
        key, equals, given = str(value).partition("=")
        if not key or not equals:
            self.fail(f"{value!r} is no key=value", param, ctx)
        try:
            return key, json.loads(given, parse_constant=_no_constant)
        except ValueError:
            return key, given


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


METADATA = click.option(
    "--metadata", type=KeyValueType(), multiple=True, help="A key and its value; may be repeated."
)

_FILTERS = (
    click.option("--type", "type_", type=click.Choice(["episodic", "semantic"]), help="Turns, or facts."),
    click.option("--category", type=click.Choice(list(map(str, Category)))),
    click.option(
        "--status",
        type=click.Choice(list(map(str, Status))),
        multiple=True,
        help="Default: all that are current; may be repeated.",
    ),
    click.option("--min-confidence", type=click.FloatRange(0, 1), default=0.0),
    click.option("--since", type=InstantType(), help="Said at that time or later."),
    click.option(
        "--until", type=InstantType(end=True), help="Said at that time or before; a date means its whole day."
    ),
    click.option(
        "--as-of", type=InstantType(end=True), help="As it was believed at that time; a date means its end."
    ),
    click.option("--entity", multiple=True, help="Must be named; may be repeated."),
    METADATA,
    click.option("--session", help="Only the turns of one session."),
    click.option("--all-scopes", is_flag=True, help="Ask every scope."),
    click.option("--scopes", metavar="A,B", help="Ask these scopes."),
)


def filters(function: F) -> F:
    """Give a command the filters; it takes them as keywords and hands them to `asked`."""
    for option in reversed(_FILTERS):
        function = option(function)
    return function


def asked(scope: str, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a Query. scope: the one asked if no option names others."""
    if given["all_scopes"] and given["scopes"]:
        raise click.UsageError("--all-scopes and --scopes exclude each other")
    named = [name.strip() for name in (given["scopes"] or scope).split(",")] if given["scopes"] else [scope]
    return {
        "scopes": ALL_SCOPES if given["all_scopes"] else tuple(named),
        "type": given["type_"],
        "category": given["category"],
        "status": frozenset(given["status"]) or None,
        "min_confidence": given["min_confidence"],
        "since": given["since"],
        "until": given["until"],
        "as_of": given["as_of"],
        "entities": given["entity"],
        "metadata": dict(given["metadata"]),
        "session": given["session"],
    }


def whole_id(memory: Memory, given: str) -> str:
    """The id that `given` is, or that it alone begins. Raises NotFound, or InvalidQuery that lists several."""
    with memory.storage.reader() as reader:
        known = reader.resolve(given)
        if known is not None and known.scope == memory.scope and not known.erased:
            return known.id
        if len(given) < SHORTEST_PREFIX:
            raise NotFound(
                f"scope {memory.scope!r} holds no claim with the id {given!r}; "
                f"an id cut short needs {SHORTEST_PREFIX} characters"
            )
        found = beginning(reader, memory.scope, given, _LISTED + 1)
    if not found:
        raise NotFound(f"scope {memory.scope!r} holds no claim whose id begins with {given!r}")
    if len(found) > 1:
        shown = [f"  {claim.id}  {plain(claim.text)[:80]}" for claim in found]
        raise InvalidQuery("\n".join([f"several ids begin with {given!r}:", *shown[:_LISTED]]))
    return found[0].id
