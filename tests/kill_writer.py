"""Kills a writing process at random moments and counts what that cost.

`python tests/kill_writer.py --runs 200` prints one line and exits with 1 if anything was lost. Each run starts this
file as a child that writes claims, edges and retirements and prints the id of each one once it is acknowledged; the
child is killed with SIGKILL, and the database is opened again and compared with what was printed.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from behind import rows

from recollectx import EpisodicClaim, Memory, SemanticClaim, Status


def write_for_ever(path: str) -> None:
    """Stores, relates and forgets, and prints what was acknowledged."""
    with Memory.open(path) as memory:
        print("ready", flush=True)
        last, number = None, 0
        while True:
            number += 1
            kept = memory.store(
                EpisodicClaim(summary=f"event number{number}", confidence=0.9, source=f"s{number}")
            )
            print("stored", kept.claim_id, f"number{number}", flush=True)
            claim = SemanticClaim(
                subject="item", predicate="is", object=f"thing number{number}", confidence=0.7
            )
            fact = memory.store(claim)
            print("stored", fact.claim_id, f"number{number}", flush=True)
            memory.relate(str(kept.claim_id), str(fact.claim_id), "supports")
            print("linked", kept.claim_id, fact.claim_id, flush=True)
            if last is not None and number % 3 == 0:
                memory.forget(last)
                print("forgot", last, flush=True)
            last = str(fact.claim_id)


@dataclass
class Outcome:
    """What a kill left: `faults` says in words what must not be; `acknowledged` counts the printed lines."""

    acknowledged: int = 0
    faults: list[str] = field(default_factory=list)


def kill_once(path: Path | str, seconds: float) -> Outcome:
    """Starts the child, kills it `seconds` after it is ready, and looks at what is left. path: or a URL."""
    os.environ["RECOLLECTX_EMBEDDER"] = "none"
    child = subprocess.Popen(
        [sys.executable, __file__, "--child", str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    lines = [child.stdout.readline()]
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
    lines += child.stdout.read().splitlines(keepends=True)
    child.stdout.close()
    child.wait()
    return inspect(path, [line.split() for line in lines[1:] if line.endswith("\n")])


def inspect(path: Path | str, acknowledged: list[list[str]]) -> Outcome:
    """Compares the database with the acknowledged lines."""
    outcome = Outcome(len(acknowledged))
    if isinstance(path, Path):
        if rows(path, "PRAGMA integrity_check") != [("ok",)]:
            outcome.faults.append("the file is damaged")
        if rows(path, "PRAGMA foreign_key_check"):
            outcome.faults.append("a row points nowhere")
    forgotten = {line[1] for line in acknowledged if line[0] == "forgot"}
    with Memory.open(path) as memory:
        for kind, claim_id, *rest in acknowledged:
            _check_line(memory, outcome, kind, claim_id, rest, forgotten)
        _check_ghosts(memory, outcome)
        if memory.store(EpisodicClaim(summary="written afterwards", confidence=0.9)).claim_id is None:
            outcome.faults.append("nothing can be written any more")
    return outcome


def _check_line(
    memory: Memory, outcome: Outcome, kind: str, claim_id: str, rest: list[str], forgotten: set[str]
) -> None:
    claim = memory.get(claim_id)
    if claim is None:
        outcome.faults.append(f"{kind} {claim_id} is lost")
    elif kind == "stored" and claim_id not in forgotten and claim.status == Status.ACTIVE:
        if claim_id not in {hit.claim.id for hit in memory.recall(rest[0], k=10)}:
            outcome.faults.append(f"{claim_id} cannot be found by {rest[0]}")
    elif kind == "forgot" and claim.status != Status.RETIRED:
        outcome.faults.append(f"{claim_id} is back although it was forgotten")
    elif kind == "linked":
        edges = memory.explain_deep(rest[0])
        if edges is None or claim_id not in {child.belief.id for child in edges.root.supported_by}:
            outcome.faults.append(f"the edge {claim_id} -> {rest[0]} is lost")


def _check_ghosts(memory: Memory, outcome: Outcome) -> None:
    for hit in memory.recall("event item thing", k=10_000):
        if memory.get(hit.claim.id) != hit.claim:
            outcome.faults.append(f"recall shows {hit.claim.id} as get does not")


def kill_many(runs: int, seed: int, folder: Path) -> tuple[int, Counter[str]]:
    """Acknowledged lines in all, and the faults of `runs` kills; every fourth file is killed on several times."""
    chance = random.Random(seed)
    total, faults = 0, Counter[str]()
    for run in range(runs):
        outcome = kill_once(folder / f"{run // 4}.db", chance.uniform(0.0, 0.4))
        total += outcome.acknowledged
        faults.update(outcome.faults)
    return total, faults


def main() -> int:
    """Exit code 0 if no kill cost anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        write_for_ever(given.child)
    with tempfile.TemporaryDirectory() as folder:
        total, faults = kill_many(given.runs, given.seed, Path(folder))
    for fault, times in faults.most_common(20):
        print(f"{times} x {fault}")
    print(f"{given.runs} kills, {total} acknowledged writes, {faults.total()} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
