"""What a memory answers after a stream of plain sentences in which people change their minds.

    python benchmarks/belief_quality.py [--seeds 301 302 303] [--embedder local] [--out FOLDER] [--peers FOLDER]

A seed stands for four streams, each told to a memory of its own: "301.0" to "301.3".
Our memory is told the sentences alone (`remember`), or claims, retractions and corrections made of the same events;
beside it stand plain FTS5, FTS5 with the newest first, and FTS5 with cosines, over all sentences with their speakers.
Each question is asked with k=10. A hit speaks of the question if it says a value of that attribute of that person; a
chatterer, a question or a retraction does not. Said is what the person's own last word makes of it.

    current-first  now: the first hit that speaks of it gives the current value
    gold@5         now: one of the first five hits gives the current value
    stale@5        now: share of the first five hits that give another value than the current one
    misled@5       now: among the first five another value stands above the current one, or without it
    as-of-first    then: the first hit that speaks of it, recalled as_of that day, gives what was believed on that day
    valid-first    then: the same, recalled valid_at that day, of what held on that day by what is known at the end
    abstention     AUROC of the fit of the best hit, now against never told; for ours, Recall.relevance
    turned away, let through: the errors of Recall.nothing_fits among now and never

Of as-of and valid, the plain indexes know only which sentences had been said by that day.  --peers: also measures
other memories in virtual environments that are made in FOLDER; needs --embedder other than none, whose vectors they
look up. Intervals are 95 %, bootstrapped over questions. Writes every question with its hits to
FOLDER/belief_quality.json, and the table to FOLDER/belief_quality.txt.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from abstention import auroc
from belief_peers import REQUIREMENTS, Peer
from belief_stream import Question, stream
from belief_systems import SYSTEMS, Answer, Says
from locomo import interval
from machine import machine

from recollectx.embeddings import embedder_from

FIRST = 5
SEEDS = (301, 302, 303)
STREAMS = 4
COLUMNS = ("current-first", "gold@5", "stale@5", "misled@5", "as-of-first", "valid-first")


def first_speaking(says: Sequence[Says], question: Question) -> str:
    """The value that the first hit which speaks of the question gives; "" if none does."""
    about = (question.person, question.attribute)
    return next((each[2] for each in says if each and each[:2] == about), "")


def judged(question: Question, answers: dict[str, Answer]) -> dict[str, float]:
    """The measures of one question, by name."""
    if question.kind == "then":
        return {
            "as-of-first": float(first_speaking(answers["as_of"].says, question) == question.gold),
            "valid-first": float(first_speaking(answers["valid_at"].says, question) == question.held),
        }
    if question.kind == "never":
        return {}
    about = (question.person, question.attribute)
    says = answers["now"].says
    values = [each[2] if each and each[:2] == about else "" for each in says[:FIRST]]
    given = [value for value in values if value]
    return {
        "current-first": float(first_speaking(says, question) == question.gold),
        "gold@5": float(question.gold in values),
        "stale@5": sum(value != question.gold for value in given) / FIRST,
        "misled@5": float(bool(given) and given[0] != question.gold),
    }


def asked(system: Any, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Every question with its answers and their measures."""
    rows = []
    for question in questions:
        if question.kind == "then":
            answers = {"as_of": system.ask(question.text, as_of=question.at)}
            answers["valid_at"] = system.ask(question.text, valid_at=question.at)
        else:
            answers = {"now": system.ask(question.text)}
        answer = next(iter(answers.values()))
        rows.append(
            {
                "kind": question.kind,
                "question": question.text,
                "attribute": question.attribute,
                "gold": question.gold,
                "held": question.held,
                "fits": answer.fits,
                "none": answer.none,
                "hits": {how: each.texts[:FIRST] for how, each in answers.items()},
                **judged(question, answers),
            }
        )
    return rows


def figures(rows: Sequence[dict[str, Any]], *, abstains: bool) -> dict[str, Any]:
    """Means with their intervals, and how well never-told questions are told from the others."""
    made: dict[str, Any] = {}
    for name in COLUMNS:
        values = [row[name] for row in rows if name in row]
        made[name] = {"mean": statistics.fmean(values), "interval": interval(values)}
    known = [row for row in rows if row["kind"] == "now"]
    never = [row for row in rows if row["kind"] == "never"]
    made["abstention"] = auroc([row["fits"] for row in known], [row["fits"] for row in never])
    if abstains:
        made["turned away"] = statistics.fmean(float(row["none"]) for row in known)
        made["let through"] = statistics.fmean(float(not row["none"]) for row in never)
    return made


def table(report: dict[str, Any]) -> str:
    """The figures in lines."""
    lines = [f"{'':18}" + "".join(f"{name:>21}" for name in COLUMNS) + "   abstention  away  through"]
    for name, made in report["systems"].items():
        cells = [
            f"{made[column]['mean']:.3f} ({made[column]['interval'][0]:.2f}-{made[column]['interval'][1]:.2f})"
            for column in COLUMNS
        ]
        errors = [f"{made[key]:.3f}" if key in made else "" for key in ("turned away", "let through")]
        line = f"{name:18}" + "".join(f"{cell:>21}" for cell in cells)
        lines.append(f"{line}        {made['abstention']:.3f} {errors[0]:>5}    {errors[1]:>5}".rstrip())
    return "\n".join(lines)


def measure(seeds: Sequence[int], embedder: Any, peers: Path | None) -> dict[str, list[dict[str, Any]]]:
    """The rows of every system over all seeds. peers: where the environments of others are, or are made."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for seed in (f"{seed}.{number}" for seed in seeds for number in range(STREAMS)):
        events, questions = stream(seed)
        systems = {name: partial(make, embedder) for name, make in SYSTEMS.items()}
        if embedder is None:
            del systems["FTS5 + cosine"]
        if peers is not None:
            systems |= {name: partial(Peer, name, peers, embedder, questions) for name in REQUIREMENTS}
        for name, make in systems.items():
            print(f"seed {seed}: {name}", file=sys.stderr)
            system = make()
            system.tell(events)
            rows.setdefault(name, []).extend({"seed": seed, **row} for row in asked(system, questions))
    return rows


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--peers", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.peers and options.embedder == "none":
        parser.error("the peers look up the vectors of an embedder; give one")
    embedder = None if options.embedder == "none" else embedder_from(options.embedder)
    rows = measure(options.seeds, embedder, options.peers)
    report: dict[str, Any] = {
        "date": date.today().isoformat(),
        "machine": machine(),
        "embedder": options.embedder,
        "seeds": list(options.seeds),
        "systems": {
            name: figures(each, abstains=name in ("sentences", "structured")) for name, each in rows.items()
        },
        "questions": rows,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "belief_quality.json").write_text(json.dumps(report, indent=1, ensure_ascii=False))
    told = f"{report['date']}, {report['machine']}; embedder {options.embedder}; seeds {report['seeds']}\n"
    told += table(report)
    (options.out / "belief_quality.txt").write_text(told + "\n")
    print(told)


if __name__ == "__main__":
    main()
