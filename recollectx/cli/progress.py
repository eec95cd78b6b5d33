"""A progress bar on stderr for what tells how much of how much is done."""

from collections.abc import Iterator
from contextlib import contextmanager

from recollectx.cli.terminal import Terminal, progress_bar
from recollectx.upkeep.reindexing import Progress


@contextmanager
def progress_told(terminal: Terminal, what: str) -> Iterator[Progress]:
    """What to tell the progress to; nothing is shown unless somebody looks."""
    with progress_bar(terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
