"""What may be shown of a text that can hold a key or a password."""

import re

MASK = "***"
_OPTION = re.compile(r"(?i)([\w-]*(?:password|passwd|pass|pwd|secret|token|key))=[^&]+")
_NAMES_USERS = re.compile(r"(?i)(postgres|mysql|mariadb)")


def masked(text: str) -> str:
    """A URL without the password and the keys that it holds.

    All before the last @ may be a password, as / ? # and @ are let through in one. A name without a password is a user
    of a database, and a key of anything else.
    """
    scheme, mark, rest = text.partition("://")
    if not mark:
        return _without_options(text)
    given, at, place = rest.rpartition("@")
    if not at or rest.startswith("/"):
        return scheme + mark + _without_options(rest)
    user, colon, _ = given.partition(":")
    plain = not set(user) & set("/?#@") and (colon or _NAMES_USERS.match(scheme))
    shown = f"{user if plain else MASK}{f':{MASK}' if colon else ''}"
    return f"{scheme}{mark}{shown}@{_without_options(place)}"


def _without_options(text: str) -> str:
    return _OPTION.sub(rf"\1={MASK}", text)
