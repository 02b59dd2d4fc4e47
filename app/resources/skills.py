"""Skills: folders with a `SKILL.md` whose name and description the model knows, and whose text it reads on demand."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.resources.files import read_text
from app.resources.frontmatter import read_document, split_frontmatter
from app.resources.paths import Paths, between
from app.values.unable import FileFault
from tools.files.presence import is_dir, is_file
from tools.patterns import late

_NAME = late(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_BLOCK = late(r'<skill name="([^"\n]*)" location="([^"\n]*)">\n.*?\n</skill>(?=\n\n|\Z)', re.DOTALL)
_CALL = late(r"/skill:(\S+)\s*(.*)\Z", re.DOTALL)
_DEPTH = 4
_LIMIT = 2000


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str
    path: Path
    """Its `SKILL.md`."""
    is_for_model: bool = True
    """False: only a person calls it; the prompt does not list it."""
    fields: dict[str, Any] = {}

    @property
    def folder(self) -> Path:
        return self.path.parent

    def expand(self, arguments: str = "") -> str:
        """What `/skill:name arguments` sends. Raises `FileFault` when the file is gone."""
        text = read_text(self.path)
        if text is None:
            raise FileFault(self.path, "is gone; /reload looks for skills again")
        body = split_frontmatter(text).body
        told = f"Relative paths in this skill start at {self.folder.as_posix()}.\n\n{body}"
        block = skill_block(self.name, self.path.as_posix(), told)
        return f"{block}\n\n{arguments.strip()}" if arguments.strip() else block


class GivenSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill as it was sent in a prompt."""

    name: str
    location: str
    block: str
    """All of it, with its tags."""


def skill_block(name: str, location: str, text: str) -> str:
    """A skill as a model reads it."""
    return f'<skill name="{name}" location="{location}">\n{text}\n</skill>'


def given_skill(prompt: str) -> GivenSkill | None:
    """The skill that a prompt begins with, when it was made from `/skill:name`."""
    match = _BLOCK.match(prompt)
    return GivenSkill(name=match[1], location=match[2], block=match[0]) if match else None


class Skills(msgspec.Struct, frozen=True, kw_only=True):
    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    def named(self, name: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.name == name), None)

    def called_by(self, text: str) -> Skill | None:
        """The skill that `/skill:name arguments` means."""
        match = _CALL.match(text.strip())
        return self.named(match[1]) if match else None

    def expand(self, text: str) -> str | None:
        """The prompt that such a call stands for, None when it is not a skill's."""
        match, skill = _CALL.match(text.strip()), self.called_by(text)
        return skill.expand(match[2]) if match and skill else None


def find_skills(paths: Paths, *, is_trusted: bool, more: Iterable[Path] = ()) -> Skills:
    """The first of a name counts: the nearest project folder, then the person's own, then settings, packages, flags."""
    found: dict[str, Skill] = {}
    problems: list[str] = []
    seen: set[Path] = set()
    for place in (*_places(paths, is_trusted), *more):
        for path in _skill_files(place):
            real = path.resolve()
            if real in seen:
                continue
            seen.add(real)
            if problem := paths.way_out(path):
                problems.append(problem)
                continue
            skill = _read(path, problems)
            if skill is None:
                continue
            if skill.name in found:
                problems.append(
                    f"{path}: the skill {skill.name} is already defined by {found[skill.name].path}"
                )
                continue
            found[skill.name] = skill
    return Skills(skills=tuple(found.values()), problems=tuple(problems))


def _places(paths: Paths, is_trusted: bool) -> Iterator[Path]:
    if is_trusted:
        yield paths.project_dir / "skills"
        for folder in between(paths.cwd, paths.top):
            yield folder / ".agents" / "skills"
    yield paths.agent_dir / "skills"
    yield paths.home / ".agents" / "skills"


def _skill_files(place: Path) -> Iterator[Path]:
    """A place is a `SKILL.md`, a skill's folder, or a folder of skills, also in groups."""
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
        if depth < _DEPTH and count < _LIMIT:
            waiting += [
                (path, depth + 1) for path in below if path.name not in ("node_modules", "__pycache__")
            ]


def _read(path: Path, problems: list[str]) -> Skill | None:
    document = read_document(path, problems)
    if document is None:
        return None
    reason = _reason(document.fields, document.problem)
    if reason:
        problems.append(f"{path}: {reason}. The skill is left out.")
        return None
    name = str(document.fields["name"])
    if path.name == "SKILL.md" and path.parent.name != name:
        problems.append(
            f"{path}: its folder is called {path.parent.name}, the skill {name}; they should be the same"
        )
    return Skill(
        name=name,
        description=" ".join(str(document.fields["description"]).split()),
        path=path,
        is_for_model=document.fields.get("disable-model-invocation") is not True,
        fields=document.fields,
    )


def _reason(fields: dict[str, Any], problem: str) -> str:
    """Why this is not a skill, in plain words; empty when it is one."""
    name, description = fields.get("name"), fields.get("description")
    if not fields:
        return problem or "needs a block between two --- lines at its beginning, with name and description"
    if not isinstance(name, str) or not name:
        return "the name is missing"
    if len(name) > 64 or not _NAME.match(name):
        return f"the name {name[:80]!r} must be at most 64 lower-case letters, digits and single hyphens"
    if not isinstance(description, str) or not description.strip():
        return "the description is missing"
    if len(description) > 1024:
        return f"the description has {len(description)} characters, at most 1024 are allowed"
    return ""
