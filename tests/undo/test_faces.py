"""Files go back from the shell and over RPC, in the real program."""

import json
import os
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.providers.scripted import ScriptedAnswer, say
from app.sessions.session_log import SessionLog
from app.undo.change_records import file_restore_data_of_entry
from app.values.content import ToolCall
from bayou.client import RpcClient, RpcError
from tests.compaction.project_session import ProjectSession
from tests.support import warm_bayou

ROOT = Path(__file__).resolve().parents[2]


class Told:
    """A project whose session has changed it twice, and is closed."""

    def __init__(self, scene: ProjectSession, session: Path) -> None:
        self.scene = scene
        self.session = session

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.scene.home),
            "PYTHONPATH": str(ROOT),
            "LANG": "C.UTF-8",
        }

    def undo(self, *words: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        return warm_bayou.run("undo", *words, cwd=cwd or self.scene.project, env=self.environment)

    def read(self, name: str) -> str | None:
        path = self.scene.project / name
        return path.read_text() if path.exists() else None


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    scene = await ProjectSession(tmp_path).open()
    for number, text in enumerate(("one\n", "two\n")):
        calls = [("write", {"path": "a.txt", "content": text})]
        calls += [("bash", {"command": "echo made > by-bash.txt"})] if number else []
        scene.script.responses += [
            ScriptedAnswer(
                blocks=tuple(
                    ToolCall(id=f"{name}{number}", name=name, arguments=arguments)
                    for name, arguments in calls
                )
            ),
            say("ok"),
        ]
        await scene.prompt(f"make it {text.strip()}")
    path = scene.session.log.path
    await scene.session.close()
    assert path is not None
    yield Told(scene, path)


async def test_the_shell_previews_and_puts_back(told: Told) -> None:
    (told.scene.project / "by-bash.txt").write_text("mine\n")
    size = told.session.stat().st_size
    shown = told.undo()
    assert shown.returncode == 0, shown.stderr
    assert "Restore to before “make it two”: 2 files" in shown.stdout
    assert "✓ a.txt" in shown.stdout and "--take by-bash.txt" in shown.stdout
    assert told.read("a.txt") == "two\n" and told.session.stat().st_size == size
    listed = json.loads(told.undo("--json").stdout)
    assert {row["path"]: row["state"] for row in listed["files"]} == {
        "a.txt": "ready",
        "by-bash.txt": "conflict",
    }
    done = told.undo("--yes")
    assert done.stdout == "Restored: 1 file; 1 stayed as it is.\n  by-bash.txt: you changed it since\n"
    assert (told.read("a.txt"), told.read("by-bash.txt")) == ("one\n", "mine\n")
    assert told.undo("--redo", "--yes").stdout == "Redone: 1 file.\n"
    assert told.read("a.txt") == "two\n"
    taken = told.undo("--yes", "--take", "by-bash.txt", "--json")
    assert json.loads(taken.stdout) == {"restored": 2, "kept": []}
    assert told.read("by-bash.txt") is None
    log = SessionLog.open(told.session, read_only=True)
    assert len([entry for entry in log.entries if file_restore_data_of_entry(entry)]) == 3
    assert "Read them again" in str(log.project_context().messages[-1])


async def test_the_shell_says_what_is_wrong(told: Told) -> None:
    assert told.undo("--last", "9").stderr.startswith("bayou: Fewer than 9 prompts")
    assert "Nothing to redo" in told.undo("--redo").stderr
    assert told.undo("--last", "x").returncode != 0
    assert "not part of this restore" in told.undo("--yes", "--take", "nothing").stderr
    assert told.read("a.txt") == "two\n"
    told.scene.project.rename(told.scene.home / "moved")
    away = told.undo(str(told.session), cwd=told.scene.home)
    assert away.returncode == 1 and "does not exist any more" in away.stderr


async def test_a_session_moved_to_another_machine_names_what_it_cannot_put_back(told: Told) -> None:
    (told.scene.paths.agent_dir / "blobs").rename(told.scene.home / "other-machine")
    done = told.undo("--yes")
    assert done.stdout.splitlines()[0] == "Restored: 1 file; 1 stayed as it is."
    assert "a.txt: its content is no longer stored" in done.stdout
    assert (told.read("a.txt"), told.read("by-bash.txt")) == ("two\n", None)


async def test_rpc_and_the_python_client(told: Told) -> None:
    async with RpcClient(
        cwd=told.scene.project, arguments=["--session", str(told.session)], env=told.environment
    ) as bayou:
        preview = await bayou.preview_undo(diffs=True)
        assert preview["title"] == "make it two"
        rows = {row["path"]: row for row in preview["files"]}
        assert rows["a.txt"]["deed"] == "changes" and "-two" in rows["a.txt"].get("diff", "")
        whole = await bayou.get_diff()
        assert [(file["path"], file["deed"], file["added"]) for file in whole["files"]] == [
            ("a.txt", "new", 1),
            ("by-bash.txt", "new", 1),
        ]
        last = await bayou.get_diff("prompt")
        assert last["title"] == "Changed by “make it two”" and "-one\n+two\n" in last.get("patch", "")
        earlier = await bayou.get_diff("prompt", entry_id=last.get("older"), patch=False)
        assert "patch" not in earlier and earlier.get("note") == "prompt 1 of 2"
        with pytest.raises(RpcError, match="not in a git repository"):
            await bayou.get_diff("git")
        changes = await bayou.get_file_changes()
        assert [row["deed"] for row in changes] == ["is removed", "is removed"]
        (told.scene.project / "a.txt").write_text("mine\n")
        with pytest.raises(RpcError, match="Preview again"):
            await bayou.undo_files(digest=preview["digest"])
        done = await bayou.undo_files(choices={"a.txt": "restore"})
        assert done["restored"] == 2 and told.read("a.txt") == "one\n"
        await bayou.redo_files()
        assert (told.read("a.txt"), told.read("by-bash.txt")) == ("mine\n", "made\n")
        entries = await bayou.get_entries()
        first = next(entry.id for entry in entries["entries"] if "make it one" in str(entry))
        await bayou.restore_files(first, choices={"a.txt": "restore"})
        assert told.read("a.txt") is None
        with pytest.raises(RpcError, match="Entry not found"):
            await bayou.restore_files("nowhere")
        await bayou.redo_files()
        await bayou.navigate_tree(first, restore_files=True)
        assert told.read("by-bash.txt") is None


def crafted(told: Told, found: str, put: str) -> Path:
    """The session's file as another person would hand it out, with something in it replaced."""
    path = told.scene.home / "handed-out.jsonl"
    text = told.session.read_text()
    assert found in text
    path.write_text(text.replace(found, put))
    return path


def test_a_crafted_session_reaches_no_file_outside_of_its_folder(told: Told) -> None:
    victim = told.scene.home / "victim.txt"
    victim.write_text("two\n")
    path = crafted(told, '"path":"a.txt"', f'"path":"{victim}"')
    done = told.undo(str(path), "--yes", "--last", "2")
    assert done.returncode == 0, done.stderr
    assert victim.read_text() == "two\n"
    assert f"{victim}: it is outside the session's folder" in done.stdout


def test_a_crafted_session_that_names_another_folder_puts_nothing_back_there(told: Told) -> None:
    other = told.scene.home / "other"
    other.mkdir()
    (other / "a.txt").write_text("two\n")
    path = crafted(told, json.dumps(str(told.scene.project)), json.dumps(str(other)))
    done = told.undo(str(path), "--yes")
    assert done.returncode == 1 and f"says that its session worked in {other}" in done.stderr
    assert (other / "a.txt").read_text() == "two\n"
    assert told.undo(str(path), "--yes", cwd=other).returncode == 0
    assert (other / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize(
    "name",
    [".git/hooks/pre-commit", ".GIT/hooks/post-commit", "sub/.git/config", ".bayou/settings.json", ".envrc"],
)
def test_a_crafted_session_puts_no_file_back_that_runs_later(told: Told, name: str) -> None:
    path = crafted(told, '"path":"a.txt"', f'"path":"{name}"')
    done = told.undo(str(path), "--yes", "--last", "1", "--take", name)
    assert done.returncode == 1 and "runs later" in done.stderr
    done = told.undo(str(path), "--yes", "--last", "1")
    assert f"{name}: " in done.stdout and "no session on this machine changed it" in done.stdout
    assert told.read(name) is None


def test_what_turns_the_direction_of_writing_is_printed_by_its_number(told: Told) -> None:
    path = crafted(told, '"path":"a.txt"', '"path":"\\u202eb\\u2067.txt"')
    for words in (("--diff",), ("--yes",)):
        done = told.undo(str(path), *words)
        assert "<U+202E>b<U+2067>.txt" in done.stdout
        assert not {"\u202e", "\u2067"} & set(done.stdout + done.stderr)


def test_a_crafted_session_gives_a_file_no_rights_of_its_owner(told: Told) -> None:
    before = re.search(r'"before":\{[^}]*\}', told.session.read_text())
    assert before is not None
    path = crafted(told, before[0], re.sub(r'"mode":\d+', '"mode":3583', before[0]))
    assert told.undo(str(path), "--yes").returncode == 0
    assert told.read("a.txt") == "one\n"
    assert (told.scene.project / "a.txt").stat().st_mode & 0o7777 == 0o777


def test_a_relative_name_that_leaves_the_folder_is_refused(told: Told) -> None:
    victim = told.scene.home / "victim.txt"
    victim.write_text("two\n")
    done = told.undo(str(crafted(told, '"path":"a.txt"', '"path":"../victim.txt"')), "--yes", "--last", "2")
    assert victim.read_text() == "two\n"
    assert "../victim.txt: it is outside the session's folder" in done.stdout


@pytest.mark.parametrize("kind", ["link to its folder", "link to it", "hard link"])
def test_a_crafted_session_writes_through_no_link(told: Told, kind: str) -> None:
    outside = told.scene.home / "outside"
    outside.mkdir()
    victim, inside = outside / "a.txt", told.scene.project / "folder" / "a.txt"
    victim.write_text("two\n")
    if kind == "link to its folder":
        inside.parent.symlink_to(outside)
    else:
        inside.parent.mkdir()
        inside.symlink_to(victim) if kind == "link to it" else inside.hardlink_to(victim)
    path = str(crafted(told, '"path":"a.txt"', '"path":"folder/a.txt"'))
    done = told.undo(path, "--yes")
    assert done.returncode == 0, done.stderr
    assert victim.read_text() == "two\n" and [one.name for one in outside.iterdir()] == ["a.txt"]
    assert (inside.read_text() == "one\n") is (kind == "hard link"), done.stdout


def test_a_crafted_name_that_turns_the_direction_of_writing_is_spelled_out(told: Told) -> None:
    (told.scene.project / "\u202ea.txt").write_text("two\n")
    path = str(crafted(told, '"path":"a.txt"', '"path":"\\u202ea.txt"'))
    done = told.undo(path, "--last", "2")
    assert "<U+202E>a.txt" in done.stdout and "\u202e" not in done.stdout


@pytest.mark.parametrize("there", [True, False])
def test_the_id_of_a_crafted_session_names_no_file(told: Told, there: bool) -> None:
    """`blobs/outside` lists the files outside of folders that sessions here changed."""
    outside = told.scene.home / ".bayou/agent/blobs/outside"
    if there:
        outside.touch()
    head = json.loads(told.session.read_text().partition("\n")[0])
    path = str(crafted(told, f'"id":"{head["id"]}"', '"id":"../outside"'))
    for words in ((), ("--yes",)):
        done = told.undo(path, *words)
        assert done.returncode == 1 and "has a first line whose session id is not valid" in done.stderr
    assert told.read("a.txt") == "two\n"
    assert (outside.read_text() if there else outside.exists()) in ("", False)


def test_a_crafted_session_removes_no_folder_that_its_file_is_not_in(told: Told) -> None:
    empty, own = told.scene.home / "empty", told.scene.project / "own"
    empty.mkdir()
    own.mkdir()
    (own / "a.txt").write_text("one\n")
    folders = json.dumps([str(empty), str(own / "../../empty"), str(told.scene.project), str(own), "a\0b"])
    path = crafted(told, '"path":"a.txt",', f'"path":"own/a.txt","folders":{folders},')
    done = told.undo(str(path), "--yes", "--last", "2", "--take", "own/a.txt")
    assert done.returncode == 0, done.stderr
    assert (own.exists(), empty.exists()) == (False, True), done.stdout


@pytest.mark.parametrize("also", ['"isShared":true,"path":"a.txt"', '"path":"./a.txt"'])
def test_a_crafted_session_writes_through_no_hard_link_that_it_calls_its_own(told: Told, also: str) -> None:
    victim = told.scene.home / "victim.txt"
    victim.hardlink_to(told.scene.project / "a.txt")
    lines = crafted(told, '"path":"a.txt"', also).read_text().splitlines()
    change = next(line for line in reversed(lines) if "./a.txt" in line or "isShared" in line)
    last = json.loads(change)
    if "./a.txt" in also:
        last["data"]["changes"] += [{**one, "path": "a.txt"} for one in last["data"]["changes"]]
    path = told.scene.home / "handed-out.jsonl"
    path.write_text("\n".join(json.dumps(last) if line == change else line for line in lines) + "\n")
    done = told.undo(str(path), "--yes")
    assert done.returncode == 0, done.stderr
    assert (told.read("a.txt"), victim.read_text()) == ("one\n", "two\n"), done.stdout


@pytest.mark.parametrize("put", ["é", "../outside", "\\ud800"])
def test_a_crafted_hash_is_not_a_recorded_change(told: Told, put: str) -> None:
    found = re.search(r'"hash":"([0-9a-f]{64})"', told.session.read_text())
    assert found is not None
    path = crafted(told, found[1], put)
    path.write_text(re.sub(r'"id":"[^"]*"', '"id":"from-elsewhere"', path.read_text(), count=1))
    done = told.undo(str(path), "--last", "2")
    assert done.returncode in (0, 1) and "internal error" not in done.stderr, done.stderr
