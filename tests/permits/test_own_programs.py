"""Which programs are a project's own: those that lie in it and those that its manifests name."""

import os
from pathlib import Path

import pytest

from app.engine.own_programs import OwnPrograms
from app.permits.manifests import MOST_BYTES, named_in


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        (
            "package.json",
            '{"name": "@me/tool", "bin": "./x.js", "devDependencies": {"borp": "1", "@a/fast-lint": "2",'
            ' "what-cli": "3", "@deed/cli": "4"}, "scripts": {"sneaky": "rm -rf ~"}}',
            {"tool", "borp", "fast-lint", "what-cli", "what", "cli", "deed"},
        ),
        ("package.json", '{"bin": {"one": "a", "two": "b"}}', {"one", "two"}),
        (
            "pyproject.toml",
            '[project]\nname = "app"\ndependencies = ["molecule>=2; python_version > \'3\'"]\n'
            '[project.scripts]\nserve-it = "a:b"\n[dependency-groups]\ndev = ["borp[x]", {include-group = "y"}]\n'
            '[tool.poetry.group.dev.dependencies]\nslotscheck = "*"\n',
            {"app", "molecule", "serve-it", "borp", "slotscheck"},
        ),
        ("requirements.txt", "# all\nmolecule==1\n-r other.txt\nborp\n", {"molecule", "borp"}),
        (
            "setup.cfg",
            "[options.entry_points]\nconsole_scripts =\n    go-on = a:b\n[x]\nother =\n    no\n",
            {"go-on"},
        ),
        ("Cargo.toml", '[package]\nname = "tool"\n[[bin]]\nname = "second"\n', {"tool", "second"}),
        (
            "go.mod",
            "module example.org/me/tool/v3\n\ngo 1.24\n\ntool example.org/x/gen\n\ntool (\n\texample.org/y/lint\n)\n",
            {"tool", "gen", "lint"},
        ),
        ("composer.json", '{"bin": ["bin/deed"], "require-dev": {"a/checker": "*"}}', {"deed", "checker"}),
        ("Gemfile", "source 'x'\ngem 'borp', '~> 1'\ngem(\"deed\")\n", {"borp", "deed"}),
        ("tool.gemspec", "s.name = 'tool'\ns.executables = ['one', 'two']\n", {"tool", "one", "two"}),
        ("pubspec.yaml", "name: tool\nexecutables:\n  one: main\n  two:\n", {"tool", "one", "two"}),
        ("tool.cabal", "name: tool\nexecutable deed\n  main-is: x.hs\n", {"tool", "deed"}),
    ],
)
def test_a_manifest_names_programs(file: str, text: str, names: set[str]) -> None:
    assert named_in(file, text) == names


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("package.json", '{"bin": {"a": '),
        ("package.json", "[1, 2]"),
        ("package.json", '{"bin": 7, "devDependencies": ["curl"]}'),
        ("package.json", '{"devDependencies": {"../../x": "1", "a b": "1", "": "1", "$(x)": "1"}}'),
        ("package.json", "[" * 100_000),
        ("package.json", '{"devDependencies": {"borp": "1"}}' + " " * MOST_BYTES),
        ("pyproject.toml", "[project\nname ="),
        ("pyproject.toml", "project = 3"),
        ("Cargo.toml", "bin = 3\n[package]\nname = 4\n"),
        ("composer.json", '{"bin": {"x": 1}, "require": []}'),
        ("README.md", "gem 'borp'"),
    ],
)
def test_a_broken_manifest_names_nothing(file: str, text: str) -> None:
    assert named_in(file, text) <= {"4"}


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def began_before(own: OwnPrograms, path: Path, text: str) -> None:
    """Writes it so late that the clock of the disk, which is slower, says so."""
    while True:
        write(path, text)
        if not own.is_old(path.stat()):
            return


def test_what_lies_in_the_project_is_its_own(tmp_path: Path) -> None:
    for name in (
        "node_modules/.bin/borp",
        ".venv/bin/deed",
        "vendor/bin/check",
        "bin/start",
        "web/node_modules/.bin/pack",
    ):
        write(tmp_path / name)
    write(tmp_path / "cmd/serve/main.go")
    own, root = OwnPrograms(), str(tmp_path)
    assert all(own.have(root, name, [root]) for name in ("borp", "deed", "check", "start", "serve"))
    assert not own.have(root, "pack", [root]) and own.have(root, "pack", [f"{root}/web/src"])
    assert not own.have(root, "other", [root])


def test_manifests_on_the_way_up_count_and_those_of_others_do_not(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", '[project]\nname = "whole"\n')
    write(tmp_path / "web/package.json", '{"devDependencies": {"borp": "1"}}')
    write(tmp_path / "node_modules/evil/package.json", '{"bin": {"evil": "x"}}')
    own, root = OwnPrograms(), str(tmp_path)
    assert own.have(root, "whole", [f"{root}/web"]) and own.have(root, "borp", [f"{root}/web"])
    assert not own.have(root, "borp", [root]) and not own.have(root, "borp", ["/elsewhere"])
    assert not own.have(root, "evil", [f"{root}/node_modules/evil"])


def test_what_is_written_while_the_session_goes_on_counts_not(tmp_path: Path) -> None:
    own, root = OwnPrograms(), str(tmp_path)
    began_before(own, tmp_path / "package.json", '{"devDependencies": {"evil": "1"}}')
    began_before(own, tmp_path / "bin/other", "")
    assert not own.have(root, "evil", [root]) and not own.have(root, "other", [root])
    os.utime(tmp_path / "package.json", (1, 1))  # what a program can put back is not what is looked at
    assert not OwnPrograms.have(own, root, "evil", [root])
    assert OwnPrograms().have(root, "evil", [root])


def test_a_manifest_that_was_read_is_believed_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "package.json", '{"devDependencies": {"borp": "1"}}')
    own, root = OwnPrograms(), str(tmp_path)
    assert own.have(root, "borp", [root])
    began_before(own, tmp_path / "package.json", '{"devDependencies": {"evil": "1"}}')
    assert own.have(root, "borp", [root]) and not own.have(root, "evil", [root])


def test_links_that_lead_out_are_nobodys(tmp_path: Path) -> None:
    root = tmp_path / "proj"
    write(tmp_path / "outside/package.json", '{"devDependencies": {"borp": "1"}}')
    write(tmp_path / "outside/deed")
    (root / "bin").mkdir(parents=True)
    (root / "package.json").symlink_to(tmp_path / "outside/package.json")
    (root / "bin/deed").symlink_to(tmp_path / "outside/deed")
    own = OwnPrograms()
    assert not own.have(str(root), "borp", [str(root)]) and not own.have(str(root), "deed", [str(root)])


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "x" * 5_000, "\0"])
def test_odd_names_are_nobodys(tmp_path: Path, name: str) -> None:
    write(tmp_path / "x")
    (tmp_path / "bin").mkdir()
    assert not OwnPrograms().have(str(tmp_path), name, [str(tmp_path)])
