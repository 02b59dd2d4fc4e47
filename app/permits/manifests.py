"""Which programs a project's own manifests name: what it builds, and what it says that it is worked on with.

From a text to names; a manifest that cannot be read names nothing. Which files there are is the gate's business.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

MOST_BYTES = 1_000_000
"""A longer manifest names nothing."""
_MOST_NAMES = 5_000
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PACKAGE = re.compile(r"(?:@[\w.-]+/)?[\w.-]+")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_VERSION = re.compile(r"v\d+")


def named_in(file: str, text: str) -> frozenset[str]:
    """The programs that a manifest names; `file` is the name of its file."""
    ending = file.rpartition(".")[2]
    read = _READERS.get(file) or _READERS.get(f"*.{ending}")
    if read is None or len(text) > MOST_BYTES:
        return frozenset()
    try:
        found = [name for name in read(text) if _NAME.fullmatch(name)]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return frozenset()
    return frozenset(found[:_MOST_NAMES])


def is_manifest(file: str) -> bool:
    return file in _READERS or f"*.{file.rpartition('.')[2]}" in _READERS


def _package_json(text: str) -> Iterable[str]:
    """What it installs as programs, and the packages that it is worked on with: these are mostly named as theirs."""
    told = msgspec.json.decode(text, type=dict[str, Any])
    programs = told.get("bin")
    if isinstance(programs, str):
        yield str(told.get("name", "")).rpartition("/")[2]
    yield from _keys(programs)
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        for name in filter(_PACKAGE.fullmatch, _keys(told.get(kind))):
            scope, _, short = name.rpartition("/")
            yield from (short, short.removesuffix("-cli"))
            if short == "cli":
                yield scope.removeprefix("@")


def _pyproject(text: str) -> Iterable[str]:
    told = tomllib.loads(text)
    project, tools = _table(told.get("project")), _table(told.get("tool"))
    poetry = _table(tools.get("poetry"))
    for one in (project.get("scripts"), project.get("gui-scripts"), poetry.get("scripts")):
        yield from _keys(one)
    yield from (str(table["name"]) for table in (project, poetry) if "name" in table)
    yield from _requirements(project.get("dependencies"))
    yield from _requirements(_table(told.get("build-system")).get("requires"))
    for groups in (project.get("optional-dependencies"), told.get("dependency-groups")):
        for group in _table(groups).values():
            yield from _requirements(group)
    for table in (poetry, *(_table(group) for group in _table(poetry.get("group")).values())):
        yield from _keys(table.get("dependencies"))
        yield from _keys(table.get("dev-dependencies"))


def _requirements(told: object) -> Iterable[str]:
    for one in _list(told):
        found = _REQUIREMENT.match(one) if isinstance(one, str) else None
        if found:
            yield found[1]


def _requirements_txt(text: str) -> Iterable[str]:
    return _requirements(text.splitlines())


def _setup_cfg(text: str) -> Iterable[str]:
    """`console_scripts` and what it requires: indented lines below a name."""
    kept = ("console_scripts", "gui_scripts", "install_requires", "dev", "test", "tests", "docs")
    wanted = False
    for line in text.splitlines():
        if line[:1].strip():
            wanted = line.partition("=")[0].strip() in kept
        elif wanted:
            yield from _requirements([line])


def _cargo(text: str) -> Iterable[str]:
    told = tomllib.loads(text)
    yield str(_table(told.get("package")).get("name", ""))
    yield from (str(_table(one).get("name", "")) for one in _list(told.get("bin")))


def _go_mod(text: str) -> Iterable[str]:
    """The module's own name, and the tools that it names."""
    for found in re.finditer(r"^(?:module|tool)\s+(\S+)|^\s+(\S+)$", text, re.MULTILINE):
        parts = (found[1] or found[2]).split("/")
        yield parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]


def _composer(text: str) -> Iterable[str]:
    told = msgspec.json.decode(text, type=dict[str, Any])
    programs = told.get("bin")
    for one in [programs] if isinstance(programs, str) else _list(programs):
        yield str(one).rpartition("/")[2]
    for kind in ("require", "require-dev"):
        yield from (name.rpartition("/")[2] for name in _keys(told.get(kind)))


def _gemfile(text: str) -> Iterable[str]:
    return re.findall(r"^\s*gem[ (]+[\"']([\w.-]+)[\"']", text, re.MULTILINE)


def _gemspec(text: str) -> Iterable[str]:
    for found in re.finditer(r"\.(?:name|executables)\s*(?:=|\+=|<<)\s*(.*)|\.add_\w*dependency(.*)", text):
        yield from re.findall(r"[\"']([\w.-]+)[\"']", found[1] or found[2].split(",", 1)[0])
        yield from re.findall(r"%w[\[({]([\w.-]+)", found[1] or "")


def _pubspec(text: str) -> Iterable[str]:
    """`name:`, and what stands below `executables:`."""
    yield from re.findall(r"^name:\s*([\w.-]+)", text, re.MULTILINE)
    below = re.search(r"^executables:\n((?:[ \t]+.*\n?)*)", text, re.MULTILINE)
    yield from re.findall(r"^\s+([\w.-]+):", below[1], re.MULTILINE) if below else ()


def _cabal(text: str) -> Iterable[str]:
    return re.findall(r"^(?:executable|name:)\s+([\w.-]+)", text, re.MULTILINE | re.IGNORECASE)


def _keys(told: object) -> list[str]:
    return list(_table(told))


def _table(told: object) -> dict[str, Any]:
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _list(told: object) -> list[object]:
    return cast("list[object]", told) if isinstance(told, list) else []


_READERS: dict[str, Callable[[str], Iterable[str]]] = {
    "package.json": _package_json,
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "requirements.txt": _requirements_txt,
    "requirements-dev.txt": _requirements_txt,
    "dev-requirements.txt": _requirements_txt,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "composer.json": _composer,
    "Gemfile": _gemfile,
    "pubspec.yaml": _pubspec,
    "*.gemspec": _gemspec,
    "*.cabal": _cabal,
}
