"""Decides which program checks which files, with which arguments: known programs by name, and the user's own
commands.

`running` starts them."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tools.diagnostics import output_parsers
from tools.files.path_existence import is_dir, is_file
from tools.lazy_patterns import lazy_regex
from tools.running.programs_outside_project import find_program_outside_project
from tools.searching.path_globs import compile_path_glob

FILES_PLACEHOLDER: Final = "{files}"
"""The placeholder in a user's check command that stands for the changed files."""
_PROJECT_PROGRAM_FOLDERS: Final = (".venv/bin", "venv/bin", "node_modules/.bin")
_ESLINT_CONFIG_NAMES: Final = (
    *(f"eslint.config.{ending}" for ending in ("js", "mjs", "cjs", "ts", "mts", "cts")),
    *(f".eslintrc{ending}" for ending in ("", ".js", ".cjs", ".json", ".yml", ".yaml")),
)
_PROGRAMS_THAT_RUN_OTHERS: Final = frozenset(
    {"python", "node", "sh", "bash", "env", "npx", "npm", "pnpm", "yarn", "bunx", "bun", "uv", "uvx"}
    | {"poetry", "run", "exec"}
)
_UNTRUSTED_FOLDER_REASON: Final = "the folder is not trusted (--approve trusts it for one run)"
_MAX_TSCONFIG_REFERENCES: Final = 8
_MAX_TSCONFIG_BYTES: Final = 256 << 10
_TSCONFIG_WITHOUT_FILES_PATTERN: Final = lazy_regex(r'"files"\s*:\s*\[\s*\]')
_TSCONFIG_REFERENCE_PATTERN: Final = lazy_regex(r'\{\s*"path"\s*:\s*"([^"\\]+)"')


class CannotStartChecker(Exception):
    """Raised with the reason why a linter or type checker is not started, in words for the user."""


class CheckerCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The command line of one linter or type checker, and how its output is read."""

    name: str
    argv: tuple[str, ...]
    folder: str
    """The checker's working directory, below the session's folder, with links resolved."""
    parse_output: output_parsers.ParseCheckerOutput
    reads_both_streams: bool = False
    """Whether problems may appear on either output stream."""
    expected_exit_codes: tuple[int, ...] = (0, 1)
    """The exit codes of a checker that worked; any other code means failure, unless it reported problems."""
    file_arguments: tuple[str, ...] = ()
    """The words of `argv` that are the files to check."""
    stdin_argv: tuple[str, ...] = ()
    """Arguments for checking a text on stdin, if supported; the path is appended."""


class CheckedProjectFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder whose files are checked: whether its programs are trusted, and the environment in which others are
    found."""

    root_folder: str
    """The session's folder, without links."""
    is_folder_trusted: bool
    """Whether programs in the folder may run, and its configuration applies."""
    environment: Mapping[str, str]


def group_files_by_check_command(
    commands: Mapping[str, Sequence[str]], files: Iterable[str], ground: CheckedProjectFolder
) -> dict[str, list[str]]:
    """Returns for each configured check command the files that its glob selects, relative to the folder."""
    found: dict[str, list[str]] = {}
    patterns = [(compile_path_glob(glob.removeprefix("./")), names) for glob, names in commands.items()]
    for file in files:
        if not file.startswith(ground.root_folder.rstrip("/") + "/"):
            continue
        relative = file[len(ground.root_folder.rstrip("/")) + 1 :]
        if "node_modules" in relative.split("/"):
            continue
        for pattern, names in patterns:
            if pattern.fullmatch(relative):
                for name in names:
                    known = found.setdefault(name, [])
                    if relative not in known:
                        known.append(relative)
    return found


def make_checker_commands(
    command: str, files: Sequence[str], ground: CheckedProjectFolder
) -> list[CheckerCommand]:
    """Returns the command lines that check these files with one program; none if the project does not use it. Raises
    `CannotStartChecker`."""
    if command == "ruff":
        return [_make_ruff_command(files, ground)]
    if command == "eslint":
        return _make_eslint_commands(files, ground)
    if command == "tsc":
        return _make_tsc_commands(files, ground)
    return [_make_custom_command(command, files, ground)]


def _make_ruff_command(files: Sequence[str], ground: CheckedProjectFolder) -> CheckerCommand:
    program = _find_program("ruff", files[0], ground)
    # Without a cache, so that no files are left behind in the folder.
    argv = (program, "check", "--output-format=json", "--no-cache", "--force-exclude", "--no-fix")
    return CheckerCommand(
        name="ruff",
        argv=(*argv, "--", *files),
        folder=ground.root_folder,
        parse_output=output_parsers.parse_ruff_output,
        stdin_argv=(*argv, "-", "--stdin-filename"),
    )


def _make_eslint_commands(files: Sequence[str], ground: CheckedProjectFolder) -> list[CheckerCommand]:
    configured_files = [file for file in files if _find_nearest_parent(file, ground, _has_eslint_config)]
    if not configured_files:
        return []
    if not ground.is_folder_trusted:
        raise CannotStartChecker(
            f"eslint runs what its configuration in this folder says, and {_UNTRUSTED_FOLDER_REASON}"
        )
    program = _find_program("eslint", configured_files[0], ground)
    argv = (program, "--format", "json")
    return [
        CheckerCommand(
            name="eslint",
            argv=(*argv, "--", *configured_files),
            folder=ground.root_folder,
            parse_output=output_parsers.parse_eslint_output,
            stdin_argv=(*argv, "--stdin", "--stdin-filename"),
        )
    ]


