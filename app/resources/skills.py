"""Skills: folders with a `SKILL.md`. The prompt lists their names and descriptions, and the model reads their
text on demand."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.resources.frontmatter import read_markdown_with_frontmatter, split_frontmatter
from app.resources.paths import BayouPaths, folders_up_to_project_top
from app.resources.text_files import read_text
from app.values.user_errors import FileError
from tools.files.path_existence import is_dir, is_file
from tools.lazy_patterns import lazy_regex

_SKILL_NAME = lazy_regex(r"[^\W_]+(?:-[^\W_]+)*\Z")
_MAX_SKILL_NAME_CHARS = 64
_MAX_SKILL_DESCRIPTION_CHARS = 1024
_SKILL_BLOCK = lazy_regex(
    r'<skill name="([^"\n]*)" location="([^"\n]*)">\n.*?\n</skill>(?=\n\n|\Z)', re.DOTALL
)
_SKILL_CALL = lazy_regex(r"/skill:(\S+)\s*(.*)\Z", re.DOTALL)
_SKILL_MENTION = lazy_regex(r"(?<![\w$\\])\$([^\W_]+(?:-[^\W_]+)*)(?![\w-])")
_MAX_SKILL_FOLDER_DEPTH = 4
_MAX_SKILL_FOLDERS = 2000


SHARED_SKILL_FOLDERS = (".agents", ".claude")
"""Folders of a project and of the home whose `skills` several agents read."""


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill: its name, description and file."""

    name: str
    description: str
    path: Path
    """The path of the skill's `SKILL.md`."""
    is_for_model: bool = True
    """Whether the prompt lists the skill for the model; False: only the user can call it."""
    fields: dict[str, Any] = {}

    @property
    def folder(self) -> Path:
        return self.path.parent

    def expand(self, arguments: str = "") -> str:
        """Returns the prompt for `/skill:name arguments`. Raises `FileError` if the file is gone."""
        text = read_text(self.path)
        if text is None:
            raise FileError(self.path, "no longer exists; /reload looks for skills again")
        body = split_frontmatter(text).body
        told = f"Relative paths in this skill start at {self.folder.as_posix()}.\n\n{body}"
        block = skill_block(self.name, self.path.as_posix(), told)
        return f"{block}\n\n{arguments.strip()}" if arguments.strip() else block


class SentSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that was sent with a prompt, in front of it."""

    name: str
    location: str
    block: str
    """The whole block of the skill in the prompt, with its tags."""


def skill_block(name: str, location: str, text: str) -> str:
    """Returns the block with which a skill's text is sent to a model."""
    return f'<skill name="{name}" location="{location}">\n{text}\n</skill>'


def parse_sent_skills(prompt: str) -> tuple[SentSkill, ...]:
    """Returns the skills that a prompt begins with, if `/skill:name` or `$name` made the prompt."""
    found: list[SentSkill] = []
    match = _SKILL_BLOCK.match(prompt)
    while match is not None:
        found.append(SentSkill(name=match[1], location=match[2], block=match[0]))
        match = _SKILL_BLOCK.match(prompt, match.end() + len("\n\n"))
    return tuple(found)


class Skills(msgspec.Struct, frozen=True, kw_only=True):
    """The skills of a session, and the faults of unreadable ones."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    def find_skill(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.name == name), None)

    def skill_called_by(self, text: str) -> Skill | None:
        """Returns the skill that `/skill:name arguments` names."""
        match = _SKILL_CALL.match(text.strip())
        return self.find_skill(match[1]) if match else None

    def skills_mentioned_in(self, text: str) -> tuple[Skill, ...]:
        """Returns the skills that a prompt names as `$name`, each once, in this order."""
        names = dict.fromkeys(_SKILL_MENTION.findall(text)) if "$" in text else ()
        return tuple(skill for name in names if (skill := self.find_skill(name)) is not None)

    def expand(self, text: str) -> str | None:
        """Returns the prompt for `/skill:name arguments`, or None if the text names no skill."""
        match, skill = _SKILL_CALL.match(text.strip()), self.skill_called_by(text)
        return skill.expand(match[2]) if match and skill else None


def find_skills(paths: BayouPaths, *, is_trusted: bool, more: Iterable[Path] = ()) -> Skills:
    """Finds the skills; of several with one name, the first is used. Order: the nearest project folder, the
    user's folders, settings, packages, flags."""
    found: dict[str, Skill] = {}
    problems: list[str] = []
    seen: set[Path] = set()
    for place in (*_skill_places(paths, is_trusted), *more):
        for path in _skill_files(place):
            real = path.resolve()
            if real in seen:
                continue
            seen.add(real)
            if problem := paths.symlink_escape(path):
                problems.append(problem)
                continue
            skill = _read_skill(path, problems)
            if skill is None:
                continue
            if skill.name in found:
                problems.append(
                    f"{path}: the skill {skill.name} is already defined by {found[skill.name].path}"
                )
                continue
            found[skill.name] = skill
    return Skills(skills=tuple(found.values()), problems=tuple(problems))


