"""`doctor`: looks a database over and changes no content; says what is wrong with it, if anything is.

The one thing it does is to finish an erasure: it empties the log, which may still hold the words.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection, create_engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import aliased
from sqlalchemy.pool import StaticPool

from recollectx.claims import CURRENT
from recollectx.cli.checks import Finding, content_findings, file_findings
from recollectx.cli.render import plain
from recollectx.cli.terminal import Command, Terminal
from recollectx.db.migrate import HEAD, version
from recollectx.db.tables import ClaimRow, EdgeRow, RevisionRow
from recollectx.edges import Relation
from recollectx.errors import NotFound


@click.command(cls=Command)
@click.pass_context
def doctor(ctx: click.Context) -> None:
    """Look the database over; no content is changed.

    A log that may still hold erased words is emptied, if nobody is reading. Exits with 1 if anything is wrong.
    """
    terminal = ctx.ensure_object(Terminal)
    path = terminal.file
    if path is None or not path.is_file():
        raise NotFound(f"there is no memory at {path or terminal.target}; nothing was looked at")
    findings, holds = examine(path)
    well = all(finding.ok for finding in findings)
    log = path.with_name(path.name + "-wal")
    if well and holds["erased"] and _size(log):
        _empty_log(path)
    # Measured last: what is in the log is copied to the file when the last reader goes.
    holds |= {"file_bytes": _size(path), "log_bytes": _size(log)}
    if "erased" in holds:
        holds["pending"] = bool(holds["erased"] and holds["log_bytes"])
    checks = [{"check": each.check, "ok": each.ok, "detail": each.detail} for each in findings]
    document = {"database": str(path), "ok": well, "checks": checks, **holds}
    terminal.show(document, _drawn(path, findings, holds))
    ctx.exit(0 if well else 1)


def examine(path: Path) -> tuple[list[Finding], dict[str, Any]]:
    """What was found in the file at `path`, and what it holds: nothing if that cannot be read."""
    findings: list[Finding] = []
    holds: dict[str, Any] = {}
    try:
        with _reading(path) as conn:
            findings += file_findings(conn)
            schema = _schema(conn)
            findings.append(schema)
            if schema.ok:
                findings += content_findings(conn)
                holds = _holds(conn)
    except DBAPIError as error:
        findings.append(Finding("readable", False, str(error.orig)))
    return findings, holds


@contextmanager
def _reading(path: Path) -> Iterator[Connection]:
    """One moment of the file, past the engine that recollectx writes with: that one makes and switches things."""
    address = f"{path.resolve().as_uri()}?mode=ro"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, isolation_level=None)

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    try:
        with engine.connect() as conn:
            conn.exec_driver_sql("BEGIN")
            yield conn
    finally:
        engine.dispose()


def _empty_log(path: Path) -> None:
    """Copy the write-ahead log into the file and empty it, unless somebody still reads from it."""
    address = f"{path.resolve().as_uri()}?mode=rw"
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)) as raw,
    ):
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _schema(conn: Connection) -> Finding:
    found = version(conn)
    if found == HEAD:
        return Finding("schema", True, f"version {HEAD}")
    if found is None:
        return Finding("schema", False, "the file holds no memory")
    return Finding("schema", False, f"version {found}, this recollectx has {HEAD}")


def _holds(conn: Connection) -> dict[str, Any]:
    """How many claims of each kind, and how many pairs of current ones contradict each other."""
    kinds = (
        select(ClaimRow.scope, ClaimRow.type, RevisionRow.status, func.count())
        .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
        .where(RevisionRow.tx_to.is_(None), ClaimRow.erased.is_(None))
        .group_by(ClaimRow.scope, ClaimRow.type, RevisionRow.status)
        .order_by(ClaimRow.scope, ClaimRow.type, RevisionRow.status)
    )
    one, other = aliased(RevisionRow), aliased(RevisionRow)
    disputes = (
        select(func.count())
        .select_from(EdgeRow)
        .join(one, one.claim == EdgeRow.src)
        .join(other, other.claim == EdgeRow.dst)
        .where(
            EdgeRow.relation == Relation.CONTRADICTS,
            *(row.tx_to.is_(None) for row in (EdgeRow, one, other)),
            *(row.status.in_(CURRENT) for row in (one, other)),
        )
    )
    erased = select(func.count()).where(ClaimRow.erased.is_not(None))
    return {
        "claims": [
            {"scope": scope, "type": type_, "status": status, "count": count}
            for scope, type_, status, count in conn.execute(kinds)
        ],
        "disputes": conn.execute(disputes).scalar(),
        "erased": conn.execute(erased).scalar(),
    }


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _drawn(path: Path, findings: list[Finding], holds: dict[str, Any]) -> Group:
    marks = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = Text("ok", style="green") if finding.ok else Text("WRONG", style="bold red")
        marks.add_row(mark, finding.check, Text(plain(finding.detail), style="dim" if finding.ok else ""))
    held = Table.grid(padding=(0, 2))
    held.add_column(justify="right")
    for row in holds.get("claims", ()):
        held.add_row(f"{row['count']:,}", plain(row["scope"]), row["type"], row["status"])
    sizes = f"{holds['file_bytes']:,} bytes, log {holds['log_bytes']:,} bytes"
    lines: list[RenderableType] = [Text(f"{plain(str(path))}: {sizes}", style="bold"), marks, Text(""), held]
    if "disputes" in holds:
        lines.append(Text(f"{holds['disputes']:,} disputes, {holds['erased']:,} claims erased"))
    if holds.get("pending"):
        told = (
            "the log may still hold erased words, as somebody is reading; run doctor again once they are done"
        )
        lines.append(Text(told, style="yellow"))
    broken = [finding.check for finding in findings if not finding.ok]
    verdict = f"wrong: {', '.join(broken)}" if broken else "nothing is wrong"
    return Group(*lines, Text(verdict, style="bold red" if broken else "bold green"))
