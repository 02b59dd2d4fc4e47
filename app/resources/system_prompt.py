"""Builds the system prompt from ordered sections. The same parts always give the same bytes: the prompt adds
no time and no data of the machine.

The caller collects the parts (tools, files, skills); the engine brings a changed prompt into a running
conversation."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from app.resources.context_files import ContextFile
from app.resources.paths import BayouPaths
from app.resources.text_files import read_text
from app.values.user_errors import FileError
from tools.lazy_patterns import lazy_regex

PROMPT_SECTION_NAME_PATTERN = lazy_regex(r"[a-z][a-z0-9_-]*\Z")

SYSTEM_PROMPT_ROLE_TEXT = (
    "You are bayou's agent: you work on the project in the current folder together with the user at the "
    "terminal. Look before you change things, change what was asked for, and check what you did. Your tools "
    "act on the real files and the real shell."
)
_SHELL_USE_GUIDELINE = "Use bash for looking at files too: ls, rg, find."
_CLOSING_PROMPT_GUIDELINES = (
    "Be brief: say what you did and what is left, without repeating what the tools have shown.",
    "Name files by their paths, with line numbers where they help.",
)
_MORE_TOOLS_NOTE = "More tools may be described outside this list."


class PromptToolEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt's description of an active tool."""

    name: str
    snippet: str = ""
    guidelines: tuple[str, ...] = ()


class PromptSkillEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt's line about a skill."""

    name: str
    description: str
    location: str


class PromptRuleEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt's line about a rule in the rulebook."""

    name: str
    description: str
    globs: tuple[str, ...] = ()


class SystemPromptParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that the system prompt is built from."""

    cwd: Path
    tools: tuple[PromptToolEntry, ...] = ()
    guidelines: tuple[str, ...] = ()
    """Additional guidelines that extensions contribute."""
    custom_prompt: str | None = None
    """A text that replaces the sections on role, tools, rules and docs; None: they are used."""
    appended_texts: tuple[str, ...] = ()
    context_files: tuple[ContextFile, ...] = ()
    always_rules: tuple[tuple[str, str], ...] = ()
    """The names and texts of the rules that always apply."""
    rulebook: tuple[PromptRuleEntry, ...] = ()
    skills: tuple[PromptSkillEntry, ...] = ()
    docs_dir: str = ""
    """The folder of bayou's documentation; empty leaves the section out."""
    sections: Mapping[str, str] = {}
    """Sections of extensions, which follow all other sections in this order."""


