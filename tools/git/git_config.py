"""Reads configuration files of git without git: every entry with its file, including included files.

`risky_settings` decides which entries are risky. Conditions of `includeIf` are not evaluated: all entries that might
apply are listed."""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tools.lazy_patterns import lazy_regex

_MAX_GIT_CONFIG_FILE_BYTES = 1 << 20
_MAX_GIT_CONFIG_FILES = 32
_MAX_GIT_CONFIG_VARIABLES = 100
_SYSTEM_GIT_CONFIG_FILES = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")
_GIT_CONFIG_SECTION_PATTERN = lazy_regex(
    r'\[\s*(?P<section>[A-Za-z0-9.-]+)(?:\s+"(?P<sub>(?:[^"\\\n]|\\.)*)")?\s*\]'
)
_GIT_CONFIG_KEY_PATTERN = lazy_regex(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*")
_GIT_CONFIG_WHITE_SPACE = " \t\r\n"
"""The characters that git's configuration format treats as white space; a form feed is part of a value."""
_CHARACTER_BY_CONFIG_ESCAPE = {"n": "\n", "t": "\t", "b": "\b", '"': '"', "\\": "\\"}


class GitConfigEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One setting of a git configuration, with the file that has it."""

    file: Path
    section: str
    """The section in lower case."""
    subsection: str = ""
    """The subsection between section and key, as written."""
    key: str
    """The key in lower case."""
    value: str | None = None
    """The value; None for a key alone, which means true."""

    @property
    def name(self) -> str:
        return ".".join(part for part in (self.section, self.subsection, self.key) if part)


class GitConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    entries: tuple[GitConfigEntry, ...] = ()
    unreadable_files: tuple[tuple[Path, str], ...] = ()
    """The configuration files that could not be read or parsed completely, with the reason."""


class MalformedGitConfig(ValueError):
    """Raised for a git configuration file that cannot be parsed, with the reason and the line."""


def read_git_configuration(*files: Path, home: Path) -> GitConfiguration:
    """Returns the settings of these git configuration files and of the files they include. Missing files are
    ignored."""
    entries: list[GitConfigEntry] = []
    unreadable: list[tuple[Path, str]] = []
    waiting = list(files)
    seen: set[str] = set()
    while waiting:
        file = waiting.pop(0)
        real = os.path.realpath(file)
        if real in seen:
            continue
        seen.add(real)
        if len(seen) > _MAX_GIT_CONFIG_FILES:
            unreadable.append((file, f"more than {_MAX_GIT_CONFIG_FILES} files include each other"))
            break
        try:
            text = read_small_text_file(file, _MAX_GIT_CONFIG_FILE_BYTES)
            found = list(parse_git_config(text, file)) if text is not None else []
        except (OSError, ValueError) as problem:
            unreadable.append((file, getattr(problem, "strerror", None) or str(problem)))
            continue
        entries += found
        waiting += [place for entry in found if (place := _find_included_file(entry, home)) is not None]
    return GitConfiguration(entries=tuple(entries), unreadable_files=tuple(unreadable))


def read_user_git_configuration(home: Path) -> GitConfiguration:
    """Returns the git configuration of the user, the machine and the environment."""
    shared = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    named = [
        Path(place) for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM") if (place := os.environ.get(name))
    ]
    places = (*map(Path, _SYSTEM_GIT_CONFIG_FILES), shared / "git" / "config", home / ".gitconfig", *named)
    found = read_git_configuration(*places, home=home)
    return msgspec.structs.replace(found, entries=(*found.entries, *_read_environment_entries(home)))


def _read_environment_entries(home: Path) -> Iterator[GitConfigEntry]:
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    for number in range(min(int(count), _MAX_GIT_CONFIG_VARIABLES) if count.isdecimal() else 0):
        name = os.environ.get(f"GIT_CONFIG_KEY_{number}", "")
        section, _, rest = name.partition(".")
        sub, _, key = rest.rpartition(".")
        value = os.environ.get(f"GIT_CONFIG_VALUE_{number}")
        yield GitConfigEntry(
            file=home / name, section=section.lower(), subsection=sub, key=key.lower(), value=value
        )


def _find_included_file(entry: GitConfigEntry, home: Path) -> Path | None:
    if entry.section not in ("include", "includeif") or entry.key != "path" or not entry.value:
        return None
    return entry.file.parent / expand_git_path(entry.value, home)


def expand_git_path(value: str, home: Path) -> str:
    """Expands a path as git does: relative to a home, or to git's installation."""
    if value.startswith("~/"):
        return f"{home}/{value[2:]}"
    if value.startswith("~"):
        return os.path.expanduser(value)  # noqa: PTH111  (a text; another user's)
    if value.startswith("%(prefix)/"):
        program = os.path.realpath(shutil.which("git") or "/usr/bin/git")
        return f"{os.path.dirname(os.path.dirname(program))}/{value[10:]}"  # noqa: PTH120  (a text)
    return value


def read_small_text_file(file: Path, most: int) -> str | None:
    """Returns the text of a file; None if it does not exist. Never blocks. Raises `OSError`, and `ValueError` for a
    file that is not regular or is too large."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with os.fdopen(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("is not a regular file")
        data = opened.read(most + 1)
    if len(data) > most:
        raise ValueError(f"is larger than {most // 1024} KB")
    return data.decode("utf-8", "surrogateescape")


def parse_git_config(text: str, file: Path) -> Iterator[GitConfigEntry]:
    """Parses a git configuration file. Raises `MalformedGitConfig` where git would fail too, and for a null byte."""
    if "\0" in text:
        raise MalformedGitConfig(f"line {_line_number_at(text, text.index(chr(0)))}: a null byte")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    section, sub, at = "", "", 0
    while at < len(text):
        if text[at] in _GIT_CONFIG_WHITE_SPACE:
            at += 1
        elif text[at] in "#;":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text[at] == "[":
            header = _GIT_CONFIG_SECTION_PATTERN.match(text, at)
            if header is None:
                raise MalformedGitConfig(f"line {_line_number_at(text, at)}: this is no section")
            section, sub = _parse_section_header(header)
            at = header.end()
        else:
            key = _GIT_CONFIG_KEY_PATTERN.match(text, at)
            if key is None or not section:
                raise MalformedGitConfig(
                    f"line {_line_number_at(text, at)}: this is neither a section nor a key"
                )
            value, at = _read_config_value(text, key.end())
            yield GitConfigEntry(
                file=file, section=section, subsection=sub, key=key["key"].lower(), value=value
            )


def _parse_section_header(header: "re.Match[str]") -> tuple[str, str]:
    """Parses a section header of a git configuration, `[a "b"]`, also in the older form `[a.b]`."""
    if header["sub"] is not None:
        return header["section"].lower(), re.sub(r"\\(.)", r"\1", header["sub"])
    section, _, sub = header["section"].partition(".")
    return section.lower(), sub.lower()


def _read_config_value(text: str, at: int) -> tuple[str | None, int]:
    """Returns the value behind a key of a git configuration, and the position of the next line."""
    if at >= len(text) or text[at] in "\n#;":
        end = text.find("\n", at)
        return None, len(text) if end < 0 else end
    if text[at] != "=":
        raise MalformedGitConfig(f"line {_line_number_at(text, at)}: a key is followed by =")
    at += 1
    out: list[str] = []
    kept = 0
    """The length of the value read so far without trailing blanks, which are dropped at its end."""
    is_quoted = False
    while at < len(text):
        character = text[at]
        if character == "\\":
            following = text[at + 1 : at + 2]
            if following == "\n":
                at += 2
                continue
            if following not in _CHARACTER_BY_CONFIG_ESCAPE:
                raise MalformedGitConfig(f"line {_line_number_at(text, at)}: \\{following} means nothing")
            out.append(_CHARACTER_BY_CONFIG_ESCAPE[following])
            kept = len(out)
            at += 2
            continue
        if character == "\n" or (character in "#;" and not is_quoted):
            break
        if character == '"':
            is_quoted = not is_quoted
            kept = len(out)
        elif is_quoted or character not in _GIT_CONFIG_WHITE_SPACE:
            out.append(character)
            kept = len(out)
        elif out:
            out.append(character)
        at += 1
    if is_quoted:
        raise MalformedGitConfig(f"line {_line_number_at(text, at)}: a quote is not closed")
    end = text.find("\n", at)
    return "".join(out[:kept]), len(text) if end < 0 else end


def _line_number_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
