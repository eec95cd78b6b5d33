"""Ingests LoCoMo-shaped conversations with the command line and reports what the memory makes of them.

    python benchmarks/locomo.py DATA.json [--out FOLDER] [--sample 50] [--seed 7] [--words]

Prints turn-level recall@10 per conversation and over all questions of categories 1-4 (share of the evidence turns
among the first ten episodes, 95 % bootstrap interval over questions), the same of plain FTS5 on the same turns
(porter unicode61, OR of the words, bm25()) and the paired difference, a belief of every conversation with the turn it
was formed from, the beliefs that were superseded or contradicted with both turns, and a sample of claims to judge
by eye. Writes everything, question by question, to FOLDER/locomo.json.
"""

import argparse
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import locomo_transcripts
import numpy as np

from recollectx import Memory, Relation, SemanticClaim, Status

K = 10


def ingest(transcript: Path, database: Path, embedder: str = "auto") -> float:
    """Seconds that `recollectx ingest` took."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "recollectx", "--db", str(database), "ingest", str(transcript)]
    environment = os.environ | {"RECOLLECTX_EMBEDDER": embedder}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - begun


class PlainFTS5:
    """The turns in SQLite's full-text index, asked for any of the words of a question."""

    def __init__(self, turns: list[tuple[str, str]]) -> None:
        self.conn = sqlite3.connect(":memory:")
        self.conn.execute(
            "CREATE VIRTUAL TABLE turns USING fts5(id UNINDEXED, text, tokenize='porter unicode61')"
        )
        self.conn.executemany("INSERT INTO turns VALUES (?, ?)", turns)

    def first(self, question: str) -> list[str]:
        """Ids of the best K turns."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        sql = "SELECT id FROM turns WHERE turns MATCH ? ORDER BY bm25(turns) LIMIT ?"
        return [row[0] for row in self.conn.execute(sql, (words, K))]


def ask(memory: Memory, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Recall@K, ours and plain FTS5's, and time of each question with evidence."""
    turns = memory.retrieve(type="episodic")
    plain = PlainFTS5([(str(turn.metadata["dia_id"]), turn.text) for turn in turns])
    rows = []
    for question in questions:
        gold = set(question["evidence"])
        if not gold or question["category"] == 5:
            continue
        begun = time.process_time()
        hits = memory.recall(question["question"], k=K, type="episodic")
        spent = time.process_time() - begun
        found = [hit.claim.metadata.get("dia_id") for hit in hits]
        rows.append(
            {
                "question": question["question"],
                "category": question["category"],
                "recall": len(gold & set(found)) / len(gold),
                "fts5": len(gold & set(plain.first(question["question"]))) / len(gold),
                "found": found,
                "gold": sorted(gold),
                "cpu_ms": spent * 1000,
            }
        )
    return rows


def turn_of(memory: Memory, claim_id: str) -> str:
    """The first turn that a claim derives from, quoted."""
    explained = memory.explain(claim_id)
    turns = [memory.get(turn) for turn in (explained or {}).get("derived_from", ())]
    return next((f"{turn.text!r}" for turn in turns if turn is not None), "(no turn)")


def beliefs(memory: Memory) -> list[SemanticClaim]:
    """Every fact the extractor formed, whatever became of it."""
    found = memory.retrieve(type="semantic", status=frozenset(Status))
    return [claim for claim in found if isinstance(claim, SemanticClaim)]


def quarrels(memory: Memory) -> list[dict[str, str]]:
    """Beliefs that replaced or contradict another, with the turns of both."""
    found = []
    for claim in beliefs(memory):
        explained = memory.explain(claim.id) or {}
        for relation, ids in (
            (Relation.SUPERSEDES, explained["supersedes"]),
            (Relation.CONTRADICTS, explained["contradicted_by"]),
        ):
            for other_id in ids:
                other = memory.get(other_id)
                if other is not None:
                    found.append(
                        {
                            "relation": str(relation),
                            "claim": claim.text,
                            "turn": turn_of(memory, claim.id),
                            "other": other.text,
                            "other_turn": turn_of(memory, other.id),
                        }
                    )
    return found


def interval(values: list[float], draws: int = 1000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean."""
    rng = np.random.default_rng(0)
    array = np.array(values)
    means = array[rng.integers(0, len(array), (draws, len(array)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--sample", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--words", action="store_true", help="leave the embedder out: recall by words alone")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    report: dict[str, Any] = {"conversations": {}, "questions": []}
    pool: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for line in locomo_transcripts.write(options.data, folder):
            print(line, file=sys.stderr)
        for transcript in sorted(folder.glob("*.jsonl")):
            name = transcript.stem
            seconds = ingest(transcript, folder / f"{name}.db")
            with Memory.open(folder / f"{name}.db", embedder=None if options.words else "auto") as memory:
                rows = ask(memory, json.loads((folder / f"{name}.questions.json").read_text()))
                facts = beliefs(memory)
                pool += [(name, claim.text, turn_of(memory, claim.id)) for claim in reversed(facts)]
                turns = memory.count(type="episodic")
                mean = statistics.fmean(row["recall"] for row in rows)
                print(
                    f"{name}: {turns} turns in {seconds:.1f} s, {len(facts)} beliefs, recall@{K} {mean:.3f}"
                )
                if facts:
                    print(f"    believes {facts[-1].text!r} from {turn_of(memory, facts[-1].id)}")
                for quarrel in quarrels(memory):
                    print(f"    {quarrel['claim']!r} {quarrel['relation']} {quarrel['other']!r}")
                    print(f"        {quarrel['turn']}\n        {quarrel['other_turn']}")
                report["conversations"][name] = {
                    "turns": turns,
                    "beliefs": len(facts),
                    "recall": mean,
                    "seconds": seconds,
                    "quarrels": quarrels(memory),
                }
                report["questions"] += [{"conversation": name, **row} for row in rows]
    recalls = [row["recall"] for row in report["questions"]]
    low, high = interval(recalls)
    cpu = statistics.median(row["cpu_ms"] for row in report["questions"])
    report["recall"] = {"mean": statistics.fmean(recalls), "low": low, "high": high, "n": len(recalls)}
    paired = [row["recall"] - row["fts5"] for row in report["questions"]]
    report["over_fts5"] = dict(
        zip(("mean", "low", "high"), (statistics.fmean(paired), *interval(paired)), strict=True)
    )
    print(
        f"recall@{K} over {len(recalls)} questions: {statistics.fmean(recalls):.4f} "
        f"(95 % {low:.3f} to {high:.3f}); {cpu:.2f} ms CPU a question (median)"
    )
    over = report["over_fts5"]
    fts5 = statistics.fmean(row["fts5"] for row in report["questions"])
    print(
        f"plain FTS5 {fts5:.4f}; paired difference {over['mean']:+.4f} (95 % {over['low']:+.3f} to {over['high']:+.3f})"
    )
    drawn = random.Random(options.seed).sample(pool, min(options.sample, len(pool)))
    print(f"\n{len(drawn)} of {len(pool)} beliefs, drawn with seed {options.seed}:")
    for number, (name, text, turn) in enumerate(drawn, 1):
        print(f"{number:3} {name}  {text}\n        {turn}")
    report["sample"] = [{"conversation": name, "claim": text, "turn": turn} for name, text, turn in drawn]
    (options.out / "locomo.json").write_text(json.dumps(report, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
