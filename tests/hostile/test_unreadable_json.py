"""JSON with a bad byte, or nested too deep, costs the one thing that it tells, wherever bayou reads it."""

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from app.extensions.packages.package_installer import PackageError, list_installed_packages
from app.providers.adapters.completions_compat import completions_quirks_of_model
from app.providers.adapters.completions_request import build_request_payload as completions_payload
from app.providers.adapters.google_identity import google_access_token
from app.providers.adapters.openai_codex_responses import chatgpt_account_id
from app.providers.adapters.responses_request import build_request_payload as responses_payload
from app.providers.credentials import CredentialError
from app.providers.errors import ProviderError
from app.providers.models.discovery_store import discovered_models_path, load_discovered_models
from app.providers.request_preparation import prepare_request
from app.providers.signin.interface import post_oauth_form_async
from app.resources.paths import BayouPaths
from app.sessions.session_ids import session_folder_name
from app.tui.prompt.project_history import ProjectPromptHistory
from app.values.content import Text, Thinking, ToolCall
from app.values.messages import AssistantMessage, ToolResultMessage, user_message
from tests.providers.loopback import Reply, loopback
from tests.providers.wire_formats import context, model_for, options
from tools.diagnostics.output_parsers import UnreadableCheckerOutput, parse_ruff_output
from tools.filemap.file_mapper import make_file_map_of_text

BAD = {
    "a bad byte": b'{"name": "\xff\xfe"}',
    "a bad byte alone": b"\xff",
    "too deep lists": b"[" * 200_000 + b"]" * 200_000,
    "too deep objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
}
CTAGS = """#!{python}
import sys
if "--list-features" in sys.argv:
    print("json")
else:
    sys.stdout.buffer.write(open({data!r}, "rb").read() + b"\\n")
    print('{{"name": "afloat", "kind": "function", "line": 1, "language": "Own"}}')
"""
OUTLINED = """
from pathlib import Path
from tools.filemap.ctags_outline import outline_with_ctags
from tools.filemap.map_deadline import MapDeadline
print([one.name for one in outline_with_ctags(Path("a.own"), 1, MapDeadline(10))[1]])
"""


def paths_in(folder: Path) -> BayouPaths:
    return BayouPaths.from_env({"HOME": str(folder), "BAYOU_AGENT_DIR": str(folder / "agent")}, folder)


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


async def ctags(folder: Path, data: bytes) -> None:
    """A line that cannot be read costs its symbol; the others are there."""
    program = put(folder / "bin" / "ctags", b"")
    program.write_text(CTAGS.format(python=sys.executable, data=str(put(folder / "said", data))))
    program.chmod(0o755)
    work = put(folder / "work" / "a.own", b"x\n").parent
    found = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-P", "-c", OUTLINED],
        cwd=work, env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout.endswith("'afloat']\n"), found.stderr


async def records(folder: Path, data: bytes) -> None:
    made = make_file_map_of_text(b'{"ours": 1}\n' + data + b'\n{"ours": 2}\n', "a.jsonl")
    assert any(one.name == "ours" for one in made.symbols)


async def session_in_a_map(folder: Path, data: bytes) -> None:
    head = b'{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}\n'
    said = b'{"type":"message","id":"a","message":{"role":"user","content":"afloat"}}\n'
    assert any(
        one.name == "afloat" for one in make_file_map_of_text(head + data + b"\n" + said, "a.jsonl").symbols
    )


async def discovered(folder: Path, data: bytes) -> None:
    put(discovered_models_path(folder), data)
    assert load_discovered_models(folder) == {}


async def prompts(folder: Path, data: bytes) -> None:
    paths = paths_in(folder)
    put(
        paths.agent_dir / "history" / f"{session_folder_name(paths.cwd)}.jsonl",
        data + b'\n{"text": "afloat"}\n',
    )
    found = [one.text for one in ProjectPromptHistory(paths, most_prompts=lambda: 10).read_prompts()]
    assert found[-1] == "afloat"


async def packages(folder: Path, data: bytes) -> None:
    paths = paths_in(folder)
    put(paths.packages_dir / "installed.json", data)
    with pytest.raises(PackageError, match="Fix or delete"):
        list_installed_packages(paths)


async def google(folder: Path, data: bytes) -> None:
    file = put(folder / "credentials.json", data)
    with pytest.raises(ProviderError, match="cannot be read"):
        await google_access_token({"GOOGLE_APPLICATION_CREDENTIALS": str(file)})


async def sign_in(folder: Path, data: bytes) -> None:
    async with loopback() as server:
        server.reply(Reply(body=data))
        with pytest.raises(CredentialError, match="/token answered 200: "):
            await post_oauth_form_async(f"{server.url}/token", {"code": "x"})


async def account(folder: Path, data: bytes) -> None:
    token = f"a.{base64.urlsafe_b64encode(data).decode().rstrip('=')}.c"
    with pytest.raises(ProviderError, match="no account id in its token"):
        chatgpt_account_id(token)


async def signatures(folder: Path, data: bytes) -> None:
    """A thought and a call whose signature cannot be read go without it, to both kinds of servers that have such."""
    text = data.decode("utf-8", "surrogateescape")
    call = ToolCall(id="call_1", name="read", arguments={}, thought_signature=text)
    for api in ("openai-completions", "openai-responses"):
        model = model_for(api, "https://vendor.example/v1")
        said = AssistantMessage(
            content=(Thinking(thinking="so", thinking_signature=text), call),
            api=api, provider=model.provider, model=model.id, stop_reason="toolUse",
        )  # fmt: skip
        result = ToolResultMessage(tool_call_id="call_1", tool_name="read", content=(Text(text="x"),))
        prepared = prepare_request(context(user_message("go"), said, result), model)
        if api == "openai-responses":
            body = responses_payload(prepared, model, options())
        else:
            body = completions_payload(prepared, model, options(), completions_quirks_of_model(model))
        assert "call_1" in repr(body) and "reasoning_details" not in repr(body)


async def linter(folder: Path, data: bytes) -> None:
    with pytest.raises(UnreadableCheckerOutput):
        parse_ruff_output(data.decode("utf-8", "replace"), "ruff", lambda path: path)


READERS: dict[str, Callable[[Path, bytes], Awaitable[None]]] = {
    "ctags": ctags,
    "records of JSON lines": records,
    "a session in a map": session_in_a_map,
    "models that were discovered": discovered,
    "remembered prompts": prompts,
    "the list of packages": packages,
    "Google's credentials": google,
    "a sign-in's answer": sign_in,
    "the account in a token": account,
    "signatures of thoughts and calls": signatures,
    "a linter's report": linter,
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("reader", READERS)
async def test_json_that_cannot_be_read_is_reported_or_passed_over(
    reader: str, bad: str, tmp_path: Path
) -> None:
    await READERS[reader](tmp_path, BAD[bad])
