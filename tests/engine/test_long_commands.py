"""When a command goes to the background by itself: at the full screen after two minutes, for programs only if asked."""

from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.assembly.session_builder import assemble_session
from app.resources.paths import BayouPaths


def seconds(folder: Path, *, has_person: bool) -> float | None:
    paths = BayouPaths.from_env({"HOME": str(folder), "BAYOU_AGENT_DIR": str(folder / "agent")}, folder)
    return (
        assemble_session(CommandLineOptions(no_session=True), paths, {}, can_ask=has_person)
        .workspace.shell_settings()
        .background_after_seconds
    )


@pytest.mark.parametrize(("has_person", "after"), [(True, 120), (False, None)])
def test_by_itself_only_where_a_person_waits(
    tmp_path: Path, *, has_person: bool, after: float | None
) -> None:
    assert seconds(tmp_path, has_person=has_person) == after


@pytest.mark.parametrize("has_person", [True, False])
@pytest.mark.parametrize(("asked", "after"), [(0, None), (5_000, 5)])
def test_what_was_asked_for_counts_for_everybody(
    tmp_path: Path, *, has_person: bool, asked: int, after: float | None
) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "settings.json").write_text(
        f'{{"bash": {{"autoBackground": {{"thresholdMs": {asked}}}}}}}'
    )
    assert seconds(tmp_path, has_person=has_person) == after
