"""What a person sees: text made harmless, numbers, tables of claims.

What a memory holds is data: nothing in it may colour, move or hide what a terminal shows, so every word of it passes
through `plain` and is printed without markup.
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from recollectx.claims import CURRENT, Claim, Status
from recollectx.instants import iso
from recollectx.query import Hit, Parts

SHORT = 8
LONGEST_CELL = 600

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links, strings
    r"|\x1b[ -/]*[0-~]"
)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
_RAW = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONFIDENT, _DOUBTFUL = 0.7, 0.4


def plain(text: str) -> str:
    """`text` on one line, without escape sequences, control characters and marks that turn the direction."""
    return " ".join("".join(map(_harmless, _ESCAPES.sub("", text))).split())


def _harmless(character: str) -> str:
    if character.isspace():
        return " "
    hidden = character in _BIDI or unicodedata.category(character) in ("Cc", "Cs")
    return "" if hidden else character


def to_json(document: Any, *, ascii_only: bool) -> str:
    """One JSON document; characters that a terminal would act on are escaped in it."""
    written = json.dumps(document, ensure_ascii=ascii_only, indent=2)
    return _RAW.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def short(claim_id: str) -> str:
    """The part of an id that is shown."""
    return plain(claim_id[:SHORT])


def day(seconds: float) -> str:
    """The date, in UTC."""
    return iso(seconds)[:10]


def number(value: float) -> Text:
    """A confidence in two digits, in the colour of how much it is."""
    style = "green" if value >= _CONFIDENT else "yellow" if value >= _DOUBTFUL else "red"
    return Text(f"{value:.2f}", style=style)


def source(claim: Claim) -> str:
    """Who says it."""
    return "-" if claim.source is None else plain(claim.source)


def told(claim: Claim, *, cut: bool) -> Text:
    """The claim in words; cut: leave out what would fill a screen."""
    words = plain(claim.text)
    if cut and len(words) > LONGEST_CELL:
        words = f"{words[:LONGEST_CELL]} … and {len(words) - LONGEST_CELL:,} characters more"
    return Text(words)


def transaction(tx: int) -> Text:
    """The number that `undo` takes, as the end of a line; nothing for 0, where nothing was written."""
    return Text(f"  (transaction {tx})" if tx else "", style="dim")


def plain_table() -> Table:
    """An empty table without lines: they would cost a screen its width, and a pipe its sense."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")


def hit_table(hits: Sequence[Hit], *, wide: bool, first: int, scored: bool, parts: bool = False) -> Table:
    """Hits, one a row. wide: no screen limits it.  first: number of the first.  parts: what scores are made of."""
    several = len({hit.claim.scope for hit in hits}) > 1
    table = plain_table()
    table.add_column("#", justify="right", no_wrap=True)
    columns = (["score"] if scored else []) + ["conf.", "date"] + (["scope"] if several else [])
    for name in columns:
        table.add_column(name, no_wrap=name != "scope")
    table.add_column("source", max_width=None if wide else 16, overflow="fold")
    table.add_column("id", no_wrap=True, style="cyan")
    table.add_column("text", overflow="fold")
    for rank, hit in enumerate(hits, first):
        claim = hit.claim
        words = told(claim, cut=not wide)
        _remark(words, claim, hit)
        if parts:
            words.append(f"\n{_parts(hit.parts)}" if not wide else f"  [{_parts(hit.parts)}]", style="dim")
        cells: list[str | Text] = [str(rank)]
        cells += [f"{hit.score:.3f}"] if scored else []
        cells += [number(claim.confidence), day(claim.created_at)]
        cells += [plain(claim.scope)] if several else []
        table.add_row(*cells, source(claim), short(claim.id), words)
    return table


def _remark(words: Text, claim: Claim, hit: Hit) -> None:
    if claim.status != Status.ACTIVE:
        words.append(f"  {claim.status}", style="magenta")
    if hit.disputed_by and claim.status in CURRENT:
        words.append(f"  disputed by {', '.join(map(short, hit.disputed_by))}", style="red")


def _parts(parts: Parts) -> str:
    named = asdict(parts)
    return "  ".join(f"{name} {value:.3f}" for name, value in named.items() if value is not None)