def _skill_places(paths: BayouPaths, is_trusted: bool) -> Iterator[Path]:
    if is_trusted:
        yield paths.project_dir / "skills"
        for folder in folders_up_to_project_top(paths.cwd, paths.top):
            for name in SHARED_SKILL_FOLDERS:
                yield folder / name / "skills"
    yield paths.agent_dir / "skills"
    for name in SHARED_SKILL_FOLDERS:
        yield paths.home / name / "skills"


def _skill_files(place: Path) -> Iterator[Path]:
    """Yields the skill files of a place: a `SKILL.md`, a skill's folder, or a folder of skills, which may be
    nested in groups."""
    if is_file(place):
        yield place
        return
    waiting = [(place, 0)]
    count = 0
    while waiting:
        folder, depth = waiting.pop(0)
        file = folder / "SKILL.md"
        try:
            if is_file(file):
                count += 1
                yield file
                continue
            below = sorted(
                path for path in folder.iterdir() if not path.name.startswith(".") and is_dir(path)
            )
        except OSError:
            continue
        if depth < _MAX_SKILL_FOLDER_DEPTH and count < _MAX_SKILL_FOLDERS:
            waiting += [
                (path, depth + 1) for path in below if path.name not in ("node_modules", "__pycache__")
            ]


def _read_skill(path: Path, problems: list[str]) -> Skill | None:
    document = read_markdown_with_frontmatter(path, problems)
    if document is None:
        return None
    reason = _invalid_reason(document.fields, document.problem)
    name, fault = _skill_name(document.fields, path)
    if reason or not name:
        problems.append(f"{path}: {reason or fault}. The skill is ignored.")
        return None
    if fault:
        problems.append(f"{path}: {fault}; the folder's name, {name}, is used")
    elif path.name == "SKILL.md" and _normalise_name(path.parent.name) != name:
        problems.append(
            f"{path}: its folder is called {path.parent.name}, but the skill {name}; both should be the same"
        )
    description = " ".join(str(document.fields["description"]).split())
    if len(description) > _MAX_SKILL_DESCRIPTION_CHARS:
        problems.append(
            f"{path}: the description has {len(description)} characters; the model reads the first "
            f"{_MAX_SKILL_DESCRIPTION_CHARS}"
        )
    return Skill(
        name=name,
        description=description[:_MAX_SKILL_DESCRIPTION_CHARS],
        path=path,
        is_for_model=document.fields.get("disable-model-invocation") is not True,
        fields=document.fields,
    )


def _skill_name(fields: dict[str, Any], path: Path) -> tuple[str, str]:
    """Returns a skill's name, or its folder's where the skill has no valid one, and the problem of the name. The
    name is empty if neither is valid."""
    said = fields.get("name")
    name = _normalise_name(said) if isinstance(said, str) else ""
    if _is_valid_name(name):
        return name, ""
    fault = (
        f"the name {name[:80]!r} must be at most {_MAX_SKILL_NAME_CHARS} lower-case letters, digits and single "
        f"hyphens"
        if name
        else "the name is missing"
    )
    folder = _normalise_name(path.parent.name) if path.name == "SKILL.md" else ""
    return folder if _is_valid_name(folder) else "", fault


def _is_valid_name(name: str) -> bool:
    return len(name) <= _MAX_SKILL_NAME_CHARS and name == name.lower() and _SKILL_NAME.match(name) is not None


def _normalise_name(name: str) -> str:
    return unicodedata.normalize("NFKC", name.strip())


def _invalid_reason(fields: dict[str, Any], problem: str) -> str:
    """Returns why this is not a valid skill, in plain words; empty if it is valid."""
    description = fields.get("description")
    if not fields:
        return problem or "needs a block between two --- lines at the top, with name and description"
    if not isinstance(description, str) or not description.strip():
        return "the description is missing"
    return ""
