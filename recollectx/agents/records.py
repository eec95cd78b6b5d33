"""Claims as a chat model reads them: one JSON object a line, fenced as data.

A record is JSON with every "<" and every line end of Unicode escaped, so no claim can end the line it stands on or
the fence around it, whatever it says. Its id is a handle: the first characters of a random id,
or another id percent-encoded.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote, unquote

from recollectx.claims import Claim, Status
from recollectx.errors import InvalidQuery, NotFound
from recollectx.instants import iso
from recollectx.llm.prompts import FOUND, NEAREST, NOTHING
from recollectx.memory import Memory
from recollectx.query import Hit, Parts, Recall
from recollectx.reach import beginning, known

# JSON itself escapes only what ASCII knows as the end of a line.
UNSAFE = re.compile("[<\x7f-\x9f\u2028\u2029]")
SHOWN = 1_000
HANDLE = 8
RANDOM_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def handle(claim_id: str) -> str:
    """What stands for an id in front of a model; letters, digits and a few signs that end nothing."""
    return claim_id[:HANDLE] if RANDOM_ID.fullmatch(claim_id) else quote(claim_id, safe="")


def claim_of(memory: Memory, given: str) -> Claim:
    """The claim of a handle, an id, or an id cut short. Raises NotFound, or InvalidQuery if several begin so."""
    asked = given.strip().strip("[]")
    with memory.storage.reader() as reader:
        for name in dict.fromkeys((asked, unquote(asked))):
            if name and (found := known(reader, memory.scope, name)) is not None:
                return reader.claims([found.pk])[found.pk]
        several = beginning(reader, memory.scope, asked, 2) if len(asked) >= HANDLE else []
    if len(several) > 1:
        raise InvalidQuery(f"several claims have an id that begins with {asked!r}")
    if not several:
        raise NotFound(f"no claim has the id {asked!r}; give one that a tool returned")
    return several[0]


def hit_of(claim: Claim) -> Hit:
    """A claim that was not searched for by words: it fits as it is."""
    return Hit(claim, 1.0, Parts())


def distinct(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """The first hit of each claim, in order."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.claim.id, hit)
    return tuple(first.values())


def record(hit: Hit, **more: Any) -> dict[str, Any]:
    """What a model is told of a claim; `more` comes first."""
    claim = hit.claim
    told = {
        **more,
        "id": handle(claim.id),
        "text": claim.text if len(claim.text) <= SHOWN else claim.text[:SHOWN] + "…",
        "confidence": round(claim.confidence, 2),
        "said_by": claim.source,
        "since": iso(claim.since),
        "until": None if claim.valid_to is None else iso(claim.valid_to),
        "status": None if claim.status == Status.ACTIVE else str(claim.status),
        "disputed_by": [handle(other) for other in hit.disputed_by],
    }
    return {name: value for name, value in told.items() if value not in (None, [])}


def fenced(records: Iterable[dict[str, Any]]) -> str:
    """Records between <memory> and </memory>, one a line."""
    lines = [json.dumps(each, ensure_ascii=False) for each in records]
    safe = [UNSAFE.sub(lambda unsafe: f"\\u{ord(unsafe[0]):04x}", line) for line in lines]
    return "\n".join(["<memory>", *safe, "</memory>"])


def shown(found: Recall, records: Sequence[dict[str, Any]] | None = None) -> str:
    """What a tool says of what it found; records: in place of one for each hit."""
    if not found.hits:
        return NOTHING
    heading = NEAREST if found.nothing_fits else FOUND
    return f"{heading}\n{fenced([record(hit) for hit in found] if records is None else records)}"
