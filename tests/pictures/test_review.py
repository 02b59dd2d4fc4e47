"""`python -m tests.review`: what changed in pictures, on a repository of a few pictures made by Rich."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from tests.conftest import OUTSIDE, ROOT
from tests.review import __main__ as command
from tests.review.changes import compare_texts
from tests.review.comparing import Outline, Recolouring, difference
from tests.review.drawing import Ink, cells_of, read_drawing, words_of
from tests.review.page import changes_page
from tests.review.runs import Run, reviewer_of, without_reviewer
from tests.review.sources import Review
from tests.support.snapshots import SNAPSHOTS, lean
from widgets.colors import contrast_ratio, make_text_color_readable
from widgets.themes import THEME_TOKENS, parse_theme, theme_token_colors


def picture(*lines: str | Text, columns: int = 40) -> str:
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for line in lines:
        console.print(line, markup=False, highlight=False)
    return lean(console.export_svg())


def _git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


class Project:
    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.pictures = root / "snapshots"
        self.runs = root / "build" / "pictures"
        self.page = root / "build" / "review.html"
        root.mkdir()
        _git(root, "init", "-q", "-b", "main")
        _git(root, "config", "user.name", "Ann -- of <the> harbour")
        monkeypatch.chdir(root)

    def commit(self, pictures: dict[str, str | None]) -> None:
        for name, svg in pictures.items():
            path = self.pictures / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if svg is None:
                path.unlink()
            else:
                path.write_text(svg)
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-qm", "pictures", "--allow-empty")

    def stored(self, name: str) -> str:
        """The picture without the name of its reviewer."""
        return without_reviewer((self.pictures / name).read_text())

    def run(self, made: dict[str, str]) -> None:
        """As a run of the tests leaves it."""
        run = Run(self.runs, f"run-{len(list(self.runs.glob('run*')))}")
        run.looked()
        for name, svg in made.items():
            path = self.pictures / name
            run.keep(name, svg, path.read_text() if path.exists() else None, f"tests::{name}", "")
        run.end()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path / "project", monkeypatch)


def test_a_picture_is_read_as_cells():
    drawing = read_drawing(picture(Text("bold 漢 x", "bold red"), Text("plain")))
    cells = cells_of(drawing.line(0), drawing.columns)
    assert (drawing.columns, drawing.is_whole) == (40, True)
    assert [cell.text for cell in cells[:9]] == ["b", "o", "l", "d", " ", "漢", "", " ", "x"]
    assert cells[0].ink.marks == "b"
    assert words_of(drawing.line(1)) == "plain"


@pytest.mark.parametrize("version", ["0.30.0", "1.0.0", "5.0.0"])
def test_pictures_of_other_textuals_are_read(version: str):
    """The same page as three other versions of Textual drew it."""
    drawing = read_drawing((Path(__file__).parent / "textual" / f"{version}.svg").read_text())
    first, second = (cells_of(drawing.line(number), drawing.columns) for number in (0, 1))
    assert (drawing.columns, drawing.height, drawing.is_whole) == (40, 8, True)
    assert [cell.text for cell in first[6:11]] == ["日", "", "本", "", " "]
    assert {cell.ground for cell in first} == {"#0000ff"}
    assert words_of(drawing.line(1)) == "<b>bold & 'quotes'"
    assert second[0].ink == Ink("#ff0000", "b")


def test_one_changed_cell_is_one_outline():
    before, after = read_drawing(picture("one", "two", "six")), read_drawing(picture("one", "twx", "six"))
    found = difference(before, after, {})
    assert (found.cells, found.outlines) == (1, (Outline(2, 1, 1, 1),))
    assert [tuple(words) for words in found.words] == [("two", "twx")]


def test_another_colour_is_told_by_its_name():
    before, after = (read_drawing(picture(Text("go", style))) for style in ("#112233", "#445566"))
    found = difference(before, after, {"#112233": "accent", "#445566": "grey"})
    assert [change._replace(before="", after="") for change in found.recoloured] == [
        Recolouring("go", "", "")
    ]
    assert found.recoloured[0].before.startswith("accent")
    assert found.recoloured[0].after.startswith("grey")


def test_pictures_that_changed_alike_are_one_change_in_any_size():
    old = {f"test_a[{size}].svg": picture("─" * size, "it steers now", columns=size) for size in (40, 60)}
    new = {f"test_a[{size}].svg": picture("─" * size, "it goes now", columns=size) for size in (40, 60)}
    old["test_b.svg"], new["test_b.svg"] = picture("x"), picture("y")
    comparison = compare_texts(old, new, Review())
    assert [len(group.changes) for group in comparison.alike] == [2, 1]
    assert comparison.told() == "3 pictures differ in 2 changes"
    assert comparison.rows()[0].endswith("2  “steers” → “goes”  (60, 40)")


def test_a_replaced_title_is_one_change_in_pictures_that_had_other_titles():
    """And what else changed in one of them is another change, or is named if the others of its state lack it."""
    titles = ("oars", "sails", "hulls", "keels")
    names = [f"test_{title}[{size}].svg" for title in titles for size in ("40x9", "60x9")]
    old = {name: picture(name[5:9], "a row │ a pane", f"of {name}") for name in names}
    new = {name: picture("bayou", "a pane", f"of {name}", "a row") for name in names}
    new["test_oars[60x9].svg"] = picture("bayou", "a pane", "of test_oars[60x9].svg", "an oar")
    old["test_masts.svg"], new["test_masts.svg"] = picture("mast", "up"), picture("bayou", "down")
    comparison = compare_texts(old, new, Review())
    assert [row.split(maxsplit=1)[1] for row in comparison.rows()] == [
        "8  … → “bayou”  (test_hulls, test_keels, test_oars and 1 more)",
        "1  “mast” → “bayou” · “up” → “down”  (test_masts)",
    ]
    page = changes_page(comparison, "titles", Review(), {})
    assert "\n* also with “an oar” in test_oars[60x9]" in page


def test_figures_that_changed_in_a_row_of_one_kind_are_one_change():
    old = {f"test_{number}.svg": picture(f"─ Keys ── {number} ─") for number in (12, 307)}
    new = {f"test_{number}.svg": picture(f"─ Keys ── {number + 1} ─") for number in (12, 307)}
    old["test_a.svg"], new["test_a.svg"] = picture("two 3 oars"), picture("two 4 oars")
    assert [len(group.changes) for group in compare_texts(old, new, Review()).alike] == [2, 1]


def test_what_only_moved_is_reported_and_is_no_other_change_of_the_kind(project: Project):
    """A row further down, a column further right: the words are the same, and still one has to look."""
    old = {"a.svg": picture("sails", "oars"), "b.svg": picture("name  12"), "c.svg": picture("sails", "oars")}
    new = {
        "a.svg": picture("sails", "", "oars"),
        "b.svg": picture("name      12"),
        "c.svg": picture("sails", "", "oars"),
    }
    comparison = compare_texts(old, new, Review())
    assert [len(group.changes) for group in comparison.alike] == [2, 1]
    moved = [[one.text for one in group.changes[0].difference.moved] for group in comparison.alike]
    assert moved == [["oars"], ["name  12"]]
    project.commit({**old})
    project.run(new)
    assert command.main([]) == 0
    page = project.page.read_text()
    assert "moved: “oars”" in page and "moved: “name  12”" in page


def test_other_bytes_and_the_same_cells_are_no_difference():
    one = picture("same")
    other = one.replace("</style>", ".unused { }\n    </style>").replace("terminal-r1", "terminal-77-r1")
    comparison = compare_texts({"a.svg": one}, {"a.svg": other}, Review())
    assert (comparison.alike, len(comparison.same_cells)) == ((), 1)


def test_new_deleted_and_renamed_pictures_are_named():
    lines = [f"line {number}" for number in range(10)]
    old = {"was.svg": picture(*lines), "gone.svg": picture("gone")}
    new = {"is.svg": picture(*lines[:-1], "changed"), "new.svg": picture("something else")}
    comparison = compare_texts(old, new, Review())
    kinds = {change.name: (change.kind, change.was) for group in comparison.alike for change in group.changes}
    assert kinds == {"gone.svg": ("gone", ""), "is.svg": ("renamed", "was.svg"), "new.svg": ("new", "")}


@pytest.mark.parametrize(
    "svg",
    [
        "",
        "no picture",
        "<svg></svg>",
        picture("cut off in the middle")[:-200],
        '<svg><text class="terminal-r1" x="1e9" y="9e9">far</text></svg>',
        '<text class="terminal-r1" x="0" y="20"><b>x</b></text>',
        '<rect fill="red" x="0" y="1.5" width="1e12" height="24.65"/>',
    ],
)
def test_a_broken_picture_is_reported_and_harms_nothing(svg: str):
    comparison = compare_texts({"a.svg": picture("whole")}, {"a.svg": svg}, Review())
    page = changes_page(comparison, "broken", Review(), {})
    assert "cut off, or no picture" in page


def test_two_broken_pictures_are_not_called_the_same():
    comparison = compare_texts({"a.svg": "<svg"}, {"a.svg": "\ufffd\0"}, Review())
    assert comparison.told().startswith("1 picture differs") and not comparison.same_cells
    assert "cut off, or no picture" in changes_page(comparison, "broken", Review(), {})


def test_what_a_picture_says_is_never_part_of_the_page():
    hostile = picture("</script><script>alert(1)</script>", Text("x", "#ff0000"))
    hostile = hostile.replace("#ff0000", 'red" onload="alert(2)')
    page = changes_page(compare_texts({}, {"<img src=x>.svg": hostile}, Review()), "x", Review(), {})
    assert "<script>alert" not in page
    assert "<img" not in page
    assert 'onload="alert' not in page


def test_a_wide_picture_with_everything_in_it():
    line = "e\N{COMBINING ACUTE ACCENT} 漢字 \N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET} end"
    drawing = read_drawing(picture(line, columns=500))
    assert drawing.columns == 500
    assert words_of(drawing.line(0)).endswith("end")


def test_a_range_is_compared_without_checking_anything_out(
    project: Project, capsys: pytest.CaptureFixture[str]
):
    project.commit({"a.svg": picture("one"), "b.svg": picture("b")})
    project.commit({"a.svg": picture("two")})
    (project.pictures / "a.svg").write_text("not what is compared")
    assert command.main(["HEAD~1..HEAD"]) == 0
    assert "1 picture differs in 1 change" in capsys.readouterr().out
    page = project.page.read_text()
    assert " data-accept" not in page and "python -m pytest tests/..py::a" in page  # no run made it
    assert "<del>- one</del>\n<ins>+ two</ins>" in page
    assert str(project.root) not in page
    assert re.search(r"https?://(?!www\.w3\.org/2000/svg)", page) is None


def test_a_range_without_pictures(project: Project, capsys: pytest.CaptureFixture[str]):
    project.commit({})
    project.pictures.mkdir()
    assert command.main(["HEAD..HEAD"]) == 0
    assert "no picture differs" in capsys.readouterr().out


def test_a_branch_that_deleted_all_pictures(project: Project, capsys: pytest.CaptureFixture[str]):
    project.commit({"a.svg": picture("one")})
    project.commit({"a.svg": None})
    project.pictures.rmdir()  # as git leaves it
    assert command.main(["HEAD~1...HEAD"]) == 0
    assert "1 picture differs" in capsys.readouterr().out
    assert "gone" in project.page.read_text()


@pytest.mark.parametrize("asked", ["nowhere..HEAD", "--output=x..HEAD", "HEAD..nowhere"])
def test_a_range_that_is_none_is_reported(project: Project, capsys: pytest.CaptureFixture[str], asked: str):
    project.commit({"a.svg": picture("one")})
    with pytest.raises(SystemExit) if asked.startswith("--") else contextlib.nullcontext():
        assert command.main([asked]) == 2
    assert not project.page.exists()
    assert capsys.readouterr().err


def test_the_last_run_against_head(project: Project, capsys: pytest.CaptureFixture[str]):
    project.commit({"a.svg": picture("stored"), "b.svg": picture("b")})
    project.run({"a.svg": picture("made")})
    assert command.main([]) == 0
    assert "1 picture differs" in capsys.readouterr().out
    project.run({})
    assert command.main([]) == 0
    assert "no picture differs" in capsys.readouterr().out


def test_pictures_are_taken_by_name_without_a_run(project: Project, capsys: pytest.CaptureFixture[str]):
    names = ["t[dark][queue-80x24].svg", "t[dark][queue-120x40].svg"]
    project.commit(dict.fromkeys(names, picture("old")))
    project.run(dict.fromkeys(names, picture("new")))
    assert command.main(["accept", "queue-80x24*"]) == 0
    assert capsys.readouterr().out == f"accepted {names[0]}\n"
    assert project.stored(names[0]) == picture("new")
    assert project.stored(names[1]) == picture("old")


def test_all_pictures_but_some_are_taken(project: Project, capsys: pytest.CaptureFixture[str]):
    project.commit(dict.fromkeys(("a.svg", "b.svg", "c.svg"), picture("old")))
    project.run(dict.fromkeys(("a.svg", "b.svg", "c.svg"), picture("new")))
    assert command.main(["accept", "--all-but", "nothing*"]) == 2
    assert command.main(["accept", "--all-but", "b"]) == 0
    assert [project.stored(name) for name in ("a.svg", "b.svg", "c.svg")] == [
        picture("new"),
        picture("old"),
        picture("new"),
    ]
    assert command.main(["accept", "--all-but", "b"]) == 2
    assert "none is left" in capsys.readouterr().err


def test_an_accepted_picture_says_who_reviewed_it(project: Project, capsys: pytest.CaptureFixture[str]):
    """And the cells are those of the run, so that the next run finds no difference."""
    project.commit(dict.fromkeys(("a.svg", "b.svg"), picture("old")))
    project.run(dict.fromkeys(("a.svg", "b.svg"), picture("new")))
    assert command.main(["accept", "a"]) == 0
    assert command.main(["accept", "b", "--reviewed-by", " <text>-->"]) == 0
    accepted = [(project.pictures / name).read_text() for name in ("a.svg", "b.svg")]
    assert [reviewer_of(svg) for svg in accepted] == ["Ann - of <the> harbour", "<text>->"]
    assert {read_drawing(svg) for svg in accepted} == {read_drawing(picture("new"))}
    project.commit({})
    assert command.main(["HEAD~1..HEAD"]) == 0
    assert "reviewed by Ann - of &lt;the&gt; harbour" in project.page.read_text()
    _git(project.root, "config", "user.name", "")
    project.run({"a.svg": picture("newer")})
    capsys.readouterr()
    assert command.main(["accept", "a"]) == 2
    assert "--reviewed-by NAME" in capsys.readouterr().err


def test_a_whole_change_is_taken_by_its_id(project: Project):
    project.commit({"a.svg": picture("old"), "b.svg": picture("old"), "c.svg": picture("c")})
    project.run({"a.svg": picture("new"), "b.svg": picture("new"), "c.svg": picture("d")})
    command.main([])
    ids = list(dict.fromkeys(re.findall(r"change:[0-9a-f]{6}", project.page.read_text())))
    assert command.main(["accept", ids[0]]) == 0
    assert project.stored("b.svg") == picture("new")
    assert project.stored("c.svg") == picture("c")
    assert command.main(["accept", ids[0]]) == 2  # it is accepted
    project.run({"c.svg": picture("e")})
    assert command.main(["accept", ids[1]]) == 2  # the page shows an earlier run
    assert project.stored("c.svg") == picture("c")


def test_the_page_offers_only_what_accept_takes(project: Project):
    project.commit({"a.svg": picture("old"), "b.svg": picture("old"), "c.svg": picture("sail")})
    project.run({"a.svg": picture("new")})
    (project.pictures / "b.svg").write_text(picture("another's"))
    project.run({"a.svg": picture("new"), "c.svg": picture("keel")})
    (project.pictures / "c.svg").write_text(picture("mast"))
    assert command.main([]) == 0
    page = project.page.read_text()
    takes = dict(re.findall(r'id="(\w+)"( data-accept)? data-run="python -m pytest tests::', page))
    assert list(takes.values()).count(" data-accept") == 1
    assert "was changed since the run: run the test again" in page
    assert command.main(["HEAD~0"]) == 0
    assert " data-accept" not in project.page.read_text()


def test_what_the_last_run_did_not_make_is_not_taken(project: Project, capsys: pytest.CaptureFixture[str]):
    project.commit({"a.svg": picture("old"), "b.svg": picture("old")})
    project.run({"a.svg": picture("new")})
    assert command.main(["accept", "a", "b"]) == 2
    assert "b is no picture of the last run" in capsys.readouterr().err
    assert (project.pictures / "a.svg").read_text() == picture("old")


def test_what_changed_since_the_run_is_not_taken(project: Project, capsys: pytest.CaptureFixture[str]):
    project.commit({"a.svg": picture("old")})
    project.run({"a.svg": picture("new")})
    project.commit({"a.svg": picture("another's")})
    assert command.main(["accept", "a"]) == 2
    assert "Run its test again" in capsys.readouterr().err
    assert (project.pictures / "a.svg").read_text() == picture("another's")


def test_two_runs_at_once_do_not_mix(project: Project):
    project.commit({"a.svg": picture("old")})
    first, second = Run(project.runs, "first"), Run(project.runs, "second")
    first.looked()
    second.looked()
    first.keep("a.svg", picture("one"), picture("old"), "", "")
    second.end()
    assert not (project.runs / "second" / "a.svg").exists()
    first.end()
    assert command.main(["accept", "a"]) == 0
    assert project.stored("a.svg") == picture("one")


def test_the_gallery_has_every_picture_with_the_words_of_its_test(project: Project):
    tests = project.root / "tests" / "pictures"
    tests.mkdir(parents=True)
    (tests / "test_boats.py").write_text('def test_sail():\n    """The boat sails."""\n')
    project.commit(
        {f"pictures/test_boats/test_sail[dark][open-{size}].svg": picture("x") for size in ("8x2", "9x3")}
    )
    (project.pictures / "review.json").write_text(json.dumps({"made_up": ["pictures/*"]}))
    assert command.main(["--gallery"]) == 0
    page = project.page.read_text()
    assert page.count("<figure ") == 2
    assert "The boat sails." in page
    assert "made-up scene" in page


LEAST_OF_INKS = 4.0
"""Their contrast to the page; rules and grounds have less."""


def test_colours_have_the_names_that_the_themes_give_them():
    themes: dict[str, dict[str, str]] = {}
    for path in sorted((ROOT / "styles" / "themes").glob("*.json")):
        spec = parse_theme(path.read_bytes(), str(path))
        if not spec.ansi:
            named = theme_token_colors(spec)
            names = {named[token].lower(): token for token in reversed(THEME_TOKENS) if token in named}
            themes[spec.name] = _brought_nearer(names) | names
    path = SNAPSHOTS / "review.json"
    said = {"made_up": ["widgets/*"], "tests": "tests", "themes": themes}
    text = json.dumps(said, indent=1, sort_keys=True) + "\n"
    if OUTSIDE.get("BAYOU_ACCEPT_SCREENS"):
        path.write_text(text)
    assert path.read_text() == text


def _brought_nearer(names: dict[str, str]) -> dict[str, str]:
    """What becomes of inks that can be read on the page on grounds that are brighter than it."""
    by_token = {token: colour for colour, token in names.items()}
    nearer: dict[str, str] = {}
    for ground in ("selectedBg", "surface", "panel"):
        for ink, token in names.items():
            if ground not in by_token or contrast_ratio(ink, by_token["background"]) < LEAST_OF_INKS:
                continue
            if (wanted := make_text_color_readable(ink, by_token[ground])) != ink:
                nearer.setdefault(wanted, f"{token}, nearer")
    return nearer


RED = '''
from textual.app import App, ComposeResult
from textual.widgets import Static


class Words(App[None]):
    def compose(self) -> ComposeResult:
        yield Static("{words}", markup=False)


def test_words(snap_compare):
    """Shows words."""
    assert snap_compare(Words(), terminal_size=(20, 3))
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with bayou's own conftest and one test of a picture."""
    root = tmp_path / "checkout"
    for name in ("conftest.py", "__init__.py", "support", "review"):
        source, target = ROOT / "tests" / name, root / "tests" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", str(source), str(target)], check=True)
    (root / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n")
    return root


def _pytest(root: Path, *words: str, key: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{root}:{ROOT}", "ANTHROPIC_API_KEY": key}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def test_a_red_run_ends_with_what_differs_and_the_way_to_the_page(checkout: Path):
    """And the page has nothing of the environment or the machine."""
    test = checkout / "tests" / "test_words.py"
    test.write_text(RED.format(words="before"))
    made = _pytest(checkout, "tests/test_words.py", "--snapshot-update")
    assert made.returncode == 0, made.stdout
    test.write_text(RED.format(words="after"))
    red = _pytest(checkout, "tests/test_words.py", key="sk-ant-SENTINEL")
    assert red.returncode == 1
    assert "1 picture differs in 1 change\n  change:" in red.stdout
    assert "“before” → “after”  (test_words)\nTo look at them: build/review.html\n" in red.stdout
    page = (checkout / "build" / "review.html").read_text()
    assert "<del>- before</del>\n<ins>+ after</ins>" in page
    assert "SENTINEL" not in page
    assert str(checkout) not in page
    assert [path.name for path in checkout.rglob("*.html")] == ["review.html"]


def test_single_screens_are_photographed_by_the_picture_plugin(checkout: Path):
    (checkout / "tests" / "test_words.py").write_text(RED.format(words="before"))
    without = _pytest(checkout, "tests/test_words.py", "-p", "no:textual-snapshot")
    assert without.returncode == 1 and "snap_compare" in without.stdout


@pytest.mark.parametrize("words", [["--snapshot-update"], ["tests", "--snapshot-update"]])
def test_updating_all_snapshots_at_once_is_refused(checkout: Path, words: list[str]):
    refused = _pytest(checkout, *words)
    assert refused.returncode == 4
    assert "name the test whose pictures you looked at" in refused.stderr
