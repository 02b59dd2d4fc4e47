"""Finding and loading extensions, what can go wrong with that, and reloading."""

import asyncio
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.extension_registrations import NotReady
from app.extensions.extension_runner import Extensions
from app.extensions.loading.api_version import IncompatibleApiVersion, require_api_version
from app.extensions.loading.extension_finder import (
    MODULE_BY_BUILTIN_EXTENSION,
    ExtensionSelectionOptions,
    find_extensions,
)
from app.resources.paths import BayouPaths
from bayou import API_VERSION, ExtensionApi, StaleExtension, ToolError, run_program
from tests.extensions.conftest import QUICK, source
from tests.extensions.extension_host import ExtensionHost, settled
from tools.tool_definition import Tool, ToolContext

HELLO = """
    def extension(api):
        @api.command("hello", description="Says hello")
        def hello(arguments, context):
            context.ui.notify(f"hello {arguments}")
"""


def names(extensions: Extensions) -> list[str]:
    return [
        extension.name for extension in extensions.hooks.loaded if not extension.name.startswith("builtin:")
    ]


async def test_files_folders_and_manifests_are_found(load_files, write, paths: BayouPaths):
    write("one.py", HELLO)
    write("two/__init__.py", "from . import part\nextension = part.extension")
    write("two/part.py", "from .deep import extension")
    write("two/deep.py", "def extension(api): pass")
    write("three/bayou.json", '{"extensions": ["a.py", "b.py"], "api": ">=1"}')
    write("three/a.py", "async def extension(api): pass")
    write("three/b.py", "def extension(api): pass")
    write("_not.py", "raise SystemExit")
    write("notes.txt", "")
    extensions = await load_files()
    assert names(extensions) == ["one", "three/a", "three/b", "two"]
    assert extensions.hooks.problems == []


async def test_bayous_own_can_be_switched_off(paths: BayouPaths):
    found = find_extensions(paths, ExtensionSelectionOptions(settings=("-builtin:file-maps",)))
    assert [source.name for source in found.sources] == [
        "builtin:hooks",
        "builtin:nested-context",
        "builtin:read-recovery",
        "builtin:rules",
    ]
    assert find_extensions(paths, ExtensionSelectionOptions(is_safe=True, named=("x.py",))).sources == ()
    only = find_extensions(paths, ExtensionSelectionOptions(only_named=True, named=("builtin:file-maps",)))
    assert [source.name for source in only.sources] == ["builtin:file-maps"]
    assert (
        "There is no builtin:nope"
        in find_extensions(paths, ExtensionSelectionOptions(named=("builtin:nope",))).problems[0]
    )


async def test_a_projects_extensions_run_only_once_it_is_trusted(paths: BayouPaths, load_files):
    folder = paths.project_dir / "extensions"
    folder.mkdir(parents=True)
    marker = paths.cwd / "ran"
    (folder / "p.py").write_text(f"open({str(marker)!r}, 'w')\ndef extension(api): pass")
    assert names(await load_files()) == []
    assert not marker.exists()
    assert names(await load_files(is_trusted=True)) == ["p"]
    assert marker.exists()


async def test_paths_of_flags_and_settings(paths: BayouPaths, load_files, write):
    mine = write("mine.py", HELLO)
    (paths.cwd / "local.py").write_text("def extension(api): pass")
    extensions = await load_files(named=("local.py", str(mine)), settings=("~/nowhere", "-mine"))
    assert names(extensions) == ["local"]
    assert (
        "there is no extension"
        in find_extensions(paths, ExtensionSelectionOptions(settings=("nowhere",))).problems[0]
    )


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def extension(api)\n    pass", "line 1: expected ':'"),
        ("import nothing_of_this_name", "line 1: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("x = 1\nraise ValueError('broken')", "line 2: ValueError: broken"),
        ("def extension(api):\n    raise KeyError('x')", "line 2: KeyError: 'x'"),
        ("async def extension(api):\n    raise SystemExit(2)", "line 2: SystemExit: 2"),
        ("x = 1", "it defines no function extension(api)"),
        ("import time\nwhile True: time.sleep(0.01)", "it blocked everything"),
        ("import asyncio\nasync def extension(api): await asyncio.Event().wait()", "did not answer within"),
        ("import asyncio\nasync def extension(api): raise asyncio.CancelledError", "it cancelled itself"),
        ("BAYOU_API = '>=2'\nraise ValueError", f"version >=2 of the extension API, but this bayou has {API_VERSION}"),
        ("BAYOU_API = 'new'\n", "is not valid"),
        ("def extension(): pass", "TypeError"),
        ("from . import helper", "ImportError"),
    ],
)  # fmt: skip
async def test_one_that_cannot_be_loaded_is_named_with_its_file(
    load_files, write, scene: ExtensionHost, code: str, words: str
):
    path = write("bad.py", code)
    write("good.py", HELLO)
    extensions = await load_files()
    await settled()
    assert names(extensions) == ["good"]
    assert [problem.source for problem in extensions.hooks.problems] == [str(path)]
    assert words in extensions.hooks.problems[0].text
    assert scene.errors()[0].extension_path == str(path)