def _has_eslint_config(folder: Path) -> bool:
    if any(is_file(folder / name) for name in _ESLINT_CONFIG_NAMES):
        return True
    return '"eslintConfig"' in _read_small_text(folder / "package.json")


def _make_tsc_commands(files: Sequence[str], ground: CheckedProjectFolder) -> list[CheckerCommand]:
    configs: dict[str, list[str]] = {}
    for file in files:
        folder = _find_nearest_parent(file, ground, lambda folder: is_file(folder / "tsconfig.json"))
        if folder is not None:
            configs.setdefault(str(folder), []).append(file)
    if configs and not ground.is_folder_trusted:
        # The configuration decides where build information is written, even with `noEmit`.
        raise CannotStartChecker(
            f"tsc writes where its configuration in this folder says, and {_UNTRUSTED_FOLDER_REASON}"
        )
    found: list[CheckerCommand] = []
    for folder, own in configs.items():
        program = _find_program("tsc", own[0], ground)
        for project in _read_referenced_projects(Path(folder)):
            found.append(
                CheckerCommand(
                    name="tsc",
                    argv=(program, "--noEmit", "--pretty", "false", "-p", project),
                    folder=folder,
                    parse_output=output_parsers.parse_tsc_output,
                    reads_both_streams=True,
                    expected_exit_codes=(0, 1, 2),
                )
            )
    return found


def _read_referenced_projects(folder: Path) -> list[str]:
    """Returns the projects that a TypeScript configuration refers to, if it does nothing else."""
    text = _read_small_text(folder / "tsconfig.json")
    if not _TSCONFIG_WITHOUT_FILES_PATTERN.search(text):
        return ["tsconfig.json"]
    return _TSCONFIG_REFERENCE_PATTERN.findall(text)[:_MAX_TSCONFIG_REFERENCES] or ["tsconfig.json"]


def _make_custom_command(command: str, files: Sequence[str], ground: CheckedProjectFolder) -> CheckerCommand:
    if not ground.is_folder_trusted:
        raise CannotStartChecker(
            f"`{command}` may run what is in this folder, and {_UNTRUSTED_FOLDER_REASON}"
        )
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise CannotStartChecker(f"`{command}` cannot be read: {problem}") from None
    if not words:
        raise CannotStartChecker("An empty command looks at nothing")
    program = words[0] if "/" in words[0] else _find_program(words[0], files[0], ground)
    given = [file if not file.startswith("-") else f"./{file}" for file in files]
    argv: list[str] = [program]
    for word in words[1:]:
        argv += given if word == FILES_PLACEHOLDER else [word]
    return CheckerCommand(
        name=_checker_name(words),
        argv=tuple(argv),
        folder=ground.root_folder,
        parse_output=output_parsers.parse_problem_lines,
        reads_both_streams=True,
        expected_exit_codes=(0,),
        file_arguments=tuple(given) if FILES_PLACEHOLDER in words else (),
    )


def _checker_name(words: Sequence[str]) -> str:
    """Returns the name of the program that checks, without a runner such as `npx` before it."""
    names = [word.rpartition("/")[2] for word in words if not word.startswith(("-", "{"))]
    own = [name for name in names if name.rstrip("0123456789.") not in _PROGRAMS_THAT_RUN_OTHERS]
    return (own or names)[0]


def _find_program(name: str, file: str, ground: CheckedProjectFolder) -> str:
    """Finds a checking program in the project folder, if that is trusted, otherwise in the system. Raises
    `CannotStartChecker`."""
    if ground.is_folder_trusted:
        for place in _PROJECT_PROGRAM_FOLDERS:
            folder = _find_nearest_parent(
                file, ground, lambda folder, place=place: _is_executable_file(folder / place / name)
            )
            if folder is not None:
                return str(folder / place / name)
        for entry in ground.environment.get("PATH", os.defpath).split(os.pathsep):
            if os.path.isabs(entry) and _is_executable_file(Path(entry) / name):  # noqa: PTH117  (an empty entry is no Path)
                return str(Path(entry) / name)
    else:
        found = find_program_outside_project(name, outside=Path(ground.root_folder), env=ground.environment)
        if found is not None:
            return found
    raise CannotStartChecker(f"{name} is not found")


def _is_executable_file(path: Path) -> bool:
    return is_file(path) and os.access(path, os.X_OK)


def _find_nearest_parent(file: str, ground: CheckedProjectFolder, has: Callable[[Path], bool]) -> Path | None:
    """Returns the nearest parent folder of a file, up to the session's folder, that fulfils the condition `has`."""
    root = Path(ground.root_folder)
    for folder in (root / file).parents:
        if is_dir(folder) and has(folder):
            return folder
        if folder == root:
            return None
    return None


def _read_small_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_TSCONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
