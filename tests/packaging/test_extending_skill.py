"""What the skill teaches works: an agent finds it in its prompt, reads it, writes what stands there, and that works."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions
from app.resources.paths import docs_dir
from bayou.client import RpcClient
from tests.modes.test_print_and_json import bayou
from tests.providers.loopback import Reply, loopback, sse
from tests.tui.scripted_app import make_app

SKILL = docs_dir() / "extending-bayou" / "SKILL.md"
CODE = re.compile(r"```(?:python|json)\n(?:#|//) (\S+)\n(.*?)```", re.DOTALL)
AGENT = str(Path(__file__).parent / "agent_that_extends.py")
SAYS = {
    "id": "c",
    "choices": [{"index": 0, "delta": {"content": "from the server"}, "finish_reason": "stop"}],
}


def taught() -> dict[str, str]:
    return dict(CODE.findall(SKILL.read_text()))


def test_it_teaches_all_four() -> None:
    assert set(taught()) == {
        "extensions/careful.py",
        "extensions/dice.py",
        "themes/harbour.json",
        "extensions/local_server.py",
    }


@pytest.fixture
async def written(tmp_path: Path) -> Path:
    """The agent's folder. An agent has read the skill and written each file that it shows, and the person has put them
    where they count."""
    folder = Path(os.environ["BAYOU_AGENT_DIR"])
    project = tmp_path / "project"
    project.mkdir()
    done = await bayou("-p", "-e", AGENT, "--model", "scripted/script", "Extend yourself in new", cwd=project)
    assert (done.code, done.out) == (0, "I wrote 4 files.\n"), done.err
    shutil.copytree(project / "new", folder, dirs_exist_ok=True)
    assert {name: (folder / name).read_text() for name in taught()} == taught()
    return folder


async def test_the_extension_refuses_and_its_command_speaks(written: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    arguments = ["-e", str(Path(__file__).parent.parent / "extensions" / "told.py")]
    async with RpcClient(cwd=tmp_path, arguments=arguments, answer_question=_no) as client:
        await client.prompt_and_wait(json.dumps(["bash", {"command": "rm kept"}]))
        assert "does not want files deleted" in (await client.get_last_assistant_text() or "")
        assert any(command["name"] == "careful" for command in await client.get_commands())
    assert (tmp_path / "kept").exists()


async def _no(question: object) -> dict[str, bool]:
    return {"confirmed": False}


async def test_the_tool_is_there_for_the_model(written: Path, tmp_path: Path) -> None:
    arguments = ["-e", str(Path(__file__).parent.parent / "extensions" / "told.py")]
    async with RpcClient(cwd=tmp_path, arguments=arguments) as client:
        tool = next(tool for tool in (await client.get_state())["tools"] if tool.name == "dice")
        assert "How many dice" in json.dumps(tool.parameters)
        await client.prompt_and_wait(json.dumps(["dice", {"count": 3, "sides": 1}]))
        assert await client.get_last_assistant_text() == "1 + 1 + 1 = 3"
        await client.prompt_and_wait(json.dumps(["dice", {"count": 0}]))
        assert "Throw 1 to 100 dice" in (await client.get_last_assistant_text() or "")


async def test_the_theme_is_used(written: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    themes = home / ".bayou" / "agent" / "themes"
    themes.mkdir(parents=True)
    shutil.copy(written / "themes" / "harbour.json", themes)
    app = make_app(home, options=CommandLineOptions(use_theme="harbour"))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.theme_control.name == "harbour"
        assert (app.current_theme.background or "").lower() == "#0b1e26"


async def test_the_provider_answers(written: Path, tmp_path: Path) -> None:
    async with loopback() as server:
        server.reply(Reply(body=sse(SAYS, done=True)))
        done = await bayou("-p", "--model", "local/coder", "hello", cwd=tmp_path, LOCAL_SERVER=server.url)
        assert (done.code, done.out) == (0, "from the server\n"), done.err
        assert server.requests[0].json["model"] == "coder"
