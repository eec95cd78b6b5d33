"""A conversation goes in, questions come out: what is known, since when, and from which turn."""

import tempfile
from pathlib import Path

from recollectx import Memory

TURNS = [
    ("monday", "Iris", "I work as a nurse at the children's hospital.", "2024-02-05T18:00:00Z"),
    ("monday", "Tom", "Busy job! Do you still play the cello?", "2024-02-05T18:01:00Z"),
    (
        "monday",
        "Iris",
        "Every Sunday. I live in Ghent now, so I play with the quartet there.",
        "2024-02-05T18:02:00Z",
    ),
    ("friday", "Iris", "Big news: I moved to Antwerp!", "2024-09-13T09:30:00Z"),
]

with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "talk.db") as memory:
    memory.remember(
        [
            {"session": session, "speaker": speaker, "text": text, "time": time}
            for session, speaker, text, time in TURNS
        ]
    )
    for question in ("Where does Iris live?", "What instrument does Iris play?"):
        print(question)
        for hit in memory.recall(question, k=2):
            print(f"  {hit.score:.2f}  {hit.claim.text}  ({hit.claim.confidence:.2f}, {hit.claim.source})")
    for claim in memory.retrieve(type="semantic", status="superseded"):
        print(f"No longer: {claim.text}, said as {claim.evidence[0]!r}")
