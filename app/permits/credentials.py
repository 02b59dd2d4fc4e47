"""Which secret places a program needs that was let into the network: its own, and no other program's."""

from collections.abc import Collection
from typing import Final

from tools.protected.keys import KEY_NAMES, KEY_PLACES

DAEMONS: Final = frozenset({"docker", "podman"})
"""Programs whose work is done by a daemon outside of any box."""


def credential_places_of(programs: Collection[str]) -> frozenset[str]:
    """Places in the home, where a command runs these and nothing that is not known."""
    wanted = frozenset(programs)
    return frozenset(one.name for one in (*KEY_PLACES, *KEY_NAMES) if not wanted.isdisjoint(one.programs))
