"""bayou for Python: an extension's names inside bayou, and a client for any other program.

    from bayou import ExtensionApi, Tool          the names for extensions, on their first use
    from bayou.client import RpcClient            starts a bayou and controls it
    from bayou.batch import run                   runs many tasks

Importing this package imports nothing else. The program itself lies in `_program`, which is not for importing.
"""

TYPE_CHECKING = False
"""A stand-in for the one of `typing`, whose import would take longer than this module."""
if TYPE_CHECKING:
    from app.extensions.public import *  # noqa: F403  (in a checkout; an installation has `__init__.pyi`)


_MODULES = frozenset(("batch", "client", "extensions", "values"))


def __getattr__(name: str) -> object:
    if name == "__version__":
        from bayou.program import version  # noqa: PLC0415  (on the first use of a name)

        return version()
    if name.startswith("_"):
        raise AttributeError(f"module 'bayou' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  (on the first use of a name)

    if name in _MODULES:
        return import_module(f"bayou.{name}")
    try:
        return getattr(import_module("bayou.extensions"), name)
    except AttributeError:
        raise AttributeError(f"module 'bayou' has no attribute {name!r}; see bayou.extensions") from None


def __dir__() -> list[str]:
    from importlib import import_module  # noqa: PLC0415  (as above)

    names = vars(import_module("bayou.extensions"))
    return sorted(_MODULES.union(name for name in names if not name.startswith("_")))
