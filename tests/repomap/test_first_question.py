"""The hint for a first question, and when there is none."""

from pathlib import Path

import pytest

from tools.repomap.likely_places import MIN_FILES_FOR_LIKELY_PLACES, find_likely_files_for_question
from tools.repomap.mapped_repository import MappedRepository
from tools.repomap.repository_map_rendering import estimate_tokens
from tools.session_workspace import SessionWorkspace

SURE = "`turn_capstan` winds the chain around the drum much too slowly"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> SessionWorkspace:
    root = tmp_path_factory.mktemp("fleet")
    for number in range(MIN_FILES_FOR_LIKELY_PLACES):
        (root / f"part{number}.py").write_text(f"def sail_{number}():\n    wind = {number}\n")
    (root / "anchor.py").write_text("def turn_capstan(chain):\n    return chain\n")
    repository = MappedRepository(root, root.with_name("cache"))
    assert repository.complete_index(workers=0) == ""
    return SessionWorkspace(root, repositories=lambda cwd: repository)


def test_a_name_that_one_file_defines_is_sure(fleet: SessionWorkspace):
    told = find_likely_files_for_question(fleet, SURE)
    assert told is not None and "anchor.py" in told.split("\n")[1]
    assert estimate_tokens(told) <= 1000


@pytest.mark.parametrize(
    "prompt",
    [
        "turn_capstan fails",
        "please look at @anchor.py where turn_capstan winds the chain around the drum",
        "the wind sails over every part during most heavy days of winter",
        "",
    ],
)
def test_few_words_a_mention_or_an_even_field_say_nothing(fleet: SessionWorkspace, prompt: str):
    assert find_likely_files_for_question(fleet, prompt) is None


def test_in_a_small_folder_nothing_is_reported(tmp_path: Path):
    (tmp_path / "boats").mkdir()
    (tmp_path / "boats" / "anchor.py").write_text("def turn_capstan(chain):\n    return chain\n")
    repository = MappedRepository(tmp_path / "boats", tmp_path / "cache")
    repository.complete_index(workers=0)
    assert (
        find_likely_files_for_question(
            SessionWorkspace(tmp_path / "boats", repositories=lambda cwd: repository), SURE
        )
        is None
    )


def test_without_an_index_one_is_begun_and_nothing_told(tmp_path: Path):
    (tmp_path / "boats").mkdir()
    (tmp_path / "boats" / "anchor.py").write_text("def turn_capstan(chain):\n    return chain\n")
    repository = MappedRepository(tmp_path / "boats", tmp_path / "cache")
    workspace = SessionWorkspace(tmp_path / "boats", repositories=lambda cwd: repository)
    assert find_likely_files_for_question(workspace, SURE) is None
    workspace.close()
