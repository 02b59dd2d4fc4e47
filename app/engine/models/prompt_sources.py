"""Collects the sources of the system prompt: context files, skills, prompt files, read once and again on request."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from app.resources.context_files import ContextFiles, find_context_files
from app.resources.paths import BayouPaths
from app.resources.skills import Skill, Skills, find_skills
from app.resources.system_prompt import (
    PromptSkillEntry,
    PromptToolEntry,
    SystemPromptFiles,
    SystemPromptParts,
    build_system_prompt,
    read_system_prompt_files,
)
from tools.tool_definition import Tool


class SystemPromptOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the system prompt that the command line and the project's trust determine."""

    is_trusted: bool = False
    system_prompt: str | None = None
    appended_texts: tuple[str, ...] = ()
    should_use_context_files: bool = True
    should_use_skills: bool = True
    skill_folders: tuple[Path, ...] = ()
    """The folders of skills that the user named on the command line, which apply even without `should_use_skills`."""
    extension_skill_folders: tuple[Path, ...] = ()
    """The folders of skills from settings, packages and extensions."""
    builtin_skill_folders: tuple[Path, ...] = ()
    """The folder of bayou's built-in skills, which all other skills of the same name override."""
    docs_dir: str = ""


class SystemPromptSource:
    """Builds the sections of the system prompt for the active tools before every request; cached until the tools
    change."""

    def __init__(self, paths: BayouPaths, choice: SystemPromptOptions) -> None:
        self.paths = paths
        self.choice = choice
        self.extra_sections: dict[str, str] = {}
        self.guidelines: tuple[str, ...] = ()
        self.context_files = ContextFiles()
        self.skills = Skills()
        self._prompt_files = SystemPromptFiles()
        self._cached_sections: tuple[object, dict[str, str]] | None = None
        self._read_count = 0
        """The number of times that the files were read, so that sections computed in another thread before the last
        read are not used."""
        self.reload_files()

    def reload_files(self) -> None:
        """Reads context files, skills and prompt files from disk."""
        choice = self.choice
        if choice.should_use_context_files:
            self.context_files = find_context_files(self.paths, is_trusted=choice.is_trusted)
        self.skills = find_skills(
            self.paths,
            is_trusted=choice.is_trusted,
            more=(*choice.extension_skill_folders, *choice.skill_folders, *choice.builtin_skill_folders),
        )
        if not choice.should_use_skills:
            named = tuple(
                skill for skill in self.skills.skills if _is_skill_below(skill, choice.skill_folders)
            )
            self.skills = msgspec.structs.replace(self.skills, skills=named)
        self._prompt_files = read_system_prompt_files(self.paths, is_trusted=choice.is_trusted)
        self._read_count += 1

    @property
    def file_problems(self) -> tuple[str, ...]:
        return (*self.context_files.problems, *self.skills.problems, *self._prompt_files.problems)

    def __call__(self, tools: Mapping[str, Tool]) -> Mapping[str, str]:
        key = (
            self._read_count,
            tuple((name, tool.snippet) for name, tool in tools.items()),
            tuple(self.extra_sections.items()),
            self.guidelines,
        )
        known = self._cached_sections
        if known is None or known[0] != key:
            self._cached_sections = known = (key, self._build_sections(tools))
        return known[1]

    def _build_sections(self, active: Mapping[str, Tool]) -> dict[str, str]:
        choice, files = self.choice, self._prompt_files
        appended = choice.appended_texts or ((files.append,) if files.append else ())
        tools = sorted(active.values(), key=lambda tool: tool.name)
        parts = SystemPromptParts(
            cwd=self.paths.cwd,
            tools=tuple(
                PromptToolEntry(name=tool.name, snippet=tool.snippet, guidelines=tool.guidelines)
                for tool in tools
            ),
            guidelines=self.guidelines,
            custom_prompt=choice.system_prompt or files.system,
            appended_texts=appended,
            context_files=self.context_files.files,
            skills=tuple(
                PromptSkillEntry(name=skill.name, description=skill.description, location=str(skill.path))
                for skill in self.skills.skills
                if skill.is_for_model
            ),
            docs_dir=choice.docs_dir,
            sections=self.extra_sections,
        )
        return build_system_prompt(parts).as_dict()


def _is_skill_below(skill: Skill, places: tuple[Path, ...]) -> bool:
    return any(skill.path == place or place in skill.path.parents for place in places)
