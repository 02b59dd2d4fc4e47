"""npm packages used by tests: other programs that read bayou's files or speak its protocol."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.conftest import OUTSIDE

_SYSTEMS_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""The system's certificates, which Node does not use by default."""
_SECONDS = 120


@cache
def why_npm_cannot(folder: Path, *words: str) -> str:
    """Runs npm in the folder; returns the reason of a failure, or an empty text. Runs once, with a
    time limit."""
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
