"""What looking a memory over comes to: findings by name, with ids and counts and never a word of what is held."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

NAMED = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. detail: what is wrong, or what was measured."""

    check: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found at `place`, and what it holds: nothing if that cannot be read.

    holds: claims by scope, type and status; disputes; erased; for a file the bytes of it and of its log, and whether
    erased words may be left there (pending).
    """

    place: str
    findings: tuple[Finding, ...]
    holds: dict[str, Any] = field(default_factory=dict)

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        return all(finding.ok for finding in self.findings)

    @property
    def wrong(self) -> tuple[str, ...]:
        """The names of the checks that found something."""
        return tuple(finding.check for finding in self.findings if not finding.ok)


def listed(names: Sequence[Any]) -> str:
    """The first few of some ids."""
    return ", ".join(str(name) for name in names[:NAMED]) + (", …" if len(names) > NAMED else "")


def finding_of(check: str, found: Iterable[Any], what: str, *, well: str = "") -> Finding:
    """A finding that is fine if nothing was found. what: in words, after the count.  well: the detail if it is."""
    names = list(found)
    if not names:
        return Finding(check, True, well)
    return Finding(check, False, f"{len(names):,} {what}: {listed(names)}")
