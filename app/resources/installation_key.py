"""The key of this installation, a file in bayou's folder that no sandbox shows: placeholders of secrets and signatures
of session entries are made with it."""

import os
from pathlib import Path

from tools.files.regular_files import read_regular_file

INSTALLATION_KEY_FILE = "secrets.key"
_INSTALLATION_KEY_BYTES = 32


def load_or_create_key(agent_dir: Path | None) -> bytes:
    """Returns the installation's key, created when first needed; a temporary key if it cannot be stored."""
    made = os.urandom(_INSTALLATION_KEY_BYTES)
    if agent_dir is None:
        return made
    path = agent_dir / INSTALLATION_KEY_FILE
    kept = _read_key(path)
    if kept is not None:
        return kept
    beside = agent_dir / f"{INSTALLATION_KEY_FILE}.{os.getpid()}"
    try:
        agent_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(made)
        if path.exists():  # the file is damaged: shorter than a key
            beside.replace(path)
        else:
            os.link(beside, path)  # of two processes that start at once, the first one wins
    except OSError:
        pass
    finally:
        try:
            beside.unlink(missing_ok=True)
        except OSError:
            pass
    return _read_key(path) or made


def _read_key(path: Path) -> bytes | None:
    try:
        kept = read_regular_file(path)
    except OSError:
        return None
    return kept if len(kept) >= _INSTALLATION_KEY_BYTES else None
