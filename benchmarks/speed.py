"""Speed and memory of writing, recall and opening, at 1,000 to 100,000 claims and in 1,000 scopes.

    python benchmarks/speed.py [--sizes 1000,10000,100000] [--only PART ...] [--full] [--peers all]
                               [--keep FOLDER] [--out FILE]

Prints a line for each figure with what it is set beside and the bound it must keep, and writes them to FILE as JSON.
Figures are medians, on one thread; cpu is process time. What is compared alternates in one run.
PART: writing (beside raw sqlite3), store, recall (beside an exact scan and FTS5), process (opening, peak memory,
streaming), scopes. Without --full, 20 of the 1,000 scopes hold 1,000 claims and the others 200.
--peers: also 0.2.7, locidb and mem0 on the same facts, each in an environment made by pip; 0.2.7 at every size, the
others up to 10,000 claims.
FOLDER keeps files and environments for another run. Exits with 1 if a bound is missed.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import speed_peers
import speed_reading
import speed_writing
from speed_lines import Line, machine, show

PARTS = ("writing", "store", "recall", "process", "scopes")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def on_one_thread() -> None:
    """Start again with numpy on one thread: it reads this when it is loaded."""
    if any(os.environ.get(name) != "1" for name in THREADS):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **dict.fromkeys(THREADS, "1")})


def measure(folder: Path, asked: argparse.Namespace, sizes: Sequence[int]) -> Iterator[Line]:
    parts = asked.only or PARTS
    if "writing" in parts:
        yield from speed_writing.lines(folder, calls=asked.calls * 2, batches=9)
    ours = {}
    if "store" in parts:
        for size in sizes:
            for line in speed_writing.store_lines(folder, size, calls=asked.calls):
                ours[line.what, size] = line.ours
                yield line
        yield from speed_peers.lines(folder, asked.peers, sizes, ours, calls=min(asked.calls, 40))
    if "recall" in parts or "process" in parts:
        for size in sizes:
            yield from speed_reading.recall_lines(folder, size, calls=asked.calls)
    if "process" in parts:
        yield from speed_reading.process_lines(folder, sizes, rounds=7)
    if "scopes" in parts:
        every_scope = speed_reading.LARGE if asked.full else speed_reading.SMALL
        yield from speed_reading.scope_lines(folder, every_scope=every_scope, calls=asked.calls)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--only", nargs="+", choices=PARTS)
    parser.add_argument("--full", action="store_true", help="1,000 claims in every scope")
    parser.add_argument("--peers", nargs="+", choices=("all", *speed_peers.NAMES), default=[])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    asked.peers = list(speed_peers.NAMES) if "all" in asked.peers else asked.peers
    on_one_thread()
    told = machine()
    print(", ".join(f"{name} {value}" for name, value in told.items()))
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for line in measure(folder, asked, sorted(int(size) for size in asked.sizes.split(","))):
            lines.append(line)
            print(show(line), flush=True)
    if asked.out:
        document = {**told, "lines": [line.document() for line in lines]}
        asked.out.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(line.holds for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
