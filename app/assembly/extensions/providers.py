"""Loads the providers of extensions for commands without a session: lists of models, signing in."""

from app.assembly.extensions.extension_choice import chosen_for, extensions_for
from app.assembly.opened import settings_of
from app.assembly.options import Options
from app.extensions.bound import make_known
from app.extensions.registrations import Source
from app.providers.credentials import Credentials
from app.providers.models.catalogue import ModelCatalogue
from app.resources.paths import Paths


async def bring_providers(
    options: Options, paths: Paths, catalogue: ModelCatalogue, credentials: Credentials
) -> tuple[str, ...]:
    """Loads the extensions that a session in this folder would have, and reports their problems."""
    in_force, project = settings_of(options, paths)
    chosen = chosen_for(options, paths, in_force.settings, is_trusted=project.decision.is_trusted)
    extensions = extensions_for(options, in_force)

    def may_read(source: Source) -> bool:
        is_named = source.origin == "settings" and in_force.origin("extensions") == "project"
        return not (is_named or source.origin == "project") or project.counts()

    extensions.may_read = may_read
    problems = await extensions.load(chosen.sources)
    for extension in extensions.hooked.loaded:
        for spec in extension.providers.values():
            make_known(spec, catalogue, credentials, owner=extension.owner_of(spec.name))
    return (*chosen.problems, *map(str, problems))
