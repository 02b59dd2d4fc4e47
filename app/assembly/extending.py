"""Loading extensions for a session, in whichever face: found, loaded, connected, started."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.assembly.build import Assembled
from app.assembly.options import Options, UsageError
from app.engine.commands.results import CommandInfo
from app.engine.extending.host import SessionHost
from app.engine.extending.listing import file_commands
from app.engine.extending.wiring import Wiring
from app.extensions.loader import Choice, find_extensions
from app.extensions.ports import Mode, Ui
from app.extensions.runner import Extensions
from app.resources.files import FileFault
from app.resources.paths import Paths
from app.resources.prompts import find_prompts
from app.resources.settings import value_at


class Extended(msgspec.Struct, kw_only=True):
    """A session's extensions, connected."""

    extensions: Extensions
    wiring: Wiring
    reload: Callable[[], Any]


async def extend(
    assembled: Assembled,
    options: Options,
    paths: Paths,
    *,
    mode: Mode,
    ui: Ui,
    shutdown: Callable[[], None],
) -> Extended:
    """What goes wrong in an extension is told as an event; nothing raises but unknown flags."""
    session, settings = assembled.session, assembled.settings
    prompts = find_prompts(
        paths,
        is_trusted=assembled.trust.is_trusted,
        more=[paths.cwd / path for path in (*settings.resources.prompts, *options.prompt_template)],
    )
    choice = Choice(
        is_safe=options.safe,
        only_named=options.no_extensions,
        named=options.extension,
        settings=settings.resources.extensions,
        is_trusted=assembled.trust.is_trusted,
    )
    extensions = Extensions(flags=options.extension_flags)

    def expand(text: str) -> str:
        if not text.startswith("/"):
            return text
        try:
            skill = assembled.prompt.skills.expand(text) if settings.resources.enable_skill_commands else None
        except FileFault as problem:
            session.notify(str(problem), "error")
            return text
        return skill or prompts.expand(text) or text

    async def reload() -> None:
        assembled.prompt.reload()
        found = find_extensions(paths, choice)
        await extensions.reload(found.sources)

    host = SessionHost(
        session,
        mode=mode,
        ui=ui,
        settings=lambda: plain_settings(assembled),
        is_trusted=assembled.trust.is_trusted,
        shutdown=shutdown,
        reload=reload,
    )

    def listed() -> list[CommandInfo]:
        skills = assembled.prompt.skills.skills if settings.resources.enable_skill_commands else ()
        return file_commands(prompts.templates, skills, paths)

    wiring = Wiring(
        session,
        extensions,
        host,
        expand=expand,
        own_sections=assembled.prompt.extra_sections,
        file_commands=listed,
    )
    found = find_extensions(paths, choice)
    for text in (*found.problems, *prompts.problems):
        session.notify(text, "warning")
    await extensions.load(found.sources)
    unknown = wiring.catalogue.unknown_flags()
    if unknown:
        raise UsageError(f"Unknown option: --{unknown[0]}. See bayou --help.")
    await extensions.start()
    return Extended(extensions=extensions, wiring=wiring, reload=reload)


def plain_settings(assembled: Assembled) -> Mapping[str, Any]:
    """All settings as in the file, with those that bayou does not know."""
    from app.resources.settings import keys  # noqa: PLC0415  (built from annotations; only extensions ask for it)

    data: dict[str, Any] = dict(assembled.unknown_settings)
    for key in keys():
        place = data
        for name in key.path[:-1]:
            place = place.setdefault(name, {})
        place[key.path[-1]] = value_at(assembled.settings, key)
    return data
