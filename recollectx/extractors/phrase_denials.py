"""Taking back: sentences in which someone says that what they told was never so.

Each is turned into the statement that it takes back, to be read as any other. "No longer" is left alone: what ended
was so before.
"""

import re

_NEVER = r"(?:'ve|\s+have)?\s+never(?:\s+actually|\s+really)?"
_FORGET = r"(?:please\s+|just\s+)?(?:forget|ignore|disregard)\s+(?:what\s+I\s+(?:said|told\s+you)\s+about|that\s+I\s+said)"
_DENIALS = tuple(
    (re.compile(rf"\s*(?:(?:actually|sorry|no|oops),?\s+)?{pattern}", re.IGNORECASE), stated)
    for pattern, stated in (
        (r"(?:it\s+is|it's|that\s+is|that's)\s+not\s+true\s+that\s+(?P<rest>.+)", r"\g<rest>"),
        (rf"{_FORGET}\s+(?P<verb>living\s+in|working\s+(?:as|at|for))\s+(?P<rest>.+)", r"I am \g<verb> \g<rest>"),
        (rf"{_FORGET}\s+(?P<my>my\s+goal)\s+(?:of\s+)?(?P<rest>(?:to\s|\w+ing\s).+)", r"\g<my> is \g<rest>"),
        (rf"{_FORGET}\s+(?P<value>.+?)\s+being\s+(?P<my>my\s+.+)", r"\g<value> is \g<my>"),
        (rf"I{_NEVER}\s+lived\s+in\s+(?P<rest>.+)", r"I live in \g<rest>"),
        (rf"I{_NEVER}\s+worked\s+(?P<as>as|at|for)\s+(?P<rest>.+)", r"I work \g<as> \g<rest>"),
        (r"I\s+was\s+never\s+(?P<rest>an?\s.+)", r"I am \g<rest>"),
        (r"(?P<my>my\s+[^,;:]+?)\s+was\s+never\s+(?P<rest>.+)", r"\g<my> is \g<rest>"),
    )
)  # fmt: skip


def denied(sentence: str) -> str:
    """The statement that a sentence takes back; "" if it takes none back."""
    for pattern, stated in _DENIALS:
        if match := pattern.fullmatch(sentence):
            return match.expand(stated).strip()
    return ""
