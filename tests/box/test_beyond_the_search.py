"""Repositories beyond the search limit: git enters those in its index, and the limit is reported."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from app.tui.status.status_lines import query_git_state
from tests.box.test_set_aside import boxed_session
from tests.permits.test_gate import questions_asked, results

MAKES = "import subprocess; subprocess.run(['sh', 'make.sh'])"
PLANT = (
    "git init -q {0} && git -C {0} -c user.name=x -c user.email=x@y commit -q --allow-empty -m x; "
    "git -C {0} config core.fsmonitor \"touch '$PWD/ran' #\"; git add -f {0}"
)
LIMIT = "not everything here could be looked through"


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=False, capture_output=True)


@pytest.mark.parametrize(
    ("before", "where", "told"),
    [
        ("for i in $(seq 60); do git init -q a$i; done", "zz", "more than 50 repositories"),
        ("mkdir fill; (cd fill; seq 21000 | xargs touch)", "zz/y", "more than 20,000 entries"),
        ("mkdir -p node_modules", "node_modules/n", ""),
    ],
)
async def test_a_repository_that_the_index_links_to_is_named_wherever_it_lies(
    tmp_path: Path, before: str, where: str, told: str
) -> None:
    harness = boxed_session(tmp_path, command=f'python3 -c "{MAKES}"')
    project = harness.session.cwd
    await asyncio.to_thread(git, project, "init", "-q", "-b", "master")
    (project / "make.sh").write_text(f"{before}\nmkdir -p {where}\n{PLANT.format(where)}\n")
    assert await questions_asked(harness) == []
    text = results(harness)[0]
    assert "made or changed" in text and f"{where}/.git/config" in text
    assert (LIMIT in text and told in text) if told else LIMIT not in text
    assert await query_git_state(project, home=tmp_path / "home", is_vouched=lambda: True) == "master*"
    assert not (project / "ran").exists()
    await asyncio.to_thread(git, project, "status")
    assert (project / "ran").exists(), "git goes into it by itself: the test would show nothing otherwise"


async def test_what_can_run_is_named_before_other_changes(tmp_path: Path) -> None:
    harness = boxed_session(tmp_path, command=f'python3 -c "{MAKES}"')
    project = harness.session.cwd
    await asyncio.to_thread(git, project, "init", "-q", "-b", "master")
    (project / "make.sh").write_text(
        "for i in $(seq 9); do mkdir .a$i; echo {} > .a$i/settings.json; done; mkdir -p .b/hooks\n"
        f"echo true > .b/hooks/go; chmod +x .b/hooks/go; mkdir zz; {PLANT.format('zz')}\n"
    )
    assert await questions_asked(harness) == []
    text = results(harness)[0]
    named = text.partition("made or changed ")[2].partition(", which may run later")[0]
    assert f"{project}/zz/.git/config" in named and f"{project}/.b/hooks/go" in named
    assert named.endswith(" and 6 more"), named


async def test_of_many_files_that_can_run_the_rest_is_counted(tmp_path: Path) -> None:
    harness = boxed_session(tmp_path, command=f'python3 -c "{MAKES}"')
    project = harness.session.cwd
    await asyncio.to_thread(git, project, "init", "-q", "-b", "master")
    armed = "; ".join(f"mkdir z{number}; {PLANT.format(f'z{number}')}" for number in range(7))
    (project / "make.sh").write_text(
        f"{armed}\nfor i in 1 2; do mkdir .a$i; echo {{}} > .a$i/settings.json; done\n"
    )
    assert await questions_asked(harness) == []
    assert "and 4 more, 2 of which can run, which may run later" in results(harness)[0]
