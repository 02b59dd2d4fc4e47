"""`bayou --list-models [search]`: which models there are, and which have credentials. One's own servers whose models
nobody has written down are asked for them.
"""

import asyncio
import os
import sys
from collections.abc import Mapping

from app.providers.catalogue import ModelCatalogue
from app.providers.credentials import Credentials
from app.providers.listing import list_models as table
from app.providers.registry import Registry
from app.resources.paths import Paths


def list_models(paths: Paths, search: str, *, is_offline: bool) -> int:
    catalogue = ModelCatalogue.load(paths.agent_dir, env=os.environ)
    credentials = Credentials(paths.agent_dir, os.environ)
    if catalogue.untold:
        flags = {"offline": True} if is_offline else {}
        asyncio.run(_ask(paths, catalogue, credentials, flags))
    rows = table(catalogue, credentials, search)
    sys.stdout.write("\n".join(rows) + "\n")
    for problem in catalogue.problems:
        sys.stderr.write(f"bayou: {problem}\n")
    return 0


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
