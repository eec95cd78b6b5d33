"""Optional packages: imported where they are needed, with an error that names the extra to install."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from recollectx.errors import MissingExtra


def require(module: str, extra: str) -> ModuleType:
    """The optional `module`; MissingExtra tells how to install it if the package itself is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise MissingExtra(
            f"{top} is not installed; install it with: pip install 'recollectx[{extra}]'", name=top
        ) from None


def available(module: str) -> bool:
    """Whether `module` could be imported, without importing it."""
    return find_spec(module) is not None
