"""Chooses the extensions of a program run: those that command line, settings and packages name."""

from functools import partial

from app.assembly.options import Options
from app.extensions.guard import limits_in_force
from app.extensions.loading.choosing import Asked, Chosen, choose
from app.extensions.runner import Extensions
from app.resources.paths import Paths
from app.resources.settings.in_force import InForce
from app.resources.settings.settings import Settings


def asked_of(options: Options) -> Asked:
    return Asked(is_safe=options.safe, only_named=options.no_extensions, named=options.extension)


def chosen_for(options: Options, paths: Paths, settings: Settings, *, is_trusted: bool) -> Chosen:
    """Returns the extensions and further folders of resources that are named for this folder."""
    return choose(paths, settings, asked_of(options), is_trusted=is_trusted)


def extensions_for(options: Options, in_force: InForce) -> Extensions:
    """Makes the session's `Extensions`, without loading any."""
    return Extensions(
        flags=options.extension_flags,
        behind=options.value_behind,
        limits=partial(limits_in_force, in_force),
    )
