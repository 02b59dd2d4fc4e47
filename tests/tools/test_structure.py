"""Structural search and rewriting; rewrites are staged and written exactly as shown."""

import asyncio
import os
import random
import subprocess
from pathlib import Path

import pytest

from bench.structure import count_broken_rewrites, write_sources
from tests.tools.conftest import ToolCaller
from tools.ast_search.replacement_templates import (
    CannotIndentRewrite,
    CapturedCode,
    fill_replacement_template,
    find_pattern_variables,
)
from tools.session_workspace import SessionWorkspace


def put(project: Path, **files: str) -> None:
    for name, text in files.items():
        path = project / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def test_code_is_found_in_any_layout(hands: ToolCaller, project: Path) -> None:
    put(project, a_py="log(1,\n    2)\nx.log(3)\nlog('é', 4)\n", b_js="log(1, 2);\n", c_txt="log(1, 2)\n")
    result = await hands("ast_grep", pattern="log($A, $B)")
    assert result.text == (
        "a.py:1: log(1,  $A = 1  $B = 2\na.py:4: log('é', 4)  $A = 'é'  $B = 4\nb.js:1: log(1, 2)  $A = 1  "
        "$B = 2"
    )
    assert result.details == {"matches": 3, "files": 2}
    assert (await hands("ast_grep", pattern="log($A, $B)", language="js")).details == {
        "matches": 1,
        "files": 1,
    }
    assert (await hands("ast_grep", pattern="log($$$A)", paths=["*.py"])).details == {
        "matches": 2,
        "files": 1,
    }


@pytest.mark.parametrize(
    ("name", "text", "pattern", "count"),
    [
        ("a_go", "package a\n\nfunc f() {\n\tfmt.Println(1)\n}\n", "fmt.Println($A)", 1),
        ("a_go", "package a\n\nfunc f(a int) {\n}\n", "func $F($$$A) { $$$B }", 1),
        ("A_java", "class A { void f() { g(1); } }\n", "g($A)", 1),
        ("a_c", 'int main() { puts("x"); }\n', "puts($A)", 1),
        ("a_rs", "fn main() { foo(1); }\n", "foo($A)", 1),
        ("a_ts", "const a = <T>(x: T) => f(x);\n", "f($A)", 1),
        ("a_php", "<?php\nfoo(1);\n", "foo($A)", 1),
        ("a_rb", "foo(1)\n", "foo($A)", 1),
        ("a_py", "def f(a):\n    return a\n", "def $F($$$A):\n    $$$B", 1),
        ("a_css", "a { color: red; }\n", "a { color: red; }", 1),
    ],
)
async def test_patterns_are_read_where_such_code_stands(
    hands: ToolCaller, project: Path, name: str, text: str, pattern: str, count: int
) -> None:
    put(project, **{name: text})
    assert (await hands("ast_grep", pattern=pattern)).details == {"matches": count, "files": 1}


async def test_nothing_found_says_how_the_pattern_was_read(hands: ToolCaller, project: Path) -> None:
    put(project, a_py="f(a=1, b=2)\n")
    said = await hands.text("ast_grep", pattern="f(a=$X)")
    assert "No matches in 1 files. The pattern was read as: python: " in said and "f(a=$X)" in said
    assert "is no code of this language; it was read as" in await hands.error("ast_grep", pattern="f((")
    assert "not a language that structural search supports" in await hands.error(
        "ast_grep", pattern="f", language="toml"
    )
    (project / "a.py").unlink()
    assert "no files here" in await hands.error("ast_grep", pattern="f($A)")


async def test_a_rewrite_waits_and_is_written_as_it_was_shown(
    hands: ToolCaller, project: Path, workspace: SessionWorkspace
) -> None:
    put(project, a_py="old(1, [2,\n   3])\nold()\n", sub__b_py="x = old(old(1))\n", c_py="new(1)\n")
    said = await hands.text("ast_edit", rewrites=[{"pattern": "old($$$A)", "replacement": "new(0, $$$A)"}])
    assert said.startswith("AST Edit: 3 replacements in 2 files\n--- a/a.py")
    assert "1 matches lie within others" in said
    assert said.endswith("Nothing was written yet. Call resolve with apply or discard.")
    assert (project / "a.py").read_text().startswith("old(1")
    assert await hands.text("resolve", action="apply", reason="wanted") == (
        "Applied: AST Edit: 3 replacements in 2 files."
    )
    assert (project / "a.py").read_text() == "new(0, 1, [2,\n   3])\nnew(0, )\n"
    assert (project / "sub/b.py").read_text() == "x = new(0, old(1))\n"
    assert await hands.error("resolve", action="apply", reason="again") == (
        "No pending action to resolve. Nothing to apply or discard."
    )


