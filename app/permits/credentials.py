"""Which secret places a program needs that was let into the network: its own, and nobody else's."""

from collections.abc import Collection
from typing import Final

_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "git": (".ssh", ".git-credentials", ".config/git/credentials", ".netrc", ".config/gh"),
    "ssh": (".ssh",),
    "scp": (".ssh",),
    "sftp": (".ssh",),
    "rsync": (".ssh",),
    "ssh-add": (".ssh",),
    "gh": (".config/gh",),
    "curl": (".netrc",),
    "wget": (".netrc",),
    "aws": (".aws",),
    "gcloud": (".config/gcloud",),
    "gsutil": (".config/gcloud",),
    "az": (".azure",),
    "kubectl": (".kube/config", ".aws", ".config/gcloud"),
    "helm": (".kube/config",),
    "docker": (".docker/config.json",),
    "podman": (".docker/config.json",),
    "npm": (".npmrc",),
    "npx": (".npmrc",),
    "pnpm": (".npmrc",),
    "yarn": (".npmrc",),
    "pip": (".netrc", ".pypirc"),
    "pip3": (".netrc", ".pypirc"),
    "uv": (".netrc", ".pypirc"),
    "psql": (".pgpass",),
    "pg_dump": (".pgpass",),
    "mysql": (".my.cnf",),
}
_DAEMONS: Final = frozenset({"docker", "podman"})


def shown_to(programs: Collection[str]) -> frozenset[str]:
    """Places in the home, where a command runs these and nothing that is not known."""
    found = [set(_SHOWN.get(program, ())) for program in programs]
    return frozenset(name for places in found for name in places)


def daemons() -> frozenset[str]:
    """Programs whose work is done by a daemon outside of any box."""
    return _DAEMONS
