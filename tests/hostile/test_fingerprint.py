"""The fingerprint covers what runs: there is no place, link or number of files behind which a change is not seen."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.resources.paths import BayouPaths
from app.resources.trust.content_fingerprint import MAX_FINGERPRINT_BYTES, MAX_FINGERPRINT_FILES
from app.resources.trust.project_trust import decide_project_trust, store_trust_answer, trust_question_for
from tests.hostile.conftest import Put
from tests.hostile.repositories import git, repository


def trusted_now(paths: BayouPaths) -> bool:
    return decide_project_trust(paths, can_ask=True).is_trusted


Change = Callable[[Path, Put], Path]


def named_by_a_setting(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"extensions": ["./tools/agent.py"]}')
    return put(folder / "tools" / "agent.py", "x = 1")


def in_a_named_folder(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"extensions": ["tools"]}')
    return put(folder / "tools" / "deep" / "er" / "part.py", "x = 1")


def sourced_by_the_prefix(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"shellCommandPrefix": "source \\"./env.sh\\";"}')
    return put(folder / "env.sh", "x=1")


def sourced_by_where_one_is(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"shellCommandPrefix": "source \\"$PWD/env.sh\\";"}')
    return put(folder / "env.sh", "x=1")


def sourced_by_what_pwd_says(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"shellCommandPrefix": ". $(pwd)/deep/env.sh;"}')
    return put(folder / "deep" / "env.sh", "x=1")


def sourced_by_a_variable_of_its_own(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"shellCommandPrefix": "IT=${PWD:-.}/env.sh; . $IT;"}')
    return put(folder / "env.sh", "x=1")


def sourced_by_a_pattern(folder: Path, put: Put) -> Path:
    put(
        folder / ".bayou" / "settings.json", '{"shellCommandPrefix": "for x in ./hooks/*.sh; do . $x; done;"}'
    )
    return put(folder / "hooks" / "env.sh", "x=1")


def behind_another_folder(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"shellCommandPrefix": "cd tools && . ./env.sh && cd ..;"}')
    return put(folder / "tools" / "env.sh", "x=1")


def the_shell_itself(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "settings.json", '{"shellPath": "./sh"}')
    return put(folder / "sh", "x=1")


def in_a_linked_folder(folder: Path, put: Put) -> Path:
    file = put(folder / "lib" / "part.py", "x = 1")
    put(folder / ".bayou" / "extensions" / "one" / "__init__.py", "from . import lib")
    (folder / ".bayou" / "extensions" / "one" / "lib").symlink_to(folder / "lib")
    return file


def behind_a_link(folder: Path, put: Put) -> Path:
    file = put(folder / "one.py", "x = 1")
    put(folder / ".bayou" / "extensions" / ".keep", "")
    (folder / ".bayou" / "extensions" / "one.py").symlink_to(file)
    return file


def data_of_an_extension(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "extensions" / "one" / "__init__.py", "exec(open('code.txt').read())")
    return put(folder / ".bayou" / "extensions" / "one" / "code.txt", "x = 1")


def compiled(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "extensions" / "one" / "__init__.py", "x = 1")
    return put(folder / ".bayou" / "extensions" / "one" / "__pycache__" / "part.cpython-311.pyc", "1")


def hidden(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "extensions" / "one" / "__init__.py", "x = 1")
    return put(folder / ".bayou" / "extensions" / "one" / ".config" / "part", "1")


def beside_the_extensions(folder: Path, put: Put) -> Path:
    put(folder / ".bayou" / "extensions" / "one.py", "x = 1")
    return put(folder / ".bayou" / "extensions" / "data" / "part.bin", "1")


def skills_of_all_agents(folder: Path, put: Put) -> Path:
    return put(folder / ".agents" / "skills" / "fix" / "run.sh", "x=1")


@pytest.mark.parametrize(
    "prepare",
    [
        *(named_by_a_setting, in_a_named_folder, sourced_by_the_prefix, the_shell_itself, in_a_linked_folder),
        *(behind_a_link, data_of_an_extension, compiled, hidden, beside_the_extensions, skills_of_all_agents),
        *(sourced_by_where_one_is, sourced_by_what_pwd_says, sourced_by_a_variable_of_its_own),
        *(sourced_by_a_pattern, behind_another_folder),
    ],
    ids=lambda prepare: prepare.__name__,
)
def test_a_change_is_seen(prepare: Change, paths: BayouPaths, folder: Path, put: Put) -> None:
    """Also one that leaves size and times as they were."""
    file = prepare(folder, put)
    store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    assert trusted_now(paths)
    before = file.stat()
    text = file.read_text()
    file.write_text(text[:-1] + ("2" if text[-1] != "2" else "3"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not trusted_now(paths)


@pytest.mark.parametrize("what", ["files", "bytes"])
def test_above_a_limit_nothing_can_be_vouched_for(
    what: str, paths: BayouPaths, folder: Path, put: Put
) -> None:
    place = folder / ".bayou" / "extensions" / "one"
    put(place / "__init__.py", "x = 1")
    if what == "files":
        for number in range(MAX_FINGERPRINT_FILES):
            (place / f"{number}.txt").touch()
    else:
        with (place / "large").open("wb") as file:
            file.truncate(MAX_FINGERPRINT_BYTES + 1)
    question = trust_question_for(paths)
    assert [item.path for item in question.exceeded_limit] == [".bayou/extensions/one"]
    with pytest.raises(Exception, match="more files than bayou can check"):
        store_trust_answer(paths, question, is_trusted=True)
    assert not trusted_now(paths)


def test_loops_pipes_and_what_cannot_be_read_keep_nothing_waiting(
    paths: BayouPaths, folder: Path, put: Put
) -> None:
    place = folder / ".bayou" / "extensions" / "one"
    put(place / "__init__.py", "x = 1")
    (place / "round").symlink_to(place)
    (place / "nowhere").symlink_to(folder / "nowhere")
    os.mkfifo(place / "pipe")
    store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    assert trusted_now(paths)


def test_a_trusted_parent_does_not_vouch_for_a_clone_below_it(
    paths: BayouPaths, folder: Path, put: Put
) -> None:
    put(paths.trust_file, f'{{"{folder}": true}}')
    below = folder / "vendor" / "theirs"
    put(below / ".bayou" / "extensions" / "x.py", "x = 1")
    inner = BayouPaths.from_env({"HOME": str(paths.home)}, below)
    assert trusted_now(inner), "the person wrote that all below is trusted"
    repository(below)
    assert not trusted_now(inner)


@pytest.mark.parametrize("how", ["bare", "file", "link"])
def test_every_form_of_clone(how: str, paths: BayouPaths, folder: Path, put: Put) -> None:
    put(paths.trust_file, f'{{"{folder}": true}}')
    below = folder / "theirs"
    put(below / ".bayou" / "extensions" / "x.py", "x = 1")
    if how == "bare":
        git(folder, "init", "--quiet", "--bare", str(below))
    elif how == "file":
        put(below / ".git", "gitdir: ../elsewhere\n")
    else:
        repository(folder / "other")
        (below / ".git").symlink_to(folder / "other" / ".git")
    assert not trusted_now(BayouPaths.from_env({"HOME": str(paths.home)}, below))


def test_an_answer_about_the_top_covers_what_a_folder_below_has_in_common_with_it(
    paths: BayouPaths, folder: Path, put: Put
) -> None:
    repository(folder)
    git(folder, "config", "core.hooksPath", ".husky")
    store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    below = BayouPaths.from_env({"HOME": str(paths.home)}, folder / "src")
    below.cwd.mkdir()
    assert trusted_now(below)
    put(below.project_dir / "extensions" / "x.py", "x = 1")
    assert not trusted_now(below)


def test_configuration_of_a_repository_is_part_of_it(paths: BayouPaths, folder: Path) -> None:
    repository(folder)
    git(folder, "config", "core.sshCommand", "ssh -4")
    store_trust_answer(paths, trust_question_for(paths), is_trusted=True)
    assert trusted_now(paths)
    git(folder, "config", "core.sshCommand", "evil")
    assert not trusted_now(paths)


def test_a_prefix_does_not_make_bayou_walk_or_read_for_ever(
    paths: BayouPaths, folder: Path, put: Put
) -> None:
    """All of a large folder, again and again, before anybody was asked."""
    for number in range(30):
        for deep in range(30):
            put(folder / f"{number}" / f"{deep}" / "x" / "y.txt", "")
    large = put(folder / "large.bin", "x" * 4_000_000)
    words = " ".join(f"{'./' * number}large.bin" for number in range(1, 1500))
    put(
        folder / ".bayou" / "settings.json",
        json.dumps({"shellCommandPrefix": f"ls **/nothing {words[:9000]};"}),
    )
    begun = time.process_time()
    before = trust_question_for(paths)
    put(
        folder / ".bayou" / "settings.json", json.dumps({"shellCommandPrefix": "ls */*/*/*/*/nothing " * 300})
    )
    trust_question_for(paths)
    assert time.process_time() - begun < 3
    assert any(item.path.endswith("large.bin") for item in before.items) and large.exists()
