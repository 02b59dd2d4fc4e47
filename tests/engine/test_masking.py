"""Secrets in a session: masked once where they enter it, the secret again in the file that they came from alone."""

import asyncio
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.engine.permissions.permission_gate import PermissionContext
from app.engine.secrets import known_secrets
from app.engine.secrets import session_mask as masking_module
from app.engine.secrets.known_secrets import KnownSecrets, SecretSources
from app.providers.model_stream import RequestContext
from app.providers.scripted import call, say
from app.values.content import text_of
from app.values.events import Event, Notice, QuestionAsked, ToolExecutionEnd, ToolExecutionUpdate
from app.values.messages import ToolResultMessage, UserMessage
from app.values.user_errors import UserError
from tests.engine.scripted_session import ScriptedSession
from tests.masking.examples import KEY_LINES, PRIVATE_KEY, SHAPED, random_text
from tests.support.sessions import parts_of
from tools.tool_definition import Tool, ToolContext
from tools.tool_registry import builtin_tools
from tools.tool_result_values import TextPart, ToolResult, text_result

TOKEN = SHAPED["github-token"]
OWN = random_text(40, 3)
ENV = f'# local\nPORT=3000\nDB_PASSWORD=hunter2\nAPI_TOKEN="{OWN}"\nDATABASE_URL=postgres://me:{OWN[:14]}@db/x\n'


def stage(folder: Path, *responses: Any, env: dict[str, str] | None = None, **more: Any) -> ScriptedSession:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (project / ".env").write_text(ENV)
    secrets = SecretSources(agent_dir=folder / "agent", home=folder, environment=env or {})
    tools = more.pop("tools", builtin_tools())
    standing = PermissionContext(approver="program", home=folder, agent_dir=folder / "agent")
    harness = ScriptedSession(
        folder, *responses, tools=tools, cwd=project, secrets=secrets, standing=standing, **more
    )
    harness.session.subscribe(lets_it_run)
    return harness


def lets_it_run(event: Event) -> None:
    """Files of variables are the floor's: a person has let this one be read."""
    if isinstance(event, QuestionAsked) and event.approval is not None and event.answer is not None:
        event.answer.set_result(event.approval.confirmation_word or "Allow once")


async def test_threads_that_want_the_first_mask_at_once_make_the_same_marks(tmp_path: Path, monkeypatch):
    """Where no key can be kept each would be another."""
    harness, really, asked = stage(tmp_path), masking_module.SecretMarker, threading.Barrier(2)

    def made(key: bytes) -> Any:
        with suppress(threading.BrokenBarrierError):  # who is alone here goes on
            asked.wait(0.5)
        return really(key)

    monkeypatch.setattr(masking_module, "load_or_create_key", lambda folder: os.urandom(32))
    monkeypatch.setattr(masking_module, "SecretMarker", made)
    masking = parts_of(harness.session).masking
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(lambda _: masking.mask(), range(2))
    assert one is not None and other is not None
    assert one.marker is other.marker


def results(harness: ScriptedSession) -> list[str]:
    return [text_of(one.content) for one in harness.session.messages if isinstance(one, ToolResultMessage)]


def sent(harness: ScriptedSession) -> str:
    """All that the model was asked with."""

    def plain(context: RequestContext) -> str:
        return json.dumps(msgspec.to_builtins(context.messages), ensure_ascii=False, default=str)

    return "\n".join(map(plain, harness.script.received_contexts))


def written(harness: ScriptedSession) -> str:
    assert harness.session.log.path is not None
    return harness.session.log.path.read_text()


async def test_a_secret_in_a_tool_result_is_masked_everywhere(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("bash", command=f"echo {TOKEN[:10]}''{TOKEN[10:]}; seq 3"), say("done"))
    await harness.prompt("go")
    told = [event.result for event in harness.all(ToolExecutionEnd)]
    for text in (sent(harness), written(harness), str(told)):
        assert TOKEN not in text
        assert "[secret:github-token:" in text
    assert results(harness)[0].endswith("]\n1\n2\n3")
    assert [one.kind for one in harness.session.secrets.masked_secrets] == ["github-token"]


