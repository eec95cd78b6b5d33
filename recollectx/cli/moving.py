"""`migrate`: moves the memory of this run to another database."""

import click
from rich.text import Text

from recollectx.cli.progress import progress_told
from recollectx.cli.render import plain
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.opening import chosen_embedder
from recollectx.storage.vector.named import EXACT
from recollectx.upkeep.migrating import Migrated
from recollectx.upkeep.migrating import migrate as moved


@click.command(cls=Command)
@click.option("--to", "target", metavar="PATH_OR_URL", required=True, help="An empty database.")
@click.option("--restart", is_flag=True, help="Delete what an unfinished run left there, and begin anew.")
@pass_terminal
def migrate(terminal: Terminal, target: str, restart: bool) -> None:
    """Move everything to another database, and compare both at the end.

    Stopped half-way, it goes on where it was when it is run again; until it is finished, the database there is not
    opened as a memory. The memory here is only read and stays. The vector index of this run is fed as well; it is asked
    before anything is moved, and if it fails later, the same once more feeds it.
    """
    named = terminal.settings["vectors"]
    vectors = None if named in (None, EXACT) else named
    with progress_told(terminal, "moving") as progress:
        done = moved(
            terminal.target,
            target,
            vectors=vectors,
            vectors_api_key=terminal.settings["vectors_api_key"],
            embedder=None if vectors is None else chosen_embedder(terminal.settings["embedder"], vectors),
            restart=restart,
            progress=progress,
        )
    document = {
        "from": done.source,
        "to": done.target,
        "rows": done.rows,
        "compared": [{"tx": tx, "claims": claims} for tx, claims in done.moments],
        "resumed": done.resumed,
        "index": done.index,
        "only_fed": done.only_fed,
    }
    terminal.show(document, Text(_told(done)))


def _told(done: Migrated) -> str:
    claims = f"{done.rows['rx_claims']:,} claims and {sum(done.rows.values()):,} rows in all"
    times = ", ".join(str(tx) for tx, _ in done.moments)
    if done.only_fed:
        lines = [f"{plain(done.target)} had everything already: {claims}"]
    else:
        lines = [
            f"moved from {plain(done.source)} to {plain(done.target)}: {claims}",
            f"compared: every row, and what was believed after transactions {times}"
            if times
            else "nothing was held",
        ]
    if done.index is not None:
        lines.append(f"the index {plain(done.index)} has everything")
    return "\n".join(lines)
