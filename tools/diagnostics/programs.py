"""Which program looks at which files, with which words: those that are known by name, and commands of one's own.

Starting them is `running`'s business.
"""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tools.diagnostics import reading
from tools.files.presence import is_dir, is_file
from tools.patterns import late
from tools.running.own_programs import find_own_program
from tools.searching.globs import path_regex

FILES: Final = "{files}"
"""In a command of one's own: the files that were changed."""
_OWN_FOLDERS: Final = (".venv/bin", "venv/bin", "node_modules/.bin")
_ESLINT_CONFIG: Final = (
    *(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts")),
    *(f".eslintrc{ending}" for ending in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
)
_STARTERS: Final = frozenset(
    {"python", "node", "sh", "bash", "env", "npx", "npm", "pnpm", "yarn", "bunx", "bun", "uv", "uvx"}
    | {"poetry", "run", "exec"}
)
_NOT_TRUSTED: Final = "the folder is not trusted (--approve trusts it for one run)"
_MOST_REFERENCES: Final = 8
_MOST_CONFIG: Final = 256 << 10
_NO_FILES: Final = late(r'"files"\s*:\s*\[\s*\]')
_REFERENCE: Final = late(r'\{\s*"path"\s*:\s*"([^"\\]+)"')


class CannotLook(Exception):
    """A program is not started. `str` says why, for a person."""


class ProgramStart(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a program."""

    name: str
    argv: tuple[str, ...]
    works_in: str
    """Below the folder of the session, without links."""
    read: reading.Reader
    reads_both: bool = False
    """What it says may come on either stream."""
    usual_exits: tuple[int, ...] = (0, 1)
    """With another one it has failed, unless it named problems."""
    given: tuple[str, ...] = ()
    """Files among the words of `argv`, as they stand there."""
    of_text: tuple[str, ...] = ()
    """How it looks at a text that it is handed, where it can: `argv` with the path behind it."""


class LookGround(msgspec.Struct, frozen=True, kw_only=True):
    """Where programs may be looked for."""

    root: str
    """The folder of the session, without links."""
    uses_folder: bool
    """What lies in it may be run, and what runs may be steered by it."""
    environment: Mapping[str, str]


def looks(
    commands: Mapping[str, Sequence[str]], files: Iterable[str], ground: LookGround
) -> dict[str, list[str]]:
    """By command, the files that it is for, relative to the folder."""
    found: dict[str, list[str]] = {}
    patterns = [(path_regex(glob.removeprefix("./")), names) for glob, names in commands.items()]
    for file in files:
        if not file.startswith(ground.root.rstrip("/") + "/"):
            continue
        relative = file[len(ground.root.rstrip("/")) + 1 :]
        if "node_modules" in relative.split("/"):
            continue
        for pattern, names in patterns:
            if pattern.fullmatch(relative):
                for name in names:
                    known = found.setdefault(name, [])
                    if relative not in known:
                        known.append(relative)
    return found


def planned(command: str, files: Sequence[str], ground: LookGround) -> list[ProgramStart]:
    """How a command is started for these files; none where the project has no use for it. Raises `CannotLook`."""
    if command == "ruff":
        return [_ruff(files, ground)]
    if command == "eslint":
        return _eslint(files, ground)
    if command == "tsc":
        return _tsc(files, ground)
    return [_own(command, files, ground)]


def _ruff(files: Sequence[str], ground: LookGround) -> ProgramStart:
    program = _program("ruff", files[0], ground)
    # Without a cache: nothing is left behind in the folder.
    argv = (program, "check", "--output-format=json", "--no-cache", "--force-exclude", "--no-fix")
    return ProgramStart(
        name="ruff",
        argv=(*argv, "--", *files),
        works_in=ground.root,
        read=reading.ruff,
        of_text=(*argv, "-", "--stdin-filename"),
    )


def _eslint(files: Sequence[str], ground: LookGround) -> list[ProgramStart]:
    configured = [file for file in files if _above(file, ground, _has_eslint)]
    if not configured:
        return []
    if not ground.uses_folder:
        raise CannotLook(f"eslint runs what its configuration in this folder says, and {_NOT_TRUSTED}")
    program = _program("eslint", configured[0], ground)
    argv = (program, "--format", "json")
    return [
        ProgramStart(
            name="eslint",
            argv=(*argv, "--", *configured),
            works_in=ground.root,
            read=reading.eslint,
            of_text=(*argv, "--stdin", "--stdin-filename"),
        )
    ]


def _has_eslint(folder: Path) -> bool:
    if any(is_file(folder / name) for name in _ESLINT_CONFIG):
        return True
    return '"eslintConfig"' in _text(folder / "package.json")


def _tsc(files: Sequence[str], ground: LookGround) -> list[ProgramStart]:
    configs: dict[str, list[str]] = {}
    for file in files:
        folder = _above(file, ground, lambda folder: is_file(folder / "tsconfig.json"))
        if folder is not None:
            configs.setdefault(str(folder), []).append(file)
    if configs and not ground.uses_folder:
        # Where it writes what it knows of a project, with `noEmit` too, is the configuration's word.
        raise CannotLook(f"tsc writes where its configuration in this folder says, and {_NOT_TRUSTED}")
    found: list[ProgramStart] = []
    for folder, own in configs.items():
        program = _program("tsc", own[0], ground)
        for project in _projects(Path(folder)):
            found.append(
                ProgramStart(
                    name="tsc",
                    argv=(program, "--noEmit", "--pretty", "false", "-p", project),
                    works_in=folder,
                    read=reading.tsc,
                    reads_both=True,
                    usual_exits=(0, 1, 2),
                )
            )
    return found


def _projects(folder: Path) -> list[str]:
    """Of a configuration that only refers to others, those."""
    text = _text(folder / "tsconfig.json")
    if not _NO_FILES.search(text):
        return ["tsconfig.json"]
    return _REFERENCE.findall(text)[:_MOST_REFERENCES] or ["tsconfig.json"]


def _own(command: str, files: Sequence[str], ground: LookGround) -> ProgramStart:
    if not ground.uses_folder:
        raise CannotLook(f"`{command}` may run what is in this folder, and {_NOT_TRUSTED}")
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise CannotLook(f"`{command}` cannot be read: {problem}") from None
    if not words:
        raise CannotLook("An empty command looks at nothing")
    program = words[0] if "/" in words[0] else _program(words[0], files[0], ground)
    given = [file if not file.startswith("-") else f"./{file}" for file in files]
    argv: list[str] = [program]
    for word in words[1:]:
        argv += given if word == FILES else [word]
    return ProgramStart(
        name=_name(words),
        argv=tuple(argv),
        works_in=ground.root,
        read=reading.lines,
        reads_both=True,
        usual_exits=(0,),
        given=tuple(given) if FILES in words else (),
    )


def _name(words: Sequence[str]) -> str:
    """Of who looks, and not of who starts it."""
    names = [word.rpartition("/")[2] for word in words if not word.startswith(("-", "{"))]
    own = [name for name in names if name.rstrip("0123456789.") not in _STARTERS]
    return (own or names)[0]


def _program(name: str, file: str, ground: LookGround) -> str:
    """The folder's own before the system's, if it may be run. Raises `CannotLook`."""
    if ground.uses_folder:
        for place in _OWN_FOLDERS:
            folder = _above(file, ground, lambda folder, place=place: _is_program(folder / place / name))
            if folder is not None:
                return str(folder / place / name)
        for entry in ground.environment.get("PATH", os.defpath).split(os.pathsep):
            if os.path.isabs(entry) and _is_program(Path(entry) / name):  # noqa: PTH117  (an empty entry is no Path)
                return str(Path(entry) / name)
    else:
        found = find_own_program(name, outside=Path(ground.root), env=ground.environment)
        if found is not None:
            return found
    raise CannotLook(f"{name} is not found")


def _is_program(path: Path) -> bool:
    return is_file(path) and os.access(path, os.X_OK)


def _above(file: str, ground: LookGround, has: Callable[[Path], bool]) -> Path | None:
    """The nearest folder on the way from a file up to that of the session for which it holds."""
    root = Path(ground.root)
    for folder in (root / file).parents:
        if is_dir(folder) and has(folder):
            return folder
        if folder == root:
            return None
    return None


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_CONFIG).decode("utf-8", "replace")
    except OSError:
        return ""
