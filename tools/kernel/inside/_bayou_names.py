"""Inspects the names that Python cells defined: lists them with types, completes them, and finds the tasks that a name
refers to."""
# pyright: basic

import builtins
import keyword
from types import ModuleType

import _bayou_shown

_MAX_LISTED_KERNEL_NAMES = 500
_MAX_KERNEL_COMPLETIONS = 200
_TYPES_WITH_HARMLESS_REPR = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    list,
    tuple,
    dict,
    set,
    frozenset,
    range,
    type(None),
)


def list_kernel_names(space, given):
    found = []
    for name, value in list(space.items()):
        if name.startswith("_") or given.get(name) is value:
            continue
        found.append({"name": name, "type": _type_of(value), "value": _describe_value(value)})
        if len(found) == _MAX_LISTED_KERNEL_NAMES:
            break
    return found


def _type_of(value):
    kind = type(value)
    module = getattr(kind, "__module__", "")
    name = getattr(kind, "__qualname__", "?")
    return name if module in ("builtins", "__main__") else f"{module.partition('.')[0]}.{name}"


def _describe_value(value):
    """Describes a value of the kernel's namespace without running code of the cells."""
    kind = type(value)
    if kind in _TYPES_WITH_HARMLESS_REPR:
        size = f"{len(value)} items" if kind in (list, tuple, dict, set, frozenset) and len(value) > 8 else ""
        return size or _bayou_shown.bounded_repr(value, 80)
    if kind is ModuleType:
        return value.__name__
    shape = vars(kind).get("shape")
    if shape is not None:
        try:
            return " x ".join(str(int(side)) for side in value.shape)
        except Exception:  # noqa: BLE001  (a library may raise anything)
            return ""
    return ""


def complete_kernel_name(space, text):
    """Returns completions of a text in the kernel's namespace: plain names, or attributes behind the last dot."""
    path, dot, beginning = text.rpartition(".")
    if not dot:
        names = {*space, *vars(builtins), *keyword.kwlist}
    else:
        first, *rest = path.split(".")
        if first in space:
            value = space[first]
        elif hasattr(builtins, first):
            value = getattr(builtins, first)
        else:
            return []
        for name in rest:
            value = getattr(value, name, None)
            if value is None:
                return []
        names = set(dir(value))
    fitting = [name for name in names if isinstance(name, str) and name.startswith(beginning)]
    if not beginning.startswith("_"):
        fitting = [name for name in fitting if not name.startswith("_")]
    fitting.sort(key=lambda name: (name not in space, name.lower()))
    return [path + dot + name for name in fitting[:_MAX_KERNEL_COMPLETIONS]]


def find_tasks_in_value(values, tasks):
    """Returns the tasks that a name refers to, directly or in a list, tuple, set or dict."""
    wanted = set(map(id, tasks))
    found = set()
    for value in list(values):
        if id(value) in wanted:
            found.add(id(value))
        elif type(value) in (list, tuple, set, frozenset):
            found.update(wanted.intersection(map(id, value)))
        elif type(value) is dict:
            found.update(wanted.intersection(map(id, value.values())))
    return [task for task in tasks if id(task) in found]
