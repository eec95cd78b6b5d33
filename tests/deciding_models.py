"""What tests of the updater share: a memory whose model follows a script, and replies in the shape it is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conftest import START, Clock, fact

from recollectx import Memory, MemoryStore, MemoryUpdater, SemanticClaim
from recollectx.testing import ScriptedProvider


def scripted(path: Path, replies: Any, clock: Clock | None = None, **options: Any) -> Memory:
    """A memory that decides by a scripted model, `memory.decider.llm`."""
    embedder = options.pop("embedder", None)
    store = MemoryStore(path, embedder=embedder, clock=clock or Clock())
    return Memory(store, updater=MemoryUpdater(store, ScriptedProvider(replies), **options))


def decision(action: str, candidate: Any = None, merged: Any = None, **more: Any) -> dict[str, Any]:
    """One decision as asked for; `more` replaces or adds keys."""
    return {
        "reasoning": "so it seems",
        "new": 1,
        "action": action,
        "candidate": candidate,
        "merged_content": merged,
        "relationships": [],
        **more,
    }


def reply(*decisions: Any) -> dict[str, Any]:
    """A reply as asked for."""
    return {"decisions": list(decisions)}


def edge(relation: str, candidate: Any) -> dict[str, Any]:
    """One relationship as asked for."""
    return {"candidate": candidate, "relation": relation}


def user(object: str, predicate: str = "likes", source: str | None = None, **more: Any) -> SemanticClaim:
    """A fact about the user, who can like many things at a time."""
    return fact(object, source, **{"subject": "user", "predicate": predicate, "created_at": START, **more})


def texts(memory: Memory) -> Sequence[str]:
    """What is in use, sorted."""
    return sorted(claim.text for claim in memory.retrieve())


def state(memory: Memory) -> tuple[Any, ...]:
    """Everything that is believed, in use or not, with edges."""
    with memory.storage.reader() as reader:
        claims = reader.claims(each.pk for each in reader.in_scope(memory.scope))
        assertions = reader.assertions(claims)
        voices = {pk: [voice for _, voice in each] for pk, each in assertions.items()}
        edges = sorted(tuple(each)[1:] for each in reader.edges_in(claims))
    return claims, voices, edges
