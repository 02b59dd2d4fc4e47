"""Prompt templates: Markdown files that the user inserts with `/name arguments`."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from app.resources.claude_command_files import (
    CLAUDE_COMMANDS_FOLDER,
    CommandAllowedTools,
    command_files,
    read_allowed_tools,
)
from app.resources.frontmatter import files_with_suffixes, read_markdown_with_frontmatter
from app.resources.paths import BayouPaths
from app.resources.plugin_folder import PluginFolder
from tools.files.path_existence import is_file
from tools.lazy_patterns import lazy_regex


class PromptTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt template: its name, its text with placeholders and its description."""

    name: str
    """The template's name: its file's name without `.md`; for a command in folders `folder:name`."""
    path: Path
    body: str
    description: str = ""
    argument_hint: str = ""
    is_command: bool = False
    """Whether the template is a command of `.claude/commands`, which may run shell commands and name files."""
    allowed_tools: CommandAllowedTools | None = None
    """For a command, the only tools that may change or run anything in the run that it begins; None: no limit."""
    model: str = ""
    """For a command, the model of the run that it begins; empty: the session's model."""

    def expand(self, arguments: str) -> str:
        return substitute_placeholders(self.body, split_template_arguments(arguments))


class PromptTemplates(msgspec.Struct, frozen=True, kw_only=True):
    """The templates that were found, and the problems of unreadable files."""

    templates: tuple[PromptTemplate, ...] = ()
    problems: tuple[str, ...] = ()

    def find_template(self, name: str) -> PromptTemplate | None:
        """Returns the template of that name; the last part of a name in folders is enough if it is the only
        one."""
        found = next((template for template in self.templates if template.name == name), None)
        if found is not None:
            return found
        nested = [one for one in self.templates if one.name.rpartition(":")[2] == name]
        return nested[0] if len(nested) == 1 else None

    def template_called_by(self, text: str) -> tuple[PromptTemplate, str] | None:
        """Returns the template and the arguments of `/name arguments`."""
        name, arguments = _split_command(text)
        template = self.find_template(name) if name else None
        return None if template is None else (template, arguments)

    def expand(self, text: str) -> str | None:
        """Returns the prompt for `/name arguments`, or None if no template has that name."""
        called = self.template_called_by(text)
        return called[0].expand(called[1]) if called else None


def find_prompt_templates(
    paths: BayouPaths,
    *,
    is_trusted: bool,
    more: Iterable[Path] = (),
    commands: Iterable[tuple[PluginFolder, Path]] = (),
) -> PromptTemplates:
    """Finds the templates of the trusted project, then of the agent folder, then from settings, packages and
    flags, then the commands of the trusted project, of the home and of packages, whose names begin with the
    package's; of several with one name, the first is used."""
    places = [paths.project_dir / "prompts"] if is_trusted else []
    places += [paths.agent_dir / "prompts", *more]
    found: dict[str, PromptTemplate] = {}
    problems: list[str] = []
    files = [
        (path.stem, path, False)
        for place in places
        for path in ([place] if is_file(place) else files_with_suffixes(place, (".md",), problems))
    ]
    folders = [paths.cwd, paths.home] if is_trusted and paths.cwd != paths.home else [paths.home]
    for folder in folders:
        files += [(name, path, True) for name, path in command_files(folder / CLAUDE_COMMANDS_FOLDER)]
    plugins: dict[str, PluginFolder] = {}
    for plugin, place in commands:
        found_there = [(place.stem, place)] if is_file(place) else command_files(place)
        files += [(f"{plugin.name}:{name}", path, True) for name, path in found_there]
        plugins |= {f"{plugin.name}:{name}": plugin for name, _ in found_there}
    for name, path, is_command in files:
        if problem := paths.symlink_escape(path):
            problems.append(problem)
            continue
        template = _read_template(path, name, is_command, problems)
        if template is None:
            continue
        if template.name in found:
            first = found[template.name].path
            problems.append(f"{path}: /{template.name} is already defined by {first}, which is used")
            continue
        if name in plugins:
            template = msgspec.structs.replace(template, body=plugins[name].expand(template.body))
        found[template.name] = template
    return PromptTemplates(templates=tuple(found.values()), problems=tuple(problems))


def _read_template(path: Path, name: str, is_command: bool, problems: list[str]) -> PromptTemplate | None:
    document = read_markdown_with_frontmatter(path, problems)
    if document is None:
        return None
    if document.problem:
        problems.append(f"{path}: {document.problem}")
    description = document.fields.get("description")
    hint, model = document.fields.get("argument-hint"), document.fields.get("model")
    return PromptTemplate(
        name=name,
        path=path,
        body=document.body,
        description=str(description) if description else _first_line(document.body),
        argument_hint=str(hint) if isinstance(hint, str | list) and hint else "",
        is_command=is_command,
        allowed_tools=read_allowed_tools(document.fields.get("allowed-tools")) if is_command else None,
        model=model if is_command and isinstance(model, str) and model != "inherit" else "",
    )


def _first_line(body: str) -> str:
    line = next((line.strip() for line in body.splitlines() if line.strip()), "").lstrip("# ")
    return line if len(line) <= 60 else line[:59] + "…"


def _split_command(text: str) -> tuple[str, str]:
    match = re.match(r"/(\S+)\s*(.*)\Z", text.strip(), re.DOTALL)
    return (match[1], match[2]) if match else ("", "")


def split_template_arguments(text: str) -> tuple[str, ...]:
    """Splits text into words. A quote has its meaning only at the start of an argument, so that `don't` stays
    one word."""
    words: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if text[at] in "\"'":
            end = text.find(text[at], at + 1)
            if end > 0:
                words.append(text[at + 1 : end])
                at = end + 1
                continue
        match = re.compile(r"\S+").match(text, at)
        assert match is not None  # it does not begin with white space
        words.append(match.group())
        at = match.end()
    return tuple(words)


_TEMPLATE_PLACEHOLDER_PATTERN = lazy_regex(
    r"\$(?:"
    r"(?P<number>\d+)|(?P<all>@|ARGUMENTS\b)"
    r"|\{(?P<from>@|ARGUMENTS):(?P<start>-?\d+)(?::(?P<count>\d+))?\}"
    r"|\{(?P<name>\d+|@|ARGUMENTS)(?::-(?P<default>[^}]*))?\}"
    r")"
)


def has_template_placeholder(body: str) -> bool:
    return _TEMPLATE_PLACEHOLDER_PATTERN.search(body) is not None


def substitute_placeholders(body: str, arguments: Sequence[str]) -> str:
    """Replaces `$1`, `$@`, `$ARGUMENTS`, `${1:-default}`, `${@:-default}`, `${@:N}` and `${@:N:L}` in one
    pass, so that placeholders inside arguments stay as they are."""

    def value(match: re.Match[str]) -> str:
        if match["from"]:
            return _argument_slice(arguments, int(match["start"]), match["count"])
        name = match["number"] or match["name"] or "@"
        if name.isdigit():
            index = int(name)
            found = arguments[index - 1] if 0 < index <= len(arguments) else ""
        else:
            found = " ".join(arguments)
        return found or match["default"] or ""

    return _TEMPLATE_PLACEHOLDER_PATTERN.sub(value, body)


def _argument_slice(arguments: Sequence[str], start: int, count: str | None) -> str:
    first = max(start - 1, 0)
    last = None if count is None else first + int(count)
    return " ".join(arguments[first:last])
