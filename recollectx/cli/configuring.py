"""`config`: what is in force, and where each of it came from."""

from typing import Any

import click
from rich.table import Table
from rich.text import Text

from recollectx.cli.render import plain
from recollectx.cli.terminal import Command, Terminal, pass_terminal
from recollectx.masking import masked


@click.command(cls=Command)
@pass_terminal
def config(terminal: Terminal) -> None:
    """Show every setting in force and where it came from; keys and passwords are not shown.

    Options of the command line count first, then the environment, then the file, then the default.
    """
    chosen = terminal.settings.chosen
    rows = {
        name: {
            "value": masked(terminal.target) if name == "url" else each.shown,
            "from": "the command line" if each.origin == "given" else each.origin,
            "variable": each.setting.variable,
            "help": each.setting.help,
        }
        for name, each in chosen.items()
    }
    terminal.show(rows, _drawn(rows))


def _drawn(rows: dict[str, dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("setting", "value", "from", "variable"):
        table.add_column(name)
    for name, row in rows.items():
        value = "-" if row["value"] is None else plain(str(row["value"]))
        table.add_row(name, value, plain(row["from"]), Text(row["variable"], style="dim"))
    return table
