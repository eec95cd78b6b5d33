"""`reindex`: feeds the vector index of this run anew."""

import click
from rich.text import Text

from recollectx.cli.progress import progress_told
from recollectx.cli.render import plain
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.upkeep.reindexing import reindex as fed_anew


@click.command(cls=Command)
@click.option(
    "--take-over", is_flag=True, help="Also an index that another memory feeds; what it holds is lost."
)
@pass_terminal
def reindex(terminal: Terminal, take_over: bool) -> None:
    """Empty the vector index that is configured, and feed it again from the database.

    Stopped half-way, it goes on where it was when it is run again. Claims are found all the while.
    """
    with terminal.open() as memory, progress_told(terminal, "feeding") as progress:
        done = fed_anew(memory.storage, take_over=take_over, progress=progress)
    document = {
        "index": done.index,
        "vectors": done.vectors,
        "scopes": done.scopes,
        "resumed": done.resumed,
    }
    how = "fed on from where it had stopped" if done.resumed else "emptied and fed anew"
    told = f"{plain(done.index)} was {how}; it holds {done.vectors:,} vectors in {done.scopes:,} scopes"
    terminal.show(document, Text(told))
