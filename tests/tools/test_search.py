"""`grep`, `find` and `ls` find what is there, in a stable order, and say what they leave out."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller, until
from tests.tools.test_bash import alive
from tools.searching.path_globs import compile_path_glob
from tools.searching.ripgrep import find_ripgrep
from tools.session_workspace import SessionWorkspace


def tree(project: Path, *names: str, text: str = "needle\n") -> None:
    for number, name in enumerate(names):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 + number, 1_000_000 + number))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def git_init(project: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)


async def test_matches_come_by_path_and_line(hands: ToolCaller, project: Path) -> None:
    tree(project, "b.txt", "a/a.txt")
    (project / "c.txt").write_text("x\nneedle 1\ny\nneedle 2\n")
    assert await hands.text("grep", pattern="needle") == (
        "a/a.txt:1: needle\nb.txt:1: needle\nc.txt:2: needle 1\nc.txt:4: needle 2"
    )


async def test_context_lines_are_marked_and_groups_apart(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("1\n2\nhit\n4\n5\n6\n7\nhit\n9\n")
    assert await hands.text("grep", pattern="hit", context=1) == (
        "a-2- 2\na:3: hit\na-4- 4\n--\na-7- 7\na:8: hit\na-9- 9"
    )


@pytest.mark.parametrize("in_git", [True, False])
async def test_ignored_files_are_left_out_in_and_outside_git(
    hands: ToolCaller, project: Path, in_git: bool
) -> None:
    if in_git:
        git_init(project)
    tree(project, "kept.py", "ignored.log", "build/x.py", ".hidden/y.py", "sub/local.py", "sub/own.py")
    (project / ".gitignore").write_text("*.log\nbuild/\n")
    (project / "sub/.gitignore").write_text("local.py\n")
    assert await hands.text("grep", pattern="needle") == (
        ".hidden/y.py:1: needle\nkept.py:1: needle\nsub/own.py:1: needle"
    )
    assert sorted((await hands.text("find", pattern="*.py")).split("\n")) == [
        ".hidden/y.py",
        "kept.py",
        "sub/own.py",
    ]
    assert "No files found" in await hands.text("find", pattern="*.log")
    # A glob narrows the search; it does not bring ignored files back.
    assert await hands.text("grep", pattern="needle", glob="*.log") == "No matches found"
    assert ".git/" not in await hands.text("find", pattern="**")


async def test_globs_narrow_by_name_and_by_path(hands: ToolCaller, project: Path) -> None:
    tree(project, "src/a.py", "src/deep/b.py", "test/a.py", "src/a.ts")
    assert await hands.text("grep", pattern="needle", glob="src/**/*.py") == (
        "src/a.py:1: needle\nsrc/deep/b.py:1: needle"
    )
    assert await hands.text("grep", pattern="needle", glob="*.{ts,js}") == "src/a.ts:1: needle"
    assert await hands.text("grep", pattern="needle", path="test") == "test/a.py:1: needle"
    assert await hands.text("grep", pattern="needle", path="src/a.ts") == "src/a.ts:1: needle"


@pytest.mark.parametrize("pattern", ["--pre=touch pwned", "-e", "--files", "-f/etc/passwd", "--"])
async def test_a_pattern_never_becomes_a_flag(hands: ToolCaller, project: Path, pattern: str) -> None:
    (project / "a.txt").write_text(f"before {pattern} after\n")
    assert await hands.text("grep", pattern=pattern, literal=True) == f"a.txt:1: before {pattern} after"
    assert "pwned" not in names(project)
    (project / "--files").write_text("odd name\n")
    assert await hands.text("grep", pattern="odd", path="--files") == "--files:1: odd name"
    await hands.text("grep", pattern="odd", glob="--pre=x")
    await hands.text("find", pattern=pattern)


async def test_case_and_literal_text(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("a.b\nAXB\n")
    assert await hands.text("grep", pattern="a.b") == "a:1: a.b"
    assert await hands.text("grep", pattern="a.b", ignoreCase=True) == "a:1: a.b\na:2: AXB"
    assert await hands.text("grep", pattern="A.B", ignoreCase=True, literal=True) == "a:1: a.b"


async def test_the_match_limit_is_reported_with_the_total(hands: ToolCaller, project: Path) -> None:
    tree(project, "a", "b", "c", text="needle\n" * 60)
    text = await hands.text("grep", pattern="needle")
    assert text.count("\n") == 101
    assert text.endswith(
        "b:40: needle\n\n[100 matches limit reached (180 matches in 3 files). "
        "Use limit=200 for more, or refine pattern]"
    )
    assert (await hands.text("grep", pattern="needle", limit=2)).startswith(
        "a:1: needle\na:2: needle\n\n[2 matches"
    )


async def test_long_lines_are_clipped_with_their_length(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("needle " + "x" * 5000 + "\n")
    text = await hands.text("grep", pattern="needle")
    assert "... [truncated, 5,007 characters]" in text
    assert text.endswith("[Some lines truncated to 500 chars. Use read tool to see full lines]")


async def test_a_bad_expression_is_explained(hands: ToolCaller) -> None:
    words = await hands.error("grep", pattern="a(b")
    assert words.startswith("The pattern is not a valid regular expression. For plain text set literal.")


async def test_what_grep_showed_explains_a_stale_edit(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("x\nvalue = 1\n")
    await hands("grep", pattern="value")
    (project / "a").write_text("x\nvalue = 2\n")
    assert "The file has changed since you read it" in await hands.error(
        "edit", path="a", oldText="value = 1", newText="value = 3"
    )


async def test_find_sorts_by_recency(hands: ToolCaller, project: Path) -> None:
    tree(project, "old.py", "newer.py", "sub/newest.py")
    assert await hands.text("find", pattern="*.py") == "sub/newest.py\nnewer.py\nold.py"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("src/**/*.py", {"src/a.py", "src/x/b.py"}),
        ("**/*.py", {"src/a.py", "src/x/b.py", "top.py"}),
        ("./src/*.py", {"src/a.py"}),
        ("*/*.py", {"src/a.py"}),
        ("**/x/*.py", {"src/x/b.py"}),
        ("x/*.py", {"src/x/b.py"}),  # in no folder x of the searched one, and said so
        ("./x/*.py", {"No files found matching pattern"}),
        ("./src/", {"src/"}),
        ("a.py", {"src/a.py"}),
        ("src", {"src/"}),
        ("src/", {"src/"}),
        ("x", {"src/x/"}),
        ("*.{py,md}", {"src/a.py", "src/x/b.py", "top.py", "README.md"}),
        ("[tx]*.py", {"top.py"}),
        ("?.py", {"src/a.py", "src/x/b.py"}),
        ("readme.md", {"README.md"}),
        ("READ", {"README.md"}),
        ("*.rs", {"No files found matching pattern"}),
    ],
)
async def test_find_understands_names_and_globs(
    hands: ToolCaller, project: Path, pattern: str, found: set[str]
) -> None:
    tree(project, "src/a.py", "src/x/b.py", "top.py", "README.md")
    text = await hands.text("find", pattern=pattern)
    assert set(text.split("\n\n[")[0].split("\n")) == found


async def test_find_takes_absolute_patterns_and_places(
    hands: ToolCaller, project: Path, tmp_path: Path
) -> None:
    tree(project, "src/a.py")
    (tmp_path / "other").mkdir()
    tree(tmp_path / "other", "o.py")
    assert await hands.text("find", pattern=f"{tmp_path}/other/*.py") == f"{tmp_path}/other/o.py"
    assert await hands.text("find", pattern="*.py", path="src") == "src/a.py"


async def test_the_result_limit_is_reported_with_the_total(hands: ToolCaller, project: Path) -> None:
    tree(project, *(f"f{number}.txt" for number in range(30)))
    text = await hands.text("find", pattern="*.txt", limit=10)
    assert text.endswith("[10 results limit reached (30 found). Use limit=20 for more, or refine pattern]")
    assert text.startswith("f29.txt\n")


async def test_a_change_made_by_a_tool_is_found_at_once(hands: ToolCaller, project: Path) -> None:
    assert "No files" in await hands.text("find", pattern="new.py")
    await hands("write", path="new.py", content="fresh\n")
    assert await hands.text("find", pattern="new.py") == "new.py"
    assert await hands.text("grep", pattern="fresh") == "new.py:1: fresh"
    await hands("edit", path="new.py", oldText="fresh", newText="other")
    assert await hands.text("grep", pattern="fresh") == "No matches found"


async def test_ls_sorts_and_marks(hands: ToolCaller, project: Path) -> None:
    tree(project, "b.txt", "A.txt", ".dot", "Dir/x")
    (project / "loop").symlink_to("loop")
    (project / "dirlink").symlink_to("Dir")
    assert await hands.text("ls") == ".dot\nA.txt\nb.txt\nDir/\ndirlink/\nloop"
    (project / "void").mkdir()
    assert await hands.text("ls", path="void") == "(empty directory)"


async def test_ls_is_capped_with_the_total(hands: ToolCaller, project: Path) -> None:
    tree(project, *(f"{number:03}" for number in range(510)))
    result = await hands("ls")
    assert result.text.endswith(
        "499\n\n[500 entries limit reached. Showing 500 of 510. Use limit=1000 for more]"
    )
    assert result.details == {"entryLimitReached": 500}


async def test_wrong_kinds_of_places_are_refused(hands: ToolCaller, project: Path) -> None:
    tree(project, "file")
    assert "is not a directory" in await hands.error("find", pattern="*", path="file")
    assert "it does not exist" in await hands.error("grep", pattern="x", path="nowhere")
    assert "is a file, not a directory" in await hands.text("ls", path="file")


async def test_places_that_could_not_be_searched_are_told(
    hands: ToolCaller, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree(project, "a.txt")
    monkeypatch.setattr("tools.searching.ripgrep._read_error_output", fake_errors)
    assert await hands.text("grep", pattern="needle") == (
        "a.txt:1: needle\n\n[Not searched: ./locked: Permission denied (os error 13) and 1 more]"
    )
    assert "[Not searched: ./locked" in await hands.text("find", pattern="*.txt")


def fake_errors(descriptor: int) -> str:
    """What ripgrep says when a folder is closed to it (tests may run as a user to whom none is)."""
    return "rg: ./locked: Permission denied (os error 13)\nrg: ./other: Permission denied (os error 13)\n"


async def test_the_search_program_may_be_missing(
    hands: ToolCaller, workspace: SessionWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.searching.ripgrep.find_bundled_ripgrep", lambda: None)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "ripgrep (rg) was not found" in await hands.error("grep", pattern="x")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/a.py", True),
        ("a/**", "a/b/c", True),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/b/d/c", True),
        ("a/*", "a/b/c", False),
        ("[!a].py", "a.py", False),
        ("[!a].py", "b.py", True),
        ("{a,b}/{c,d}.py", "b/c.py", True),
        ("a{b", "a{b", True),
        ("[", "[", True),
        ("x[a", "x[a", True),
        ("a.py", "abpy", False),
        ("a\\*", "a*", True),
        ("[a-", "[a-", True),
    ],
)
def test_globs(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_path_glob(pattern).fullmatch(path)) is matches


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


async def test_a_newer_ripgrep_of_the_system_is_taken(
    workspace: SessionWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").mkdir()
    newer = script(tmp_path / "new/rg", "echo ripgrep 99.1.0")
    monkeypatch.setenv("PATH", f"{newer.parent}:{os.environ['PATH']}")
    assert await find_ripgrep(workspace) == str(newer)
    script(newer, "echo ripgrep 0.9.0")
    workspace.ripgrep = None
    assert await find_ripgrep(workspace) != str(newer)


@pytest.mark.parametrize("tool", ["grep", "find"])
async def test_an_aborted_search_ends_its_program(
    hands: ToolCaller, workspace: SessionWorkspace, tmp_path: Path, tool: str
) -> None:
    workspace.ripgrep = str(script(tmp_path / "slow", "exec sleep 600.888"))
    call = asyncio.create_task(hands(tool, pattern="x"))
    await until(lambda: bool(alive("600.888")))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not alive("600.888")


# What is easily missed


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.ts", "a.test.ts a.ts docs/b.ts src/a.ts"),
        ("!*.test.ts", "a.js a.ts docs/b.ts src/a.ts"),
        ("*.ts,!*.test.ts", "a.ts docs/b.ts src/a.ts"),
        ("!*.test.ts, *.ts", "a.ts docs/b.ts src/a.ts"),
        ("*.ts,*.js", "a.js a.test.ts a.ts docs/b.ts src/a.ts"),
        ("docs/", "docs/b.ts"),
        ("docs", "docs/b.ts"),
        ("./docs/*.ts", "docs/b.ts"),
        ("{project}/src/*.ts", "src/a.ts"),
        ("{project}/src", "src/a.ts"),
        ("!{project}/src/**", "a.js a.test.ts a.ts docs/b.ts"),
        ("!docs/", "a.js a.test.ts a.ts src/a.ts"),
    ],
)
async def test_globs_as_models_write_them(hands: ToolCaller, project: Path, glob: str, found: str) -> None:
    tree(project, "a.ts", "a.test.ts", "a.js", "src/a.ts", "docs/b.ts")
    text = await hands.text("grep", pattern="needle", glob=glob.replace("{project}", str(project)))
    assert " ".join(line.split(":")[0] for line in text.split("\n")) == found


async def test_a_pattern_with_a_slash_begins_in_the_searched_folder(hands: ToolCaller, project: Path) -> None:
    tree(project, "src/a.ts", "app/src/b.ts", "app/lib/c.ts")
    assert await hands.text("find", pattern="src/*.ts") == "src/a.ts"
    assert await hands.text("find", pattern="src/*.ts", path="app") == "app/src/b.ts"
    assert await hands.text("find", pattern="lib/*.ts") == (
        "app/lib/c.ts\n\n[Nothing begins in the searched directory; matched at any depth, like **/]"
    )
    for glob, found in {
        "src/*.ts": ["src/a.ts"],
        "**/src/*.ts": ["app/src/b.ts", "src/a.ts"],
        "!src/**": ["app/lib/c.ts", "app/src/b.ts"],
        "src/": ["app/src/b.ts", "src/a.ts"],  # a slash at the end alone is only the word for a folder
    }.items():
        text = await hands.text("grep", pattern="needle", glob=glob)
        assert [line.split(":")[0] for line in text.split("\n")] == found, glob
    assert await hands.text("grep", pattern="needle", glob="lib/*.ts") == "No matches found"


async def test_no_glob_brings_ignored_files_back(hands: ToolCaller, project: Path) -> None:
    tree(project, "a.ts", "out/b.ts")
    (project / ".gitignore").write_text("out/\n")
    for glob in ("*.ts", "*.ts,*.js", "!*.js", "out/", "**/*.ts", "!*.js,*.ts"):
        assert "out" not in await hands.text("grep", pattern="needle", glob=glob), glob


async def test_line_ends_of_windows_are_line_ends(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_bytes(b"a b\r\nc d\r\n")
    assert await hands.text("grep", pattern="b$") == "a:1: a b"
    assert await hands.text("grep", pattern="^c d$") == "a:2: c d"
    assert await hands.text("grep", pattern=r"b\nc") == "a:1: a b\na:2: c d"
    assert await hands.text("grep", pattern=r"b\r\nc") == "a:1: a b\na:2: c d"
    assert await hands.text("grep", pattern="b\nc", literal=True) == "a:1: a b\na:2: c d"


async def test_a_pattern_may_go_over_lines_and_look_around(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("foo\nbar\nfoo\nbaz\n")
    assert await hands.text("grep", pattern=r"foo\nbar") == "a:1: foo\na:2: bar"
    assert await hands.text("grep", pattern=r"foo\nba", limit=1) == (
        "a:1: foo\na:2: bar\n\n"
        "[1 matches limit reached (2 matches in 1 files). Use limit=2 for more, or refine pattern]"
    )
    assert await hands.text("grep", pattern=r"^ba(?!z)") == "a:2: bar"
    assert await hands.text("grep", pattern="foo.*baz", multiline=True) == (
        "a:1: foo\na:2: bar\na:3: foo\na:4: baz"
    )


async def test_the_match_of_a_long_line_is_shown(hands: ToolCaller, project: Path) -> None:
    (project / "a").write_text("é" * 3000 + "needle" + "y" * 3000 + "\n")
    text = await hands.text("grep", pattern="needle")
    assert "[from character 2,851] ...é" in text and "éneedley" in text
    assert "... [truncated, 6,006 characters]" in text
    (project / "a").write_text("y" * 3000 + "needle\n")
    assert "yneedle [truncated, 3,006 characters]" in await hands.text("grep", pattern="needle")


@pytest.mark.parametrize(
    ("encoding", "text", "pattern"),
    [
        ("utf-16-le", "plain text with a needle in it\n" * 3, "needle"),
        ("utf-16-be", "plain text with a needle in it\n" * 3, "needle"),
        ("utf-16", "mark\nneedle\n", "needle"),
        ("shift_jis", "これは日本語のテストです。\n", "日本語"),
        ("euc_kr", "한국어 문장입니다\n", "문장"),
        ("cp1252", "ein schöner Tag\n", "schöner"),
        ("cp1251", "Съешь ещё этих мягких французских булок\n", "мягких"),
    ],
)
async def test_what_read_can_decode_grep_can_find(
    hands: ToolCaller, project: Path, encoding: str, text: str, pattern: str
) -> None:
    (project / "odd.txt").write_bytes(text.encode(encoding))
    tree(project, "other.txt", text=f"{pattern}\n")
    assert text.split("\n")[0] in await hands.text("read", path="odd.txt")
    found = await hands.text("grep", pattern=pattern)
    line = next(number for number, line in enumerate(text.split("\n"), 1) if pattern in line)
    assert f"odd.txt:{line}: {text.split(chr(10))[line - 1]}" in found
    assert f"other.txt:1: {pattern}" in found
    assert await hands.text("grep", pattern=pattern, path="odd.txt", limit=1) != "No matches found"


async def test_binary_files_are_not_searched(hands: ToolCaller, project: Path) -> None:
    (project / "a.bin").write_bytes(bytes(range(256)) * 100 + b"needle")
    assert await hands.text("grep", pattern="needle") == "No matches found"


async def test_a_name_that_is_there_is_meant_as_it_is(hands: ToolCaller, project: Path) -> None:
    tree(project, "app/[id]/page.tsx", "app/i/page.tsx", "app/d/page.tsx", "app/[id]/{x}.ts")
    assert await hands.text("find", pattern="app/[id]/page.tsx") == "app/[id]/page.tsx"
    assert await hands.text("find", pattern=f"{project}/app/[id]/page.tsx") == "app/[id]/page.tsx"
    assert await hands.text("find", pattern="[id]") == "app/[id]/"
    assert await hands.text("find", pattern="{x}.ts") == "app/[id]/{x}.ts"
    assert sorted((await hands.text("find", pattern="app/[di]/page.tsx")).split("\n")) == [
        "app/d/page.tsx",
        "app/i/page.tsx",
    ]
    assert (
        await hands.text("grep", pattern="needle", glob="app/[id]/page.tsx") == "app/[id]/page.tsx:1: needle"
    )


async def test_links_to_files_are_found(hands: ToolCaller, project: Path) -> None:
    tree(project, "src/real.py")
    (project / "src/link.py").symlink_to("real.py")
    (project / "top.py").symlink_to("src/real.py")
    (project / "gone.py").symlink_to("nowhere")
    found = (await hands.text("find", pattern="*.py")).split("\n")
    assert sorted(found) == ["gone.py", "src/link.py", "src/real.py", "top.py"]


async def test_files_that_are_ignored_are_hinted_at(hands: ToolCaller, project: Path) -> None:
    tree(project, "a.ts", "dist/bundle.js")
    (project / ".gitignore").write_text("dist/\n")
    said = await hands.text("find", pattern="bundle.js")
    assert said == (
        "No files found matching pattern\n\n"
        "[Ignored files match, which are left out here but can be read: dist/bundle.js]"
    )
    assert await hands.text("find", pattern="nowhere.js") == "No files found matching pattern"
