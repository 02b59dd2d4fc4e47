"""The wheel holds what it must, and runs inside projects that have an `app/` and a `tools/` of their own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

from app.version import VERSION
from bench.processes import Terminal
from tests.architecture.sources import ROOT

INSTALLS = pytest.mark.installs


def run(*command: str | Path, cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "packaging"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def wheel(shared: Path) -> Path:
    with FileLock(shared / "build.lock"):
        if not list(shared.glob("*.whl")):
            run(
                sys.executable,
                "-m",
                "hatchling",
                "build",
                "-t",
                "wheel",
                "-d",
                shared,
                cwd=ROOT,
                env=dict(os.environ),
            )
    return next(shared.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(shared: Path, wheel: Path, outside: dict[str, str]) -> Path:
    """A fresh virtual environment with the wheel and what its metadata asks for, in the locked versions."""
    env = {name: value for name, value in outside.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    home = shared / "venv"
    with FileLock(shared / "install.lock"):
        if not (home / "bin" / "bayou").exists():
            pins = shared / "pins.txt"
            lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
            pins.write_text(
                "\n".join(line.rstrip(" \\") for line in lock.splitlines() if "--hash" not in line)
            )
            run(sys.executable, "-m", "venv", "--without-pip", home, cwd=shared, env=env)
            pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python")
            # What nobody imports need not be compiled.
            run(*pip, "install", "-q", "--no-compile", "-c", pins, wheel, cwd=shared, env=env)
    return home / "bin"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A project whose folders have the names of ours, and end the program when they are imported."""
    for name in ("app", "tools", "widgets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            f"raise SystemExit('the {name} of the project was imported')\n"
        )
    for name in ("textual", "rich", "msgspec"):
        (tmp_path / f"{name}_.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "styles").mkdir()
    return tmp_path


@pytest.fixture
def env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": "."}


def shipped_from(names: list[str], place: str) -> set[str]:
    return {name.removeprefix(place) for name in names if name.startswith(place)}


def on_disk(folder: str) -> set[str]:
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(ROOT / folder).as_posix() for path in found}


def test_the_wheel_holds_the_four_folders_and_the_launcher(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    info = f"bayou-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in names} == {"app", "widgets", "tools", "bayou_launcher.py", info}
    assert shipped_from(names, "app/_styles/") == on_disk("styles")
    assert shipped_from(names, "app/_docs/") == on_disk("docs")
    modules = (path for folder in ("app", "widgets", "tools") for path in (ROOT / folder).rglob("*.py"))
    shipped = {path.relative_to(ROOT).as_posix() for path in modules}
    assert shipped - set(names) == {"app/launcher.py"}, "That one is shipped as bayou_launcher.py."
    assert f"{info}/licenses/LICENSE" in names


def test_an_unpacked_wheel_runs_where_a_project_has_the_same_names(
    wheel: Path, hostile: Path, env: dict[str, str], tmp_path_factory: pytest.TempPathFactory
):
    place = tmp_path_factory.mktemp("unpacked")
    zipfile.ZipFile(wheel).extractall(place)
    start = (
        f"import sys; sys.path.insert(0, {str(place)!r}); from bayou_launcher import main; sys.exit(main())"
    )
    assert run(sys.executable, "-c", start, "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"
    answer = run(sys.executable, "-c", start, "--no-session", "-p", "list", cwd=hostile, env=env)
    assert "`.` holds 4 folders" in answer


def test_the_checkout_runs_as_a_module(hostile: Path, env: dict[str, str]):
    env["PYTHONPATH"] = str(ROOT)
    assert run(sys.executable, "-P", "-m", "app", "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"


@INSTALLS
def test_the_installed_command_runs_where_a_project_has_the_same_names(
    installed: Path, hostile: Path, env: dict[str, str]
):
    assert run(installed / "bayou", "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"
    assert "usage" in run(installed / "bayou", "--help", cwd=hostile, env=env).lower()
    answer = run(installed / "bayou", "-p", "list\nrun echo from the shell", cwd=hostile, env=env)
    assert "`.` holds 4 folders" in answer
    assert "succeeded and wrote 1 line" in answer


ABOUT_ITSELF = """
import re
from app.extensions.public import ExtensionApi, ProviderSpec, ToolResultMessage, text_of
from app.providers.scripted import Scripted, call, say

def answer(context, count):
    folder = re.search(r"documentation lies in (\\S+)", context.system_prompt)[1]
    skill = re.search(r"<location>(\\S*extending-bayou\\S*)</location>", context.system_prompt)[1]
    results = [text_of(one.content) for one in context.messages if isinstance(one, ToolResultMessage)]
    if not results:
        reads = call("read", path=folder + "/README.md") + call("read", path=skill)
        return reads + call("ls", path=folder + "/examples")
    return say(" / ".join(text[:400] for text in results))

def extension(api):
    script = Scripted([answer] * 5)
    api.register_provider(ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="x"))
"""


@INSTALLS
def test_the_installed_agent_reads_about_itself_wherever_it_runs(
    installed: Path, hostile: Path, env: dict[str, str]
):
    (hostile / "about.py").write_text(ABOUT_ITSELF)
    arguments = ("-p", "-e", "about.py", "--model", "scripted/script", "--tools", "read,ls", "What are you?")
    answer = run(installed / "bayou", *arguments, cwd=hostile, env=env)
    assert "bayou's pages" in answer
    assert "name: extending-bayou" in answer
    assert "custom_provider.py" in answer


@INSTALLS
def test_the_installed_command_opens_full_screen(installed: Path, hostile: Path, env: dict[str, str]):
    terminal = Terminal([str(installed / "bayou")], hostile, env, (100, 30))
    try:
        terminal.wait_for(b"guide")
    finally:
        terminal.close()
    assert b"Traceback" not in terminal.drawn


@INSTALLS
def test_the_metadata_asks_for_everything_that_is_needed(
    installed: Path, tmp_path: Path, env: dict[str, str]
):
    """No development tool is there, and still every module of ours can be imported."""
    del env["PYTHONPATH"]
    program = (
        "import pkgutil, importlib, app, widgets, tools\n"
        "for package in (app, widgets, tools):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        inside = module.name.startswith('tools.kernel.inside.')\n"
        "        if not inside and not module.name.endswith(('__main__', 'ptyhost')):\n"
        "            importlib.import_module(module.name)\n"
    )
    run(installed / "python", "-P", "-c", program, cwd=tmp_path, env=env)
    assert not (installed / "pytest").exists()
