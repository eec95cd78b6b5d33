"""Any text as a short ASCII name that a service takes, and back.

A plain text stays readable. Whatever else it holds is written as %XX, which can be read back; a name that would get too
long is a hash, and its text must be kept beside it. Two texts never have one name.
"""

from hashlib import sha256
from urllib.parse import quote, unquote

HASHED = "#"


def name_of(text: str, most: int) -> str:
    """The name of `text`, of 1 to `most` characters, 65 or more; none begins as what services reserve: with __."""
    name = quote(text, safe="")
    if name.startswith("__"):
        name = "%5F" + name[1:]
    return name if len(name) <= most else HASHED + sha256(text.encode()).hexdigest()


def text_of(name: str) -> str | None:
    """The text of a name; None for a hash and for what `name_of` does not give."""
    text = unquote(name)
    return text if text and name_of(text, len(name)) == name else None
