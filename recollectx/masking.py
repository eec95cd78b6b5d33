"""What may be shown of a text that can hold a key or a password."""

import re

MASK = "***"
_USER = re.compile(r"(?<=://)([^/?#@:]*):[^/?#]*(?=@)")
_OPTION = re.compile(r"(?i)\b([\w-]*(?:password|passwd|secret|token|key))=[^&#\s]+")


def masked(text: str) -> str:
    """A URL without the password and the keys that it holds."""
    return _OPTION.sub(rf"\1={MASK}", _USER.sub(rf"\1:{MASK}", text))
