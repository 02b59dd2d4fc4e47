"""Patches of a batch's runs: shown, merged into what the files have become, pushed as branches; addresses of
repositories."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from app.batch.results import resolve_file_in_batch
from app.batch.tasks import BatchError
from app.exit_codes import DONE, FAILED, USAGE_ERROR
from tests.batch.batch_setups import SCRIPTED, batch, git, make_repository, results, write_tasks
from tests.hostile.certificates import CertificateAuthority
from tests.hostile.setups import run
from tests.support.warm_bayou import BAYOU

IDENTITY = {
    f"GIT_{who}_{what}": "n@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
EDITS = str(Path(__file__).parent / "extensions" / "edits.py")


async def bayou_batch(*words: str | Path, cwd: Path) -> tuple[int, str, str]:
    return await run(*BAYOU, "batch", *map(str, words), cwd=cwd, timeout=120)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    made = make_repository(tmp_path / "project")
    git(tmp_path, "clone", "-q", "--bare", str(made), str(tmp_path / "shop.git"))
    git(made, "remote", "add", "origin", str(tmp_path / "shop.git"))
    return made


async def test_a_patch_is_shown_merged_kept_from_changed_lines_and_pushed(
    tmp_path: Path, repository: Path
) -> None:
    address = f"file://{tmp_path / 'shop.git'}"
    tasks = write_tasks(
        tmp_path / "t.jsonl",
        {"id": "here", "prompt": "edit"},
        {"id": "afar", "prompt": "edit", "repo": address, "rev": "main"},
        {"id": "copied", "prompt": "edit", "folder": str(repository)},
    )
    words = (tasks, "--out", "out", "--repo", repository, *SCRIPTED)
    code, told, errors = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
    assert (code, errors) == (DONE, ""), told
    found = results(tmp_path / "out")
    patches = [(tmp_path / "out" / one["patch"]).read_text() for one in found.values()]
    assert patches[0] == patches[1] == patches[2] and "+++ b/new.txt" in patches[0]
    assert found["here"]["commit"] == found["afar"]["commit"] and "commit" not in found["copied"]
    assert (await bayou_batch("show", "out", "here", cwd=tmp_path))[1] == patches[0]
    assert (
        "passed     here scripted/script #1  patch\n" in (await bayou_batch("show", "out", cwd=tmp_path))[1]
    )

    (repository / "a.txt").write_text("changed here\na\n")
    code, told, errors = await bayou_batch("apply", "out", "here", cwd=tmp_path)
    assert (code, errors) == (DONE, "") and "Applied to 2 files: a.txt, new.txt." in told
    assert (repository / "a.txt").read_text() == "changed here\na\nmore\n"
    assert "Nothing to apply" in (await bayou_batch("apply", "out", "here", cwd=tmp_path))[1]
    (repository / "a.txt").write_text("quite different\n")
    for name in ("here", "copied"):
        (repository / "new.txt").unlink(missing_ok=True)
        code, told, errors = await bayou_batch("apply", "out", name, cwd=tmp_path)
        assert code == FAILED and "Applied to 1 file: new.txt. Not written" in told and "a.txt: " in errors
        assert (repository / "a.txt").read_text() == "quite different\n"

    code, told, errors = await bayou_batch("push", "out", "here", "afar", cwd=tmp_path)
    assert (code, errors) == (DONE, ""), errors
    branches = git(tmp_path / "shop.git", "branch", "--format=%(refname:short) %(subject)")
    assert f"batch/{Path(found['here']['folder']).name} It is edited." in branches
    assert (
        git(tmp_path / "shop.git", "show", f"batch/{Path(found['afar']['folder']).name}:a.txt") == "a\nmore\n"
    )
    assert git(repository, "branch", "--format=%(refname:short)") == "main\n"
    code, _, errors = await bayou_batch("apply", "out", "afar", cwd=tmp_path)
    assert code == USAGE_ERROR and "is not on this machine" in errors
    code, _, errors = await bayou_batch("push", "out", "copied", cwd=tmp_path)
    assert code == USAGE_ERROR and "not on a commit" in errors
    code, _, errors = await bayou_batch("show", "out", "none", cwd=tmp_path)
    assert code == USAGE_ERROR and "no result named none" in errors


async def test_an_address_is_cloned_once_and_fetched_for_a_new_batch(
    tmp_path: Path, repository: Path
) -> None:
    address = f"file://{tmp_path / 'shop.git'}"
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "one", "prompt": "x"})
    words = (tasks, "--dry-run", "--repo", address)
    code, told, errors = await bayou_batch(*words, cwd=tmp_path)
    assert (code, errors) == (DONE, "") and f"{address} at HEAD" in told
    git(repository, "commit", "-qm", "two", "--allow-empty")
    git(repository, "push", "-q", "origin", "main:later")
    assert (await bayou_batch(*words, "--rev", "later", cwd=tmp_path))[0] == DONE
    code, _, errors = await bayou_batch(*words, "--rev", "nowhere", cwd=tmp_path)
    assert code == USAGE_ERROR and "has no revision nowhere" in errors
    code, _, errors = await bayou_batch(*words[:-1], "file:///nowhere.git", cwd=tmp_path)
    assert code == USAGE_ERROR and "file:///nowhere.git cannot be cloned: " in errors
    clones = [place for place in Path(os.environ["HOME"]).rglob("repositories/*/*")]
    assert [place.name for place in clones] == ["shop"]


async def test_retry_and_changed_tasks_run_again_and_nothing_else(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project")
    tasks = write_tasks(
        tmp_path / "t.jsonl",
        {"id": "good", "prompt": "write"},
        {"id": "bad", "prompt": "write", "check": "exit 3"},
        {"id": "broken", "prompt": "fail"},
    )
    words = (tasks, "--out", "out", "--repo", repository, *SCRIPTED)
    assert (await batch(*words, cwd=tmp_path))[0] == FAILED
    code, told, _ = await batch(*words, "--retry", "failed", cwd=tmp_path)
    assert code == FAILED and "1 run, 2 done before" in told and "started    bad" in told
    write_tasks(
        tasks,
        {"id": "good", "prompt": "write"},
        {"id": "bad", "prompt": "write", "check": "true"},
        {"id": "broken", "prompt": "write"},
    )
    code, told, _ = await batch(*words, cwd=tmp_path)
    assert code == DONE and "2 runs, 2 again because the task has changed, 1 done before" in told
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 6
    code, _, errors = await batch(*words, "--retry", "passed", cwd=tmp_path)
    assert code == USAGE_ERROR and "--retry passed: not one of failed" in errors


@contextmanager
def https_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serves a folder with a certificate of an authority that git trusts."""
    (folder / "authority").mkdir()
    authority = CertificateAuthority(folder / "authority")
    monkeypatch.setenv("GIT_SSL_CAINFO", str(authority.file))
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(folder))
    ) as server:
        server.socket = authority.server("repositories").wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def use_ssh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets git's ssh run its command on this machine, whatever host it names."""
    program = folder / "ssh.sh"
    program.write_text('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nshift\nexec sh -c "$*"\n')
    program.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")


