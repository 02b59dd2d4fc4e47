"""`bayou --list-models [search]`: which models there are, and which have credentials; those of extensions too.

One's own servers whose models nobody has written down are asked for them.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout

from app.assembly.options import Options
from app.providers.catalogue import ModelCatalogue
from app.providers.credentials import Credentials
from app.providers.listing import list_models as table
from app.providers.registry import Registry
from app.resources.paths import Paths


def list_models(
    paths: Paths,
    search: str,
    *,
    is_offline: bool,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> int:
    catalogue = ModelCatalogue.load(paths.agent_dir, env=os.environ)
    credentials = Credentials(paths.agent_dir, os.environ)
    with redirect_stdout(sys.stderr):  # an extension that prints while it is loaded
        problems = asyncio.run(_complete(options, paths, catalogue, credentials, is_offline))
    rows = table(catalogue, credentials, search)
    sys.stdout.write("\n".join(rows) + "\n")
    for problem in (*catalogue.problems, *problems):
        sys.stderr.write(f"bayou: {problem}\n")
    return 0


async def _complete(
    options: Options, paths: Paths, catalogue: ModelCatalogue, credentials: Credentials, is_offline: bool
) -> tuple[str, ...]:
    from app.assembly.providers import bring_providers  # noqa: PLC0415  (with what extensions stand on)

    if catalogue.untold:
        await _ask(paths, catalogue, credentials, {"offline": True} if is_offline else {})
    return await bring_providers(options, paths, catalogue, credentials)


async def _ask(
    paths: Paths, catalogue: ModelCatalogue, credentials: Credentials, flags: Mapping[str, bool]
) -> None:
    from app.providers.discovery import discover, hint  # noqa: PLC0415  (only when there is somebody to ask)
    from app.resources.in_force import InForce  # noqa: PLC0415  (beside it)

    network = InForce(paths, flags=flags).settings.network
    if network.offline:
        return

    async def ask(provider: str) -> None:
        found = await discover(provider, catalogue, credentials, paths.agent_dir, proxy=network.http_proxy)
        if told := hint(found):
            sys.stderr.write(f"bayou: {provider}: {told}\n")

    await asyncio.gather(*map(ask, catalogue.untold))
    await Registry().close()