async def test_a_discarded_rewrite_writes_nothing(hands: ToolCaller, project: Path) -> None:
    put(project, a_js="old(1);\n")
    await hands("ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}])
    said = await hands.text("resolve", action="discard", reason="not now")
    assert said == "Discarded: AST Edit: 1 replacement in 1 file. Reason: not now"
    assert (project / "a.js").read_text() == "old(1);\n"


async def test_several_wait_by_age_and_are_named(
    hands: ToolCaller, project: Path, workspace: SessionWorkspace
) -> None:
    put(project, a_js="old(1);\n")
    for _ in range(8):
        await hands("ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}])
    assert "8 actions wait already" in await hands.error(
        "ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}]
    )
    assert "Several actions wait" in await hands.error("resolve", action="apply", reason="x")
    await hands("resolve", action="apply", reason="x", id="p3")
    assert (project / "a.js").read_text() == "new(1);\n"
    assert "a.js changed since the preview. Nothing was written." in await hands.error(
        "resolve", action="apply", reason="x", id="p1"
    )
    assert [one.id for one in workspace.staged_actions.pending_staged_actions] == [
        "p2",
        "p4",
        "p5",
        "p6",
        "p7",
        "p8",
    ]


async def test_a_change_between_preview_and_apply_writes_nothing_at_all(
    hands: ToolCaller, project: Path, workspace: SessionWorkspace
) -> None:
    luck = random.Random(5)
    files = [project / f"f{number}.js" for number in range(6)]
    for file in files:
        file.write_text("old(1);\n")
    await hands("ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}])
    [staged] = workspace.staged_actions.pending_staged_actions
    for _ in range(1_000):
        changed = luck.choice(files)
        if luck.random() < 0.3:
            changed.unlink()
        else:
            changed.write_text(luck.choice(["old(1);\n// mine\n", "", "old(2);\n"]))
        before = {file: file.read_bytes() for file in files if file.exists()}
        resolved = await workspace.staged_actions.resolve_staged_action(
            None, "apply", "x", by="model", call_id="c"
        )
        assert not resolved.is_done
        assert {file: file.read_bytes() for file in files if file.exists()} == before
        changed.write_text("old(1);\n")
        workspace.staged_actions.stage_action(staged.label, staged.source_tool, staged.files)


async def test_what_would_not_parse_is_left_out_unless_it_is_wanted(hands: ToolCaller, project: Path) -> None:
    put(project, a_js="f(a, b);\n", b_js="f(1);\n")
    rewrites = [
        {"pattern": "f($A, $B)", "replacement": "g($A, $B"},
        {"pattern": "f($A)", "replacement": "g($A)"},
    ]
    said = await hands.text("ast_edit", rewrites=rewrites)
    assert "AST Edit: 1 replacement in 1 file" in said
    assert "Left out, as it would have a new syntax error: a.js, line 1" in said
    await hands("resolve", action="discard", reason="x")
    assert "in 2 files" in await hands.text("ast_edit", rewrites=rewrites, include_broken=True)


async def test_endings_and_letters_stay(hands: ToolCaller, project: Path) -> None:
    path = project / "a.js"
    path.write_bytes("\ufeff// é漢😀\r\nold(1);\r\nold('😀');\r\n".encode())
    await hands("ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($A)"}])
    await hands("resolve", action="apply", reason="x")
    assert path.read_bytes() == "\ufeff// é漢😀\r\nnew(1);\r\nnew('😀');\r\n".encode()


async def test_an_unknown_variable_is_refused(hands: ToolCaller, project: Path) -> None:
    put(project, a_js="old(1);\n")
    assert "The replacement has $B" in await hands.error(
        "ast_edit", rewrites=[{"pattern": "old($A)", "replacement": "new($B)"}]
    )


async def test_an_abort_ends_the_search_and_its_process(hands: ToolCaller, project: Path) -> None:
    (project / "a.js").write_text("old(1);\n" * 50_000)
    running = asyncio.create_task(hands("ast_grep", pattern="old($A)"))
    async with asyncio.timeout(20):
        while not (searching := searches()):  # noqa: ASYNC110  (another process sends no notification)
            await asyncio.sleep(0.005)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not searches() & searching


def searches() -> set[int]:
    """Returns the structural search processes of these tests."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = (line.split(None, 3) for line in listed.stdout.splitlines())
    return {
        int(pid)
        for pid, parent, state, words in rows
        if int(parent) == os.getpid() and state[0] != "Z" and "tools.ast_search.search_process" in words
    }


@pytest.mark.parametrize(
    ("template", "captures", "indent", "wanted"),
    [
        (
            "with a:\n    $$$B",
            {"B": CapturedCode(text="x\n  y", indent="  ")},
            "    ",
            "with a:\n        x\n        y",
        ),
        ("$$$B", {"B": CapturedCode(text="x\n  y", indent="  ")}, "", "x\ny"),
        ("f($A)", {"A": CapturedCode(text="[\n  1\n]", indent="")}, "  ", "f([\n  1\n])"),
        ("if a:\n    b", {}, "  ", "if a:\n      b"),
        ("$A + $A", {"A": CapturedCode(text="1", indent="")}, "", "1 + 1"),
    ],
)
def test_captures_are_indented_as_their_place_is(
    template: str, captures: dict[str, CapturedCode], indent: str, wanted: str
) -> None:
    assert fill_replacement_template(template, captures, indent) == wanted


@pytest.mark.parametrize(
    ("template", "capture"),
    [
        ("f($B)", CapturedCode(text="x\ny", indent="  ", is_block=True)),
        ("if a:\n    $B", CapturedCode(text='x = """\ny"""', indent="", has_multiline_string=True)),
        ("if a:\n    $B", CapturedCode(text="x\n y", indent="  ")),
    ],
)
def test_what_cannot_be_indented_is_left_alone(template: str, capture: CapturedCode) -> None:
    with pytest.raises(CannotIndentRewrite):
        fill_replacement_template(template, {"B": capture}, "")


def test_variables_are_those_that_capture() -> None:
    assert find_pattern_variables("f($A, $$$REST, $_, $$$, $a, $A)") == ("A", "REST")


async def test_what_is_rewritten_in_valid_files_is_valid(project: Path) -> None:
    """Eight rewrites, of expressions and of statements with bodies; `python -m bench structure` has 400 files."""
    assert write_sources(project, 12) == 12
    broken, places, _ = await count_broken_rewrites(project)
    assert broken == 0 and places > 100
