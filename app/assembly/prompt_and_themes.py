"""Loads the system prompt and the themes of a session from disk and from the command line."""

from pathlib import Path

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.engine.models.prompt_sources import SystemPromptOptions, SystemPromptSource
from app.extensions.loading.extension_sources import ChosenExtensions
from app.resources.paths import BayouPaths, docs_dir
from app.resources.themes import Themes, find_themes
from app.resources.trust.project_trust import TrustDecision
from tools.files.path_existence import is_file


def make_system_prompt_source(
    paths: BayouPaths, options: CommandLineOptions, trust: TrustDecision, chosen: ChosenExtensions
) -> SystemPromptSource:
    choice = SystemPromptOptions(
        is_trusted=trust.is_trusted,
        system_prompt=_text_or_file_content(options.system_prompt),
        appended_texts=tuple(
            text for given in options.append_system_prompt if (text := _text_or_file_content(given))
        ),
        should_use_context_files=not options.no_context_files,
        should_use_skills=not options.no_skills,
        skill_folders=tuple(Path(path).expanduser().resolve() for path in options.skill),
        extension_skill_folders=chosen.skills,
        builtin_skill_folders=(docs_dir() / "extending-bayou",),
        docs_dir=docs_dir().as_posix(),
    )
    return SystemPromptSource(paths, choice)


def _text_or_file_content(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        path = Path(given).expanduser()
        return path.read_text(encoding="utf-8") if is_file(path) else given
    except (OSError, ValueError):
        return given


def load_themes(
    options: CommandLineOptions, paths: BayouPaths, trust: TrustDecision, more: tuple[Path, ...]
) -> Themes:
    """Returns bayou's own, the user's, the project's and the named themes; with --no-themes only bayou's own and
    the named ones."""
    named = [paths.cwd / Path(path).expanduser() for path in options.theme]
    if not options.no_themes:
        return find_themes(paths, is_trusted=trust.is_trusted, more=[*more, *named])
    return find_themes(paths, is_trusted=False, more=named, has_own=False)


def require_option_theme(wanted: str | None, themes: Themes) -> Themes:
    """Returns the themes if the theme that --use-theme names is among them, otherwise raises `UsageError`."""
    for name in (wanted or "").split("/"):
        if name not in ("", "system", *themes.names):
            raise UsageError(f"--use-theme: there is no theme '{name}'. Themes: {', '.join(themes.names)}.")
    return themes
