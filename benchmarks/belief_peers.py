"""The same stream told to other memories, each in a virtual environment that is made for it.

No model takes part: 0.2.7 keeps sentences as episodes without its updater, mem0 with infer=False, and both look up the
vectors that our embedder gave. Neither knows a past, so of all it finds only what was said by then is counted.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from belief_stream import Event, Question
from belief_systems import Answer, spoken

REQUIREMENTS = {"0.2.7": ("recollectx==0.2.7", "faiss-cpu", "numpy"), "mem0": ("mem0ai==2.2.1", "numpy")}
NEEDED = (3, 12)
SCRIPT = Path(__file__).with_name("belief_peer.py")


def python_for_peers() -> str:
    """A Python that every peer runs on."""
    if sys.version_info >= NEEDED:
        return sys.executable
    found = next((path for minor in range(NEEDED[1], 20) if (path := shutil.which(f"python3.{minor}"))), None)
    if found is None:
        raise SystemExit("recollectx 0.2.7 needs Python 3.12 or newer on the PATH; leave --peers out without")
    return found


def environment(folder: Path, peer: str) -> Path:
    """The Python of the peer's environment, made if it is not there."""
    home = folder.resolve() / f"environment-{peer}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / "ready").exists():
        subprocess.run([python_for_peers(), "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *REQUIREMENTS[peer]], check=True)
        (home / "ready").touch()
    return python


class Peer:
    """Another memory, told and asked everything at once in a process of its own."""

    def __init__(self, name: str, folder: Path, embedder: Any, questions: Sequence[Question]) -> None:
        self.name, self.embedder, self.questions = name, embedder, questions
        self.python = environment(folder, name)
        self.found: dict[tuple[str, float | None], dict[str, Any]] = {}

    def tell(self, events: Sequence[Event]) -> None:
        self.events = events
        asked = [(each.text, each.at if each.kind == "then" else None) for each in self.questions]
        sentences = [spoken(event) for event in events]
        given = {"sentences": sentences, "times": [each.at for each in events], "questions": asked}
        texts = list(dict.fromkeys([*sentences, *(text for text, _ in asked)]))
        with tempfile.TemporaryDirectory() as made:
            work, vectors = Path(made) / "work.json", Path(made) / "vectors.npy"
            work.write_text(json.dumps({**given, "texts": texts}))
            np.save(vectors, self.embedder.embed(texts))
            command = [str(self.python), str(SCRIPT), self.name, str(work), str(vectors), made]
            clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            told = subprocess.run(command, check=True, capture_output=True, text=True, env=clean, cwd=made)
        answers = json.loads(told.stdout.splitlines()[-1])
        self.found = dict(zip(asked, answers, strict=True))

    def ask(self, text: str, *, as_of: float | None = None, valid_at: float | None = None) -> Answer:
        found = self.found[text, as_of or valid_at]
        chosen = [self.events[number] for number in found["numbers"]]
        return Answer([each.asserts for each in chosen], [spoken(each) for each in chosen], found["fits"])
