"""What starting costs is what it imports. A fresh interpreter per entry module tells what came along."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, SHIPPED, files, late_imports, name

HEAVY = (
    "textual",
    "rich",
    "httpx",
    "anthropic",
    "openai",
    "tree_sitter",
    "pydantic",
    "pygments",
    "yaml",
    "PIL",
)
NETWORK = ("httpx", "anthropic", "openai", "pydantic")
PARSERS = ("tree_sitter", "tree_sitter_language_pack")

ENTRIES: dict[str, tuple[str, ...]] = {
    "app.version": (*HEAVY, "msgspec", "asyncio", "json"),
    "app.launcher": (*HEAVY, "msgspec", "asyncio", "json"),
    "app.cli.main": (*HEAVY, "msgspec", "asyncio", "json"),
    "app.cli.flags": (*HEAVY, "asyncio"),
    "app.cli.options": (*HEAVY, "asyncio"),
    "app.values.codec": (*HEAVY, "asyncio"),
    "app.values.events": (*HEAVY, "asyncio"),
    "app.providers.registry": HEAVY,
    "app.providers.offline.guide": HEAVY,
    "app.agent.loop": HEAVY,
    "app.sessions.log": HEAVY,
    "app.resources.settings": HEAVY,
    "app.engine.session": HEAVY,
    "app.modes.printing": HEAVY,
    "app.cli.headless": HEAVY,
    "tools.results": (*HEAVY, "asyncio"),
    "tools.registry": HEAVY,
    "widgets.transcript.view": (*NETWORK, *PARSERS, "pygments.lexers.python"),
    "app.tui.run": (*NETWORK, *PARSERS, "pygments.lexers.python"),
}
"""Module, and what importing it may not bring along."""

DEFERRED = {
    "httpx": "the first request of a provider without an SDK",
    "anthropic": "the first request to a provider that has this SDK",
    "openai": "the first request to a provider that has this SDK",
    "certifi": "the first request",
    "jiter": "the first tool call that streams in",
    "yaml": "the first file with front matter",
    "pygments": "the first code block that is drawn",
    "difflib": "a hint at a misspelt setting",
    "importlib.metadata": "looking for installed extensions",
    "PIL": "optional: resizing an image",
    "tools.filemap": "the first outline: parsers",
    "app.cli": "each step of the command line imports what it needs and no more",
    "app.tui": "only the full-screen face needs Textual",
    "app.resources.settings": "only a project with settings pays for the table",
    "fcntl": "exists on some platforms only",
    "msvcrt": "exists on some platforms only",
}
"""Modules that may be imported inside a function, and when that is."""


def loaded_after(program: str, cwd: Path) -> set[str]:
    """The modules of a fresh interpreter after `program`, which may write what it likes."""
    script = f"{program}\nimport sys; sys.stderr.write('\\nLOADED ' + ' '.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{script}"],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=True,
    )
    return set(run.stderr.rsplit("LOADED ", 1)[1].split())


@pytest.mark.parametrize("module", ENTRIES)
def test_importing_a_module_brings_no_more_than_it_needs(module: str, tmp_path: Path):
    assert sorted(loaded_after(f"import {module}", tmp_path) & set(ENTRIES[module])) == []


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["--fork"], ["--mode", "x"]], ids=" ".join)
def test_answers_without_a_session_load_no_session(words: list[str], tmp_path: Path):
    loaded = loaded_after(f"from app.cli.main import main; main({words!r})", tmp_path)
    assert sorted(loaded & {*HEAVY, *PARSERS, "app.engine.session", "app.tui.run", "asyncio"}) == []


def test_a_flag_that_only_an_extension_could_know_costs_no_face(tmp_path: Path):
    loaded = loaded_after("from app.cli.main import main; main(['--no-such-flag', '-p', ''])", tmp_path)
    assert sorted(loaded & {*HEAVY, *PARSERS, "app.tui.run"}) == []


def test_the_version_needs_nothing_but_itself(tmp_path: Path):
    loaded = loaded_after("from app.cli.main import main; main(['--version'])", tmp_path)
    assert sorted(found for found in loaded if found.startswith(("app.", "tools.", "widgets."))) == [
        "app.cli",
        "app.cli.main",
        "app.version",
    ]


def test_late_imports_are_declared_with_their_reason():
    undeclared = [
        f"{name(path)}:{line} imports {module}"
        for path in files(*SHIPPED)
        for line, module in late_imports(path)
        if path.name != "launcher.py"
        and not any(module == known or module.startswith(known + ".") for known in DEFERRED)
    ]
    assert undeclared == [], "Import at the top, or declare in DEFERRED when and why it is put off."


def test_every_declared_late_import_is_used():
    used = {module for path in files(*SHIPPED) for _, module in late_imports(path)}
    unused = [known for known in DEFERRED if not any(m == known or m.startswith(known + ".") for m in used)]
    assert unused == []
