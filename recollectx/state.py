"""AgentState: what an agent keeps in mind between its steps, as free attributes; nothing of it is stored."""

from collections.abc import Iterable, Mapping
from typing import Any


class AgentState:
    """Attributes of any name. `state.goal = "rest"` sets one; one that was never set raises AttributeError."""

    __slots__ = ("_values",)
    _values: dict[str, Any]

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {})

    def __getattr__(self, name: str) -> Any:
        # "_values" itself is asked for when a state is copied or unpickled, before __init__ has run.
        if name == "_values" or name not in self._values:
            raise AttributeError(f"the state has no {name!r}")
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            raise AttributeError(f"{name!r} is a name of AgentState itself; choose another")
        self._values[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self._values:
            raise AttributeError(f"the state has no {name!r}")
        del self._values[name]

    def __repr__(self) -> str:
        return f"AgentState({self._values!r})"

    def __getstate__(self) -> dict[str, Any]:
        return self.snapshot()

    def __setstate__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def snapshot(self) -> dict[str, Any]:
        """The attributes as they are now; adding to the copy leaves the state alone."""
        return dict(self._values)

    def update(self, data: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Set an attribute for each item, or pair of a name and a value."""
        for name, value in dict(data).items():
            setattr(self, name, value)

    def clear(self) -> None:
        """Forget every attribute."""
        self._values.clear()
