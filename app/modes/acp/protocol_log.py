"""Writes the lines between bayou and a client into a file, with known secrets masked."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from app.engine.core.session_options import SessionOptions
from app.engine.secrets.known_secrets import SecretSources
from app.engine.secrets.session_mask import SessionSecretMask
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings


class ProtocolLog:
    """A file of lines, each with its time and direction; only its owner may read it."""

    def __init__(self, file: Path, paths: BayouPaths) -> None:
        """Opens the log file. Raises `OSError` when it cannot be written."""
        effective_settings = EffectiveSettings(paths)
        effective_settings.set("secrets.mask", True)
        sources = SecretSources(agent_dir=paths.agent_dir, home=paths.home, environment=os.environ)
        self._masking = SessionSecretMask(sources, SessionOptions(effective_settings))
        self._masking.known_secrets.search_files(paths.cwd, ())
        file.touch(mode=0o600)
        self._file = file.open("a", encoding="utf-8", errors="replace", buffering=1)

    def log_protocol_line(self, direction: Literal["<", ">"], line: bytes) -> None:
        """Notes a line of the client (`<`) or of bayou (`>`)."""
        text = self._masking.masked_text(line.decode("utf-8", "replace"), "")
        self._file.write(f"{datetime.now(UTC).isoformat(timespec='milliseconds')} {direction} {text}\n")
