"""What may be shown of a text that can hold a key or a password."""

import re
from urllib.parse import unquote

MASK = "***"
_OPTION = re.compile(r"([\w.%+-]+)=")
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|key|auth|sig|cred")
_DATABASE = re.compile(r"(?i)'?(postgres|mysql|mariadb)")
_FILE = re.compile(r"(?i)'?sqlite")
_GIVEN = re.compile(r"(?s)^('?[\w.+-]*):(.+)@(?=[^@]*$)")
_NO_PORT = re.compile(r"(?s)^([^/?#:\[\]]*):(?!\d*(?:[/?#']|$)).+")
"""A port that is none is a password, of which an @ was written as %40 once too often."""


def masked(text: str) -> str:
    """A URL without the password and the keys that it holds.

    All before the last @ may be a password, as / ? # and @ are let through in one. A user is named for a database only,
    as for anything else it may be a key. What follows a # means nothing to anybody here, and may be what did not fit.
    """
    scheme, mark, rest = text.partition("://")
    if not mark:
        return _without_options(_GIVEN.sub(rf"\1:{MASK}@", text))
    given, at, place = rest.rpartition("@")
    if not at or rest.startswith("/"):
        place, shown = _NO_PORT.sub(rf"\1:{MASK}", rest), ""
    else:
        user, colon, _ = given.partition(":")
        plain = not set(user) & set("/?#@") and _DATABASE.match(scheme)
        shown = f"{user if plain or not user else MASK}{f':{MASK}' if colon else ''}@"
    place = _without_options(place)
    if not _FILE.match(scheme):
        place = re.sub("(?s)#.+", f"#{MASK}", place)
    return f"{scheme}{mark}{shown}{place}"


def _without_options(text: str) -> str:
    """The text with nothing of an option that by its name is a secret, up to the next one."""
    kept, at = [], 0
    for option in _OPTION.finditer(text):
        if option.start() >= at and _SECRET.search(unquote(option[1])):
            kept += [text[at : option.end()], MASK]
            after = text.find("&", option.end())
            at = len(text) if after < 0 else after
    return "".join([*kept, text[at:]])
