"""Looking a memory over, and mending what is wrong with it.

A broken file is told of as it is (see recollectx.upkeep.looking); a server's database and a vector index are asked as
always. Nothing is changed unless it is mended, and no memory is made where there is none.
"""

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from recollectx.db.engine import MEMORY, Database, resolve_url
from recollectx.db.migrate import HEAD, version
from recollectx.db.urls import place_of
from recollectx.embeddings.base import Embedder
from recollectx.errors import NotFound, RecollectxError
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.text import TextProtocol, is_text_backend
from recollectx.upkeep.checks import content_findings, file_findings, server_findings
from recollectx.upkeep.findings import Examined, Finding
from recollectx.upkeep.holding import held, sizes
from recollectx.upkeep.indexes import SHOWING, index_findings, index_of, reading_feed
from recollectx.upkeep.looking import file_of, holds_memory, looked_at, require_memory
from recollectx.upkeep.mending import Mended, mend
from recollectx.upkeep.reindexing import PATIENCE, Progress

ROUNDS = 3
"""How often what is mended is looked at again: one thing put right may bring another to light."""

Index = VectorBackend | TextProtocol | str | None


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was wrong, what was done about it, what could not be done and why, and what is still wrong."""

    before: Examined
    done: tuple[str, ...]
    failed: tuple[str, ...]
    after: Examined


def examine(
    target: str | os.PathLike[str] | URL,
    *,
    vectors: Index = None,
    vectors_api_key: str | None = None,
    embedder: Embedder | None = None,
    showing: float = SHOWING,
) -> Examined:
    """What is found in the memory at a path or URL, and in its vector index; nothing is changed.

    vectors, vectors_api_key, embedder: as MemoryStore takes them.  showing: how many seconds the index of a service may
    take to show what it has; before that nothing counts as a gap.
    Raises NotFound if there is no such file, StorageError if a server cannot be asked.
    """
    url = resolve_url(target)
    path = _file(url)
    findings: list[Finding] = []
    holds: dict[str, Any] = {}
    try:
        with looked_at(url) as conn:
            findings += _OF_A_SERVER if path is None else file_findings(conn)
            findings.append(schema := _schema(conn))
            if schema.ok:
                findings += server_findings(conn) if path is None else ()
                findings += content_findings(conn)
                holds = held(conn)
    except DBAPIError as error:
        findings.append(Finding("readable", False, str(error.orig)))
    if vectors is not None:
        findings += _of_index(
            url, vectors, findings, embedder=embedder, api_key=vectors_api_key, showing=showing
        )
    if path is not None:
        # Measured last: what is in the log is copied to the file when the last reader goes.
        holds |= sizes(path, holds)
    return Examined(str(path or place_of(url)), tuple(findings), holds)


_OF_A_SERVER = tuple(
    Finding(check, True, "the server's own affair") for check in ("integrity", "journal mode")
)


def repair(
    target: str | os.PathLike[str] | URL,
    *,
    vectors: Index = None,
    vectors_api_key: str | None = None,
    embedder: Embedder | None = None,
    progress: Progress = lambda done, total: None,
    patience: float = PATIENCE,
    showing: float = SHOWING,
) -> Repaired:
    """Mend what `examine` finds, as far as it can be, and finish a pending erasure.

    vectors, vectors_api_key: as MemoryStore takes them.  embedder: makes vectors that are missing.  patience: how many
    seconds an index may take nothing.  showing: as `examine` takes it.
    Raises NotFound where there is no memory; none is made.
    """
    given: Any = {"vectors": vectors, "vectors_api_key": vectors_api_key, "embedder": embedder}
    before = after = examine(target, **given, showing=showing)
    require_memory(target)
    total = Mended()
    for _ in range(ROUNDS):
        known = after.wrong
        try:
            with closing(MemoryStore(target, **given)) as store:
                outcome = mend(store, known, progress=progress, patience=patience)
        except (RecollectxError, DBAPIError) as error:
            outcome = Mended(failed=[f"it cannot be opened to be mended: {error}"])
        total = Mended(total.done + outcome.done, outcome.failed)
        after = examine(target, **given, showing=showing)
        if after.well or after.wrong == known:
            break
    gone = set(before.wrong) - set(after.wrong)
    total.done += [f"{name}: {told}" for name, told in _BY_OPENING.items() if name in gone]
    total.failed += [f"{name}: {_BEYOND[name]}" for name in after.wrong if name in _BEYOND]
    return Repaired(before, tuple(total.done), tuple(dict.fromkeys(total.failed)), after)


_BEYOND = {
    "readable": "a table is lost or torn; go back to a copy of the database",
    "integrity": "a table is torn; go back to a copy of the file, or save what can be read with sqlite3's .recover",
    "schema": "it takes another recollectx, or a copy of the database",
    "text": "their words are lost; erase these claims, and say again what they said",
    "foreign keys": "what they point to is lost",
}
_BY_OPENING = {"schema": f"brought to version {HEAD}", "journal mode": "set to a write-ahead log"}


def finish_erasure(found: Examined) -> Examined:
    """Empty the log of a file, which may still hold erased words, unless somebody still reads from it."""
    path = Path(found.place)
    address = f"{path.resolve().as_uri()}?mode=rw"
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=0)) as raw,
    ):
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return replace(found, holds=found.holds | sizes(path, found.holds))


def _file(url: URL) -> Path | None:
    """The file that a URL names, None for a server's database. Raises NotFound if there is none."""
    if url.database == MEMORY:
        raise NotFound("a memory in memory is only seen by the process that made it; nothing was looked at")
    path = file_of(url)
    if path is not None and not path.is_file():
        raise NotFound(f"there is no memory at {path}; nothing was looked at")
    return path


def _of_index(
    url: URL,
    vectors: Any,
    findings: list[Finding],
    *,
    embedder: Embedder | None,
    api_key: str | None,
    showing: float,
) -> list[Finding]:
    if is_text_backend(vectors):
        return [Finding("index", True, "embeds on its own side; what it holds cannot be listed")]
    asked = {"integrity", "journal mode", "schema", "readable"}
    if any(not each.ok for each in findings if each.check in asked):
        return [Finding("index", True, "not looked at before the database can be read as it should")]
    try:
        with index_of(url, vectors, embedder, api_key) as backend:
            return [] if backend is None else _compared(url, backend, showing)
    except RecollectxError as error:
        return [Finding("index", False, str(error))]


def _compared(url: URL, backend: VectorBackend, showing: float) -> list[Finding]:
    database = Database.open(url)
    try:
        return list(index_findings(database, reading_feed(database, backend), showing=showing))
    finally:
        database.close()


def _schema(conn: Connection) -> Finding:
    found = version(conn)
    if found == HEAD:
        return Finding("schema", True, f"version {HEAD}")
    if found is None:
        told = "the database holds no memory; `recollectx init` makes one"
        if holds_memory(conn):
            told = (
                "tables without a version; if they are 0.2.7's, they are moved in when the memory is opened"
            )
        return Finding("schema", False, told)
    return Finding("schema", False, f"version {found}, this recollectx has {HEAD}")
