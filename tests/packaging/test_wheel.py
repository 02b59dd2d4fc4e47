"""The wheel has one name at its top, and runs inside projects that have an `app/` and a `tools/` of their own."""

import json
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
PROGRAM = "bayou/_program"
UV = Path(sys.executable).with_name("uv")


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


def build(kind: str, source: Path, target: Path) -> Path:
    hatch = (sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", target)
    run(*hatch, cwd=source, env=dict(os.environ))
    return next(target.iterdir())


@pytest.fixture(scope="session")
def wheel(shared: Path) -> Path:
    with FileLock(shared / "build.lock"):
        if not (built := list(shared.glob("wheel/*.whl"))):
            built = [build("wheel", ROOT, shared / "wheel")]
    return built[0]


@pytest.fixture(scope="session")
def unpacked(shared: Path, wheel: Path) -> Path:
    """A folder that a foreign program has on its path, with nothing in it but the wheel."""
    place = shared / "unpacked"
    with FileLock(shared / "unpack.lock"):
        if not place.exists():
            zipfile.ZipFile(wheel).extractall(place)
    return place


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
            # Modules that are never imported need not be compiled.
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
    for name in ("textual_", "rich_", "msgspec_", "bayou"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n")
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


def test_the_wheel_has_one_name_at_its_top_and_all_of_the_program_below(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    info = f"bayou-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in names} == {"bayou", f"bayou-{VERSION}.data", info}
    assert shipped_from(names, f"bayou-{VERSION}.data/") == {
        "scripts/bayou",
        "data/share/man/man1/bayou.1",
    }
    assert shipped_from(names, f"{PROGRAM}/app/_styles/") == on_disk("styles")
    assert shipped_from(names, f"{PROGRAM}/app/_docs/") == on_disk("docs")
    modules = (path for folder in ("app", "widgets", "tools") for path in (ROOT / folder).rglob("*.py"))
    program = {path.relative_to(ROOT).as_posix() for path in modules}
    left_out = program - shipped_from(names, f"{PROGRAM}/")
    facade = on_disk("app/package/bayou")
    assert left_out - {f"app/package/bayou/{name}" for name in facade} == {"app/package/build_hook.py"}
    assert {f"bayou/{name}" for name in facade} <= set(names)
    assert {"bayou/py.typed", "bayou/__init__.pyi", f"{info}/licenses/LICENSE"} <= set(names)


def test_an_unpacked_wheel_runs_where_a_project_has_the_same_names(
    unpacked: Path, hostile: Path, env: dict[str, str]
):
    start = (sys.executable, "-P", unpacked / "bayou")
    assert run(*start, "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"
    answer = run(*start, "--no-session", "-p", "list", cwd=hostile, env=env)
    assert "`.` holds 4 folders" in answer


def test_the_checkout_runs_as_a_module(hostile: Path, env: dict[str, str]):
    env["PYTHONPATH"] = str(ROOT)
    assert run(sys.executable, "-P", "-m", "app", "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"
    env["PYTHONPATH"] = str(ROOT / "app" / "package")
    assert run(sys.executable, "-P", "-m", "bayou", "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"


HOST = """
import asyncio, json, sys
import app, tools, widgets
from bayou.client import RpcClient
from bayou.values import AgentSettled, MessageEnd

async def main():
    async with RpcClient(arguments=["--no-session", "--no-extensions"]) as bayou:
        events = await bayou.prompt_and_wait("list")
        kinds = {type(event) for event in events}
        print(AgentSettled in kinds, MessageEnd in kinds)
        print(await bayou.get_last_assistant_text())

asyncio.run(main())
print(app.OWN, json.dumps([name for name in sys.modules if name.startswith(("app.", "textual"))]))
try:
    from bayou import Tool
except ImportError as problem:
    print(problem)
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A program with packages of the program's names, which controls bayou."""
    for name in ("app", "tools", "widgets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OWN = 'its own'\n")
    (tmp_path / "main.py").write_text(HOST)
    return tmp_path


def controls_bayou(told: str, host: Path) -> None:
    assert "True True\n`.` holds 3 folders and 1 file." in told
    assert "its own []" in told, "the program's modules are not imported"
    assert f"here `app` is {host}/app/__init__.py" in told
    assert "from bayou.client import RpcClient" in told


def test_a_program_with_the_same_packages_controls_bayou(unpacked: Path, host: Path, env: dict[str, str]):
    env["PYTHONPATH"] = str(unpacked)
    controls_bayou(run(sys.executable, "main.py", cwd=host, env=env), host)


def test_the_names_for_extensions_are_there_for_an_extensions_own_tests(
    unpacked: Path, tmp_path: Path, env: dict[str, str]
):
    env["PYTHONPATH"] = str(unpacked)
    program = (
        "import sys, bayou; assert not [name for name in sys.modules if name.startswith(('app', 'bayou.'))]; "
        "from bayou import ExtensionApi, Tool, ToolResult; import bayou.extensions as all; "
        "print(bayou.Tool is all.Tool, 'Context' in dir(bayou), hasattr(bayou, 'nothing'))"
    )
    assert run(sys.executable, "-P", "-S", "-c", program, cwd=tmp_path, env=with_libraries(env)) == (
        "True True False\n"
    )


def with_libraries(env: dict[str, str]) -> dict[str, str]:
    """With the installed libraries, but without the checkout, which is installed here too."""
    import msgspec

    return env | {"PYTHONPATH": f"{env['PYTHONPATH']}:{Path(msgspec.__file__).parent.parent}"}


WRONG = """
from bayou import ExtensionApi, Model, ToolCallContext

def extension(api: ExtensionApi) -> None:
    api.comand("x")
    Model(id=3)
    reveal_type(api.version)

async def run(arguments: object, context: ToolCallContext) -> int:
    return context.ui.confirm("sure?")
"""


@INSTALLS
def test_a_type_checker_knows_what_an_extension_imports(installed: Path, tmp_path: Path):
    for example in (ROOT / "docs" / "examples").glob("*.py"):
        (tmp_path / example.name).write_text(example.read_text())
    (tmp_path / "wrong.py").write_text(WRONG)
    pyright = (sys.executable, "-m", "pyright", "--pythonpath", installed / "python", "--outputjson", ".")
    done = subprocess.run(pyright, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)["generalDiagnostics"]
    assert {Path(each["file"]).name for each in told} == {"wrong.py"}, told
    wrong = "\n".join(each["message"] for each in told)
    assert 'Cannot access attribute "comand" for class "ExtensionApi"' in wrong
    assert "Argument missing for parameter" in wrong or "Arguments missing for parameters" in wrong
    assert 'Type of "api.version" is "str"' in wrong
    assert "CoroutineType" in wrong or "Coroutine" in wrong


@INSTALLS
def test_a_source_distribution_gives_the_same_wheel(wheel: Path, tmp_path: Path):
    source = build("sdist", ROOT, tmp_path / "sdist")
    run("tar", "-xf", source, "-C", tmp_path, cwd=tmp_path, env=dict(os.environ))
    again = build("wheel", tmp_path / f"bayou-{VERSION}", tmp_path / "again")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


@INSTALLS
def test_the_installed_command_runs_where_a_project_has_the_same_names(
    installed: Path, hostile: Path, env: dict[str, str]
):
    assert run(installed / "bayou", "--version", cwd=hostile, env=env) == f"bayou {VERSION}\n"
    assert "usage" in run(installed / "bayou", "--help", cwd=hostile, env=env).lower()
    answer = run(installed / "bayou", "-p", "list\nrun echo from the shell", cwd=hostile, env=env)
    assert "`.` holds 4 folders" in answer
    assert "succeeded and wrote 1 line" in answer
    module = run(installed / "python", "-P", "-m", "bayou", "--version", cwd=hostile, env=os_env())
    assert module == f"bayou {VERSION}\n"


@INSTALLS
@pytest.mark.skipif(not UV.exists(), reason="uv is not beside this Python")
def test_uv_runs_the_wheel_where_a_project_has_the_same_names(
    hostile: Path, wheel: Path, outside: dict[str, str]
):
    env = {name: value for name, value in outside.items() if name != "VIRTUAL_ENV"} | {"PYTHONPATH": "."}
    words = [UV, "--system-certs", "tool", "run", "--from", wheel, "bayou", "--version"]
    done = subprocess.run(words, cwd=hostile, env=env, capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr:
        pytest.skip(f"uv does not reach the package index: {done.stderr.strip()[:200]}")
    assert done.stdout == f"bayou {VERSION}\n", done.stderr


def os_env() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


@INSTALLS
def test_a_program_controls_the_installed_bayou(installed: Path, host: Path):
    controls_bayou(run(installed / "python", "main.py", cwd=host, env=os_env()), host)


ABOUT_ITSELF = """
import re
from bayou import ExtensionApi, ProviderSpec, ToolResultMessage, text_of
from app.providers.scripted import ScriptedModel, call, say

def answer(context, count):
    folder = re.search(r"documentation is in (\\S+)", context.system_prompt)[1]
    skill = re.search(r"<location>(\\S*extending-bayou\\S*)</location>", context.system_prompt)[1]
    results = [text_of(one.content) for one in context.messages if isinstance(one, ToolResultMessage)]
    if not results:
        reads = call("read", path=folder + "/README.md") + call("read", path=skill)
        return reads + call("ls", path=folder + "/examples")
    return say(" / ".join(text[:400] for text in results))

def extension(api):
    script = ScriptedModel([answer] * 5)
    api.register_provider(ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="x"))
"""


@INSTALLS
def test_the_installed_agent_reads_about_itself_wherever_it_runs(
    installed: Path, hostile: Path, env: dict[str, str]
):
    (hostile / "about.py").write_text(ABOUT_ITSELF)
    arguments = ("-p", "-e", "about.py", "--model", "scripted/script", "--tools", "read,ls", "What are you?")
    answer = run(installed / "bayou", *arguments, cwd=hostile, env=env)
    assert "Each page covers one part of bayou" in answer
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
        "import sys, pkgutil, importlib, bayou.client, bayou.extensions, app, widgets, tools\n"
        "for package in (app, widgets, tools):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        inside = module.name.startswith('tools.kernel.inside.')\n"
        "        extra = module.name.startswith('app.batch.cluster.')\n"
        "        if not inside and not extra and not module.name.endswith(('__main__', 'ptyhost')):\n"
        "            importlib.import_module(module.name)\n"
    )
    run(installed / "python", "-P", "-c", program, cwd=tmp_path, env=env)
    assert not (installed / "pytest").exists()
