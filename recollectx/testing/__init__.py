"""Contract tests for parts of your own: inherit the class, write the method that makes the part, run pytest.

class TestMyIndex(VectorBackendContract):
    def fresh(self):
        return MyIndex(self.dimension)

class TestMyEmbedder(EmbedderContract):
    def fresh(self):
        return MyEmbedder()

class TestMyDatabase(DatabaseContract):
    def fresh(self):
        return "postgresql://…"

class TestMyProvider(LLMProviderContract):
    def saying(self, replies):
        return MyProvider(service_that_says(replies))

And parts to test with: ScriptedProvider is a language model that says what it is told to say.
"""

from recollectx.testing.databases import DatabaseContract
from recollectx.testing.embedders import EmbedderContract
from recollectx.testing.models import LLMProviderContract, ScriptedProvider
from recollectx.testing.vectors import HOSTILE_SCOPES, VectorBackendContract, assert_nearest, refuses

__all__ = [
    "HOSTILE_SCOPES",
    "DatabaseContract",
    "EmbedderContract",
    "LLMProviderContract",
    "ScriptedProvider",
    "VectorBackendContract",
    "assert_nearest",
    "refuses",
]
