"""`ingest`: whole transcripts into a memory, in batches; the same file twice adds nothing."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from recollectx.changes import Action, Assert, Link, WriteResult
from recollectx.claims import EpisodicClaim, Status
from recollectx.cli.render import plain, plain_table
from recollectx.cli.terminal import Command, Terminal, pass_terminal, progress_bar
from recollectx.cli.transcripts import FileTurn, Transcript, read_transcript
from recollectx.edges import Relation
from recollectx.instants import from_micros, to_micros
from recollectx.memory import Memory


@dataclass
class Tally:
    """What came of the turns of one file. superseding, contradicting: of the claims added.  skipped: they say nothing."""

    turns: int = 0
    skipped: int = 0
    episodes_new: int = 0
    episodes_known: int = 0
    claims_added: int = 0
    claims_reinforced: int = 0
    claims_superseding: int = 0
    claims_contradicting: int = 0
    rejected: int = 0
    seconds: float = 0.0

    def count(self, results: Iterable[WriteResult]) -> None:
        """Add what came of one batch."""
        for result in results:
            made = [change.claim for change in result.changes if isinstance(change, Assert)]
            relations = {change.edge.relation for change in result.changes if isinstance(change, Link)}
            if result.action == Action.REJECT:
                self.rejected += 1
            elif result.action == Action.NONE:
                self.episodes_known += 1
            elif any(isinstance(claim, EpisodicClaim) for claim in made):
                self.episodes_new += 1
            else:
                self.claims_added += bool(made)
                self.claims_reinforced += not made
                self.claims_superseding += Relation.SUPERSEDES in relations
                self.claims_contradicting += Relation.CONTRADICTS in relations

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)}
        )

    @property
    def rate(self) -> float:
        """Turns per second."""
        return self.turns / self.seconds if self.seconds else 0.0

    def document(self) -> dict[str, Any]:
        """The tally as JSON."""
        return {**asdict(self), "seconds": round(self.seconds, 3), "turns_per_second": round(self.rate, 1)}


@click.command(cls=Command)
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(dir_okay=False, exists=True, allow_dash=True)
)
@click.option(
    "--batch", type=click.IntRange(1, 10_000), default=100, help="Turns per transaction. Default: 100."
)
@click.option("--scope-per-file", is_flag=True, help="Keep each file in a scope named after it.")
@pass_terminal
def ingest(terminal: Terminal, files: tuple[str, ...], batch: int, scope_per_file: bool) -> None:
    """Remember transcripts; - is standard input.

    JSONL, one turn a line, or one JSON list: {speaker, text, time, session, position, metadata} or {role, content}.
    All files are checked before anything is written.
    """
    # As the database keeps it: an episode is known again by its exact time.
    now = from_micros(to_micros(time.time()))
    transcripts = [read_transcript(name, now=now) for name in files]
    tallies = []
    with terminal.open(create=True) as memory, progress_bar(terminal) as progress:
        for transcript in transcripts:
            scope = transcript.name if scope_per_file else memory.scope
            task = progress.add_task(plain(Path(transcript.shown).name), total=len(transcript.turns))
            tally, began = Tally(skipped=transcript.silent), time.perf_counter()
            messages = _dated(memory, scope, transcript)
            for start in range(0, len(messages), batch):
                part = messages[start : start + batch]
                tally.count(memory.remember(part, scope=scope))
                tally.turns += len(part)
                progress.advance(task, len(part))
            tally.seconds = time.perf_counter() - began
            tallies.append((transcript, scope, tally))
    total = sum((tally for *_, tally in tallies), Tally())
    document = {
        "files": [
            {"file": transcript.shown, "scope": scope, **tally.document()}
            for transcript, scope, tally in tallies
        ],
        "total": total.document(),
    }
    rows = [(Path(transcript.shown).name, tally) for transcript, _, tally in tallies]
    terminal.show(document, _table([*rows, ("total", total)] if len(rows) > 1 else rows))


def _dated(memory: Memory, scope: str, transcript: Transcript) -> list[dict[str, Any]]:
    """The messages; a turn without a time that is known already keeps the time it was first read at."""
    untimed = {turn.message["session"] for turn in transcript.turns if not turn.timed}
    known: dict[tuple[Any, ...], float] = {}
    for session in sorted(untimed):
        for claim in memory.retrieve(
            scopes=(scope,), type="episodic", session=session, status=frozenset(Status)
        ):
            known[session, claim.position, claim.text] = claim.created_at
    return [{**turn.message, "time": _time(turn, known)} for turn in transcript.turns]


def _time(turn: FileTurn, known: dict[tuple[Any, ...], float]) -> float:
    said_at = turn.message["time"]
    if turn.timed:
        return float(said_at)
    return known.get((turn.message["session"], turn.message["position"], turn.summary), float(said_at))


def _table(rows: Sequence[tuple[str, Tally]]) -> Table:
    table = plain_table()
    table.add_column("file", overflow="fold")
    for name in (
        "turns",
        "skipped",
        "new",
        "known",
        "claims",
        "repeated",
        "newer",
        "disputing",
        "rejected",
        "s",
        "turns/s",
    ):
        table.add_column(name, justify="right", overflow="fold")
    for name, tally in rows:
        counts = (
            tally.turns,
            tally.skipped,
            tally.episodes_new,
            tally.episodes_known,
            tally.claims_added,
            tally.claims_reinforced,
            tally.claims_superseding,
            tally.claims_contradicting,
            tally.rejected,
        )
        style = "bold" if name == "total" and tally is rows[-1][1] and len(rows) > 1 else None
        cells = [f"{count:,}" for count in counts]
        table.add_row(plain(name), *cells, f"{tally.seconds:.2f}", f"{tally.rate:,.0f}", style=style)
    return table
