"""Asks about personal facts in one language that were told in another, and counts how often they are found.

    python benchmarks/crosslingual.py [--embedder local] [--out FILE.json]

crosslingual_pairs.json holds short facts, a question about each, and distractors, all in every language. For each
language the store holds all facts and distractors of that language; each question is put to it in every language.
Prints the share of questions whose fact is among the first five, per pair of languages, for questions in the
language of the facts, for questions in another, and the ratio of the two (at least .6 is wanted).
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from recollectx import Memory, SemanticClaim
from recollectx.embeddings import Embedder, embedder_from

K = 5
WANTED = 0.6
PAIRS = Path(__file__).with_name("crosslingual_pairs.json")


def ranked(questions: Sequence[str], store: Sequence[str], embedder: Embedder) -> list[list[int]]:
    """For each question the places in `store` of the first K texts that recall finds, best first."""
    with Memory.open(":memory:", embedder=embedder, extractor=None) as memory:
        ids = [
            result.claim_id for result in memory.store_many([SemanticClaim.from_text(text) for text in store])
        ]
        places = {claim_id: place for place, claim_id in enumerate(ids)}
        return [[places[hit.claim.id] for hit in memory.recall(question, k=K)] for question in questions]


def measure(data: dict[str, Any], embedder: Embedder) -> list[dict[str, Any]]:
    """One row per question and pair of languages."""
    rows = []
    for asked, told in product(data["languages"], repeat=2):
        questions = [pair["question"][asked] for pair in data["pairs"]]
        store = [pair["fact"][told] for pair in data["pairs"]]
        store += [distractor[told] for distractor in data["distractors"]]
        for at, found in enumerate(ranked(questions, store, embedder)):
            rows.append(
                {
                    "asked": asked,
                    "told": told,
                    "question": questions[at],
                    "fact": store[at],
                    "found": at in found,
                    "first": store[found[0]],
                }
            )
    return rows


def share(rows: Sequence[dict[str, Any]]) -> float:
    """Share of the rows whose fact was found."""
    return statistics.fmean(row["found"] for row in rows)


def report(rows: list[dict[str, Any]], languages: Sequence[str]) -> dict[str, Any]:
    """The shares per pair of languages and overall."""
    same = [row for row in rows if row["asked"] == row["told"]]
    cross = [row for row in rows if row["asked"] != row["told"]]
    by_pair = {
        asked: {
            told: share([row for row in rows if (row["asked"], row["told"]) == (asked, told)])
            for told in languages
        }
        for asked in languages
    }
    shares = {"same": share(same), "cross": share(cross)}
    counts = {"n_same": len(same), "n_cross": len(cross)}
    return {**shares, "ratio": shares["cross"] / shares["same"], **counts, "by_pair": by_pair}


def main() -> int:
    """1 if the ratio is below the wanted one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedder", default="local", help="as embedder_from names them")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    embedder = embedder_from(options.embedder)
    if embedder is None:
        parser.error("no embedder is installed: pip install 'recollectx[local]'")
    data = json.loads(PAIRS.read_text(encoding="utf-8"))
    rows = measure(data, embedder)
    found = report(rows, data["languages"])
    size = len(data["pairs"]) + len(data["distractors"])
    print(f"{embedder.name}: {len(data['pairs'])} questions, stores of {size} facts; found in the first {K}")
    print("asked \\ told" + "".join(f"{language:>7}" for language in data["languages"]))
    for asked, shares in found["by_pair"].items():
        print(f"{asked:12}" + "".join(f"{value:7.2f}" for value in shares.values()))
    print(f"same language  {found['same']:.3f} of {found['n_same']}")
    print(f"cross-language {found['cross']:.3f} of {found['n_cross']}")
    print(f"ratio          {found['ratio']:.3f} (wanted: {WANTED} or more)")
    if options.out:
        result = {"embedder": embedder.name, "k": K, **found, "questions": rows}
        options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False), encoding="utf-8")
    return int(found["ratio"] < WANTED)


if __name__ == "__main__":
    sys.exit(main())
