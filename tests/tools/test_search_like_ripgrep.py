"""`grep` and `find` against ripgrep itself: patterns, globs and options put together by chance, the same each time."""

import asyncio
import random
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.tools.conftest import ToolCaller
from tools.searching.ripgrep import find_bundled_ripgrep

RG = find_bundled_ripgrep() or "rg"
CASES = 60
"""Of each seed."""
NAMES = ("a.ts", "b.test.ts", "c.js", "d.py", "Read me.md", "[id].tsx", "data.d.ts", ".hidden.ts", "noend")
FOLDERS = ("", "src", "src/deep", "src/[id]", "test", "docs/src", "lib.d")
WORDS = ("foo", "bar", "Foo", "baz_1", "é", "日本", "foo bar", "x" * 700, "(a)", "1.5", "", "\tindent")
PATTERNS = (
    "foo", "bar$", "^foo", "fo+", r"\bbar\b", "foo|bar", r"[a-f]oo", "é", "日.", r"\(a\)", r"1\.5", "o{2}", "^$",
    r"foo(?= bar)", r"(?<!o )bar", r"(f)(o)\2", r"foo\nbar", r"bar\n\n", "z_\\d$", r"^\s+\w+$", r"x{600}", "(?i)FOO",
    r"[^\n]*bar", r"\w+\nfoo$", r"(?s)foo.bar",
)  # fmt: skip
GLOBS = (
    "*.ts", "*.test.ts", "*.{ts,js}", "src/*.ts", "src/**/*.ts", "**/*.py", "/src/*.ts", "[a-c]*", "*.d.ts", "docs/**",
    "?.py", "src/deep/*", "*", "**/src/**", "lib.d/*",
)  # fmt: skip
EXCLUDED = (
    "!*.test.ts",
    "!*.d.ts",
    "!src/deep/**",
    "!docs",
    "!test/",
    "!**/deep",
    "!/src/*.ts",
    "!*.{md,js}",
)


def make_tree(project: Path, chance: random.Random) -> None:
    for folder in FOLDERS:
        for name in NAMES:
            end = chance.choice(("\n", "\r\n"))
            lines = [
                " ".join(chance.choice(WORDS) for _ in range(chance.randint(0, 3)))
                for _ in range(chance.randint(0, 9))
            ]
            text = end.join(lines) + (end if chance.random() < 0.8 else "")
            path = project / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())


class Case(NamedTuple):
    arguments: dict[str, Any]
    options: list[str]


def grep_case(chance: random.Random) -> Case:
    pattern = chance.choice(PATTERNS)
    arguments: dict[str, Any] = {"pattern": pattern, "limit": 100_000}
    options = ["--crlf", "--engine=auto"]
    if chance.random() < 0.2:
        arguments["literal"] = True
        options.append("--fixed-strings")
    elif r"\n" in pattern.replace(r"[^\n]", "") or "(?s)" in pattern:
        pattern = pattern if "[^" in pattern else pattern.replace(r"\n", r"\r?\n")
        options.append("--multiline")
    if chance.random() < 0.3:
        arguments["ignoreCase"] = True
        options.append("--ignore-case")
    globs = chance.sample(GLOBS, chance.choice((0, 0, 1, 1, 2)))
    without = chance.sample(EXCLUDED, chance.choice((0, 0, 1, 2)))
    if globs or without:
        arguments["glob"] = chance.choice((",", ", ")).join([*globs, *without])
    options += [f"--glob={one}" for one in (*globs, *without)]
    return Case(arguments, [*options, "--", pattern])


def ripgrep(project: Path, *options: str) -> list[str]:
    """Each matching line as `path:number`."""
    argv = [
        RG, "--no-config", "--hidden", "--line-number", "--no-heading", "--with-filename", "--null", *options, "."
    ]  # fmt: skip
    done = subprocess.run(argv, cwd=project, capture_output=True, check=False)
    assert done.returncode < 2, done.stderr.decode()
    found: list[str] = []
    for line in done.stdout.decode().split("\n"):
        path, mark, rest = line.partition("\0")
        if mark:
            found.append(f"{path.removeprefix('./')}:{rest.split(':', 1)[0]}")
    return sorted(found)


@pytest.mark.parametrize("seed", range(5))
async def test_grep_finds_the_lines_that_ripgrep_finds(hands: ToolCaller, project: Path, seed: int) -> None:
    chance = random.Random(seed)
    make_tree(project, chance)
    hits = 0
    for case in [grep_case(chance) for _ in range(CASES)]:
        text, wanted = await asyncio.gather(
            hands.text("grep", case.arguments), asyncio.to_thread(ripgrep, project, *case.options)
        )
        found = [] if text == "No matches found" else display_lines(text)
        assert found == wanted, case
        hits += bool(wanted)
    assert hits > CASES / 3


def display_lines(text: str) -> list[str]:
    lines = text.split("\n\n[")[0].split("\n")
    return sorted(":".join(line.split(":")[:2]) for line in lines)


@pytest.mark.parametrize("seed", range(2))
async def test_find_finds_the_files_that_ripgrep_lists(hands: ToolCaller, project: Path, seed: int) -> None:
    """As they are, and without a slash in front."""
    make_tree(project, random.Random(seed))
    for given in GLOBS:
        glob = given.removeprefix("/") if seed else given
        text = await hands.text("find", pattern=glob, limit=10_000)
        files = sorted(line for line in text.split("\n\n[")[0].split("\n") if not line.endswith("/"))
        assert files == await asyncio.to_thread(listed, project, glob), glob


def listed(project: Path, glob: str) -> list[str]:
    argv = [RG, "--no-config", "--hidden", "--files", f"--glob={glob}"]
    done = subprocess.run(argv, cwd=project, capture_output=True, text=True, check=False)
    return sorted(done.stdout.split("\n")[:-1])