async def test_repositories_are_cloned_over_https_and_ssh(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = tmp_path / "shop.git"
    git(shop, "update-server-info")
    use_ssh(tmp_path, monkeypatch)
    with https_server(tmp_path, monkeypatch) as server:
        addresses = (f"{server}/shop.git", f"git@there.example:{shop}", f"ssh://git@there.example{shop}")
        lines = [{"id": str(n), "prompt": "edit", "repo": address} for n, address in enumerate(addresses)]
        tasks = write_tasks(tmp_path / "t.jsonl", *lines)
        code, told, errors = await batch(
            tasks, "--out", "out", *SCRIPTED, cwd=tmp_path, options=("-e", EDITS)
        )
    assert (code, errors) == (DONE, ""), told
    found = results(tmp_path / "out")
    assert {one["commit"] for one in found.values()} == {git(repository, "rev-parse", "HEAD").strip()}
    code, _, errors = await bayou_batch("push", "out", "1", cwd=tmp_path)
    assert (code, errors) == (DONE, "")
    assert "batch/" in git(shop, "branch", "--format=%(refname:short)")


PATCH = "diff --git a/l/new.txt b/l/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/l/new.txt\n@@ -0,0 +1 @@\n+x\n"


def write_results(out: Path, source: Path | str, **fields: str) -> None:
    """A folder of results as another person would hand it out."""
    out.mkdir(exist_ok=True)
    (out / "batch.json").write_text(json.dumps({"tasks": "t.jsonl"}))
    (out / "one.patch").write_text(PATCH)
    result = {
        "id": "t",
        "key": "t",
        "hash": "h",
        "outcome": "passed",
        "source": str(source),
        "patch": "one.patch",
    }
    (out / "results.jsonl").write_text(json.dumps(result | fields) + "\n")


@pytest.mark.parametrize("verb", ["apply", "push"])
async def test_results_of_elsewhere_change_only_the_folder_of_the_call(
    tmp_path: Path, repository: Path, verb: str
) -> None:
    commit = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "config", "remote.origin.receivepack", f"touch {tmp_path / 'ran'};")
    write_results(tmp_path / "out", repository, commit=commit)
    code, _, errors = await bayou_batch(verb, "out", "t", cwd=tmp_path)
    assert code == USAGE_ERROR and "was not made here" in errors
    assert not (repository / "l").exists() and not (tmp_path / "ran").exists()
    write_results(tmp_path / "out", f"file://{tmp_path / 'shop.git'}", commit=commit)
    assert (await bayou_batch(verb, "out", "t", cwd=tmp_path))[0] == USAGE_ERROR
    assert "batch" not in git(tmp_path / "shop.git", "branch")
    write_results(tmp_path / "out", repository, commit=commit)
    assert (await bayou_batch("apply", tmp_path / "out", "t", cwd=repository))[0] == DONE


