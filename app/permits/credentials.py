"""Which credential files a network program may see: only those that this program needs."""

from collections.abc import Collection
from typing import Final

from tools.protected.keys import KEY_NAMES, KEY_PLACES

DAEMONS: Final = frozenset({"docker", "podman"})
"""Programs whose work is done by a daemon outside the sandbox."""


def credential_places_of(programs: Collection[str]) -> frozenset[str]:
    """Credential files in the home folder that these programs need."""
    wanted = frozenset(programs)
    return frozenset(one.name for one in (*KEY_PLACES, *KEY_NAMES) if not wanted.isdisjoint(one.programs))