async def test_registrations_of_a_failed_extension_are_removed(load_files, write, scene: ExtensionHost):
    write(
        "half.py",
        """
        def extension(api):
            api.tool("half", "x")(lambda arguments, context: "x")
            api.on("agent_start", lambda event, context: None)
            raise ValueError
        """,
    )
    extensions = await load_files()
    assert scene.tools == {}
    assert "agent_start" not in extensions.hooks.handlers


@pytest.mark.parametrize("manifest", ["{", "[]", '{"extensions": "a.py"}', '{"extensions": ["../x.py"]}'])
async def test_a_broken_manifest_is_named(load_files, write, manifest: str):
    path = write("pack/bayou.json", manifest)
    extensions = await load_files()
    assert extensions.hooks.problems[0].source == str(path)


async def test_modules_have_private_names_and_leave_no_bytecode(load_files, write, paths: BayouPaths):
    for name in ("a", "b"):
        write(f"{name}/__init__.py", "from .helper import extension")
        write(f"{name}/helper.py", f"def extension(api): api.command({name!r})(print)")
    before = set(sys.modules)
    extensions = await load_files()
    assert set(ExtensionCatalogue(extensions.hooks).commands()) >= {"a", "b"}
    new = {name for name in set(sys.modules) - before if "helper" in name}
    assert len(new) == 2
    assert "helper" not in sys.modules
    assert not list(paths.agent_dir.rglob("__pycache__"))
    await extensions.close()
    assert not new & set(sys.modules)


@pytest.mark.parametrize(
    ("declared", "fits"),
    [
        ("", True),
        (">=1,<2", True),
        ("1", True),
        ("~=1.0", True),
        ("==1.0", True),
        (">1.0", False),
        ("<1", False),
        ("!=1.0", False),
        ("0.9", False),
        ("~=1.2", False),
    ],
)
def test_version_ranges(declared: str, fits: bool):
    if fits:
        require_api_version(declared, "1.0")
    else:
        with pytest.raises(IncompatibleApiVersion):
            require_api_version(declared, "1.0")


# Reloading


async def test_a_reload_runs_the_new_code_and_forgets_the_old(
    load_files, write, paths: BayouPaths, scene: ExtensionHost
):
    write("tool.py", 'def extension(api):\n    api.tool("old", "x")(lambda a, c: "x")')
    extensions = await load_files()
    assert set(scene.tools) == {"old"}
    write("tool.py", 'def extension(api):\n    api.tool("new", "x")(lambda a, c: "x")')
    await extensions.reload(find_extensions(paths, ExtensionSelectionOptions()).sources)
    assert set(scene.tools) == {"new"}


async def test_objects_of_before_a_reload_refuse(load, scene: ExtensionHost):
    kept: list[ExtensionApi] = []
    reasons = []

    def mine(api: ExtensionApi):
        kept.append(api)
        api.events.on("x", reasons.append)
        api.tool("t", "x")(lambda arguments, context: "ran")
        api.on("session_shutdown", lambda event, context: reasons.append(event.reason))
        api.on("session_start", lambda event, context: reasons.append(event.reason))

    extensions = await load(mine)
    old_tool = scene.tools["t"]
    await extensions.reload([source(mine)])
    old, new = kept
    for act in (
        lambda: old.on("agent_start", print),
        lambda: old.context.cwd,
        lambda: old.context.ui.notify("x"),
        lambda: old.settings(),
        lambda: old.register_tool(old_tool),
    ):
        with pytest.raises(StaleExtension, match="was reloaded or removed"):
            act()
    for action in (
        old.append_entry("x"),
        old.events.emit("x", 1),
        old.exec("true"),
        old.context.ui.confirm("?"),
    ):
        with pytest.raises(StaleExtension):
            await action
    with pytest.raises(ToolError, match="reloaded or removed"):
        await old_tool.run({}, ToolContext(call_id="c", cwd=scene.cwd))
    await new.events.emit("x", "heard once")
    assert reasons == ["reload", "reload", "heard once"]


