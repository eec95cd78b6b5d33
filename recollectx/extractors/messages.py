"""Messages as chat services give them: which keys they may have, the words in them, and by which role they are said."""

from collections.abc import Iterator, Mapping
from typing import Any

from recollectx.errors import InvalidClaim
from recollectx.extractors.base import ANONYMOUS, HUMAN, MACHINES

KEYS = frozenset(
    {"speaker", "text", "time", "session", "position", "metadata", "role", "content", "name", "timestamp"}
)
UNREAD_KEYS = frozenset(
    {"tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations", "id", "type"}
)
"""What chat logs have besides; nobody says anything there."""


def unknown_key(message: Mapping[str, Any]) -> str | None:
    """The first key that no message has."""
    return min(map(str, set(message) - KEYS - UNREAD_KEYS), default=None)


def words_in(message: Mapping[str, Any]) -> str:
    """The text of a message, blank if it says nothing: a call of a tool, a picture, an empty turn.

    Raises InvalidClaim for what is neither a text nor a list of parts.
    """
    key = "text" if "text" in message else "content"
    given = message.get(key)
    if key not in message and not UNREAD_KEYS & message.keys():
        raise InvalidClaim("it says nothing: text is None")
    if isinstance(given, list):
        return "\n".join(_texts(given))
    if given is not None and not isinstance(given, str):
        raise InvalidClaim(f"{key} is neither a text nor a list of parts: {given!r:.80}")
    return given or ""


def _texts(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(part, Mapping | str) or not isinstance(text, str | None):
            raise InvalidClaim(f"a part of a message is a text or an object with one, got {part!r:.80}")
        if text and text.strip():
            yield text


def plain_role(role: str | None) -> str | None:
    """The role by the name that we have for it: human is user, and case does not matter to the roles that we know."""
    known = role.strip().casefold() if role is not None else None
    if known in (HUMAN, ANONYMOUS):
        return ANONYMOUS
    return known if known in MACHINES else role
