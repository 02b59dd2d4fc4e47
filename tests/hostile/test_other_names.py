"""A file is judged as itself, by whichever of its names a call reaches it: hard links, links, swapped in meanwhile."""

import os
from collections.abc import Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest

from app.engine.permissions.permission_gate import ApprovalReply
from app.providers.scripted import call, say
from app.values.events import QuestionAsked
from bayou.client import RpcClient
from bayou.values import text_of
from tests.engine.scripted_session import ScriptedSession
from tests.modes.processes import CALLS, results_of, write_settings
from tests.permits.test_gate import gated_session, results
from tools.box.sandbox_features import system_sandbox_features
from tools.box.sandbox_instructions import ConfinementMethod, limit_features_to_method

LEVELS: tuple[ConfinementMethod, ...] = ("namespaces", "landlock", "none")
OLD = "old line\n"
RUNS_LATER = (
    *(".envrc", "sub/.envrc", ".vscode/tasks.json", "sub/deep/.idea/runConfigurations/x.xml"),
    *(
        ".git/hooks/pre-commit",
        ".git/config",
        "lib/.git/hooks/post-checkout",
        ".hg/hgrc",
        "sub/.jj/repo/config.toml",
    ),
    *(".venv/lib/python3.12/site-packages/x.pth", "env/lib/python3.12/site-packages/y.pth", "../.ssh/config"),
    *("../.bashrc", "../.config/fish/conf.d/x.fish", "bare.git/hooks/update", "bare.git/config"),
)
SECRETS = (
    "sub/.env",
    "../.ssh/id_ed25519",
    "../.config/gcloud/legacy/one/adc.json",
    "../.bayou/agent/auth.json",
)
LINKS = "python3 -c \"import os; os.link(os.path.join('sub', '.en' + 'vrc'), 'a.txt')\""
PATCH = "*** Begin Patch\n*** Update File: {}\n@@\n-old line\n+new line\n*** End Patch"


def on_level(harness: ScriptedSession, level: ConfinementMethod) -> ScriptedSession:
    abilities = limit_features_to_method(system_sandbox_features(), level)
    harness.session.tools.workspace.abilities = lambda: abilities
    return harness


def made(project: Path, *paths: str) -> list[Path]:
    """Files, each with a second name in the folder `names`."""
    for folder in (".git", "lib/.git", "bare.git"):
        for name in ("objects", "refs"):
            (project / folder / name).mkdir(parents=True, exist_ok=True)
        (project / folder / "HEAD").write_text("ref: refs/heads/main\n")
    (project / "names").mkdir(parents=True)
    files = [project / path for path in paths]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(OLD)
        (project / "names" / f"{number}.txt").hardlink_to(file)
        (project / "names" / f"{number}.link").symlink_to(os.path.relpath(file, project / "names"))
    return files


def changes(name: str) -> list[tuple[str, dict[str, Any]]]:
    edits = [{"old_text": "old line", "new_text": "new line"}]
    return [
        ("write", {"path": name, "content": "new line\n"}),
        ("edit", {"path": name, "edits": edits}),
        ("apply_patch", {"input": PATCH.format(name)}),
    ]


@pytest.mark.parametrize("level", LEVELS)
async def test_what_runs_later_is_not_changed_by_another_name(
    tmp_path: Path, level: ConfinementMethod
) -> None:
    project = tmp_path / "home" / "project"
    files = made(project, *RUNS_LATER)
    names = [f"names/{number}.{kind}" for number in range(len(files)) for kind in ("txt", "link")]
    calls = [call(tool, **arguments) for name in names for tool, arguments in changes(name)]
    parts = [reduce(add, calls[start : start + 40]) for start in range(0, len(calls), 40)]
    harness = on_level(gated_session(tmp_path, *parts, say("ok"), asks="none", mode="auto-edit"), level)
    await harness.prompt("go")
    assert len(results(harness)) == len(calls)
    assert [str(file) for file in files if file.read_text() != OLD] == []


@pytest.mark.parametrize("level", LEVELS)
async def test_keys_are_not_shown_by_another_name(tmp_path: Path, level: ConfinementMethod) -> None:
    project = tmp_path / "home" / "project"
    files = made(project, *SECRETS)
    for number, file in enumerate(files):
        file.write_text(f"the hidden line {number}\n")
    (project / "away").symlink_to("../.config")
    calls = [
        call("grep", pattern="hidden line"),
        call("grep", pattern="hidden line", path="names"),
        *(call("grep", pattern="hidden", path=f"names/{one}.txt") for one in range(len(files))),
        *(call("read", path=f"names/{one}.txt") for one in range(len(files))),
        *(call("bash", command=f"cat names/{one}") for one in ("*.txt", "*.link", "?.txt", "[0-3].txt")),
        *(call("bash", command=one) for one in ("cat */*.txt", "head names/*", "grep -r hidden names")),
        call("bash", command="cat away/*/adc.json away/gcloud/*/*/*.json"),
    ]
    harness = on_level(gated_session(tmp_path, *calls, say("ok"), asks="none", mode="ask"), level)
    await harness.prompt("go")
    assert len(results(harness)) == len(calls)
    assert [text for text in results(harness) if "the hidden line" in text] == []


@pytest.mark.parametrize("level", LEVELS)
async def test_a_name_that_becomes_another_file_while_a_question_stands_is_not_followed(
    tmp_path: Path, level: ConfinementMethod
) -> None:
    project = tmp_path / "home" / "project"
    (file,) = made(project, ".envrc")
    (project / "a.txt").write_text(OLD)
    harness = on_level(
        gated_session(
            tmp_path,
            call("write", path="a.txt", content="new"),
            call("read", path="a.txt"),
            say("ok"),
            mode="ask",
        ),
        level,
    )

    def swap(event: Any) -> None:
        if isinstance(event, QuestionAsked):
            (project / "a.txt").unlink()
            (project / "a.txt").hardlink_to(file)
            event.answer.set_result(ApprovalReply(is_allowed=True))

    harness.session.subscribe(swap)
    await harness.prompt("go")
    assert file.read_text() == OLD, results(harness)


