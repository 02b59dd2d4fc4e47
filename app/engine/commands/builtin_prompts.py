"""Built-in prompts: drafting an AGENTS.md file, reviewing changes."""

import asyncio
import re
from pathlib import Path

from app.engine.commands.review_texts import (
    UNCOMMITTED_CHANGES_PHRASE,
    changed_by_phrase,
    changed_since_phrase,
    code_review_prompt_text,
)
from app.engine.files.changed_symbols import changed_symbols
from app.engine.files.session_files import GitDiffRequest
from app.engine.session import Session
from app.resources.context_files import CONTEXT_FILE_NAMES
from app.undo.change_lists import ChangedFileList
from app.values.user_errors import UserError

_MAX_FILES_LISTED_IN_PROMPT = 200
_GIT_REVISION_PATTERN = re.compile(r"[\w./@^~{}+-]+")
_PROJECT_MANIFESTS = (
    *("pyproject.toml", "setup.py", "requirements.txt", "tox.ini", ".pre-commit-config.yaml"),
    *("package.json", "pnpm-workspace.yaml", "tsconfig.json", "composer.json"),
    *("Cargo.toml", "go.mod", "pom.xml", "build.gradle", "build.gradle.kts", "Gemfile", "mix.exs"),
    *("CMakeLists.txt", "Makefile", "justfile", "Dockerfile", "docker-compose.yml", "compose.yaml"),
)


async def agents_file_prompt(session: Session) -> str:
    """Builds the prompt that asks the model to write or improve AGENTS.md."""
    names = await asyncio.to_thread(_file_names_in, session.cwd)
    there = [name for name in CONTEXT_FILE_NAMES if name in names]
    manifests = [name for name in _PROJECT_MANIFESTS if name in names]
    told = f"Its folder has {', '.join(manifests)}. " if manifests else ""
    if there:
        task = (
            f"Check whether {there[0]} still describes this project and says what an agent needs, and "
            f"correct what does not. Keep what people decided; remove only what is wrong, and say what you "
            f"removed."
        )
    else:
        task = "Write AGENTS.md for this project: what an agent that works here for the first time needs to know."
    return (
        f"{task} {told}Explore before you write: how it is set up, built, checked and tested (try the "
        f"commands that only read), how the code is laid out, the conventions that the code itself shows, "
        f"and what is easy to get wrong here. At most 60 lines; nothing that is true of any project, "
        f"nothing that a look at the folder shows, no praise. Leave out what you cannot find out."
    )


def _file_names_in(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except OSError:
        return set()


async def code_review_prompt(session: Session, what: str) -> str:
    """Builds the review prompt for uncommitted changes, or for the named branch or commit. Raises `UserError`."""
    if what:
        if not _GIT_REVISION_PATTERN.fullmatch(what) or what.startswith("-"):
            raise UserError(
                f"{what} is not the name of a branch or commit. Use /review BRANCH, or /review alone for "
                "uncommitted changes."
            )
        found = await session.files.changes_since(GitDiffRequest(revision=what))
        if not found.files:
            raise UserError(
                f"No differences between {what} and the last commit here. /review NAME reviews another "
                "branch or commit."
            )
        told = changed_since_phrase(what) if found.is_since_merge_base else changed_by_phrase(what)
        return await _review_prompt_text(what, found, told)
    found = await session.files.changes_since(GitDiffRequest())
    if not found.files:
        raise UserError("No uncommitted changes to review. /review NAME reviews a branch or a commit.")
    return await _review_prompt_text("", found, UNCOMMITTED_CHANGES_PHRASE)


async def _review_prompt_text(subject: str, found: ChangedFileList, what: str) -> str:
    """Returns the text of the review prompt. `subject` is the branch or commit; `what` names the changes in words."""
    symbols = await changed_symbols(found)
    shown = [
        f"- {file.path} ({file.deed}, +{file.added} -{file.removed})"
        + (f": {symbols[file.path]}" if file.path in symbols else "")
        for file in found.files[:_MAX_FILES_LISTED_IN_PROMPT]
    ]
    if len(found.files) > _MAX_FILES_LISTED_IN_PROMPT:
        shown.append(f"- and {len(found.files) - _MAX_FILES_LISTED_IN_PROMPT} more")
    listed = "\n".join(shown)
    return code_review_prompt_text(subject, what, listed)
