"""Installing packages: nothing runs before it is agreed to, and nothing half-installed remains."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from app.extensions.loading.extension_finder import ExtensionSelectionOptions, find_extensions
from app.extensions.packages import package_installer as packages_module
from app.extensions.packages.package_commands import run_package_command
from app.extensions.packages.package_contents import PackageError, inspect_package_folder
from app.extensions.packages.package_installer import (
    discard_staged_package,
    have_plugins_mcp_servers,
    install_staged_package,
    installed_package_parts,
    list_installed_packages,
    plugin_hook_files,
    remove_package,
    stage_package,
)
from app.extensions.packages.package_sources import package_source_kind
from app.extensions.packages.plugin_servers import installed_plugin_mcp_servers
from app.mcp.server_config import merge_configured_mcp_servers
from app.resources.helper_kinds import find_helper_agent_kinds
from app.resources.hook_files import find_hooks
from app.resources.paths import BayouPaths
from app.resources.prompt_templates import find_prompt_templates
from app.resources.skills import find_skills


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def notes(paths: BayouPaths) -> Path:
    """A package with something of everything, whose code would leave a mark."""
    mark = paths.home / "ran"
    return put(
        paths.home / "notes",
        {
            "bayou.json": json.dumps(
                {"name": "notes", "extensions": ["ext.py"], "skills": ["skills/pdf"], "prompts": ["prompts"]}
            ),
            "ext.py": f"open({str(mark)!r}, 'w')\ndef extension(api): api.command('note')(print)",
            "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF\n---\nHow.",
            "prompts/fix.md": "Fix $1.",
        },
    )


def test_a_fetched_package_is_shown_and_installed_after_consent(paths: BayouPaths, notes: Path):
    staged = stage_package(paths, str(notes))
    assert staged.approval_text() == (
        f"Install notes from {notes}:\n  runs Python code: ext.py\n  skill: skills/pdf\n  prompts: prompts"
    )
    assert list_installed_packages(paths) == ()
    assert not (paths.home / "ran").exists()
    install_staged_package(paths, staged)
    assert [package.name for package in list_installed_packages(paths)] == ["notes"]
    assert not (paths.home / "ran").exists()
    assert [path.name for path in paths.packages_dir.iterdir() if path.name.startswith(".staging")] == []


async def test_its_parts_are_found_where_parts_are_found(paths: BayouPaths, notes: Path, scene):
    install_staged_package(paths, stage_package(paths, str(notes)))
    found = installed_package_parts(paths)
    extensions = scene.extensions()
    await extensions.load(
        find_extensions(paths, ExtensionSelectionOptions(packages=found.extensions)).sources
    )
    assert "ext" in [extension.name for extension in extensions.hooks.loaded]
    assert find_skills(paths, is_trusted=False, more=found.skills).find_skill("pdf")
    assert find_prompt_templates(paths, is_trusted=False, more=found.prompts).find_template("fix")


def test_what_is_not_agreed_to_leaves_nothing_behind(paths: BayouPaths, notes: Path):
    discard_staged_package(stage_package(paths, str(notes)))
    assert list(paths.packages_dir.iterdir()) == []


def test_a_package_that_changes_after_it_was_shown_is_refused(paths: BayouPaths, notes: Path):
    staged = stage_package(paths, str(notes))
    (staged.place / "ext.py").write_text("import os")
    with pytest.raises(PackageError, match="changed after it was shown"):
        install_staged_package(paths, staged)
    assert list_installed_packages(paths) == ()


def test_without_a_manifest_the_usual_places_count(paths: BayouPaths, tmp_path: Path):
    folder = put(
        tmp_path / "p",
        {
            "extensions/a.py": "",
            "extensions/_b.py": "",
            "skills/x/SKILL.md": "",
            "prompts/q.md": "",
            "themes/t.json": "{}",
        },
    )
    contents = inspect_package_folder(folder)
    assert contents.extensions == ("extensions/a.py",)
    assert (contents.skills, contents.prompts, contents.themes) == (("skills/x",), ("prompts",), ("themes",))
    single = put(tmp_path / "one", {"gate.py": "def extension(api): pass", "helper.py": "x = 1"})
    assert inspect_package_folder(single).extensions == ("gate.py",)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"readme.md": "x"}, "contains no extension, skill, command, agent, hook, server, prompt or theme"),
        ({"bayou.json": "{"}, "cannot be read"),
        ({"bayou.json": '{"extensions": "x"}'}, "must be a list"),
        ({"bayou.json": '{"extensions": ["../../x.py"]}'}, "not in the package"),
    ],
)
def test_invalid_packages_are_refused_with_the_reason(
    paths: BayouPaths, tmp_path: Path, files: dict[str, str], words: str
):
    with pytest.raises(PackageError, match=words):
        stage_package(paths, str(put(tmp_path / "p", files)))
    assert list(paths.packages_dir.iterdir()) == []


def test_a_link_out_of_the_package_is_refused(paths: BayouPaths, notes: Path):
    (notes / "key").symlink_to("/etc/passwd")
    with pytest.raises(PackageError, match="to a place outside the package"):
        stage_package(paths, str(notes))


def test_a_missing_source_is_named(paths: BayouPaths):
    with pytest.raises(PackageError, match="nowhere: no such folder"):
        stage_package(paths, "nowhere")


@pytest.fixture
def repository(paths: BayouPaths, notes: Path) -> str:
    def git(*words: str) -> None:
        base = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run([*base, *words], cwd=notes, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    return f"file://{notes}"


def test_a_git_repository(paths: BayouPaths, notes: Path, repository: str):
    package = install_staged_package(paths, stage_package(paths, repository))
    assert (package.kind, len(package.revision)) == ("git", 12)
    assert not (package.folder(paths) / ".git").exists()
    again = stage_package(paths, repository)
    assert again.is_unchanged
    discard_staged_package(again)
    with pytest.raises(PackageError, match="already installed, from file://"):
        stage_package(paths, str(notes))


def test_a_missing_repository_is_reported_with_gits_error(paths: BayouPaths):
    with pytest.raises(PackageError, match="git failed: fatal: "):
        stage_package(paths, "file:///nowhere/at/all")


def wheel(folder: Path) -> Path:
    path = folder / "bayou_thing-1.5-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bayou_thing_module.py", "def extension(api): api.command('thing')(print)")
        info = "bayou_thing-1.5.dist-info"
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: bayou-thing\nVersion: 1.5\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(
            f"{info}/entry_points.txt", "[bayou.extensions]\nthing = bayou_thing_module:extension\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


async def test_a_python_distribution(
    paths: BayouPaths, tmp_path: Path, scene, monkeypatch: pytest.MonkeyPatch
):
    """From an index of one wheel, as pip and uv may be told to look for them."""
    wheel(tmp_path)
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(tmp_path))):
        monkeypatch.setenv(f"PIP_{name}", value)
        monkeypatch.setenv(f"UV_{name}", value)
    staged = stage_package(paths, "pip:bayou-thing==1.5")
    assert staged.package.revision == "1.5"
    assert "runs Python code: thing (bayou_thing_module:extension)" in staged.approval_text()
    install_staged_package(paths, staged)
    found = find_extensions(paths, ExtensionSelectionOptions(sites=installed_package_parts(paths).sites))
    extensions = scene.extensions()
    await extensions.load([source for source in found.sources if source.name == "thing"])
    assert extensions.hooks.loaded[0].commands.keys() == {"thing"}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("pip:x", "python"),
        ("git:host/x/y", "git"),
        ("git@host:x/y.git", "git"),
        ("https://host/x", "git"),
        ("./here", "path"),
        ("~/there", "path"),
    ],
)
def test_kinds_of_sources(source: str, kind: str):
    assert package_source_kind(source) == kind


def test_an_option_in_place_of_a_source_is_refused(paths: BayouPaths):
    for source in ("pip:--index-url=x", "pip:"):
        with pytest.raises(PackageError, match="write a package name"):
            stage_package(paths, source)


def test_removing(paths: BayouPaths, notes: Path):
    package = install_staged_package(paths, stage_package(paths, str(notes)))
    remove_package(paths, "notes")
    assert list_installed_packages(paths) == ()
    assert not package.folder(paths).exists()
    with pytest.raises(PackageError, match=r"notes is not installed\. Installed: none\."):
        remove_package(paths, "notes")


def test_a_broken_list_is_never_overwritten(paths: BayouPaths, notes: Path):
    paths.packages_dir.mkdir(parents=True)
    (paths.packages_dir / "installed.json").write_text("{")
    with pytest.raises(PackageError, match="Fix or delete"):
        stage_package(paths, str(notes))
    assert (paths.packages_dir / "installed.json").read_text() == "{"


def test_a_failed_update_leaves_the_old_version(paths: BayouPaths, notes: Path, monkeypatch):
    install_staged_package(paths, stage_package(paths, str(notes)))
    (notes / "ext.py").write_text("def extension(api): pass  # new")
    staged = stage_package(paths, str(notes))
    monkeypatch.setattr(packages_module, "_write_package_list", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        install_staged_package(paths, staged)
    assert "new" not in (paths.packages_dir / "notes" / "ext.py").read_text()
    assert [package.name for package in list_installed_packages(paths)] == ["notes"]


# The commands


def command(paths: BayouPaths, name: str, *words: str, answer: bool | None = None) -> tuple[int, str, str]:
    said: list[str] = []
    complained: list[str] = []
    ask = None if answer is None else lambda text: answer
    code = run_package_command(name, list(words), paths, ask=ask, say=said.append, complain=complained.append)
    return code, "\n".join(said), "\n".join(complained)


def test_nothing_is_installed_without_a_yes(paths: BayouPaths, notes: Path):
    code, said, complained = command(paths, "install", str(notes))
    assert code == 1
    assert "runs Python code: ext.py" in said
    assert complained == "Nothing was installed. Add --yes to install without confirmation."
    assert command(paths, "install", str(notes), answer=False)[0] == 1
    assert list_installed_packages(paths) == ()
    assert command(paths, "install", str(notes), "--yes")[0] == 0
    heads, row, *_ = command(paths, "list")[1].split("\n")
    assert heads.split() == ["package", "revision", "installed", "source"]
    assert row.startswith("notes ") and row.index(str(notes)) == heads.index("source")


def test_an_update_asks_again_when_something_has_changed(paths: BayouPaths, notes: Path):
    command(paths, "install", str(notes), answer=True)
    assert command(paths, "update")[1] == "notes is up to date."
    (notes / "ext.py").write_text("def extension(api): pass")
    code, said, _ = command(paths, "update", "notes", answer=True)
    assert code == 0 and said.startswith("Update notes")
    assert command(paths, "remove", "notes")[1] == "Removed notes."
    assert command(paths, "list")[1] == "No packages are installed."


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("install",), "Usage: bayou install SOURCE"),
        (("install", "x", "--no"), "Unknown option: --no"),
        (("list", "x"), "Usage: bayou list"),
        (("remove", "x"), "x is not installed"),
    ],
)
def test_misuse_is_reported_with_the_remedy(paths: BayouPaths, words: tuple[str, ...], complaint: str):
    code, _, complained = command(paths, *words)
    assert code != 0
    assert complaint in complained


HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/no.sh"}]}]}


@pytest.fixture
def plugin(paths: BayouPaths) -> Path:
    return put(
        paths.home / "deploying",
        {
            ".claude-plugin/plugin.json": json.dumps(
                {"name": "deploy", "version": "1.0", "commands": "./extra"}
            ),
            "commands/ship.md": "Ship $1 as ${CLAUDE_PLUGIN_ROOT}/list says.",
            "extra/undo.md": "Undo it.",
            "agents/checker.md": "---\nname: checker\ndescription: checks\n---\nCheck.",
            "agents/more/reviewer.md": "Review.",
            "skills/rollout/SKILL.md": "---\nname: rollout\ndescription: Rolls out\n---\nHow.",
            "hooks/hooks.json": json.dumps({"hooks": {**HOOKS, "PermissionRequest": []}}),
            ".mcp.json": json.dumps({"log": {"command": "${CLAUDE_PLUGIN_ROOT}/serve", "args": ["-x"]}}),
            ".lsp.json": "{}",
        },
    )


def test_a_plugin_brings_what_bayou_has_and_the_rest_is_named(paths: BayouPaths, plugin: Path):
    staged = stage_package(paths, str(plugin))
    assert staged.approval_text().splitlines()[1:] == [
        "  hook Stop: ${CLAUDE_PLUGIN_ROOT}/no.sh",
        "  MCP server plugin_deploy_log: ${CLAUDE_PLUGIN_ROOT}/serve -x",
        "  skill: skills/rollout",
        "  commands: commands",
        "  commands: extra",
        "  agents: agents/checker.md",
        "  not used by bayou: agents/more/reviewer.md, which has the name of the built-in helper reviewer",
        "  not used by bayou: hooks: PermissionRequest: bayou has no such event; its hooks do not run.",
        "  not used by bayou: LSP servers",
    ]
    install_staged_package(paths, staged)
    parts = installed_package_parts(paths)
    prompts = find_prompt_templates(paths, is_trusted=False, commands=parts.commands)
    assert {one.name for one in prompts.templates} == {"deploy:ship", "deploy:undo"}
    folder = paths.packages_dir / "deploy"
    ship = prompts.find_template("deploy:ship")
    assert ship is not None and ship.body == f"Ship $1 as {folder}/list says."
    (hook,) = find_hooks(paths, is_trusted=False, plugins=plugin_hook_files(paths)).hooks
    assert hook.plugin is not None and hook.plugin.root == folder
    (server,) = merge_configured_mcp_servers(
        paths, is_trusted=False, plugins=installed_plugin_mcp_servers(paths)
    ).servers
    assert (server.name, server.command, server.args) == ("plugin_deploy_log", f"{folder}/serve", ("-x",))
    assert "checker" in find_helper_agent_kinds(paths, is_trusted=False, more=parts.agents).kinds
    assert find_skills(paths, is_trusted=False, more=parts.skills).find_skill("rollout") is not None
    remove_package(paths, "deploy")
    assert installed_package_parts(paths).commands == ()
    assert (
        not plugin_hook_files(paths)
        and not installed_plugin_mcp_servers(paths)
        and not have_plugins_mcp_servers(paths)
    )


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({".claude-plugin/plugin.json": '{"commands": "/etc"}'}, "names /etc for commands"),
        ({"plugin.json": '{"agents": ["../other"]}'}, "names ../other for agents"),
        ({"plugin.json": '{"skills": 3}'}, "skills must be a path"),
        ({"plugin.json": "[]"}, "must contain a JSON object"),
        ({"plugin.json": "{oops"}, "cannot be read"),
        ({"plugin.json": "{}", "agents/scout.md": "Look."}, "has the name of the built-in helper scout"),
        ({"plugin.json": "{}", "output-styles/a.md": "x"}, "its output styles are not used by bayou"),
        ({"plugin.json": "{}", "hooks/hooks.json": "{oops"}, "hooks.json cannot be read"),
        ({"plugin.json": '{"hooks": "/etc/hooks.json"}'}, "names /etc/hooks.json for hooks"),
        ({"plugin.json": '{"mcpServers": ["../x.json"]}'}, "names ../x.json for mcpServers"),
        ({"plugin.json": "{}", ".mcp.json": '{"mcpServers": [1]}'}, "must be an object of servers"),
        (
            {"plugin.json": "{}", ".mcp.json": '{"a b": {"command": "x"}, "a-b": {"command": "x"}}'},
            "two MCP servers",
        ),
    ],
)
def test_a_plugin_that_cannot_be_used_is_refused_with_the_reason(
    paths: BayouPaths, files: dict[str, str], why: str
):
    folder = put(paths.home / "bad", files)
    with pytest.raises(PackageError, match=why):
        stage_package(paths, str(folder))
    assert list_installed_packages(paths) == ()
