"""Vector indexes: the seam, the exact one in memory, FAISS, Qdrant, pgvector, Pinecone, and objects that embed on their own side."""

from recollectx.storage.vector.base import Near, VectorBackend
from recollectx.storage.vector.exact import ExactIndex
from recollectx.storage.vector.faiss import FAISSBackend
from recollectx.storage.vector.pgvector import PgVectorBackend
from recollectx.storage.vector.pinecone import PineconeBackend
from recollectx.storage.vector.qdrant import QdrantBackend
from recollectx.storage.vector.text import TextBackend, is_text_backend

__all__ = [
    "ExactIndex",
    "FAISSBackend",
    "Near",
    "PgVectorBackend",
    "PineconeBackend",
    "QdrantBackend",
    "TextBackend",
    "VectorBackend",
    "is_text_backend",
]