async def test_progress_details_and_structured_content_are_masked_too(tmp_path: Path) -> None:
    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        context.progress(text_result(f"so far: {TOKEN}"))
        await asyncio.sleep(0)
        return ToolResult(
            content=(TextPart(text="fine"),),
            details={"header": {"X-Key": TOKEN}, TOKEN: [TOKEN, 1, None]},
            structured_content=[TOKEN, {"a": (TOKEN,)}],
        )

    tool = Tool(name="fetch", description="", schema={"type": "object"}, run=run)
    harness = stage(tmp_path, call("fetch"), say("done"), tools=[tool])
    await harness.prompt("go")
    assert TOKEN not in str(harness.events) + written(harness)
    assert harness.all(ToolExecutionUpdate)
    end = harness.all(ToolExecutionEnd)[0]
    assert set(end.result.details) == {"header", end.result.structured_content[0]}


async def test_errors_of_tools_are_masked(tmp_path: Path) -> None:
    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        raise RuntimeError(f"401 with {TOKEN}")

    harness = stage(
        tmp_path, call("fetch"), say("x"), tools=[Tool(name="fetch", description="", schema={}, run=run)]
    )
    await harness.prompt("go")
    assert "401 with [secret:github-token:" in results(harness)[0]


async def test_a_long_output_is_masked_in_its_file(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("bash", command="sh long.sh"), say("x"))
    script = f"for i in $(seq 9000); do echo line $i of a long output with {OWN} in it; done"
    (tmp_path / "project" / "long.sh").write_text(script)
    await harness.prompt("go")
    file = harness.toolbox.workspace.artifacts.find(0)
    assert file is not None
    text = file.read_text()
    assert text.count("[secret:API_TOKEN:") == 9000 and OWN not in text


