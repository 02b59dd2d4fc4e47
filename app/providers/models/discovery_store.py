"""Stores the model lists of servers with the time of the answer."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tools.files.atomic_replacement import replace_file_atomically
from tools.files.regular_files import read_regular_file


class DiscoveredModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models of a server in the form of models.json, and when the server listed them."""

    models: tuple[dict[str, Any], ...] = ()
    fetched_at: float = 0.0
    """The Unix time in seconds at which the server sent the list."""
    base_url: str = ""

    def age_seconds(self) -> float:
        return max(0.0, time.time() - self.fetched_at)


def load_discovered_models(agent_dir: Path) -> Mapping[str, DiscoveredModels]:
    """Returns the stored lists; none if the store is missing or unreadable, because discovery can fill it
    again."""
    try:
        return msgspec.json.decode(
            read_regular_file(discovered_models_path(agent_dir)), type=dict[str, DiscoveredModels]
        )
    except (OSError, ValueError, RecursionError):
        return {}


def save_discovered_models(agent_dir: Path, provider: str, found: DiscoveredModels) -> None:
    """Stores a list by replacing the whole file; of two concurrent writers, one may lose its answer."""
    store = {**load_discovered_models(agent_dir), provider: found}
    replace_file_atomically(discovered_models_path(agent_dir), msgspec.json.encode(store), mode=0o600)


def discovered_models_path(agent_dir: Path) -> Path:
    return agent_dir / "models-store.json"
