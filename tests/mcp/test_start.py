"""What servers cost a start: nothing of them is read before it is needed, and the SDK not before one is contacted."""

import json
import os
import subprocess
import sys
from pathlib import Path

from app.resources.paths import BayouPaths
from tests.architecture.sources import ROOT
from tests.mcp.test_in_session import Desk

ASSEMBLE = """
from pathlib import Path
from app.assembly.session_builder import assemble_session
from app.assembly.command_line_options import CommandLineOptions
from app.resources.paths import BayouPaths
import os
assembled = assemble_session(CommandLineOptions(), BayouPaths.from_env(os.environ, Path.cwd()), os.environ)
"""
PROMPT = "from app.cli.main import main; main(['-p', 'help'])"
CONTACT = tuple(
    f"app.mcp.{name}" for name in ("link", "process", "streams", "results", "search", "server_values")
)
SDK = ("mcp", "mcp_types", "pydantic", "anyio", "httpx2")


def loaded_in(paths: BayouPaths, program: str) -> set[str]:
    """The modules of a fresh interpreter after `program`, in the person's project."""
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{program}\n"
    run = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            script + "import sys; sys.stderr.write('LOADED ' + ' '.join(sys.modules))",
        ],
        capture_output=True,
        text=True,
        cwd=paths.cwd,
        env={"HOME": str(paths.home), "PATH": os.environ["PATH"]},
        check=True,
    )
    return set(run.stderr.rsplit("LOADED ", 1)[1].split())


async def test_known_servers_cost_a_start_nothing_and_a_prompt_no_sdk(paths: BayouPaths):
    desk = Desk(paths)
    desk.configure(**{f"server{number}": {"words": [f"n{number}"]} for number in range(5)})
    await desk.known()
    assert len(list((paths.cache_dir / "mcp").iterdir())) == 5
    begun = loaded_in(paths, ASSEMBLE)
    assert "app.engine.mcp.session_servers" in begun
    assert sorted(name for name in begun if name.startswith("app.mcp") or name in SDK) == []
    asked = loaded_in(paths, PROMPT)
    assert "app.mcp.server_registry" in asked
    assert sorted(asked & {*SDK, *CONTACT}) == []


async def test_a_manifest_holds_no_secret_and_a_broken_one_is_asked_for_anew(paths: BayouPaths):
    desk = Desk(paths)
    desk.configure(docs={"env": {"TOKEN": "s3cr3t-value-of-mine"}, "exposure": "search"})
    await desk.known()
    (manifest,) = (paths.cache_dir / "mcp").iterdir()
    assert "s3cr3t" not in manifest.read_text()
    assert manifest.stat().st_mode & 0o077 == 0 or manifest.parent.stat().st_mode & 0o077 == 0
    manifest.write_text(json.dumps({"greeting": {"era": 7}}))
    session = desk.open()
    assert session.mcp.server_view("docs").state == "new"
    assert "docs echo" in await desk.result("mcp_search", query="echo")
    await desk.close()
    assert Path(manifest).stat().st_size > 100
