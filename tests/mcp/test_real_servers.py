"""Servers that people use, of npm and PyPI, driven through our links: where their packages can be had."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.mcp.managed_server import ManagedMcpServer
from app.mcp.mcp_result_conversion import McpAnswerConverter
from app.mcp.mcp_server_manifest import McpManifestStore
from app.mcp.server_config_entries import McpServerConfig
from app.mcp.server_context import McpServerContext
from app.mcp.server_errors import McpRequestRefused
from app.mcp.stdio_process import environment_for_mcp_server
from tests.conftest import OUTSIDE
from tests.support.npm import why_npm_cannot
from tools.files.output_artifacts import OutputArtifacts
from tools.running.local_processes import LocalProcesses
from tools.tool_result_values import ImagePart, ToolResult

pytestmark = pytest.mark.installs
OF_NPM = ("everything", "filesystem", "memory")
OF_PYPI = ("time", "git", "fetch")


@pytest.fixture(scope="session")
def npm_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text('{"private": true}')
    names = [f"@modelcontextprotocol/server-{name}" for name in OF_NPM]
    if why := why_npm_cannot(folder, "install", "--no-audit", "--no-fund", *names):
        pytest.skip(f"the servers of npm cannot be had: {why}")
    return folder / "node_modules" / ".bin"


@pytest.fixture(scope="session")
def pypi_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pypi")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    names = [f"mcp-server-{name}" for name in OF_PYPI]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q", "--no-compile", *names],
        env=OUTSIDE, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        pytest.skip(f"the servers of PyPI cannot be had: {done.stderr.strip()[-300:]}")
    return folder / "bin"


class Bench:
    """A folder to work in, and answers to what servers ask."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.action = "decline"
        self.asked: list[str] = []
        self.processes = LocalProcesses()
        self.lives: list[ManagedMcpServer] = []
        (folder / "a.txt").write_text("hello\n")

    def make_repository(self) -> None:
        for words in (["init", "-q"], ["add", "a.txt"]):
            subprocess.run(["git", "-C", str(self.folder), *words], check=True)

    async def elicit(self, server: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params.get("mode", "form"))
        accepts = self.action == "accept" and params.get("mode") != "url"
        return {"action": self.action, **({"content": {"name": "Ada"}} if accepts else {})}

    async def server(self, name: str, program: Path, *arguments: str) -> ManagedMcpServer:
        ground = McpServerContext(
            processes=lambda: self.processes,
            working_folder=lambda: self.folder,
            environment=lambda: environment_for_mcp_server(os.environ),
            ask_elicitation=self.elicit,
            manifests=McpManifestStore(self.folder / "manifests"),
        )
        config = McpServerConfig(name=name, command=str(program), args=arguments)
        life = ManagedMcpServer(config, ground, lambda: None)
        self.lives.append(life)
        await life.connect_if_needed()
        return life


async def made(life: ManagedMcpServer, tool: str, **arguments: Any) -> ToolResult:
    answer = await life.call_tool(tool, arguments)
    return McpAnswerConverter(life.config.name, OutputArtifacts(), reads_images=True).convert_tool_answer(
        answer
    )


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    one = Bench(tmp_path)
    yield one
    for life in one.lives:
        await life.disconnect()
    one.processes.close()


