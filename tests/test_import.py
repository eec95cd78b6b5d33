import os
import subprocess
import sys

import pytest

OPTIONAL = [
    "alembic",
    "anthropic",
    "click",
    "faiss",
    "langchain",
    "langchain_core",
    "langgraph",
    "mcp",
    "openai",
    "pgvector",
    "pinecone",
    "psycopg",
    "qdrant_client",
    "rich",
    "scipy",
    "sentence_transformers",
    "torch",
]


def run(program: str, **environment: str) -> str:
    """What `program` prints in a process of its own; an error in it fails the test."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def test_importing_imports_no_optional_package():
    program = f"""
import sys
import recollectx
print([name for name in {OPTIONAL} if name in sys.modules])
"""
    assert run(program) == "[]"


def test_importing_works_when_no_optional_package_can_be_imported():
    """Blocks the packages, so that a guarded import would show too."""
    program = f"""
import sys
for name in {OPTIONAL}:
    sys.modules[name] = None
import recollectx
print(recollectx.__version__)
"""
    assert run(program)


def test_importing_sets_up_no_logging():
    program = """
import logging
before = list(logging.root.handlers), logging.root.level
import recollectx
assert (list(logging.root.handlers), logging.root.level) == before
own = logging.getLogger("recollectx")
assert all(type(handler) is logging.NullHandler for handler in own.handlers), own.handlers
assert (own.level, own.propagate) == (logging.NOTSET, True)
print("fine")
"""
    assert run(program) == "fine"


def test_importing_reads_no_setting_and_opens_no_file_of_ours(tmp_path):
    """Watches the interpreter itself: every file opened and every variable asked for by our name."""
    program = """
import os, sys
import numpy, snowballstemmer, sqlalchemy.orm
touched = []
def watch(event, arguments):
    if event in ("open", "os.mkdir", "sqlite3.connect", "socket.connect") and arguments:
        name = str(arguments[0])
        if not name.endswith((".py", ".pyc")) and ".pyc." not in name and "__pycache__" not in name:
            touched.append((event, name))
class Watched(dict):
    def get(self, key, default=None):
        touched.append(("environ", str(key)))
        return dict.get(self, key, default)
    def __getitem__(self, key):
        touched.append(("environ", str(key)))
        return dict.__getitem__(self, key)
os.environ = Watched(os.environ)
sys.addaudithook(watch)
import recollectx
seen = [each for each in touched if "recollectx" in each[1].lower() or each[0] != "environ"]
print([each for each in seen if "site-packages" not in each[1] and "dist-packages" not in each[1]])
"""
    database = tmp_path / "never.db"
    assert run(program, RECOLLECTX_DB=str(database), HOME=str(tmp_path)) == "[]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "module", ["claims", "changes", "query", "propagation", "ranking", "deciding", "policies"]
)
def test_values_and_rules_need_no_database(module):
    program = f"""
import importlib.util, sys, types
for name in ("sqlalchemy", "sqlite3", "alembic"):
    sys.modules[name] = None
spec = importlib.util.find_spec("recollectx")
package = types.ModuleType("recollectx")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["recollectx"] = package
import recollectx.{module}
print("fine")
"""
    assert run(program) == "fine"
