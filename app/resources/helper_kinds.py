"""Kinds of helper agents: built in, and Markdown files with front matter of the user and of trusted projects."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.resources.claude_command_files import command_files
from app.resources.frontmatter import files_with_suffixes, read_markdown_with_frontmatter
from app.resources.paths import BayouPaths
from tools.files.path_existence import is_file
from tools.lazy_patterns import lazy_regex

HELPER_AGENTS_FOLDER_NAME = "agents"
_HELPER_KIND_NAME_PATTERN = lazy_regex(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?\Z")
_MAX_HELPER_DESCRIPTION_CHARS = 300
_MAX_HELPER_KIND_FILES = 100
_TOOL_BY_CLAUDE_NAME: Mapping[str, str] = {
    "glob": "find",
    "multiedit": "edit",
    "webfetch": "web_fetch",
    "websearch": "web_search",
    "shell": "bash",
}
"""bayou's tools by the names that files of other agents use for them, in lower case."""


class HelperAgentKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of helper agent: its purpose, prompt, tools, model and limits."""

    name: str
    description: str
    prompt: str = ""
    """The text that is added to the helper's system prompt."""
    tools: tuple[str, ...] | None = None
    """The names of the helper's tools; None: the tools of the session that starts it."""
    is_read_only: bool = False
    """Whether the helper gets only tools that change nothing."""
    model: str | None = None
    """The helper's model, as on the command line; None: the model of the session that starts it."""
    max_tokens: int | None = None
    """The limits of this kind, if they are lower than the settings'."""
    max_turns: int | None = None
    max_minutes: float | None = None
    max_cost: float | None = None


class HelperAgentKinds(msgspec.Struct, frozen=True, kw_only=True):
    """All kinds of helper agents by name, and the problems of their files."""

    kinds: Mapping[str, HelperAgentKind]
    problems: tuple[str, ...] = ()


BUILT_IN_HELPER_AGENT_KINDS = (
    HelperAgentKind(
        name="scout",
        description="finds where something is and how it works; read-only",
        is_read_only=True,
        prompt="Find what is asked, reading only what is needed. Answer with facts, each with its file and line.",
    ),
    HelperAgentKind(
        name="reviewer",
        description="reviews code or a change; read-only",
        is_read_only=True,
        prompt=(
            "Look for errors that matter: wrong results, lost data, missed cases, broken callers. Verify "
            "each in the "
            "code before you report it. Answer with a list, the worst first, each with file, line and "
            "reason; say so "
            "if you found none."
        ),
    ),
    HelperAgentKind(name="general", description="does a piece of work independently, with your tools"),
)


def find_helper_agent_kinds(
    paths: BayouPaths, *, is_trusted: bool, more: Iterable[Path] = ()
) -> HelperAgentKinds:
    """Reads the kinds of helper agents: those of the project win over the user's, these over those of packages
    (`more`), and these over the built-in ones."""
    kinds = {kind.name: kind for kind in BUILT_IN_HELPER_AGENT_KINDS}
    problems: list[str] = []
    for folder in (*more, *_kind_folders(paths, is_trusted=is_trusted)):
        files = (
            [folder]
            if is_file(folder)
            else [*files_with_suffixes(folder, (".md",), problems), *_kind_files_below(folder)]
        )
        if len(files) > _MAX_HELPER_KIND_FILES:
            problems.append(
                f"{folder} has {len(files)} files; only the first {_MAX_HELPER_KIND_FILES} are read"
            )
        for kind in _read_kinds(files[:_MAX_HELPER_KIND_FILES], problems):
            kinds[kind.name] = kind
    return HelperAgentKinds(kinds=kinds, problems=tuple(problems))


def _kind_folders(paths: BayouPaths, *, is_trusted: bool) -> Iterator[Path]:
    yield paths.home / ".claude" / HELPER_AGENTS_FOLDER_NAME
    yield paths.agent_dir / HELPER_AGENTS_FOLDER_NAME
    if is_trusted:
        yield paths.top / ".claude" / HELPER_AGENTS_FOLDER_NAME
        yield paths.project_dir / HELPER_AGENTS_FOLDER_NAME


def _kind_files_below(folder: Path) -> list[Path]:
    """Returns the Markdown files below a folder that describe helper agents: those with a description, since other
    pages may be there too."""
    found = (path for _, path in command_files(folder) if path.parent != folder)
    documents = ((path, read_markdown_with_frontmatter(path, [])) for path in found)
    return [path for path, document in documents if document is not None and "description" in document.fields]


def _read_kinds(files: Iterable[Path], problems: list[str]) -> Iterator[HelperAgentKind]:
    for path in files:
        document = read_markdown_with_frontmatter(path, problems)
        if document is None:
            continue
        if document.problem:
            problems.append(f"{path}: {document.problem}")
            if "description" not in document.fields or document.fields.get("tools", "") is None:
                continue  # a list of tools that was not read would let it use all
        name = str(document.fields.get("name") or path.stem)
        if not _HELPER_KIND_NAME_PATTERN.match(name):
            problems.append(f"{path}: the name “{name[:60]}” needs letters, digits, - and _ only, at most 64")
            continue
        yield _make_kind(name, document.fields, document.body, path, problems)


def _make_kind(
    name: str, fields: Mapping[str, Any], body: str, path: Path, problems: list[str]
) -> HelperAgentKind:
    limits: dict[str, float | None] = {}
    for key, is_whole in (("tokens", True), ("turns", True), ("minutes", False), ("cost", False)):
        value = fields.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
        if value is not None and (not is_number or (is_whole and not isinstance(value, int))):
            problems.append(f"{path}: {key} must be a number above 0; the setting's limit is used")
        limits[f"max_{key}"] = value if is_number and (not is_whole or isinstance(value, int)) else None
    model = fields.get("model")
    return HelperAgentKind(
        name=name,
        description=" ".join(str(fields.get("description") or "").split())[:_MAX_HELPER_DESCRIPTION_CHARS],
        prompt=body,
        tools=_parse_tools(fields.get("tools")),
        is_read_only=fields.get("readOnly") is True,
        model=str(model) if isinstance(model, str) and model not in ("", "inherit") else None,
        **limits,  # pyright: ignore[reportArgumentType]  (whole numbers where they are wanted)
    )


def _parse_tools(said: Any) -> tuple[str, ...] | None:
    if said is None:
        return None
    names = said if isinstance(said, list) else str(said).split(",")
    found = (str(name).strip() for name in names)
    return tuple(_TOOL_BY_CLAUDE_NAME.get(name.lower(), name.lower()) for name in found if name)
