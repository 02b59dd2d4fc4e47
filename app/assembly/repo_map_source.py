"""Finds the repository that a session's tools may map, without the files that rules hide; looks again only
now and then."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.assembly.project_trust_checker import ProjectTrustChecker
from app.permits.permit_rules import PermitRule, path_pattern_regex
from app.resources.paths import BayouPaths
from app.resources.settings.effective_settings import EffectiveSettings
from tools.protected.credential_tables import CREDENTIAL_PLACES

if TYPE_CHECKING:
    from tools.repomap.mapped_repository import MappedRepository

_MAPPED_REPOSITORY_CACHE_SECONDS = 5.0
"""The number of seconds for which the repository of a folder is remembered before it is looked up again."""


class _CachedRepository(msgspec.Struct, frozen=True):
    checked_at: float
    repository: "MappedRepository"


class MappedRepositoryFinder(msgspec.Struct, eq=False):
    """Finds the repository that the workspace's map tools may read, usually from a cache."""

    paths: BayouPaths
    effective_settings: EffectiveSettings
    project: ProjectTrustChecker
    rules: Callable[[], Iterable[PermitRule]]
    _cached_repositories: dict[Path, _CachedRepository] = {}
    """The repositories found, by working folder, each with the time of the search."""

    def __call__(self, cwd: Path) -> "MappedRepository | None":
        if not self.effective_settings.settings.repository_maps.enabled:
            return None
        known, now = self._cached_repositories.get(cwd), time.monotonic()
        if known is not None and now - known.checked_at < _MAPPED_REPOSITORY_CACHE_SECONDS:
            return known.repository
        # Imports SQLite and the mapper, which most sessions start without.
        from tools.repomap.index.file_hiding_rules import FileHidingRules  # noqa: PLC0415  (as above)
        from tools.repomap.mapped_repository import MappedRepository, find_repository_root  # noqa: PLC0415  (as above)

        root = find_repository_root(cwd)
        if known is not None and known.repository.root == root:
            repository = known.repository
        else:
            repository = MappedRepository(
                root,
                self.paths.cache_dir,
                asks_git_at_home=self._home_if_harmless,
                hidden=lambda: FileHidingRules(hidden_file_patterns(self.rules(), cwd, self.paths.home)),
                begins_at=cwd,
            )
        self._cached_repositories = {**self._cached_for_session(), cwd: _CachedRepository(now, repository)}
        return repository

    def _cached_for_session(self) -> dict[Path, _CachedRepository]:
        folders = (self.paths.cwd, *self.paths.added_folders.paths)
        return {folder: one for folder, one in self._cached_repositories.items() if folder in folders}

    def _home_if_harmless(self) -> Path | None:
        """Returns the home folder for git commands if the folder is trusted or has nothing to trust: only
        then git reads its history."""
        decision = self.project.decision
        return self.paths.home if decision.is_trusted or decision.question.is_empty else None


def hidden_file_patterns(rules: Iterable[PermitRule], cwd: Path, home: Path) -> tuple[str, ...]:
    """Returns path patterns of the files whose `read` would need approval, which maps leave out."""
    workspace, homes = os.path.realpath(cwd), dict.fromkeys((str(home), os.path.realpath(home)))
    forms = [
        path_pattern_regex(rule.pattern, workspace, one)
        for rule in rules
        if rule.kind == "read" and rule.action != "allow"
        for one in homes
    ]
    for one in homes:
        forms += [
            path_pattern_regex(
                f"{one}/{place.path}**" if place.is_folder else f"{one}/{place.path}", workspace, one
            )
            for place in CREDENTIAL_PLACES
        ]
    return tuple(dict.fromkeys(forms))
