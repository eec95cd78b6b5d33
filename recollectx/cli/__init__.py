"""The command line: a Memory for a person at a terminal, and for scripts through --json."""

from recollectx.cli.app import main

__all__ = ["main"]
