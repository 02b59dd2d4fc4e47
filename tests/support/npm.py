"""Packages of npm that some tests ask: other programs that read our files or speak our protocol."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.conftest import OUTSIDE

_SYSTEMS_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Node has its own and does not look here by itself."""
_SECONDS = 120


@cache
def why_npm_cannot(folder: Path, *words: str) -> str:
    """Runs npm in the folder; why that did not succeed, or nothing. Tried once, for a limited time."""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm"
    environment = dict(OUTSIDE)
    if _SYSTEMS_CERTIFICATES.exists():
        environment.setdefault("NODE_EXTRA_CA_CERTS", str(_SYSTEMS_CERTIFICATES))
    command = [npm, *words, "--fetch-retries=0", "--fetch-timeout=30000"]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"npm took longer than {_SECONDS} s"
    return "" if done.returncode == 0 else done.stderr.strip()[-300:] or "npm failed"
