"""Loads a session's templates, skills and themes: those found on disk and those that extensions name."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from app.assembly.assembled_session import AssembledSession
from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.command_file_expander import CommandFileExpander
from app.assembly.extensions.extension_choice import choose_extensions
from app.assembly.prompt_and_themes import load_themes
from app.extensions.extension_runner import Extensions
from app.extensions.hooks.payloads import ResourcesDiscover
from app.resources.paths import BayouPaths
from app.resources.prompt_templates import PromptTemplates, find_prompt_templates
from app.resources.skills import Skill
from app.values.user_errors import FileError

if TYPE_CHECKING:
    from app.engine.commands.response_data import CommandInfo


class SessionTemplatesAndSkills:
    """The prompt templates, skills and themes of a session, read at the start and again at every reload."""

    def __init__(self, assembled: AssembledSession, options: CommandLineOptions, paths: BayouPaths) -> None:
        self.prompts = PromptTemplates()
        self._assembled = assembled
        self._options = options
        self._paths = paths
        self.commands_of_files = CommandFileExpander(assembled, paths)

    def choose_resource_folders(self) -> None:
        """Chooses again which extensions and which folders of templates, skills and themes are used."""
        here = self._assembled
        here.chosen_extensions = choose_extensions(
            self._options,
            self._paths,
            here.effective_settings.settings,
            is_trusted=here.project_trust.decision.is_trusted,
        )
        here.session.mcp.reload_configuration()

    async def read_templates_skills_and_themes(
        self, extensions: Extensions, reason: Literal["startup", "reload"]
    ) -> None:
        """Reads the files of templates, skills and themes, including those that extensions name."""
        told = ResourcesDiscover(cwd=self._paths.cwd, reason=reason)
        named = await extensions.hooks.emit("resources_discover", told)
        skills, prompts, themes = (), (), ()
        if named is not None:
            skills, prompts, themes = map(
                self._resource_paths, (named.skill_paths, named.prompt_paths, named.theme_paths)
            )
        here, trust = self._assembled, self._assembled.project_trust.decision
        self.prompts = self._find_prompt_templates(prompts)
        more_skills = (*here.chosen_extensions.skills, *skills)
        fresh = msgspec.structs.replace(
            here.prompt.choice, is_trusted=trust.is_trusted, extension_skill_folders=more_skills
        )
        if reason == "reload" or fresh != here.prompt.choice:
            here.prompt.choice = fresh
            here.prompt.reload_files()
        if reason == "reload" or themes:
            here.themes = load_themes(
                self._options, self._paths, trust, (*here.chosen_extensions.themes, *themes)
            )

    def _find_prompt_templates(self, more: tuple[Path, ...]) -> PromptTemplates:
        named = self._resource_paths(self._options.prompt_template)
        if self._options.no_prompt_templates:
            own = msgspec.structs.replace(self._paths, agent_dir=Path(os.devnull))
            return find_prompt_templates(own, is_trusted=False, more=named)
        places = (*self._assembled.chosen_extensions.prompts, *more, *named)
        return find_prompt_templates(
            self._paths,
            is_trusted=self._assembled.project_trust.decision.is_trusted,
            more=places,
            commands=self._assembled.chosen_extensions.commands,
        )

    def _resource_paths(self, names: tuple[str, ...]) -> tuple[Path, ...]:
        return tuple(self._paths.cwd / Path(name).expanduser() for name in names)

    async def expand(self, text: str) -> str:
        """Expands `/skill:name` or `/template` to its text, and puts the skills that `$name` names before it."""
        here = self._assembled
        skills = here.prompt.skills
        is_enabled = here.effective_settings.settings.resources.enable_skill_commands
        try:
            called = skills.skill_called_by(text)
            if is_enabled and called is not None and self._is_readable(called):
                return skills.expand(text) or text
            template = self.prompts.template_called_by(text)
            if template is not None and template[0].is_command:
                prompt = await self.commands_of_files.expand(*template)
            else:
                prompt = self.prompts.expand(text) or text
            mentioned = skills.skills_mentioned_in(prompt) if is_enabled else ()
            blocks = [skill.expand() for skill in mentioned if self._is_readable(skill)]
        except FileError as problem:
            here.session.events.notify(str(problem), "error")
            return text
        return "\n\n".join((*blocks, prompt))

    def _is_readable(self, skill: Skill) -> bool:
        """Whether a skill may be read when it is called: a project's skill only while the user's approval
        covers it."""
        here = self._assembled
        own = here.effective_settings.settings_without_project().resources.skills
        named = self._resource_paths(tuple(set(here.effective_settings.settings.resources.skills) - set(own)))
        is_theirs = any(skill.path.is_relative_to(place) for place in (self._paths.top, *named))
        return not is_theirs or here.project_trust.is_trusted()

    def commands(self) -> "list[CommandInfo]":
        # Imports the values of RPC's answers, which only this list needs.
        from app.extensions.command_listing import file_commands  # noqa: PLC0415

        here = self._assembled
        skills = (
            here.prompt.skills.skills
            if here.effective_settings.settings.resources.enable_skill_commands
            else ()
        )
        return file_commands(self.prompts.templates, skills, self._paths)
