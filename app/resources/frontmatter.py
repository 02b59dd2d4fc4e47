"""Reads Markdown files with frontmatter, the block between two `---` lines at their beginning."""

from pathlib import Path
from typing import Any

import msgspec

from app.resources.text_files import read_text
from app.values.user_errors import FileError
from tools.files.path_existence import is_file
from tools.lazy_patterns import lazy_regex

_PLAIN_FRONTMATTER_LINE = lazy_regex(r"([A-Za-z][A-Za-z_-]*): ([A-Za-z](?:(?!: | #)[ -~])*[A-Za-z0-9.!?)])")
_YAML_NON_TEXT_SCALARS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))

_CLOSING_BRACKET_BY_OPENING = {"[": "]", "{": "}", '"': '"', "'": "'"}


class Frontmatter(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a file's frontmatter and the text after it."""

    fields: dict[str, Any] = {}
    body: str = ""
    problem: str = ""
    """A description of the fault in the frontmatter; empty if there is none. `fields` has the readable part all the
    same."""


def files_with_suffixes(folder: Path, suffixes: tuple[str, ...], problems: list[str]) -> list[Path]:
    """Returns the files in `folder` with these suffixes, sorted by name. If the folder cannot be read, adds
    the reason to `problems`."""
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in suffixes and is_file(path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as problem:
        problems.append(f"{folder} cannot be listed: {problem.strerror}")
        return []


def read_markdown_with_frontmatter(path: Path, problems: list[str]) -> Frontmatter | None:
    """Reads a file; None if it is gone or unreadable. An unreadable file is added to `problems`."""
    try:
        text = read_text(path)
    except FileError as problem:
        problems.append(str(problem))
        return None
    return None if text is None else split_frontmatter(text)


def split_frontmatter(text: str) -> Frontmatter:
    """Returns fields and body. Without a leading `---` line, or without the closing one, the whole text is
    body."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return Frontmatter(body=text.strip())
    lines = rest.split("\n")
    end = next((number for number, line in enumerate(lines) if line.startswith("---")), None)
    if end is None:
        return Frontmatter(body=text.strip(), problem="the block that begins with --- has no closing ---")
    block, body = "\n".join(lines[:end]), "\n".join(lines[end + 1 :]).strip()
    fields, problem = _parse_fields(block)
    return Frontmatter(fields=fields, body=body, problem=problem)


def _parse_fields(block: str) -> tuple[dict[str, Any], str]:
    if not block.strip():
        return {}, ""
    if (plain := _parse_plain_lines(block)) is not None:
        return plain, ""
    import yaml  # noqa: PLC0415  (only files with more than plain lines pay for it)

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        data = yaml.load(block, Loader=loader)  # a safe loader: plain data only
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        fields, is_whole = _parse_line_by_line(block)
        if is_whole:
            return fields, ""
        mark = getattr(problem, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark else ""
        return fields, f"{where}{getattr(problem, 'problem', None) or problem}"
    if not isinstance(data, dict):
        return {}, "the block between the --- lines must contain `key: value` lines"
    return {str(key): value for key, value in data.items()}, ""


def _parse_plain_lines(block: str) -> dict[str, Any] | None:
    """Parses lines of `key: words` that YAML would read the same way, as in most files; None if the block has
    anything else."""
    found: dict[str, Any] = {}
    for line in block.split("\n"):
        match = _PLAIN_FRONTMATTER_LINE.fullmatch(line)
        if match is None or not _YAML_NON_TEXT_SCALARS.isdisjoint((match[1].lower(), match[2].lower())):
            return None
        found[match[1]] = match[2]
    return found


def _parse_line_by_line(block: str) -> tuple[dict[str, Any], bool]:
    """Reads a block that is not valid YAML as one `key: value` per line, and says whether that is all it has: other
    agents accept `description: Reads: then writes`."""
    import yaml  # noqa: PLC0415  (already loaded by the caller)

    found: dict[str, Any] = {}
    is_whole = True
    for line in block.split("\n"):
        key, colon, value = line.partition(":")
        value = value.strip()
        if not colon or not key.replace("-", "").replace("_", "").isalnum():
            is_whole = is_whole and (not line.strip() or line.startswith("#"))
            continue
        try:
            read = yaml.safe_load(value)
            found[key] = value if isinstance(read, dict) and not value.startswith("{") else read
        except (yaml.YAMLError, ValueError):
            found[key] = value
            is_whole = is_whole and _is_plain_text(value)
    return found, is_whole


def _is_plain_text(value: str) -> bool:
    """Says whether a value that is not valid YAML is meant as text, such as `[file] [--all]`, and is no unfinished
    list or quotation."""
    closing = _CLOSING_BRACKET_BY_OPENING.get(value[:1])
    return not value.startswith(("|", ">", "&", "!")) and (closing is None or closing in value[1:-1])