async def test_values_of_the_environment_and_of_credentials_are_known(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    stored = {"somewhere": {"type": "api_key", "key": random_text(32, 9)}}
    (tmp_path / "agent" / "auth.json").write_text(json.dumps(stored))
    known = {
        "SERVICE_TOKEN": random_text(30, 5),
        "HOME": "/home/somebody",
        "REDIS_URL": "redis://u:pass99word@h/0",
    }
    (tmp_path / "out.txt").write_text("\n".join((*known.values(), stored["somewhere"]["key"])))
    harness = stage(tmp_path, call("read", path="../out.txt"), say("x"), env=known)
    await harness.prompt("go")
    lines = results(harness)[0].splitlines()
    assert lines[0].startswith("[secret:SERVICE_TOKEN:")
    assert lines[1] == "/home/somebody"
    assert lines[2].startswith("redis://u:[secret:REDIS_URL:") and lines[2].endswith("]@h/0")
    assert lines[3].startswith("[secret:somewhere-key:")


async def test_files_of_credentials_in_the_working_folder_are_known_before_they_are_named(
    tmp_path: Path,
) -> None:
    values = [random_text(30, number) for number in range(11, 15)]
    project = tmp_path / "project"
    (project / ".aws").mkdir(parents=True)
    (project / ".pypirc").write_text(f"[pypi]\npassword = {values[0]}\n")
    (project / ".pgpass").write_text(f"host:5432:db:me:{values[1]}\n")
    (project / ".git-credentials").write_text(f"https://me:{values[2]}@example.org\n")
    (project / ".aws" / "credentials").write_text(f"[default]\naws_secret_access_key = {values[3]}\n")
    (project / "out.txt").write_text("\n".join(f"see {one} here" for one in values))
    harness = stage(tmp_path, call("read", path="out.txt"), say("x"))
    await harness.prompt("go")
    assert not [one for one in values if one in results(harness)[0]]


async def test_a_key_with_colours_in_it_is_masked_in_a_file_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text(f"a {OWN[:9]}\x1b[31m{OWN[9:]}\x1b[0m b")
    harness = stage(tmp_path, call("read", path="../out.txt"), say("x"))
    await harness.prompt("go")
    assert OWN[:9] not in results(harness)[0] and "[secret:API_TOKEN:" in results(harness)[0]


async def test_a_file_of_variables_is_edited_without_its_values_in_a_request(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("read", path=".env"), say("read"))
    await harness.prompt("go")
    shown = results(harness)[0]
    assert "PORT=3000" in shown and "hunter2" not in shown and OWN not in shown and OWN[:14] not in shown
    marks = {line.split("=", 1)[0]: line.split("=", 1)[1].strip('"') for line in shown.splitlines()[2:4]}
    old = f'API_TOKEN="{marks["API_TOKEN"]}"'
    harness.script.responses += (
        call("edit", path=".env", edits=[{"oldText": old, "newText": f"{old}\nMORE=1"}]),
        call("write", path=".env", content=shown.replace("PORT=3000", "PORT=4000")),
        say("done"),
    )
    await harness.prompt("edit it")
    text = (tmp_path / "project" / ".env").read_text()
    assert text == ENV.replace("3000", "4000").rstrip("\n") or text == ENV.replace("3000", "4000")
    assert results(harness)[1].startswith("Successfully replaced")
    for seen in (sent(harness), written(harness), str(harness.events)):
        assert "hunter2" not in seen and OWN not in seen


async def test_a_mark_is_refused_in_another_file_and_text_in_a_command(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("read", path=".env"), say("read"))
    await harness.prompt("go")
    mark = harness.session.secrets.masked_secrets[-1].mark
    strange = f"{mark[:-3]}{'00' if mark[-3:-1] != '00' else '11'}]"  # its last digits were not made here
    harness.script.responses += (
        call("write", path="config.py", content=f"TOKEN = '{mark}'\n"),
        call("bash", command=f"echo '{mark}' > told; cat told"),
        call("write", path="docs.md", content=f"A mark looks like {strange}.\n"),
        say("done"),
    )
    await harness.prompt("go")
    assert "stands for a secret that does not come from this file" in results(harness)[1]
    assert not (tmp_path / "project" / "config.py").exists()
    assert (tmp_path / "project" / "told").read_text().strip() == mark
    assert (tmp_path / "project" / "docs.md").exists()


async def test_a_mark_in_a_structural_rewrite_is_the_secret_in_its_file_alone(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("read", path="a.js"), say("read"))
    harness.session.tools.set_active_tools([*harness.session.tools.active_tools(), "ast_edit", "resolve"])
    files = [tmp_path / "project" / name for name in ("a.js", "b.js")]
    files[0].write_text(f'open("{TOKEN}");\n')
    files[1].write_text('open("nothing");\n')
    await harness.prompt("go")
    mark = harness.session.secrets.masked_secrets[-1].mark
    assert mark in results(harness)[0] and TOKEN not in results(harness)[0]
    rewrites = [{"pattern": f'open("{mark}")', "replacement": f'connect("{mark}", 1)'}]
    others = [{"pattern": "open($A)", "replacement": f'connect("{mark}")'}]
    refused: list[dict[str, Any]] = [
        {"paths": paths} for paths in (["b.js"], ["a.js", "*.js"], ["*.js"], ["."])
    ] + [{}]
    harness.script.responses += (
        *(call("ast_edit", rewrites=others, **paths) for paths in refused),
        call("ast_edit", rewrites=rewrites, paths=["a.js"]),
        call("resolve", action="apply", reason="x"),
        say("done"),
    )
    await harness.prompt("rewrite it")
    said = results(harness)[1:]
    assert all("stands for a secret" in text for text in said[: len(refused)])
    assert mark in said[-2] and said[-1].startswith("Applied")
    assert files[0].read_text() == f'connect("{TOKEN}", 1);\n'
    assert files[1].read_text() == 'open("nothing");\n'
    for seen in (sent(harness), written(harness), str(harness.events)):
        assert TOKEN not in seen


async def test_a_secret_that_left_its_file_can_come_back_into_it(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("read", path=".env"), say("read"))
    await harness.prompt("go")
    mark = next(one.mark for one in harness.session.secrets.masked_secrets if one.kind == "API_TOKEN")
    harness.script.responses += (
        call("write", path=".env", content="EMPTY=1\n"),
        call("write", path=".env", content=f"API_TOKEN={mark}\n"),
        say("done"),
    )
    await harness.prompt("go")
    assert (tmp_path / "project" / ".env").read_text() == f"API_TOKEN={OWN}\n"


async def test_a_page_out_of_the_middle_of_a_private_key_is_masked(tmp_path: Path) -> None:
    harness = stage(
        tmp_path,
        call("read", path="id_test", offset=4, limit=3),
        call("grep", pattern=KEY_LINES[6][:10], path="id_test"),
        call("bash", command="tail -n 4 id_test"),
        say("x"),
    )
    (tmp_path / "project" / "id_test").write_text(PRIVATE_KEY)
    harness.session.permissions.rules.set_mode("full")
    await harness.prompt("go")
    assert not any(line in text for line in KEY_LINES for text in results(harness))
    assert results(harness)[0].count("[secret:private-key:") == 3


async def test_secrets_in_a_prompt_are_masked_and_can_be_sent_unmasked(tmp_path: Path) -> None:
    harness = stage(tmp_path, say("one"), say("two"))
    await harness.prompt(f"Use {TOKEN} please")
    said = [one for one in harness.session.messages if isinstance(one, UserMessage)]
    assert "[secret:github-token:" in text_of(said[0].content) and TOKEN not in written(harness)
    told = [event.text for event in harness.all(Notice)]
    assert any("1 secret in your prompt masked" in text and "/unmask" in text for text in told)
    await harness.session.resend_unmasked()
    await harness.session.wait_until_idle()
    assert text_of(harness.script.received_contexts[-1].messages[-1].content) == f"Use {TOKEN} please"  # type: ignore[union-attr]
    with pytest.raises(UserError):
        await harness.session.resend_unmasked()


async def test_a_prompt_can_be_sent_unmasked(tmp_path: Path) -> None:
    harness = stage(tmp_path, say("one"))
    await harness.session.prompt(f"Use {TOKEN}", as_it_is=True)
    await harness.session.wait_until_idle()
    assert TOKEN in sent(harness) and not harness.session.secrets.masked_secrets


async def test_the_persons_own_command_is_masked(tmp_path: Path) -> None:
    harness = stage(tmp_path, say("x"))
    message = await harness.session.shell.run_command(f"cat .env; echo {TOKEN}")
    assert TOKEN not in message.output + message.command + str(harness.session.log.entries)
    assert "hunter2" not in message.output and "PORT=3000" in message.output


async def test_not_a_secret(tmp_path: Path) -> None:
    harness = stage(
        tmp_path, call("bash", command=f"echo {TOKEN}"), call("bash", command=f"echo {TOKEN}"), say("x")
    )
    await harness.prompt("go")
    one = harness.session.secrets.masked_secrets[-1]
    harness.session.secrets.mark_as_no_secret(one.digest)
    harness.script.responses += (call("bash", command=f"echo {TOKEN}"), say("x"))
    await harness.prompt("go")
    assert results(harness)[-1] == TOKEN
    assert harness.effective_settings.settings.secrets.ignore == (one.digest,)
    with pytest.raises(UserError):
        harness.session.secrets.mark_as_no_secret("0123456789")


@pytest.mark.parametrize("ending", ["html", "md", "jsonl"])
async def test_exports_mask_what_older_sessions_hold(tmp_path: Path, ending: str) -> None:
    harness = stage(tmp_path, say(f"I saw {TOKEN} and _{OWN}_"))
    harness.effective_settings.set("secrets.mask", False)
    await harness.prompt(f"Here: {TOKEN} & `{OWN}`")
    assert TOKEN in written(harness)
    harness.effective_settings.set("secrets.mask", True)
    text = harness.session.export_to_file(tmp_path / f"out.{ending}").read_text()
    assert TOKEN not in text and OWN not in text and text.count("[secret:") >= 4


async def test_with_masking_off_nothing_is_changed(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("read", path=".env"), say("x"))
    harness.effective_settings.set("secrets.mask", False)
    await harness.prompt("go")
    assert results(harness)[0] == ENV.rstrip("\n")


async def test_one_installation_makes_the_same_marks_again(tmp_path: Path) -> None:
    first = stage(tmp_path, call("read", path=".env"), say("x"))
    await first.prompt("go")
    second = stage(tmp_path, call("read", path=".env"), say("x"))
    await second.prompt("go")
    assert results(first) == results(second)
    assert (tmp_path / "agent" / "secrets.key").stat().st_mode & 0o077 == 0


async def test_a_pipe_in_place_of_the_key_does_not_block(tmp_path: Path) -> None:
    harness = stage(tmp_path, say("x"))
    key = tmp_path / "agent" / "secrets.key"
    key.parent.mkdir(exist_ok=True)
    os.mkfifo(key)
    looking = asyncio.create_task(asyncio.to_thread(harness.session.warm_up))
    try:
        await asyncio.wait_for(asyncio.shield(looking), 20)
    finally:
        if not looking.done():  # lets the thread go
            os.close(os.open(key, os.O_WRONLY | os.O_NONBLOCK))
    assert key.is_file()


async def test_a_line_that_is_clipped_shows_no_part_of_a_secret(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("grep", pattern="needle", path="long.txt"), say("x"))
    middle = "needle " + "y" * 340 + f" {TOKEN} " + "z" * 400
    lines = (middle, "x" * 300 + f" {TOKEN} " + "y" * 90 + " needle " + "z" * 600)
    (tmp_path / "project" / "long.txt").write_text("\n".join(lines))
    await harness.prompt("go")
    assert "needle" in results(harness)[0] and "truncated" in results(harness)[0]
    assert not any(TOKEN[at : at + 8] in results(harness)[0] for at in range(len(TOKEN) - 8))


async def test_a_patch_of_two_files_carries_no_secret_from_one_to_the_other(tmp_path: Path) -> None:
    harness = stage(tmp_path, call("read", path=".env"), say("read"))
    await harness.prompt("go")
    mark = next(one.mark for one in harness.session.secrets.masked_secrets if one.kind == "API_TOKEN")
    edits = [
        {"path": ".env", "oldText": "PORT=3000", "newText": "PORT=1"},
        {"path": "config.py", "oldText": "x", "newText": mark},
    ]
    (tmp_path / "project" / "config.py").write_text("x\n")
    harness.script.responses += (call("edit", edits=edits), say("done"))
    await harness.prompt("go")
    assert "in a separate call" in results(harness)[-1]
    assert (tmp_path / "project" / "config.py").read_text() == "x\n"


def test_who_looks_at_a_file_that_another_is_looking_at_waits_until_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text("SERVICE_PASSWORD=hunter-two-and-three\n")
    known, is_reading, may_go_on = KnownSecrets(SecretSources()), threading.Event(), threading.Event()
    usual = known_secrets._secrets_from_env_file

    def slowly(path: str, text: str) -> known_secrets.SecretsOfFile:
        is_reading.set()
        assert may_go_on.wait(10)
        return usual(path, text)

    monkeypatch.setattr(known_secrets, "_secrets_from_env_file", slowly)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(known.search_file, file)
        assert is_reading.wait(10)
        second = threads.submit(
            lambda: (known.search_file(file), [one.value for one in known.known_values()])[1]
        )
        assert not wait([second], timeout=0.1).done
        may_go_on.set()
        assert "hunter-two-and-three" in second.result(10)
        first.result(10)


@pytest.mark.parametrize(
    "command",
    [
        "cd sub && cat .env",
        "cat 'my app/.env'",
        "python3 -c \"print(open('my app/.env').read())\"",
        "cat sub/.e*",
        'cd "my app" && cat ./.env',
        "mkdir -p deep/er && cd deep/er && cp ../../sub/.env .env && cat .en*",
        "cd sub && cat .npmrc",
    ],
)
async def test_a_file_of_secrets_anywhere_in_the_workspace_is_known_however_a_command_names_it(
    tmp_path: Path, command: str
):
    secret = random_text(20, 8)
    harness = stage(tmp_path, call("bash", command=command), say("ok"))
    for folder in ("sub", "my app"):
        (tmp_path / "project" / folder).mkdir()
        (tmp_path / "project" / folder / ".env").write_text(f"A=1\nAPI_TOKEN={secret}\n")
    (tmp_path / "project" / "sub" / ".npmrc").write_text(f"//r/:_authToken={secret}\n")
    await harness.prompt("go")
    (result,) = [one for one in harness.session.messages if isinstance(one, ToolResultMessage)]
    shown = text_of(result.content)
    assert secret not in shown
    assert "[secret:" in shown


async def test_a_file_of_secrets_that_a_call_creates_is_known_for_its_result(tmp_path: Path):
    other = random_text(20, 9)
    harness = stage(
        tmp_path,
        call("bash", command="echo nothing"),
        call(
            "bash",
            command=f"mkdir new; cd new; printf 'API_TOKEN=%s%s' {other[:10]} {other[10:]} > .env; cat .en*",
        ),
        say("ok"),
    )
    await harness.prompt("go")
    shown = text_of(
        [one for one in harness.session.messages if isinstance(one, ToolResultMessage)][-1].content
    )
    assert other not in shown
    assert "[secret:API_TOKEN:" in shown
