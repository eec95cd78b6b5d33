"""Transcript files: every line checked before anything is written.

A file is JSONL, one turn a line, or one JSON list of turns. A turn has speaker and text, or role and content;
time, session, position and metadata may be left out. A turn without a session is in the session of its file, one
without a position is the next of its session in the file, one without a time has that of the turn before it.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollectx.claims import MAX_TEXT, check_metadata, check_text, check_time
from recollectx.errors import InvalidClaim, TranscriptError
from recollectx.extractors.messages import plain_role, unknown_key, words_in

STDIN = "-"


@dataclass(frozen=True, slots=True)
class FileTurn:
    """A turn as Memory.remember takes it. timed: the file says when, rather than the moment it was read."""

    message: dict[str, Any]
    timed: bool

    @property
    def summary(self) -> str:
        """The words by which its episode is kept."""
        return summary_of(self.message)


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a file. name: the file without folder and ending, "stdin" for standard input.

    silent: how many turns say nothing (a call of a tool, a picture), and are left out.
    """

    name: str
    shown: str
    turns: tuple[FileTurn, ...]
    silent: int = 0


def summary_of(message: dict[str, Any]) -> str:
    """The turn with the name of who said it, as Memory.remember keeps it."""
    named = message["speaker"] or (message["role"] if message["role"] not in (None, "user") else None)
    return f"{named}: {message['text']}" if named else str(message["text"])


def read_words(path: str) -> str:
    """The text of a file or, for "-", of standard input. Raises TranscriptError if it cannot be read."""
    shown = "standard input" if path == STDIN else path
    try:
        raw: bytes = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TranscriptError(f"{shown} is no UTF-8 text at byte {error.start}; convert it") from None
    except OSError as error:
        raise TranscriptError(f"{shown} cannot be read: {error.strerror}") from None


def read_transcript(path: str, *, now: float) -> Transcript:
    """The checked turns of a file, in order. Raises TranscriptError that names the file and the line."""
    name, shown = ("stdin", "standard input") if path == STDIN else (Path(path).stem, path)
    places: Counter[str] = Counter()
    last: float | None = None
    turns = []
    silent = 0
    for where, given in _items(shown, read_words(path)):
        try:
            words = _words(given)
            if not words.strip():
                silent += 1
                continue
            message, said_at = _turn(given, words, session=name, last=last, now=now, places=places)
        except InvalidClaim as error:
            raise TranscriptError(f"{where}: {error}") from None
        last = said_at
        turns.append(FileTurn(message, timed=said_at is not None))
    return Transcript(name, shown, tuple(turns), silent)


def _items(shown: str, text: str) -> Iterator[tuple[str, Any]]:
    """Where each turn stands, and the turn."""
    if text.lstrip().startswith("["):
        for number, item in enumerate(_parsed(text, shown), 1):
            yield f"{shown}: turn {number}", item
        return
    # splitlines would also cut at characters that JSON allows inside a text.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield f"{shown}:{number}", _parsed(line, f"{shown}:{number}")


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f" at line {error.lineno}" if "\n" in text.strip() else ""
        raise TranscriptError(f"{where}: no JSON{place}: {error.msg}, column {error.colno}") from None
    except (RecursionError, ValueError) as error:
        raise TranscriptError(f"{where}: no JSON that can be read: {error}") from None


def _words(given: Any) -> str:
    if not isinstance(given, dict):
        raise InvalidClaim(
            f"a turn is an object with speaker and text, or role and content, got {given!r:.80}"
        )
    unknown = unknown_key(given)
    if unknown is not None:
        raise InvalidClaim(f"the key {unknown!r} is unknown; put what is your own under metadata")
    return words_in(given)


def _turn(
    given: dict[str, Any], words: str, *, session: str, last: float | None, now: float, places: Counter[str]
) -> tuple[dict[str, Any], float | None]:
    """The turn, and its time if the file says one."""
    when = given.get("time", given.get("timestamp"))
    said_at = last if when is None else check_time(when, "time")
    place = str(check_text(given.get("session") or session, "session"))
    position = given.get("position")
    if position is None:
        position = places[place]
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < 2**31 - 1:
        raise InvalidClaim(f"position must be a whole number from 0, got {position!r}")
    places[place] = position + 1
    message: dict[str, Any] = {
        "speaker": _name(given.get("speaker") or given.get("name"), "speaker"),
        "role": plain_role(_name(given.get("role"), "role")),
        "text": check_text(words, "text", MAX_TEXT),
        "time": now if said_at is None else said_at,
        "session": place,
        "position": position,
        "metadata": check_metadata({} if given.get("metadata") is None else given["metadata"]),
    }
    check_text(summary_of(message), "text with its speaker", MAX_TEXT)
    return message, said_at


def _name(value: Any, what: str) -> str | None:
    return None if value is None else check_text(value, what)
