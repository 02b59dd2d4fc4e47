"""Implements `bayou map FOLDER`: prints the map of a repository, a folder of it, or a task. Waits for the
index, unlike a session."""

import os
import sys
from pathlib import Path
from typing import Any

from app.assembly.command_line_options import UsageError
from app.assembly.repo_map_source import hidden_file_patterns
from app.cli.commands.folder_settings_and_rules import folder_settings_and_rules
from app.cli.commands.map_command import MapCommandArguments
from app.printing import print_json, print_line, print_problem
from app.resources.paths import BayouPaths
from app.resources.trust.project_trust import decide_project_trust
from tools.repomap.index.file_hiding_rules import FileHidingRules
from tools.repomap.index.index_updates import IndexProgress
from tools.repomap.index.repository_index import RepositoryIndex, delete_index
from tools.repomap.map_answer_texts import format_map_answer
from tools.repomap.mapped_repository import MappedRepository, RepositoryMapAnswer, find_repository_root
from tools.repomap.repository_map_rendering import DEFAULT_MAP_TOKENS
from tools.text_sanitizing import one_line


def run_folder_map(folder: Path, asked: MapCommandArguments, cache: Path) -> int:
    if asked.level is not None:
        raise UsageError(f"{folder} is a folder; --level is only for files.")
    place = Path(os.path.realpath(folder))
    paths = BayouPaths.from_env(os.environ, place)
    repository = MappedRepository(
        find_repository_root(place),
        cache,
        asks_git_at_home=lambda: _home_for_git(paths),
        hidden=lambda: _hidden_files(paths, place),
        begins_at=place,
    )
    if asked.forget:
        delete_index(repository.index)
        return 0
    progress = _ProgressLine()
    needs_outlines = asked.about is None or asked.index
    problem = repository.complete_index(progress=progress.show, with_outlines=needs_outlines)
    progress.end()
    below = os.path.relpath(place, os.path.realpath(repository.root))
    below = "" if below == "." else below
    if asked.index:
        return _print_index_state(repository, problem)
    tokens = asked.tokens or DEFAULT_MAP_TOKENS
    if asked.about is not None:
        answer = repository.map_files_for_task(asked.about, below=below, tokens=tokens)
    else:
        answer = repository.map_folder(below, tokens=tokens)
    if problem:
        print_problem(problem)
    if asked.is_json:
        print_json(_map_data(answer))
    else:
        print_line(format_map_answer(answer, is_question=asked.about is not None))
    return 0


def _hidden_files(paths: BayouPaths, place: Path) -> FileHidingRules:
    """Returns the hidden files. Rules name paths relative to the working folder, so both this folder and the
    mapped one are used."""
    rules = folder_settings_and_rules(paths).rules.rules
    return FileHidingRules(
        tuple(form for one in (place, Path.cwd()) for form in hidden_file_patterns(rules, one, paths.home))
    )


def _map_data(answer: RepositoryMapAnswer) -> dict[str, Any]:
    files: list[dict[str, Any]] = [
        {
            "path": file.path,
            "symbols": [
                {
                    "name": symbol.name,
                    "kind": symbol.kind,
                    "startLine": symbol.start_line,
                    "endLine": symbol.end_line,
                }
                for symbol in file.symbols
            ],
        }
        for file in answer.ranked_map.files
    ]
    return {
        "files": files,
        "tokens": answer.ranked_map.tokens,
        "indexed": answer.index_state.indexed_count,
        "missing": answer.index_state.missing_count,
    }


def _print_index_state(repository: MappedRepository, problem: str) -> int:
    if problem:
        print_problem(problem)
        return 1
    size = sum(path.stat().st_size for path in repository.index.parent.glob(f"{repository.index.name}*"))
    with RepositoryIndex(repository.index) as store:
        languages = ", ".join(
            f"{name or 'unknown'} {count:,}" for name, count in store.indexed_languages()[:8]
        )
        print_line(f"{repository.root}: {store.count_files():,} files, {size / 1e6:.1f} MB\n{languages}")
        if reasons := ", ".join(f"{reason} {count:,}" for reason, count in store.path_only_reasons()):
            print_line(f"indexed by path only: {reasons}")
        if closed := store.get_index_property("unreadable"):
            print_line(f"unreadable folders: {one_line(closed)}")
    return 0


def _home_for_git(paths: BayouPaths) -> Path | None:
    """Returns the home folder for git commands if the folder is trusted or has nothing to trust: only then
    git reads its history."""
    decision = decide_project_trust(paths)
    return paths.home if decision.is_trusted or decision.question.is_empty else None


class _ProgressLine:
    """Shows progress as a line on a terminal, after a moment; elsewhere nothing."""

    def __init__(self) -> None:
        self._is_shown = False

    def show(self, progress: IndexProgress) -> None:
        if sys.stderr.isatty() and progress.done_files < progress.total_files:
            self._is_shown = True
            sys.stderr.write(f"\rindexing {progress.done_files:,}/{progress.total_files:,} ")
            sys.stderr.flush()

    def end(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
