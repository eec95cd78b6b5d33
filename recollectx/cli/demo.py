"""`demo`: a belief formed, supported, contradicted, superseded, asked for and explained, in a file that is thrown away."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from recollectx.changes import Link, WriteResult
from recollectx.claims import Claim, SemanticClaim, Status
from recollectx.cli.documents import Document, hit_document, result_document
from recollectx.cli.explaining import explained
from recollectx.cli.render import day, hit_table, number, plain
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.cli.trees import explanation_tree
from recollectx.edges import Relation
from recollectx.instants import iso, to_seconds
from recollectx.memory import Memory

QUESTION = "Where does Nadia live?"
NARROW = 100
_STORY = (
    ("2025-02-03", "Nadia", "I live in Lisbon, two streets from the river."),
    ("2025-02-10", "Tom", "Nadia lives in Lisbon."),
    ("2025-04-22", "old address book", "Nadia lives in Madrid."),
    ("2025-09-01", "Nadia", "I moved to Porto."),
    ("2025-09-14", "Tom", "Nadia lives in Porto."),
)


@dataclass(frozen=True, slots=True)
class Move:
    """A confidence before (None: the belief is new) and after (None: it is no longer current)."""

    text: str
    old: float | None
    new: float | None


@dataclass(frozen=True, slots=True)
class Chapter:
    """One turn of the story. happened: what it did to a belief."""

    said_at: float
    source: str
    said: str
    happened: str
    results: list[tuple[WriteResult, Claim | None]]
    moved: list[Move]


def _facts(memory: Memory) -> dict[str, Claim]:
    return {claim.id: claim for claim in memory.retrieve(type="semantic", status=frozenset(Status))}


def _happened(result: WriteResult) -> str:
    relations = {change.edge.relation for change in result.changes if isinstance(change, Link)}
    if Relation.SUPERSEDES in relations:
        return "superseded"
    if Relation.CONTRADICTS in relations:
        return "contradicted"
    return "formed" if result.action == "ADD" else "supported"


def _tell(memory: Memory, said_at: float, source: str, said: str) -> Chapter:
    before = _facts(memory)
    written = memory.remember(said, source=source, at=said_at)
    after = _facts(memory)
    results = [(result, memory.get(str(result.claim_id))) for result in written]
    happened = [_happened(result) for result, claim in results if isinstance(claim, SemanticClaim)]
    moved = []
    for claim_id, claim in sorted(after.items(), key=lambda item: item[1].created_at, reverse=True):
        old = before.get(claim_id)
        if old is not None and old.status == Status.ACTIVE != claim.status:
            moved.append(Move(claim.text, old.confidence, None))
        elif claim.status == Status.ACTIVE and (old is None or old.confidence != claim.confidence):
            moved.append(Move(claim.text, None if old is None else old.confidence, claim.confidence))
    return Chapter(said_at, source, said, happened[0], results, moved)


@click.command(cls=Command)
@pass_terminal
def demo(terminal: Terminal) -> None:
    """A short story of beliefs, in a temporary file."""
    today = [0.0]
    with (
        tempfile.TemporaryDirectory(prefix="recollectx-demo-") as folder,
        Memory.open(Path(folder) / "demo.db", clock=lambda: today[0]) as memory,
    ):
        chapters = []
        for date, source, said in _STORY:
            today[0] = to_seconds(date)
            chapters.append(_tell(memory, today[0], source, said))
        hits = memory.recall(QUESTION, k=2, type="semantic").hits
        answer = explained(memory, hits[0].claim.id, depth=1)
    document = {
        "story": [_chapter_document(chapter) for chapter in chapters],
        "question": QUESTION,
        "hits": [hit_document(hit, rank) for rank, hit in enumerate(hits, 1)],
        "explanation": answer.document(),
    }
    width = NARROW if terminal.wide else min(terminal.out.width, NARROW)
    shown = Group(
        Rule("Five turns, three sources", align="left"),
        *[_drawn(chapter) for chapter in chapters],
        Rule(f"recall “{QUESTION}”", align="left"),
        hit_table(hits, wide=terminal.wide, first=1, scored=True),
        Rule("explain the answer", align="left"),
        explanation_tree(answer, hints=False),
        Text(
            'Yours now: recollectx remember "I live in …", then recollectx recall "where do I live?"',
            style="dim",
        ),
    )
    terminal.show(document, shown, width=width)


def _chapter_document(chapter: Chapter) -> Document:
    return {
        "said_at": iso(chapter.said_at),
        "source": chapter.source,
        "said": chapter.said,
        "happened": chapter.happened,
        "results": [result_document(result, claim) for result, claim in chapter.results],
        "moved": [{"text": move.text, "from": move.old, "to": move.new} for move in chapter.moved],
    }


_STYLES = {"formed": "green", "supported": "green", "contradicted": "red", "superseded": "yellow"}


def _drawn(chapter: Chapter) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(width=12)
    table.add_column()
    who = Text.assemble((plain(chapter.source), "bold"), f": “{plain(chapter.said)}”")
    table.add_row(Text(day(chapter.said_at), style="dim"), who)
    for place, move in enumerate(chapter.moved):
        line = Text(f"{plain(move.text)}  ")
        if move.old is not None:
            line.append_text(number(move.old)).append(" → ")
        line.append_text(Text("no longer current", style="magenta") if move.new is None else number(move.new))
        word = chapter.happened if place == 0 else ""
        table.add_row(Text(word, style=_STYLES.get(word, "")), line)
    return table