@pytest.mark.parametrize("level", ("namespaces", "landlock"))
async def test_a_repository_that_a_command_of_the_same_answer_makes_is_not_written(
    tmp_path: Path, level: ConfinementMethod
) -> None:
    calls = [call("bash", command=f"git init -q --bare new.git; {LINKS}")]
    calls += [
        call("write", path=path, content="x") for path in ("new.git/config", "new.git/hooks/update", "a.txt")
    ]
    (project := tmp_path / "home" / "project").mkdir(parents=True)
    (file,) = made(project, "sub/.envrc")
    harness = on_level(
        gated_session(tmp_path, reduce(add, calls), say("ok"), asks="none", mode="auto-edit"), level
    )
    await harness.prompt("go")
    assert (project / "new.git/config").read_text() != "x" and not (project / "new.git/hooks/update").exists()
    assert file.read_text() == OLD and "it runs later now" in results(harness)[1]


@pytest.mark.parametrize("level", LEVELS)
async def test_ordinary_names_of_one_file_change_together_and_those_elsewhere_stay(
    tmp_path: Path, level: ConfinementMethod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.engine.sandbox.sandbox_places.temporary_folders", lambda: ())
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    for name, other in (("a.txt", project / "b.txt"), ("c.txt", tmp_path / "home" / "cache.txt")):
        (project / name).write_text(OLD)
        other.hardlink_to(project / name)
    calls = [call("write", path=name, content="new") for name in ("a.txt", "c.txt")]
    harness = on_level(gated_session(tmp_path, *calls, say("ok"), asks="none", mode="auto-edit"), level)
    await harness.prompt("go")
    assert (
        (project / "a.txt").read_text()
        == (project / "b.txt").read_text()
        == (project / "c.txt").read_text()
        == "new"
    )
    assert (tmp_path / "home" / "cache.txt").read_text() == OLD


@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_the_whole_program_neither_shows_nor_changes_a_file_by_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    project = tmp_path / "home" / "project"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    files = made(project, "sub/.envrc", ".git/hooks/pre-commit", "../.ssh/id_ed25519")
    write_settings({"sandbox": {"mode": sandbox}})
    flags = ["-e", CALLS, "--permissions", "auto-edit", "--no-session"]
    asked: list[Mapping[str, Any]] = []

    async def deny(data: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(data)
        return {"value": "Deny"}

    calls = [
        *(("write", {"path": f"names/{one}.txt", "content": "new\n"}) for one in (0, 1)),
        ("write", {"path": "bare/HEAD", "content": "ref: refs/heads/main\n"}),
        ("grep", {"pattern": "old line", "path": "names"}),
        ("read", {"path": "names/2.txt"}),
    ]
    async with RpcClient(cwd=project, arguments=flags, answer_question=deny) as client:
        told = [text_of(result.content) for result in await results_of(client, *calls)]
    assert all(file.read_text() == OLD for file in files), told
    assert len(asked) == 4, told
    assert not (project / "bare").exists()
    assert "names/2.txt" not in told[3] and OLD.strip() not in told[4], told


async def test_locate_confirms_no_word_of_a_secret_by_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    (project / ".env").write_text("CAPSTAN_TOKEN=windlass\n")
    (project / "prod.env").write_text("CAPSTAN_TOKEN=windlass\n")
    (project / "notes.txt").hardlink_to(project / ".env")
    (project / "crew.py").write_text("def rowlock():\n    pass\n")
    flags = ["-e", CALLS, "--permissions", "full", "--no-session"]
    async with RpcClient(cwd=project, arguments=flags) as client:

        async def located(about: str) -> str:
            (result,) = await results_of(client, ("locate", {"about": about}))
            return text_of(result.content)

        while "is being made" in await located("rowlock"):
            pass
        assert "crew.py" in (await located("rowlock"))
        assert (await located("the word windlass")).startswith("Nothing was found by the word")


@pytest.mark.parametrize("mode", ["full", "auto-edit"])
async def test_where_the_home_is_the_workspace_no_key_is_shown_by_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    keys = (
        *(".aws/config", ".kube/config", ".gnupg/private-keys-v1.d/one.key", ".newprogram/session"),
        *("snap/firefox/common/profile/cookies", "snap/newprogram/current/token.json", ".ENV", "Prod.Env"),
    )
    (home / "names").mkdir(parents=True)
    calls: list[tuple[str, dict[str, Any]]] = []
    for number, path in enumerate(keys):
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"the hidden line {number}\n")
        file.chmod(0o600)
        (home / "names" / f"{number}.txt").hardlink_to(file)
        for name in (path, f"names/{number}.txt"):
            calls += [("read", {"path": name}), ("bash", {"command": f"cat {name}"})]
    calls += [("grep", {"pattern": "hidden line"}), ("bash", {"command": "grep -r hidden ."})]
    calls += [("bash", {"command": "cat names/*"}), ("bash", {"command": "cat .[a-z]*/* snap/*/*/*"})]
    flags = ["-e", CALLS, "--permissions", mode, "--no-session"]

    async def deny(data: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"value": "Deny"}

    async with RpcClient(cwd=home, arguments=flags, answer_question=deny) as client:
        told = [text_of(one.content) for one in await results_of(client, *calls)]
    shown = [call for call, text in zip(calls, told, strict=True) if "the hidden line" in text]
    assert not shown, shown
