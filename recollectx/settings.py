"""Settings: what a memory is opened with, from code, the environment and a TOML file, and where each came from.

What is given in code counts first, then the environment, then the file, then the default. A file is TOML with the
names of SETTINGS as keys, at the top or all in a table [recollectx], beside which other programs may have tables of their
own; RECOLLECTX_CONFIG names one if none is given.
"""

import math
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from recollectx.claims import GLOBAL
from recollectx.db.urls import absolute
from recollectx.errors import InvalidSetting
from recollectx.masking import masked

FILE_VARIABLE = "RECOLLECTX_CONFIG"
TABLE = "recollectx"
HIDDEN = "(set, not shown)"
LONGEST_WAIT = 2_000_000
"""Seconds; databases count milliseconds in 32 bits."""
SHOWN_BITS = 64
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set. kind: str, bool, int or float.  least, most: of a number.  objects: code may give
    something else than text, such as an embedder."""

    name: str
    kind: type
    default: Any
    help: str
    variable: str
    least: float = 0
    most: float = math.inf
    secret: bool = False
    objects: bool = False


def _setting(name: str, kind: type, default: Any, help: str, **more: Any) -> Setting:
    return Setting(name, kind, default, help, f"RECOLLECTX_{name.upper()}", **more)


SETTINGS: Mapping[str, Setting] = {
    each.name: each
    for each in (
        Setting("url", str, None, "a path, :memory: or a database URL", "RECOLLECTX_DB", objects=True),
        _setting("scope", str, GLOBAL, "what is read and written"),
        _setting("vectors", str, "exact", "the vector index, by name or URL", objects=True),
        _setting("vectors_api_key", str, None, "the key of its service", secret=True),
        _setting("embedder", str, "auto", "what makes vectors of texts, by name", objects=True),
        _setting("llm", str, None, "a language model that extracts and decides, by name", objects=True),
        _setting("token_vectors", bool, None, "whether to keep a vector of every token"),
        _setting(
            "busy_seconds", float, 30.0, "how long to wait for another process's write", most=LONGEST_WAIT
        ),
        _setting("cache_mb", int, 512, "about how much memory the indexes of all scopes take", least=1),
    )
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The value of one setting and where it came from: "given", a variable, a file or "default"."""

    setting: Setting
    value: Any
    origin: str

    @property
    def shown(self) -> Any:
        """The value as anybody may see it."""
        if self.value is None:
            return None
        if self.setting.secret:
            return HIDDEN
        return masked(self.value) if isinstance(self.value, str) else self.value

    def __repr__(self) -> str:
        return f"Chosen({self.setting.name}={self.shown!r}, origin={self.origin!r})"


class Settings:
    """All settings that are in force, by name."""

    def __init__(self, chosen: Mapping[str, Chosen]) -> None:
        self.chosen = chosen

    def __getitem__(self, name: str) -> Any:
        return self.chosen[name].value

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={each.shown!r}" for name, each in self.chosen.items())
        return f"Settings({shown})"


def settings_from(
    config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    **given: Any,
) -> Settings:
    """The settings in force.

    config: a mapping counts as given in code, a path as the file.  given: single ones, before all others; None is
    not given. Raises InvalidSetting for a name that is none and a value of the wrong kind, saying where it stands.
    """
    in_code: dict[str, Any] = {}
    path = environ.get(FILE_VARIABLE) or None
    if isinstance(config, Mapping):
        in_code = dict(config)
    elif config is not None:
        path = os.fsdecode(config)
    in_code |= {name: value for name, value in given.items() if value is not None}
    in_file = {} if path is None else _read(Path(path))
    for source, where in ((in_code, "the configuration"), (in_file, str(path))):
        for name in source:
            _check_name(name, where)
    return Settings({name: _chosen(each, in_code, environ, in_file, path) for name, each in SETTINGS.items()})


def _chosen(
    setting: Setting,
    in_code: Mapping[str, Any],
    environ: Mapping[str, str],
    in_file: Mapping[str, Any],
    path: str | None,
) -> Chosen:
    if in_code.get(setting.name) is not None:
        return Chosen(setting, _checked(setting, in_code[setting.name], "given"), "given")
    if environ.get(setting.variable):
        value = _parsed(setting, environ[setting.variable])
        return Chosen(setting, _checked(setting, value, setting.variable), setting.variable)
    if setting.name in in_file:
        value = in_file[setting.name]
        if setting.objects and not isinstance(value, str):
            raise InvalidSetting(f"{setting.name} in {path} must be text, got {_told(setting, value)}")
        return Chosen(setting, _checked(setting, value, str(path)), str(path))
    return Chosen(setting, setting.default, "default")


def _check_name(name: str, where: str) -> None:
    if name not in SETTINGS:
        near = get_close_matches(str(name), SETTINGS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(SETTINGS)}"
        raise InvalidSetting(f"{where} has an unknown setting {masked(repr(name))}; {hint}")


def _parsed(setting: Setting, text: str) -> Any:
    """A value as the environment has it, which is always text."""
    if setting.kind is bool:
        folded = text.strip().casefold()
        return True if folded in _TRUE else False if folded in _FALSE else text
    if setting.kind in (int, float):
        try:
            return setting.kind(text)
        except ValueError:
            return text
    return text


def _checked(setting: Setting, value: Any, origin: str) -> Any:
    if setting.kind is str:
        right = bool(value.strip()) if isinstance(value, str) else setting.objects
    elif setting.kind is bool:
        right = isinstance(value, bool)
    else:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        right = number and (setting.kind is float or isinstance(value, int))
        # Larger ones fit no float, which is how they are counted with.
        right = right and abs(value) <= sys.float_info.max
        right = right and setting.least <= value <= setting.most
    if right:
        return value
    kind = {str: "text that is not blank", bool: "true or false", int: "a whole number"}.get(
        setting.kind, "a number"
    )
    least = f" from {setting.least:g}" if setting.kind in (int, float) else ""
    most = f" to {setting.most:.0f}" if math.isfinite(setting.most) else ""
    raise InvalidSetting(
        f"{setting.name} ({origin}) must be {kind}{least}{most}, got {_told(setting, value)}"
    )


def _told(setting: Setting, value: Any) -> str:
    """A value that is refused, as far as it may be shown: what is no single number or text can hold anything."""
    if setting.secret:
        return HIDDEN
    if isinstance(value, int) and value.bit_length() > SHOWN_BITS:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, str | int | float):
        return masked(repr(value))
    return f"a {type(value).__name__}"


def _read(path: Path) -> dict[str, Any]:
    path = absolute(path)
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise InvalidSetting(f"cannot read the settings in {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        # What is no TOML, no UTF-8, a number of too many digits or nested too deep.
        raise InvalidSetting(f"{path} is no TOML that can be read: {error}") from error
    table = found.get(TABLE, found)
    if not isinstance(table, dict):
        raise InvalidSetting(f"[{TABLE}] in {path} must be a table, got a {type(table).__name__}")
    if table is not found:
        for name, value in found.items():
            if not isinstance(value, dict):
                raise InvalidSetting(f"{name!r} stands above [{TABLE}] in {path}; move it below that line")
    return table
