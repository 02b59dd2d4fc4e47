"""Which secret places a program needs that was let into the network: its own, and nobody else's."""

from collections.abc import Collection
from typing import Final

_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    program: places
    for programs, places in (
        ("git", (".ssh", ".git-credentials", ".config/git/credentials", ".netrc", ".config/gh")),
        ("ssh scp sftp rsync ssh-add", (".ssh",)),
        ("gh", (".config/gh",)),
        ("curl wget", (".netrc",)),
        ("aws", (".aws",)),
        ("gcloud gsutil", (".config/gcloud",)),
        ("az", (".azure",)),
        ("kubectl", (".kube/config", ".aws", ".config/gcloud")),
        ("helm", (".kube/config",)),
        ("docker podman", (".docker/config.json",)),
        ("npm npx pnpm yarn", (".npmrc",)),
        ("pip pip3 uv", (".netrc", ".pypirc")),
        ("psql pg_dump", (".pgpass",)),
        ("mysql", (".my.cnf",)),
    )
    for program in programs.split()
}
DAEMONS: Final = frozenset({"docker", "podman"})
"""Programs whose work is done by a daemon outside of any box."""


def shown_to(programs: Collection[str]) -> frozenset[str]:
    """Places in the home, where a command runs these and nothing that is not known."""
    found = [set(_SHOWN.get(program, ())) for program in programs]
    return frozenset(name for places in found for name in places)
