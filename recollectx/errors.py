"""Every error recollectx raises, in one tree; each also is the builtin a caller would expect.

RecollectxError
+-- InvalidClaim (ValueError)         a claim, assertion or edge that cannot be stored as given
+-- InvalidQuery (ValueError)         a question or filter that makes no sense
+-- InvalidSetting (ValueError)       a configuration value out of its range
+-- NotFound (KeyError)               an id that this memory does not hold
+-- CannotUndo (ValueError)           a transaction that cannot be taken back (yet)
+-- ScopeError (PermissionError)      a call that reaches into another scope
+-- TranscriptError (ValueError)      a file or message list that is not a transcript
+-- MissingExtra (ImportError)        an optional package is not installed
+-- DimensionError (ValueError)       a vector of another length than the index holds
+-- ModelMismatch (ValueError)        the memory holds vectors of another embedding model
+-- BackendError (RuntimeError)       an embedder, a vector index or a language model outside failed
|   +-- ModelError                    a call of a language model; `.usage` is what it cost all the same
|       +-- ModelRefused              the model declined to answer
+-- StorageError
    +-- DatabaseBusy (TimeoutError)   another writer held the database past the time-out
    +-- DatabaseTooNew                the file was written by a newer recollectx
    +-- MigrationUnfinished           a database that not everything has been moved to yet
"""

from collections.abc import Mapping


class RecollectxError(Exception):
    """The root: catching it catches everything recollectx raises on purpose."""


class InvalidClaim(RecollectxError, ValueError):
    """A claim, assertion or edge that cannot be stored; the message names the value and the fix."""


class InvalidQuery(RecollectxError, ValueError):
    """A question or a filter that cannot be answered as given."""


class InvalidSetting(RecollectxError, ValueError):
    """A configuration value out of its documented range."""


class NotFound(RecollectxError, KeyError):
    """No claim with this id in the scope that was asked."""

    def __str__(self) -> str:
        """KeyError would print the repr of the message."""
        return str(self.args[0]) if self.args else ""


class CannotUndo(RecollectxError, ValueError):
    """A transaction that cannot be taken back: for good, or before a later one is."""


class ScopeError(RecollectxError, PermissionError):
    """A call that would read or write outside the Memory's scope."""


class TranscriptError(RecollectxError, ValueError):
    """A transcript line or message that cannot be read; the message names its place."""


class MissingExtra(RecollectxError, ImportError):
    """An optional package is missing; the message names the extra to install."""


class DimensionError(RecollectxError, ValueError):
    """A vector of another length than the index holds."""


class ModelMismatch(RecollectxError, ValueError):
    """The memory holds vectors of another embedding model; the message names both and the command that re-embeds."""


class BackendError(RecollectxError, RuntimeError):
    """An embedder, a vector index or a language model outside failed; the claims themselves are safe."""


class ModelError(BackendError):
    """A call of a language model gave nothing to use; the message names provider, model and reason, never a key.

    usage: the tokens that were spent on it, as in LLMResponse, if the service told.
    """

    def __init__(self, message: str, usage: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class ModelRefused(ModelError):
    """The model declined to answer; asking the same again will not help."""


class StorageError(RecollectxError):
    """The database refused or failed; nothing of the call was written."""


class DatabaseBusy(StorageError, TimeoutError):
    """Another writer held the database for longer than the time-out."""


class DatabaseTooNew(StorageError):
    """The database was written by a newer recollectx than this one."""


class MigrationUnfinished(StorageError):
    """Not everything has been moved to the database yet; the message names the command that goes on with it."""