async def test_a_reload_in_the_middle_of_a_hook(load, scene: ExtensionHost):
    """The one who asks for it and those behind it belong to the past; nothing breaks."""
    heard = []

    def first(api: ExtensionApi):
        @api.on("agent_start")
        async def reload(event, context):
            await extensions.reload([source(second, "second")])

    def second(api: ExtensionApi):
        api.on("agent_start", lambda event, context: heard.append(event))

    extensions = await load(first, second)
    await extensions.hooks.emit("agent_start", "old")
    assert heard == []
    await extensions.hooks.emit("agent_start", "new")
    assert heard == ["new"]
    assert extensions.hooks.problems == []


async def test_a_reload_while_a_tool_runs_lets_it_end(load, scene: ExtensionHost):
    go = asyncio.Event()

    def mine(api: ExtensionApi):
        @api.tool("slow", "x")
        async def slow(arguments, context):
            await go.wait()
            try:
                return str(context.cwd)
            except StaleExtension as problem:
                return str(problem)

    extensions = await load(mine)
    running = asyncio.ensure_future(scene.tools["slow"].run({}, ToolContext(call_id="c", cwd=scene.cwd)))
    await asyncio.sleep(0)
    await extensions.reload([])
    go.set()
    assert "was reloaded" in (await running).text


# Registering


async def test_registering_twice(load, scene: ExtensionHost):
    def one(api: ExtensionApi):
        api.command("go")(lambda arguments, context: scene.done.append("first"))
        api.command("go")(lambda arguments, context: scene.done.append("second"))

    def two(api: ExtensionApi):
        api.command("go")(lambda arguments, context: scene.done.append("other"))
        api.command("quit")(print)

    extensions = await load(one, two)
    assert set(ExtensionCatalogue(extensions.hooks).commands(taken=("quit",))) == {"go"}
    await ExtensionCatalogue(extensions.hooks).run_command("go", "")
    assert scene.done == ["second"]
    assert [str(problem) for problem in extensions.hooks.problems] == [
        "/x/one.py: register: the command go is registered twice; the second counts",
        "/x/two.py: register: the command go belongs to one already; this one is left out",
        "/x/two.py: register: the command quit belongs to bayou itself already; this one is left out",
    ]


async def test_the_same_name_is_loaded_once(scene: ExtensionHost):
    extensions = scene.extensions(limits=lambda: QUICK)
    problems = await extensions.load([source(lambda api: None), source(lambda api: None)])
    assert len(extensions.hooks.loaded) == 1
    assert "is loaded already" in problems[0].text


class Add(msgspec.Struct, frozen=True, kw_only=True):
    left: int
    right: int = 1


async def test_a_tool_from_a_function(load, scene: ExtensionHost):
    def mine(api: ExtensionApi):
        @api.tool("add", "Adds", arguments=Add, snippet="Add numbers", is_read_only=True, kind="think")
        async def add(arguments: Add, context):
            inner = await context.execute_tool("ls", {})
            return f"{arguments.left + arguments.right} {inner.text} {context.call.call_id}"

    extensions = await load(mine)
    tool = scene.tools["add"]
    assert extensions.hooks.loaded[0].owner_name.startswith("extension:mine#")
    assert tool.schema["required"] == ["left"]
    assert (tool.snippet, tool.is_read_only, tool.kind) == ("Add numbers", True, "think")
    result = await tool.run(Add(left=1), ToolContext(call_id="c", cwd=scene.cwd))
    assert result.text == "2 Tool ls not found. Available tools: add c"


async def test_a_tool_of_an_unknown_kind_is_refused_with_the_kinds_that_there_are(load, scene: ExtensionHost):
    extensions = await load(lambda api: api.tool("odd", "x", kind="guess")(lambda arguments, context: "x"))
    assert names(extensions) == []
    assert "unknown kind 'guess'; use one of: read, edit" in extensions.hooks.problems[0].text


