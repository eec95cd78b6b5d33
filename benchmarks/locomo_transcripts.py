"""Transcripts and questions from a file shaped like LoCoMo's: `python locomo_transcripts.py DATA.json OUT_DIR`.

For each conversation: OUT_DIR/<sample_id>.jsonl, one turn a line as recollectx reads it, and
OUT_DIR/<sample_id>.questions.json, with the ids of the turns that hold each answer.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

SESSION = re.compile(r"session_(\d+)")
TURN_ID = re.compile(r"D:?(\d+):(\d+)")


def session_time(text: str) -> str:
    """ISO 8601 of a session's "1:56 pm on 8 May, 2023"; the file names no zone, so UTC is taken."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").strftime("%Y-%m-%dT%H:%M:%SZ")


def sessions(conversation: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Name and turns of each session that has turns, in the order they took place."""
    numbered = sorted((int(match[1]), key) for key in conversation if (match := SESSION.fullmatch(key)))
    return ((key, conversation[key]) for _, key in numbered if conversation[key])


def turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One JSON object per turn; the caption of a shared picture follows its text in brackets."""
    for name, said in sessions(conversation):
        time = session_time(conversation[f"{name}_date_time"])
        for turn in said:
            caption = turn.get("blip_caption")
            yield {
                "speaker": turn["speaker"],
                "text": turn["text"] + (f" [shares {caption}]" if caption else ""),
                "time": time,
                "session": name,
                "metadata": {"dia_id": turn["dia_id"]},
            }


def repaired(evidence: Iterable[str], known: frozenset[str]) -> list[str]:
    """The turn ids in `evidence` that are `known`, once each: joined ids split, stray colons and zeros dropped."""
    found = (f"D{int(day)}:{int(turn)}" for text in evidence for day, turn in TURN_ID.findall(text))
    return [turn_id for turn_id in dict.fromkeys(found) if turn_id in known]


def questions(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """The questions of a conversation; answer is None where the conversation does not hold it."""
    known = frozenset(turn["dia_id"] for _, said in sessions(sample["conversation"]) for turn in said)
    return [
        {
            "question": asked["question"],
            "answer": asked.get("answer"),
            "category": asked["category"],
            "evidence": repaired(asked.get("evidence", ()), known),
        }
        for asked in sample["qa"]
    ]


def write(data: Path, out: Path) -> Iterator[str]:
    """Writes two files per conversation of `data` into `out`; yields a line about each."""
    out.mkdir(parents=True, exist_ok=True)
    for sample in json.loads(data.read_text(encoding="utf-8")):
        transcript = out / f"{sample['sample_id']}.jsonl"
        lines = [json.dumps(turn, ensure_ascii=False) for turn in turns(sample["conversation"])]
        transcript.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        yield f"{transcript}: {len(lines)} turns"
        asked = questions(sample)
        path = out / f"{sample['sample_id']}.questions.json"
        path.write_text(json.dumps(asked, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        yield f"{path}: {len(asked)} questions"


def main(arguments: list[str]) -> int:
    """Exit code 0, or 2 when called wrongly."""
    if len(arguments) != 2:
        print("usage: locomo_transcripts.py DATA.json OUT_DIR", file=sys.stderr)
        return 2
    for line in write(Path(arguments[0]), Path(arguments[1])):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
