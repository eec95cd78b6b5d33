"""The same facts in other memories, each in a virtual environment that is made for it.

No model takes part: all look up the same vectors of the package's hash embedder. 0.2.7 stores without its updater,
mem0 with infer=False; LociDB is installed without the model library that it would embed with.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import speed_world as world
from speed_lines import Line
from speed_writing import asked_of, store_work

REQUIREMENTS = {
    "0.2.7": (("recollectx==0.2.7", "faiss-cpu", "numpy"),),
    "locidb": (("--no-deps", "locidb==0.2.0"), ("numpy", "click", "pydantic")),
    "mem0": (("mem0ai==2.2.1", "numpy"),),
}
NAMES = {"0.2.7": "recollectx 0.2.7", "locidb": "LociDB 0.2.0", "mem0": "mem0 2.2.1"}
LARGEST = {"0.2.7": 100_000, "locidb": 10_000, "mem0": 10_000}
LEAST = {("0.2.7", 10_000): 10.0, ("0.2.7", 100_000): 40.0}
NEEDED = (3, 12)
SCRIPT = Path(__file__).with_name("speed_peer.py")


def _python() -> str:
    """A Python that every peer runs on."""
    if sys.version_info >= NEEDED:
        return sys.executable
    paths = [shutil.which(f"python3.{minor}") for minor in range(NEEDED[1], 20)]
    # One that a version manager put there may be of a version that is not in use.
    found = next((path for path in paths if path and subprocess.call([path, "-c", ""]) == 0), None)
    if found is None:
        raise SystemExit(
            "recollectx 0.2.7 needs Python 3.12 or newer on the PATH; leave --peers out without one"
        )
    return found


def environment(folder: Path, peer: str) -> Path:
    """The Python of the peer's environment, made if it is not there."""
    home = folder / f"environment-{peer}"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / "ready").exists():
        subprocess.run([_python(), "-m", "venv", "--clear", str(home)], check=True)
        for wanted in REQUIREMENTS[peer]:
            subprocess.run([str(python), "-m", "pip", "install", "-qq", *wanted], check=True)
        (home / "ready").touch()
    return python


def lines(
    folder: Path,
    peers: Sequence[str],
    sizes: Sequence[int],
    ours: Mapping[tuple[str, int], float],
    *,
    calls: int,
) -> Iterator[Line]:
    """ours: the milliseconds of CPU that a store and a recall take here, by what and size."""
    for peer in peers:
        python = environment(folder, peer)
        for size in (size for size in sizes if size <= LARGEST[peer]):
            told = _measured(python, peer, size, calls)
            for what, said in (
                ("store", "store, something new, cpu"),
                ("recall", "recall of short facts, cpu"),
            ):
                least = LEAST.get((peer, size)) if what == "store" else None
                note = str(told["note"]) if what == "store" else ""
                figures = ours[said, size], float(told[what])
                yield Line(said, size, "ms", *figures, NAMES[peer], least=least, note=note, faster=True)


def _measured(python: Path, peer: str, size: int, calls: int) -> dict[str, str | float]:
    facts = store_work(size, calls)
    texts = [" ".join(fact) for fact in facts]
    questions = asked_of(texts[:size], calls)
    given = {"facts": facts[:size], "new": facts[size:], "questions": questions}
    wanted = list(dict.fromkeys(texts + questions))
    with tempfile.TemporaryDirectory() as made:
        work, vectors = Path(made) / "work.json", Path(made) / "vectors.npy"
        work.write_text(json.dumps({**given, "texts": wanted}))
        np.save(vectors, world.hashed(wanted))
        command = [str(python), str(SCRIPT), peer, str(work), str(vectors), made]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        told = subprocess.run(command, check=True, capture_output=True, text=True, env=clean, cwd=made)
    return dict(json.loads(told.stdout.splitlines()[-1]))
