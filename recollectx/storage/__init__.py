"""Storage: the one writer and the one read path over a database."""

from recollectx.storage.memory_store import MemoryStore

__all__ = ["MemoryStore"]
