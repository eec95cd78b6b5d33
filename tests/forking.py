"""Programs that fork with an index open, run in a process of their own."""

import subprocess
import sys

SEARCHES = """
import os, sys
import numpy as np
from recollectx.storage.vector import PineconeBackend, QdrantBackend
index = {made}
vectors = np.random.default_rng(1).standard_normal((40, 8), np.float32)
index.upsert_vectors("a", [str(n) for n in range(40)], vectors)
child = os.fork()
found = [index.search_vector("a", vector, 1)[0].id for _ in range(4) for vector in vectors]
assert found == [str(n) for n in range(40)] * 4, found
if child:
    assert os.waitpid(child, 0)[1] == 0
    index.close()
os._exit(0)
"""


def assert_ends_well(program: str, *args: str) -> None:
    """Assert that a program ends with 0 and says nothing."""
    done = subprocess.run(
        [sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def assert_searches_are_right_on_both_sides(made: str, *args: str) -> None:
    """Assert that parent and child, searching at once, each find what is nearest. made: the index, as Python."""
    assert_ends_well(SEARCHES.format(made=made), *args)
