"""Lists what `/name` can stand for in a prompt, for programs: extensions' commands, templates, skills."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from app.engine.commands.response_data import CommandInfo, CommandSource
from app.extensions.extension_registrations import Extension
from app.resources.paths import BayouPaths
from app.resources.prompt_templates import PromptTemplate
from app.resources.skills import Skill

ListedCommandScope = Literal["user", "project", "temporary"]
_COMMAND_SCOPE_BY_ORIGIN: Mapping[str, ListedCommandScope] = {"project": "project", "flag": "temporary"}


def extension_commands(extensions: Iterable[Extension]) -> list[CommandInfo]:
    """Lists the commands of extensions; the first one of a name counts."""
    found: dict[str, CommandInfo] = {}
    for extension in extensions:
        source = extension.source
        for command in extension.commands.values():
            info = CommandSource(
                path=source.path,
                source=source.origin,
                scope=_COMMAND_SCOPE_BY_ORIGIN.get(source.origin, "user"),
                origin="package" if source.origin in ("package", "entry-point") else "top-level",
            )
            found.setdefault(
                command.name, _command_info(command.name, command.description, "extension", info)
            )
    return list(found.values())


def file_commands(
    templates: Iterable[PromptTemplate], skills: Iterable[Skill], paths: BayouPaths
) -> list[CommandInfo]:
    return [
        *(_command_info(t.name, t.description, "prompt", _file_source(t.path, paths)) for t in templates),
        *(
            _command_info(f"skill:{s.name}", s.description, "skill", _file_source(s.path, paths))
            for s in skills
        ),
    ]


def _file_source(path: Path, paths: BayouPaths) -> CommandSource:
    scope: ListedCommandScope = "temporary"
    if path.is_relative_to(paths.agent_dir) or any(
        path.is_relative_to(paths.home / name) for name in (".agents", ".claude")
    ):
        scope = "user"
    elif path.is_relative_to(paths.cwd) or ".agents" in path.parts:
        scope = "project"
    return CommandSource(path=str(path), source="local", scope=scope, origin="top-level")


def _command_info(
    name: str, description: str, source: Literal["extension", "prompt", "skill"], info: CommandSource
) -> CommandInfo:
    command = CommandInfo(name=name, source=source, sourceInfo=info)
    return {**command, "description": description} if description else command
