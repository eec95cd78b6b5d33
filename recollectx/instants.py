"""Time at the border: floats, datetimes and ISO strings in, seconds or microseconds since 1970 UTC out.

Naive datetimes and strings without an offset mean UTC, everywhere.
"""

from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Instant: TypeAlias = float | datetime | str

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_EARLIEST, _LATEST = -62_135_596_800.0, 253_402_300_800.0


def to_seconds(value: Instant, name: str = "time") -> float:
    """Seconds since 1970 UTC. Raises ValueError that names `name` for anything outside years 1 to 9999."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(
                f"{name} {value!r} is no ISO 8601 time; write it like 2024-05-31T18:00:00Z"
            ) from None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return ((aware - _EPOCH) // _MICROSECOND) / 1e6
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be seconds since 1970, a datetime or an ISO string, got {value!r}")
    if not _EARLIEST <= value < _LATEST:
        raise ValueError(f"{name} {value!r} is outside the years 1 to 9999; give seconds since 1970")
    return float(value)


def to_micros(value: Instant, name: str = "time") -> int:
    """Whole microseconds since 1970 UTC: how time is stored."""
    if type(value) is float and _EARLIEST <= value < _LATEST:
        return round(value * 1_000_000)
    return round(to_seconds(value, name) * 1_000_000)


def from_micros(micros: int) -> float:
    """Seconds since 1970 UTC of a stored instant."""
    return micros / 1_000_000


def iso(seconds: float) -> str:
    """ISO 8601 in UTC to the second, for people and JSON."""
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