class SystemPromptSections(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of the prompt. All but `preamble` are enclosed in tags with their names."""

    sections: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return "\n\n".join(
            body if name == "preamble" else f"<{name}>\n{body}\n</{name}>" for name, body in self.sections
        )

    def as_dict(self) -> dict[str, str]:
        return dict(self.sections)


def build_system_prompt(parts: SystemPromptParts) -> SystemPromptSections:
    """Builds the prompt. Pure: the same parts give the same bytes."""
    sections: list[tuple[str, str]] = [
        ("preamble", (parts.custom_prompt or "").strip() or SYSTEM_PROMPT_ROLE_TEXT)
    ]
    if not (parts.custom_prompt and parts.custom_prompt.strip()):
        sections.append(("tools", _tools_section(parts.tools)))
        sections.append(("rules", _guidelines_section(parts)))
        if parts.docs_dir:
            sections.append(("docs", _docs_section(parts.docs_dir)))
    sections.append(("addendum", "\n\n".join(text.strip() for text in parts.appended_texts if text.strip())))
    sections.append(("project_context", _context_section(parts.context_files)))
    sections.append(("project_rules", prompt_rules_section(parts.always_rules, parts.rulebook)))
    sections.append(("skills", _skills_section(parts)))
    sections.append(("cwd", parts.cwd.as_posix()))
    taken = {name for name, body in sections if body}
    for name, body in parts.sections.items():
        if PROMPT_SECTION_NAME_PATTERN.match(name) and name not in taken:
            sections.append((name, body.strip()))
    return SystemPromptSections(sections=tuple((name, body) for name, body in sections if body))


def _tools_section(tools: Sequence[PromptToolEntry]) -> str:
    lines = [f"- {tool.name}: {tool.snippet}" for tool in tools if tool.snippet]
    return "\n".join([*(lines or ["(none)"]), "", _MORE_TOOLS_NOTE])


def _guidelines_section(parts: SystemPromptParts) -> str:
    names = {tool.name for tool in parts.tools}
    rules: list[str] = []
    if names & {"bash", "powershell"} and not names & {"grep", "find", "ls"}:
        rules.append(_SHELL_USE_GUIDELINE)
    for tool in parts.tools:
        rules += tool.guidelines
    rules += parts.guidelines
    rules += _CLOSING_PROMPT_GUIDELINES
    return "\n".join(f"- {rule}" for rule in dict.fromkeys(rule.strip() for rule in rules) if rule)


def _docs_section(folder: str) -> str:
    return (
        f"You are bayou. Its documentation is in {folder} (README.md lists the pages, examples/ has "
        f"extensions): read it only when you are asked about bayou itself or to extend it."
    )


def _context_section(files: Sequence[ContextFile]) -> str:
    if not files:
        return ""
    blocks = [
        f'<project_instructions path="{file.path.as_posix()}">\n{file.text}\n</project_instructions>'
        for file in files
    ]
    intro = "Instructions of the user and of the project, the general ones first:"
    return "\n\n".join([intro, *blocks])


def prompt_rules_section(always: Sequence[tuple[str, str]], rulebook: Sequence[PromptRuleEntry]) -> str:
    """Returns the rules that always apply, followed by those that are read on demand."""
    blocks = [f'<rule name="{_escape_attribute(name)}">\n{text}\n</rule>' for name, text in always]
    if rulebook:
        lines = [
            "More rules. When one applies to what you do, read its text first, with read at rule://NAME:"
        ]
        for rule in rulebook:
            where = f" (files: {', '.join(rule.globs)})" if rule.globs else ""
            lines.append(f"- {rule.name}: {rule.description}{where}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _skills_section(parts: SystemPromptParts) -> str:
    if not parts.skills or not {tool.name for tool in parts.tools} & {"read", "bash"}:
        return ""
    lines = [
        "Skills for particular tasks. When a task matches a description, read the file before you begin:"
    ]
    for skill in parts.skills:
        lines.append(
            f"<skill>\n<name>{_escape_text(skill.name)}</name>\n<description>{_escape_text(skill.description)}</description>\n"
            f"<location>{_escape_text(skill.location)}</location>\n</skill>"
        )
    return "\n".join(lines)


def _escape_text(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _escape_attribute(value: str) -> str:
    return _escape_text(value).replace('"', "&quot;")


class SystemPromptFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of SYSTEM.md and APPEND_SYSTEM.md."""

    system: str | None = None
    append: str | None = None
    problems: tuple[str, ...] = ()


def read_system_prompt_files(paths: BayouPaths, *, is_trusted: bool) -> SystemPromptFiles:
    """Reads the files; the trusted project's take precedence over the agent folder's. Flags override both,
    which the caller applies."""
    problems: list[str] = []

    def first(name: str) -> str | None:
        for folder in (paths.project_dir, paths.agent_dir) if is_trusted else (paths.agent_dir,):
            if problem := paths.symlink_escape(folder / name):
                problems.append(problem)
                continue
            try:
                text = read_text(folder / name)
            except FileError as problem:
                problems.append(str(problem))
                continue
            if text is not None and text.strip():
                return text.strip()
        return None

    return SystemPromptFiles(
        system=first("SYSTEM.md"), append=first("APPEND_SYSTEM.md"), problems=tuple(problems)
    )
