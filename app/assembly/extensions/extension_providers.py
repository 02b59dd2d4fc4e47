"""Loads the providers of extensions for commands without a session: lists of models, signing in."""

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.extensions.extension_choice import choose_extensions, make_session_extensions
from app.assembly.session_opening import read_settings
from app.extensions.extension_registrations import ExtensionSource
from app.extensions.extension_session_binding import register_provider_models
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.resources.paths import BayouPaths


async def load_extension_providers(
    options: CommandLineOptions, paths: BayouPaths, catalogue: ModelCatalogue, credentials: Credentials
) -> tuple[str, ...]:
    """Loads the extensions that a session in this folder would have, and reports their problems."""
    effective_settings, project = read_settings(options, paths)
    chosen = choose_extensions(
        options, paths, effective_settings.settings, is_trusted=project.decision.is_trusted
    )
    extensions = make_session_extensions(options, effective_settings)

    def may_read(source: ExtensionSource) -> bool:
        is_named = source.origin == "settings" and effective_settings.origin("extensions") == "project"
        return not (is_named or source.origin == "project") or project.is_trusted()

    extensions.may_read = may_read
    problems = await extensions.load(chosen.sources)
    for extension in extensions.hooks.loaded:
        for spec in extension.providers.values():
            register_provider_models(
                spec, catalogue, credentials, owner=extension.provider_owner_name(spec.name)
            )
    return (*chosen.problems, *map(str, problems))
