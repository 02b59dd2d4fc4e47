"""Output of linters is parsed and compared, also of failing programs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.diagnostics import output_parsers
from tools.diagnostics.checkers import (
    CannotStartChecker,
    CheckedProjectFolder,
    group_files_by_check_command,
    make_checker_commands,
)
from tools.diagnostics.code_problems import (
    CodeProblem,
    FileChangeTexts,
    OldToNewLineMap,
    find_added_code_problems,
    select_code_problems_in_changed_lines,
)
from tools.diagnostics.folder_before_change import FolderBeforeChange
from tools.diagnostics.output_parsers import UnreadableCheckerOutput, make_checker_path_resolver

PLACE = make_checker_path_resolver("/p", "/p", "/p")


def problem(line: int, text: str = "bad", path: str = "/p/a.py") -> CodeProblem:
    return CodeProblem(path=path, line=line, text=text, checker_name="ruff")


def aligned(before: str, after: str) -> dict[str, OldToNewLineMap]:
    return {"/p/a.py": OldToNewLineMap(before.encode(), after.encode())}


# What is new


def test_a_problem_that_moved_with_its_line_is_not_new():
    changed = aligned("x\nbad\n", "one\ntwo\nx\nbad\n")
    assert find_added_code_problems([problem(2)], [problem(4)], changed) == []


def test_the_same_words_at_another_line_are_new_when_the_first_is_still_there():
    changed = aligned("bad\nx\n", "bad\nx\nbad\n")
    assert find_added_code_problems([problem(1)], [problem(1), problem(3)], changed) == [problem(3)]


def test_a_line_that_was_rewritten_and_kept_its_fault_has_no_new_one():
    changed = aligned("a\nbad = 1\nz\n", "a\nbad = 2\nz\n")
    assert find_added_code_problems([problem(2)], [problem(2)], changed) == []


def test_numbers_of_lines_within_the_words_do_not_count():
    changed = aligned("f\ng\n", "new\nf\ng\n")
    before, after = problem(2, "`f` again, first in line 1"), problem(3, "`f` again, first in line 2")
    assert find_added_code_problems([before], [after], changed) == []


def test_a_fault_that_went_pays_for_no_other():
    assert find_added_code_problems([problem(1, "one")], [problem(1, "two")], aligned("a\n", "b\n")) == [
        problem(1, "two")
    ]


def test_a_file_that_did_not_change_is_compared_line_by_line():
    far = problem(7, path="/p/other.py")
    assert find_added_code_problems([far], [far], aligned("a\n", "b\n")) == []


def test_where_nothing_is_known_of_before_only_new_lines_count():
    changed = aligned("a\nb\n", "a\nnew\nb\n")
    found = [problem(1), problem(2), problem(3), problem(2, path="/p/other.py")]
    assert select_code_problems_in_changed_lines(found, changed) == [problem(2)]


# Their words


def test_ruff_and_eslint_and_tsc_and_lines():
    ruff = [{"filename": "/p/a.py", "location": {"row": 1, "column": 8}, "message": "unused", "code": "F401"}]
    eslint = [
        {
            "filePath": "/p/b.js",
            "messages": [
                {
                    "ruleId": "no-undef",
                    "severity": 2,
                    "message": "'x' is not defined",
                    "line": 3,
                    "column": 5,
                },
                {"ruleId": None, "severity": 1, "message": "File ignored"},
                {"ruleId": "semi", "severity": 1, "message": "Missing", "line": 4},
            ],
        }
    ]
    tsc = "src/a.ts(3,5): error TS2322: Type 'x'\n  is not assignable\nsrc/b.ts(1,1): error TS1005: ';' expected.\n"
    lines = (
        "\x1b[1ma.go:3:5: undefined: x\x1b[0m\nnothing of this form\n"
        "a.py:9: error: bad [arg-type]\n./c.c:1:2: warning: unused\nb.py:2:1: note: see above\n"
    )

    def rows(found: list[CodeProblem]) -> list[tuple[str, int, int, str, str, str]]:
        return [(one.path, one.line, one.column, one.severity, one.rule_name, one.text) for one in found]

    assert rows(output_parsers.parse_ruff_output(json.dumps(ruff), "ruff", PLACE)) == [
        ("/p/a.py", 1, 8, "error", "F401", "unused")
    ]
    assert rows(output_parsers.parse_eslint_output(json.dumps(eslint), "eslint", PLACE)) == [
        ("/p/b.js", 3, 5, "error", "no-undef", "'x' is not defined"),
        ("/p/b.js", 4, 0, "warning", "semi", "Missing"),
    ]
    assert [row[:3] for row in rows(output_parsers.parse_tsc_output(tsc, "tsc", PLACE))] == [
        ("/p/src/a.ts", 3, 5),
        ("/p/src/b.ts", 1, 1),
    ]
    assert rows(output_parsers.parse_problem_lines(lines, "go", PLACE)) == [
        ("/p/a.go", 3, 5, "error", "", "undefined: x"),
        ("/p/a.py", 9, 0, "error", "", "bad [arg-type]"),
        ("/p/c.c", 1, 2, "warning", "", "unused"),
        ("/p/b.py", 2, 1, "note", "", "see above"),
    ]


@pytest.mark.parametrize("read", [output_parsers.parse_ruff_output, output_parsers.parse_eslint_output])
@pytest.mark.parametrize("output", ['[{"filename": "/p/a.py"', "Oops!", "[1, 2]", '[{"filename": 3}]'])
def test_json_that_is_none_is_an_error_in_words(read: output_parsers.ParseCheckerOutput, output: str):
    with pytest.raises(UnreadableCheckerOutput):
        read(output, "x", PLACE)


def test_a_configuration_that_tsc_cannot_read_is_no_problem_of_a_file():
    with pytest.raises(UnreadableCheckerOutput, match="TS5023"):
        output_parsers.parse_tsc_output("error TS5023: Unknown compiler option 'x'.\n", "tsc", PLACE)


def test_no_path_outside_the_folder_and_no_control_character_gets_through():
    told = "/etc/passwd:1:1: x\n../q/a.py:1:1: x\na.py:1:1: \x1b]0;title\x07\x1b[31mred\u202e\x00\x9b end\n"
    [found] = output_parsers.parse_problem_lines(told, "x", PLACE)
    assert found.path == "/p/a.py" and found.text == "red end"


def test_a_text_without_end_is_cut():
    [found] = output_parsers.parse_problem_lines("a.py:1:1: " + "x" * 5_000, "x", PLACE)
    assert len(found.text) == output_parsers.MAX_PARSED_PROBLEM_CHARS


def test_paths_in_the_image_of_a_folder_are_those_of_the_folder():
    place = make_checker_path_resolver("/image/sub", "/image", "/p")
    assert [place(one) for one in ("a.ts", "../b.ts", "/image/c.ts", "/p/d.ts", "/x/e.ts")] == [
        "/p/sub/a.ts",
        "/p/b.ts",
        "/p/c.ts",
        "/p/d.ts",
        None,
    ]


# Which program


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def made(place: str) -> Path:
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        return file

    return made


def ground(root: Path, *, uses_folder: bool = True, path: str = "") -> CheckedProjectFolder:
    return CheckedProjectFolder(
        root_folder=str(root), is_folder_trusted=uses_folder, environment={"PATH": path}
    )


def test_the_folders_own_program_is_used_where_it_may_be_run(tmp_path: Path, program: Callable[[str], Path]):
    own, other = program("p/.venv/bin/ruff"), program("bin/ruff")
    root = tmp_path / "p"
    path = f"{own.parent}:{other.parent}"
    assert make_checker_commands("ruff", ["pkg/a.py"], ground(root, path=path))[0].argv[0] == str(own)
    assert make_checker_commands("ruff", ["a.py"], ground(root, uses_folder=False, path=path))[0].argv[
        0
    ] == str(other)
    other.unlink()
    with pytest.raises(CannotStartChecker, match="not found"):
        make_checker_commands("ruff", ["a.py"], ground(root, uses_folder=False, path=path))


def test_what_is_nearest_to_the_file_comes_first(tmp_path: Path, program: Callable[[str], Path]):
    program("p/node_modules/.bin/tsc")
    near = program("p/packages/one/node_modules/.bin/tsc")
    (tmp_path / "p/packages/one/tsconfig.json").write_text("{}")
    [start] = make_checker_commands("tsc", ["packages/one/src/a.ts"], ground(tmp_path / "p"))
    assert start.argv[0] == str(near) and start.folder == str(tmp_path / "p/packages/one")


def test_nothing_that_a_folder_steers_is_started_where_it_is_not_trusted(
    tmp_path: Path, program: Callable[[str], Path]
):
    program("bin/eslint")
    (tmp_path / "p").mkdir()
    (tmp_path / "p/eslint.config.js").write_text("")
    (tmp_path / "p/tsconfig.json").write_text("{}")
    untrusted = ground(tmp_path / "p", uses_folder=False, path=str(tmp_path / "bin"))
    for command in ("eslint", "tsc", "make lint", "./lint.sh {files}"):
        with pytest.raises(CannotStartChecker, match="not trusted"):
            make_checker_commands(command, ["a.js"], untrusted)


def test_eslint_and_tsc_have_nothing_to_say_where_the_project_does_not_use_them(tmp_path: Path):
    assert make_checker_commands("eslint", ["a.js"], ground(tmp_path)) == []
    assert make_checker_commands("tsc", ["a.ts"], ground(tmp_path)) == []


def test_a_configuration_that_only_refers_to_others_means_those(
    tmp_path: Path, program: Callable[[str], Path]
):
    program("node_modules/.bin/tsc")
    (tmp_path / "tsconfig.json").write_text(
        '{ "files": [], // none\n "references": [{ "path": "./tsconfig.app.json" }, {"path":"./tsconfig.node.json"}] }'
    )
    found = make_checker_commands("tsc", ["src/a.ts"], ground(tmp_path))
    assert [start.argv[-1] for start in found] == ["./tsconfig.app.json", "./tsconfig.node.json"]


def test_globs_say_who_looks_at_what(tmp_path: Path):
    commands = {"*.py": ("ruff", "mypy {files}"), "web/**/*.ts": ("tsc",)}
    files = ["a.py", "web/x/b.ts", "c.ts", "node_modules/d/e.py", "web/-x.py"]
    found = group_files_by_check_command(
        commands, [*(f"{tmp_path}/{one}" for one in files), f"{tmp_path}-2/out.py"], ground(tmp_path)
    )
    assert found == {
        "ruff": ["a.py", "web/-x.py"],
        "mypy {files}": ["a.py", "web/-x.py"],
        "tsc": ["web/x/b.ts"],
    }


def test_a_name_that_looks_like_a_flag_is_a_file(tmp_path: Path, program: Callable[[str], Path]):
    program("bin/check")
    [start] = make_checker_commands(
        "check --all {files}", ["-rf.py", "a b.py"], ground(tmp_path, path=f"{tmp_path}/bin")
    )
    assert start.argv[1:] == ("--all", "./-rf.py", "a b.py")


# The folder as it was


def test_the_image_has_what_was_and_changes_nothing_of_what_is(tmp_path: Path):
    root = tmp_path / "p"
    (root / "src/deep").mkdir(parents=True)
    (root / "src/a.ts").write_text("new")
    (root / "src/deep/made.ts").write_text("made")
    (root / "src/same.ts").write_text("same")
    (root / ".git").mkdir()
    changed = [
        FileChangeTexts(path=f"{root}/src/a.ts", old_content=b"old", new_content=b"new"),
        FileChangeTexts(path=f"{root}/src/deep/made.ts", old_content=None, new_content=b"made"),
        FileChangeTexts(path=f"{root}/src/gone/was.ts", old_content=b"was", new_content=None),
    ]
    (tmp_path / "image").mkdir()
    image = FolderBeforeChange(tmp_path / "image")
    image.fill_folder(str(root), changed)
    before = Path(image.root)
    assert (before / "src/a.ts").read_text() == "old"
    assert not (before / "src/deep/made.ts").exists() and not (before / ".git").exists()
    assert (before / "src/gone/was.ts").read_text() == "was"
    assert (before / "src/same.ts").is_symlink() and (before / "src/same.ts").read_text() == "same"
    image.close()
    assert not before.exists() and (root / "src/same.ts").read_text() == "same"
    assert (root / "src/a.ts").read_text() == "new" and (root / ".git").is_dir()
