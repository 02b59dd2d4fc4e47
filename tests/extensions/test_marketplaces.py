"""Marketplaces in Claude Code's form: their plugins are shown and installed like others; bad ones change nothing."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.extensions.packages.marketplaces import (
    add_marketplace,
    find_marketplace,
    list_marketplaces,
    read_marketplace_plugins,
    remove_marketplace,
    update_marketplace,
)
from app.extensions.packages.package_commands import run_package_command
from app.extensions.packages.package_contents import PackageError
from app.extensions.packages.package_installer import (
    find_installed_package,
    install_staged_package,
    stage_package,
)
from app.resources.paths import BayouPaths


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: {name}\n---\nHow."


def market(folder: Path, *plugins: dict[str, Any], name: str = "harbour", **more: Any) -> Path:
    return put(
        folder,
        {
            ".claude-plugin/marketplace.json": json.dumps({"name": name, "plugins": plugins, **more}),
            "plugins/deploy/.claude-plugin/plugin.json": '{"name": "deploy"}',
            "plugins/deploy/skills/rollout/SKILL.md": skill("rollout"),
            "skills/row/SKILL.md": skill("row"),
            "skills/sail/SKILL.md": skill("sail"),
        },
    )


DEPLOY = {"name": "deploy", "source": "./plugins/deploy", "description": "Deploys"}


def repository(folder: Path) -> Path:
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "All"]):
        person = ["-c", "user.name=r", "-c", "user.email=r@example.org"]
        subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True)
    return folder


def command(paths: BayouPaths, *words: str) -> tuple[int, str, str]:
    said: list[str] = []
    complained: list[str] = []
    code = run_package_command(
        "marketplace", list(words), paths, ask=None, say=said.append, complain=complained.append
    )
    return code, "\n".join(said), "\n".join(complained)


def test_a_plugin_of_a_marketplace_is_installed_and_updated(paths: BayouPaths, tmp_path: Path) -> None:
    folder = market(tmp_path / "m", DEPLOY)
    assert command(paths, "add", str(folder))[1].startswith("Added harbour with 1 plugins")
    assert "deploy@harbour  Deploys" in command(paths, "list", "harbour")[1]
    staged = stage_package(paths, "deploy@harbour")
    assert staged.approval_text() == "Install deploy from deploy@harbour:\n  skill: skills/rollout"
    install_staged_package(paths, staged)
    assert stage_package(paths, "deploy@harbour").is_unchanged
    put(folder, {"plugins/deploy/skills/undo/SKILL.md": skill("undo")})
    assert "skill: skills/undo" in stage_package(paths, "deploy@harbour").approval_text()
    assert command(paths, "remove", "harbour")[0] == 0
    assert find_installed_package(paths, "deploy").name == "deploy"


def test_an_entry_can_be_the_manifest_and_lists_all_that_its_plugin_has(
    paths: BayouPaths, tmp_path: Path
) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "echo"}]}]}
    entry = {"name": "rowing", "source": "./", "strict": False, "skills": ["./skills/row"], "hooks": hooks}
    add_marketplace(paths, str(market(tmp_path / "m", entry)))
    staged = stage_package(paths, "rowing@harbour")
    assert staged.package.contents.skills == ("skills/row",)
    assert staged.package.contents.runs == ("hook Stop: echo",)


def test_repositories_are_sources_of_marketplaces_and_of_plugins(paths: BayouPaths, tmp_path: Path) -> None:
    plugins = repository(market(tmp_path / "far"))
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=plugins, check=True, capture_output=True, text=True
    ).stdout.strip()
    source = {"source": "git-subdir", "url": f"file://{plugins}", "path": "plugins/deploy", "sha": head}
    folder = repository(
        market(
            tmp_path / "m",
            {**DEPLOY, "source": source},
            {"name": "bad", "source": {**source, "sha": "--upload-pack=x"}},
        )
    )
    found, _ = add_marketplace(paths, f"file://{folder}")
    assert found.revision and list_marketplaces(paths)[0].name == "harbour"
    shutil.rmtree(folder)
    assert stage_package(paths, "deploy@harbour").package.revision == head[:12]
    with pytest.raises(PackageError, match="not the id of a commit"):
        stage_package(paths, "bad@harbour")
    with pytest.raises(PackageError, match="git"):
        update_marketplace(paths, find_marketplace(paths, "harbour"))
    assert read_marketplace_plugins(find_marketplace(paths, "harbour"))  # the former state is still there
    clones = paths.packages_dir / ".marketplaces"
    assert [path.name for path in clones.iterdir()] == ["harbour"]
    remove_marketplace(paths, "harbour")
    assert list(clones.iterdir()) == []


def test_a_marketplace_that_is_gone_says_how_to_get_it_again(paths: BayouPaths, tmp_path: Path) -> None:
    folder = market(tmp_path / "m", DEPLOY)
    add_marketplace(paths, str(folder))
    shutil.rmtree(folder)
    code, _, complained = command(paths, "list")
    assert code == 1 and "bayou plugin marketplace remove harbour" in complained
    with pytest.raises(PackageError, match="is missing"):
        stage_package(paths, "deploy@harbour")


def test_names_clash_with_a_word_on_what_to_do(paths: BayouPaths, tmp_path: Path) -> None:
    add_marketplace(
        paths, str(market(tmp_path / "a", DEPLOY, {**DEPLOY, "name": "twice"}, {**DEPLOY, "name": "twice"}))
    )
    with pytest.raises(PackageError, match="already exists"):
        add_marketplace(paths, str(market(tmp_path / "b", DEPLOY)))
    with pytest.raises(PackageError, match="two plugins called twice"):
        stage_package(paths, "twice@harbour")
    install_staged_package(paths, stage_package(paths, "deploy@harbour"))
    add_marketplace(paths, str(market(tmp_path / "b", DEPLOY, name="dock")))
    with pytest.raises(PackageError, match="already installed, from deploy@harbour"):
        stage_package(paths, "deploy@dock")


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("../../secret", "points outside"),
        ("a\0b", "no path or address"),
        ({"source": "url", "url": "https://x.example/\0"}, "no path or address"),
        ("/etc", "points outside"),
        ("~/x", "points outside"),
        ("./link", "points outside"),
        ("./nowhere", "has no folder"),
        ({"source": "npm", "package": "x"}, "of the kind npm"),
        ({"source": "github", "repo": "../x"}, "unknown kind of plugin source"),
        ({"source": "url", "url": "/etc"}, "not the address of a git repository"),
        ({"source": "url", "url": "--upload-pack=x"}, "not the address of a git repository"),
        (None, "unknown kind of plugin source"),
    ],
)
def test_a_source_outside_of_the_marketplace_is_refused(
    paths: BayouPaths, tmp_path: Path, source: Any, why: str
) -> None:
    folder = market(tmp_path / "m", {"name": "deploy", "source": source})
    (tmp_path / "secret").mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    add_marketplace(paths, str(folder))
    with pytest.raises(PackageError, match=why):
        stage_package(paths, "deploy@harbour")
    assert not list(paths.packages_dir.glob(".staging-*"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{oops", "cannot be read"),
        ("[]", "JSON object"),
        ('{"plugins": []}', "the name must be"),
        ('{"name": "../x", "plugins": []}', "the name must be"),
        ('{"name": "x", "plugins": {}}', "plugins must be a list"),
    ],
)
def test_a_broken_marketplace_is_refused_and_nothing_is_stored(
    paths: BayouPaths, tmp_path: Path, text: str, why: str
) -> None:
    folder = put(tmp_path / "m", {".claude-plugin/marketplace.json": text})
    with pytest.raises(PackageError, match=why):
        add_marketplace(paths, str(folder))
    assert list_marketplaces(paths) == ()
    for source, told in (
        (str(tmp_path), "is not a marketplace"),
        ("/nowhere", "no such folder"),
        ("pip:x", "a folder"),
    ):
        assert told in command(paths, "add", source)[2]