async def test_a_patch_is_not_written_through_a_link(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "away").mkdir()
    (repository / "l").symlink_to(tmp_path / "away")
    write_results(tmp_path / "out", repository, commit=git(repository, "rev-parse", "HEAD").strip())
    code, _, errors = await bayou_batch("apply", tmp_path / "out", "t", cwd=repository)
    assert code == FAILED and "behind a link" in errors
    assert list((tmp_path / "away").iterdir()) == []


async def test_a_commit_of_results_is_no_option_of_git(tmp_path: Path, repository: Path) -> None:
    write_results(tmp_path / "out", repository, commit=f"--index-output={tmp_path / 'written'}")
    for verb in ("apply", "push"):
        code, _, errors = await bayou_batch(verb, tmp_path / "out", "t", cwd=repository)
        assert code == USAGE_ERROR and "results.jsonl, line 1" in errors
    assert not (tmp_path / "written").exists()


async def test_a_patch_is_read_from_the_folder_of_the_batch(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "secret").write_text("planted")
    os.mkfifo(tmp_path / "pipe")
    for name in ("secret", "pipe"):
        for path in (f"../{name}", str(tmp_path / name)):
            write_results(tmp_path / "out", repository, patch=path)
            code, told, errors = await bayou_batch("show", "out", "t", cwd=tmp_path)
            assert (code, told) == (USAGE_ERROR, "") and "no such file in the folder" in errors


LINKS = ("results.jsonl", "batch.json", ".lock", "runs")


@pytest.mark.parametrize("link", ["", *LINKS])
async def test_results_of_elsewhere_are_not_continued(tmp_path: Path, repository: Path, link: str) -> None:
    """Continuing would write through links, remove the folder that they call their temporary one, and make the
    results count as this machine's."""
    tasks = write_tasks(tmp_path / "t.jsonl", {"id": "t", "prompt": "edit"})
    write_results(tmp_path / "out", tmp_path / "shop.git")
    (tmp_path / "bayou-batch-mine").mkdir()
    mine = {"tasks": str(tasks), "work": str(tmp_path / "bayou-batch-mine")}
    (tmp_path / "out" / "batch.json").write_text(json.dumps(mine))
    target = tmp_path / "notes"
    if link == "runs":
        target.mkdir()
    else:
        target.write_text(json.dumps(mine))
    if link:
        (tmp_path / "out" / link).unlink(missing_ok=True)
        (tmp_path / "out" / link).symlink_to(target)
    words = (tasks, "--out", "out", "--repo", repository, *SCRIPTED)
    code, _, errors = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
    assert code == USAGE_ERROR and "were not made here" in errors and "name a new folder" in errors
    assert (tmp_path / "bayou-batch-mine").is_dir()
    assert [*target.iterdir()] == [] if link == "runs" else target.read_text() == json.dumps(mine)
    if link not in ("results.jsonl", "batch.json"):
        code, _, errors = await bayou_batch("apply", "out", "t", cwd=tmp_path)
        assert code == USAGE_ERROR


async def test_a_lock_that_is_a_link_empties_no_file(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "out").mkdir()
    tasks = write_tasks(tmp_path / "out" / "t.jsonl", {"id": "t", "prompt": "edit"})
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "out" / ".lock").symlink_to(tmp_path / "notes")
    words = (tasks, "--out", "out", "--repo", repository, *SCRIPTED)
    code, _, errors = await batch(*words, cwd=tmp_path, options=("-e", EDITS))
    assert code == USAGE_ERROR and ".lock in it is a link" in errors
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.parametrize(
    "name", ["../notes", "runs/away/notes", "/etc/passwd", "runs/link", "runs", "runs/none"]
)
def test_a_result_names_files_of_its_folder_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "out" / "runs").mkdir(parents=True)
    (tmp_path / "out" / "runs" / "link").symlink_to(tmp_path / "notes")
    (tmp_path / "out" / "runs" / "away").symlink_to(tmp_path)
    with pytest.raises(BatchError, match="no such file in the folder of the batch"):
        resolve_file_in_batch(tmp_path / "out", name)
