"""How good recall is on conversations shaped like LoCoMo's, stage by stage, beside plain FTS5.

    python benchmarks/recall_quality.py DATA.json [--embedder local] [--token-vectors] [--out FOLDER] [--fixed]

Every conversation is ingested by the command line into a memory of its own and asked its questions of categories 1-4
that name the turns which hold the answer. Recall@k is the share of those turns among the first k episodes. Printed:
the default, the default without each stage, words alone, and plain FTS5 (porter unicode61, OR of the words, bm25())
on the same turns; then the weights chosen leave-one-conversation-out, which means that each conversation is asked
with the weights of GRID that were best on all the others; each with the paired difference to FTS5 and its 95 %
bootstrap interval over questions.

--embedder: as Memory.open takes it; none leaves vectors out.  --token-vectors: compare the first hits word by word, if
the embedder can (sentence-transformers).  --fixed: without the choice of weights, which takes long.
Writes everything, question by question, to FOLDER/recall_quality.json.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

import locomo_transcripts
import numpy as np
from locomo import PlainFTS5, ingest, interval
from machine import machine

from recollectx import Memory
from recollectx.query import Weights

KS = (1, 5, 10)
DEFAULT = Weights()
STAGES = {
    "default": DEFAULT,
    "without neighbours": replace(DEFAULT, neighbours=0),
    "without session": replace(DEFAULT, session=0),
    "without speaker": replace(DEFAULT, speaker=0),
    "without date": replace(DEFAULT, date=0),
    "without token vectors": replace(DEFAULT, tokens=0),
    "without words": replace(DEFAULT, keyword=0),
    "words alone": replace(DEFAULT, dense=0),
    "words alone, bare": Weights(dense=0, neighbours=0, session=0, speaker=0, date=0),
}
GRID = [
    replace(DEFAULT, dense=dense, neighbours=neighbours, session=session, speaker=speaker)
    for dense, neighbours, session, speaker in itertools.product(
        (0.7, 1.0, 1.4), (0.3, 0.4, 0.5), (0.0, 0.3, 0.5), (0.0, 1.5, 3.0, 4.0)
    )
]


class Asked:
    """The questions of one conversation, with what any way of asking finds."""

    def __init__(self, name: str, memory: Memory, questions: list[dict[str, Any]]) -> None:
        self.name = name
        self.questions = [each for each in questions if each["evidence"] and each["category"] != 5]
        turns = memory.retrieve(type="episodic")
        plain = PlainFTS5([(str(turn.metadata["dia_id"]), turn.text) for turn in turns])
        self.plain = [plain.first(each["question"]) for each in self.questions]
        self._memory = memory

    def found(self, weights: Weights) -> list[list[str]]:
        """Ids of the first turns, question by question."""
        return [
            [
                str(hit.claim.metadata.get("dia_id"))
                for hit in self._memory.recall(each["question"], k=max(KS), type="episodic", weights=weights)
            ]
            for each in self.questions
        ]

    def recall(self, found: list[list[str]], k: int) -> list[float]:
        """Share of the evidence among the first k, question by question."""
        return [
            len(set(each["evidence"]) & set(ids[:k])) / len(set(each["evidence"]))
            for each, ids in zip(self.questions, found, strict=True)
        ]


def figures(asked: list[Asked], found: list[list[list[str]]]) -> dict[str, Any]:
    """Recall at each k, by category at 10, and the paired difference to FTS5 at 10."""
    at = {
        k: [value for each, ids in zip(asked, found, strict=True) for value in each.recall(ids, k)]
        for k in KS
    }
    plain = [value for each in asked for value in each.recall(each.plain, KS[-1])]
    difference = [ours - theirs for ours, theirs in zip(at[KS[-1]], plain, strict=True)]
    categories: dict[int, list[float]] = {}
    for question, value in zip((q for each in asked for q in each.questions), at[KS[-1]], strict=True):
        categories.setdefault(question["category"], []).append(value)
    return {
        "recall": {k: statistics.fmean(values) for k, values in at.items()},
        "interval": interval(at[KS[-1]]),
        "over_fts5": statistics.fmean(difference),
        "over_fts5_interval": interval(difference),
        "by_category": {name: statistics.fmean(values) for name, values in sorted(categories.items())},
        "questions": at[KS[-1]],
    }


def held_out(asked: list[Asked]) -> tuple[list[list[list[str]]], list[Weights]]:
    """What each conversation's questions find with the weights that are best on the others, and those weights."""
    means = np.zeros((len(GRID), len(asked)))
    counts = np.array([len(each.questions) for each in asked])
    for row, weights in enumerate(GRID):
        print(f"weights {row + 1} of {len(GRID)}", end="\r", file=sys.stderr)
        for column, each in enumerate(asked):
            means[row, column] = sum(each.recall(each.found(weights), KS[-1]))
    print(file=sys.stderr)
    chosen = []
    for column in range(len(asked)):
        others = np.arange(len(asked)) != column
        chosen.append(GRID[int((means[:, others].sum(1) / counts[others].sum()).argmax())])
    return [each.found(weights) for each, weights in zip(asked, chosen, strict=True)], chosen


def line(name: str, made: dict[str, Any]) -> str:
    """One line of the table."""
    recall = "  ".join(f"{made['recall'][k]:.3f}" for k in KS)
    low, high = made["over_fts5_interval"]
    return f"{name:22}  {recall}   {made['over_fts5']:+.3f} ({low:+.3f} to {high:+.3f})"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--token-vectors", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    embedder = None if options.embedder == "none" else options.embedder
    report: dict[str, Any] = {"date": date.today().isoformat(), "machine": machine(), "embedder": embedder}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for told in locomo_transcripts.write(options.data, folder):
            print(told, file=sys.stderr)
        asked = []
        for transcript in sorted(folder.glob("*.jsonl")):
            database = folder / f"{transcript.stem}.db"
            ingest(transcript, database, options.embedder)
            if options.token_vectors:
                command = ["reembed", "--embedder", options.embedder, "--token-vectors"]
                subprocess.run(
                    [sys.executable, "-m", "recollectx", "--db", str(database), *command], check=True
                )
            memory = Memory.open(database, embedder=embedder)
            questions = json.loads((folder / f"{transcript.stem}.questions.json").read_text())
            asked.append(Asked(transcript.stem, memory, questions))
        print(
            f"{sum(len(each.questions) for each in asked)} questions; recall@1, @5, @10; @10 over plain FTS5"
        )
        report["plain FTS5"] = figures(asked, [each.plain for each in asked])
        print(line("plain FTS5", report["plain FTS5"]))
        stages = {
            name: weights for name, weights in STAGES.items() if options.token_vectors or weights.tokens
        }
        for name, weights in stages.items():
            report[name] = figures(asked, [each.found(weights) for each in asked])
            print(line(name, report[name]), flush=True)
        if not options.fixed:
            found, chosen = held_out(asked)
            name = "weights held out"
            report[name] = figures(asked, found) | {
                "weights": {each.name: asdict(weights) for each, weights in zip(asked, chosen, strict=True)}
            }
            print(line(name, report[name]))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "recall_quality.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
