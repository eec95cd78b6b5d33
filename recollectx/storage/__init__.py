"""Storage: the one writer and the one read path over a database."""

from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.spellings import belief_to_text

__all__ = ["MemoryStore", "belief_to_text"]
