"""Parts of other people's packages without the rest that these import, of which bayou uses nothing.

Nothing is taken away: whoever asks for the rest gets the real thing, and what is loaded already stays as it is.
"""

import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _PartsAlone(ModuleType):
    """A package whose modules can be imported before it was run itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of every module
            raise AttributeError(name)
        with _one_at_a_time:
            if type(self) is _PartsAlone:
                self.__class__ = ModuleType  # pyright: ignore[reportAttributeAccessIssue]
                assert self.__spec__ is not None
                assert self.__spec__.loader is not None
                self.__spec__.loader.exec_module(self)
        return getattr(self, name)


_one_at_a_time = threading.RLock()


@contextmanager
def unrun(*packages: str) -> Generator[None]:
    """For imports of their modules. They are run when somebody asks one of them for anything else, at once or later."""
    for name in packages:
        if name not in sys.modules and (spec := find_spec(name)) is not None:
            package = module_from_spec(spec)
            package.__class__ = _PartsAlone
            sys.modules[name] = package
            above, _, own = name.rpartition(".")
            if above:
                setattr(sys.modules[above], own, package)
    yield


class _StandIn(type):
    """What stands for one name of a module: called, or asked for what it has, it is the real one."""

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return _real(cls)(*arguments, **named)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of every class
            raise AttributeError(name)
        return getattr(_real(cls), name)

    def __instancecheck__(cls, instance: object) -> bool:
        return cls.__module__ in sys.modules and isinstance(instance, _real(cls))


def _real(stands_for: type) -> Any:
    return getattr(import_module(stands_for.__module__), stands_for.__name__)


@contextmanager
def without(modules: Mapping[str, tuple[str, ...]]) -> Generator[None]:
    """While something is imported that takes these names of these modules. Afterwards the modules can be imported."""
    left_out = {name: names for name, names in modules.items() if name not in sys.modules}
    for name, names in left_out.items():
        stand_in = ModuleType(name)
        for one in names:
            setattr(stand_in, one, _StandIn(one, (), {"__module__": name}))
        sys.modules[name] = stand_in
    try:
        yield
    finally:
        for name in left_out:
            del sys.modules[name]