async def test_everything(bench: Bench, npm_programs: Path):
    life = await bench.server("everything", npm_programs / "mcp-server-everything")
    manifest = life.manifest
    assert manifest is not None and len(manifest.tools) >= 12 and manifest.prompts and manifest.templates
    assert (await made(life, "echo", message="hi")).text == "Echo: hi"
    assert "3" in (await made(life, "get-sum", a=1, b=2)).text
    assert any(isinstance(part, ImagePart) for part in (await made(life, "get-tiny-image")).content)
    assert "temperature" in (await made(life, "get-structured-content", location="Chicago")).text
    assert "mcp_resource" in (await made(life, "get-resource-links", count=2)).text
    assert str(bench.folder.as_uri()) in (await made(life, "get-roots-list")).text
    assert (await made(life, "no-such-tool")).is_error
    assert (await made(life, "get-sum", a="x")).is_error
    told: list[Any] = []
    long = {"duration": 1, "steps": 4}
    await life.call_tool("trigger-long-running-operation", long, lambda *progress: told.append(progress))
    assert told[-1][:2] == (4, 4)
    for bench.action, word in (("accept", "Ada"), ("decline", "declined"), ("cancel", "cancelled")):
        assert word in (await made(life, "trigger-elicitation-request")).text
    assert bench.asked == ["form"] * 3
    prompt = await life.get_prompt("simple-prompt", {})
    assert prompt["messages"][0]["role"] == "user"
    assert (await life.read_resource(manifest.resources[0].uri))["contents"][0]["text"]
    ref = {"type": "ref/prompt", "name": "completable-prompt"}
    found = await life.complete_argument(ref, "department", "E", {})
    assert found["completion"]["values"] == ["Engineering"]


async def test_filesystem(bench: Bench, npm_programs: Path):
    life = await bench.server("filesystem", npm_programs / "mcp-server-filesystem", str(bench.folder))
    assert "a.txt" in (await made(life, "list_directory", path=str(bench.folder))).text
    assert (await made(life, "read_text_file", path=str(bench.folder / "a.txt"))).text == "hello\n"
    await made(life, "write_file", path=str(bench.folder / "b.txt"), content="b")
    assert (bench.folder / "b.txt").read_text() == "b"
    refused = await made(life, "read_text_file", path="/etc/passwd")
    assert refused.is_error and refused.text.startswith("filesystem: Access denied")


async def test_memory(bench: Bench, npm_programs: Path):
    life = await bench.server("memory", npm_programs / "mcp-server-memory")
    entity = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
    await made(life, "create_entities", entities=[entity])
    assert "counts" in (await made(life, "read_graph")).text
    assert "Ada" in (await made(life, "search_nodes", query="Ada")).text
    missing = {"entityName": "Nobody", "contents": ["x"]}
    assert (await made(life, "add_observations", observations=[missing])).is_error


async def test_time(bench: Bench, pypi_programs: Path):
    life = await bench.server("time", pypi_programs / "mcp-server-time")
    assert life.manifest is not None and life.manifest.greeting.era == "2026-07-28"
    assert "UTC" in (await made(life, "get_current_time", timezone="UTC")).text
    assert "Asia/Tokyo" in (await made(life, "get_current_time", timezone="Asia/Tokyo")).text
    there = {"source_timezone": "UTC", "time": "10:00", "target_timezone": "Europe/Paris"}
    assert "Paris" in (await made(life, "convert_time", **there)).text
    assert (await made(life, "get_current_time", timezone="Nowhere")).is_error


async def test_git(bench: Bench, pypi_programs: Path):
    bench.make_repository()
    where = str(bench.folder)
    life = await bench.server("git", pypi_programs / "mcp-server-git", "--repository", where)
    assert "a.txt" in (await made(life, "git_status", repo_path=where)).text
    assert "a.txt" in (await made(life, "git_diff_staged", repo_path=where)).text
    assert not (await made(life, "git_diff_unstaged", repo_path=where)).is_error
    assert (await made(life, "git_status", repo_path="/nowhere")).is_error


async def test_fetch(bench: Bench, pypi_programs: Path):
    """Of the world outside nothing is asked."""
    life = await bench.server("fetch", pypi_programs / "mcp-server-fetch")
    assert (await made(life, "fetch", url="nonsense")).is_error
    assert (await made(life, "fetch", url="http://127.0.0.1:9/")).is_error
    assert life.manifest is not None and [prompt.name for prompt in life.manifest.prompts] == ["fetch"]
    with pytest.raises(McpRequestRefused):
        await life.get_prompt("no-such-prompt", {})