async def test_a_tool_that_blocks_or_returns_nonsense_fails_alone(load, scene: ExtensionHost):
    def mine(api: ExtensionApi):
        @api.tool("stuck", "x")
        async def stuck(arguments, context):
            while True:
                pass

        api.tool("odd", "x")(lambda arguments, context: 3)

    await load(mine)
    for name, words in (("stuck", "blocked everything"), ("odd", "returned int")):
        with pytest.raises(ToolError, match=words):
            await scene.tools[name].run({}, ToolContext(call_id="c", cwd=scene.cwd))


async def test_tools_and_providers_reach_a_session_that_comes_later(scene: ExtensionHost):
    def mine(api: ExtensionApi):
        api.register_tool(Tool(name="t", description="", schema={}, run=None))  # pyright: ignore[reportArgumentType]  (never run)
        with pytest.raises(NotReady):
            api.active_tools()

    extensions = Extensions(limits=lambda: QUICK)
    await extensions.load([source(mine)])
    extensions.bind(scene.bound)
    assert set(scene.tools) == {"t"}


async def test_flags(load, scene: ExtensionHost):
    seen = []

    def mine(api: ExtensionApi):
        api.register_flag("plan", description="Plan first")
        api.register_flag("depth", type="string", default="3")
        seen.extend([api.flag("plan"), api.flag("depth"), api.flag("other")])

    extensions = scene.extensions(limits=lambda: QUICK, flags={"plan": True, "other": "x"})
    await extensions.load([source(mine)])
    assert seen == [True, "3", None]
    assert set(ExtensionCatalogue(extensions.hooks).flags()) == {"plan", "depth"}
    assert ExtensionCatalogue(extensions.hooks).unknown_command_line_flags() == ("other",)


async def test_the_bus_between_extensions(load):
    heard = []

    def one(api: ExtensionApi):
        api.events.on("hi", heard.append)
        api.events.on("hi", lambda data: 1 / 0)

    async def two(api: ExtensionApi):
        await api.events.emit("hi", {"from": "two"})

    extensions = await load(one, two)
    assert heard == [{"from": "two"}]
    assert [(problem.source, problem.event) for problem in extensions.hooks.problems] == [
        ("/x/one.py", "events hi")
    ]


async def test_running_a_program(tmp_path: Path):
    result = await run_program(
        sys.executable, ["-c", "import sys; print(sys.stdin.read()); sys.exit(3)"], stdin="hi"
    )
    assert (result.stdout, result.code) == ("hi\n", 3)
    result = await run_program("sh", ["-c", "sleep 60 & sleep 60"], timeout=0.1)
    assert result.was_killed and result.code == 128 + 9
    result = await run_program("sh", ["-c", "kill -TERM $$"])
    assert not result.was_killed and result.code == 128 + 15
    result = await run_program("sh", ["-c", "yes | head -c 5000"], max_bytes=100)
    assert len(result.stdout) == 100 and result.is_truncated
    with pytest.raises(FileNotFoundError):
        await run_program(str(tmp_path / "nothing"))


def test_the_entry_point_group_is_looked_through(paths: BayouPaths, tmp_path: Path, monkeypatch):
    site = tmp_path / "site"
    info = site / "thing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bayou.extensions]\nthing = thing_module:extension\n")
    (site / "thing_module.py").write_text(textwrap.dedent(HELLO))
    monkeypatch.syspath_prepend(str(site))
    found = find_extensions(paths, ExtensionSelectionOptions())
    assert [source.name for source in found.sources if source.origin == "entry-point"] == ["thing"]


def test_bayous_own_are_all_there():
    assert set(MODULE_BY_BUILTIN_EXTENSION) == {
        "builtin:file-maps",
        "builtin:hooks",
        "builtin:nested-context",
        "builtin:read-recovery",
        "builtin:rules",
    }


async def test_the_status_names_what_each_has_registered_and_what_went_wrong(load_files, write):
    write("good.py", HELLO)
    bad = write("bad.py", "raise ValueError")
    statuses = {
        status.name: status
        for status in (
            await load_files(settings=tuple(f"-{name}" for name in MODULE_BY_BUILTIN_EXTENSION))
        ).status()
    }
    assert statuses["good"].counts == {"commands": 1}
    assert statuses[str(bad)].origin == "not loaded"
    assert "ValueError" in statuses[str(bad)].problems[0].text
