"""What no mapper likes: every one of these ends in a map that says what it is, or in an `OSError` that says why not."""

import asyncio
import json
import os
import random
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.cli.commands.map_command import file_map_json
from tools.filemap import file_mapper as mapping
from tools.filemap.file_mapper import make_file_map, make_file_map_async, make_file_map_of_text
from tools.filemap.languages.language_registry import described_language_names
from tools.filemap.map_deadline import FileMapCancelled
from tools.filemap.rendering.file_map_rendering import MAP_DETAIL_LEVELS, MAX_FILE_MAP_BYTES, render_file_map
from tools.filemap.scanners.scanner_registry import OUTLINE_SCANNER_BY_LANGUAGE
from tools.filemap.source_text import CannotMakeFileMap

CODE_SUFFIXES = (
    "py js jsx ts tsx go rs c h cpp cu m java kt scala cs swift rb php lua pl r jl hs ml mli ex erl clj elm"
)
MORE_SUFFIXES = (
    "zig dart sh ps1 sql html css scss vue svelte json jsonl yaml toml xml csv tsv md rst tex dockerfile mk"
)
LAST_SUFFIXES = "cmake tf proto graphql sol v sv vhd f90 s ini patch log ipynb txt unknown"
SUFFIXES = (CODE_SUFFIXES + " " + MORE_SUFFIXES + " " + LAST_SUFFIXES).split()

CODE = "def first():\n    return 1\n\n\nclass Second:\n    pass\n"


def names(path: Path) -> list[str]:
    return [symbol.name for symbol in make_file_map(path).symbols]


def test_an_empty_file_has_an_empty_map(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"empty.{suffix}"
        path.touch()
        made = make_file_map(path)
        assert made.symbols == () and made.total_lines == 0
        assert "(no symbols found)" in render_file_map(made).text


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + CODE.encode(),
        CODE.replace("\n", "\r\n").encode(),
        b"\xff\xfe" + CODE.encode("utf-16-le"),
        b"\xfe\xff" + CODE.encode("utf-16-be"),
        CODE.encode("utf-16-le"),
        CODE.encode() + b"# \xff\xfe\xfa\n",
    ],
    ids=["bom", "crlf", "utf-16-le", "utf-16-be", "utf-16 without a mark", "invalid utf-8"],
)
def test_encodings_are_seen_through(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "code.py"
    path.write_bytes(content)
    made = make_file_map(path)
    assert [(symbol.name, symbol.start_line, symbol.end_line) for symbol in made.symbols] == [
        ("first", 1, 2),
        ("Second", 5, 6),
    ]
    assert made.total_bytes == len(content)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("関数のなまえ", "shift_jis"),
        ("関数のなまえ", "euc_jp"),
        ("größe_für_Ärger", "cp1252"),
        ("имя_функции", "cp1251"),
    ],
)
def test_names_are_as_read_shows_them_in_any_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / "code.py"
    path.write_bytes(f"def {name}():\n    return 1\n".encode(encoding))
    made = make_file_map(path)
    assert [symbol.name for symbol in made.symbols] == [name]
    assert made.notes == (f"encoded as {encoding}",)


def test_binary_with_a_text_name_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "image.py"
    path.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 40)
    with pytest.raises(CannotMakeFileMap, match="binary"):
        make_file_map(path)


def test_what_is_no_readable_file_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(CannotMakeFileMap, match="No such file"):
        make_file_map(tmp_path / "missing.py")
    with pytest.raises(CannotMakeFileMap, match="directory"):
        make_file_map(tmp_path)
    with pytest.raises(CannotMakeFileMap, match="path"):
        make_file_map(Path("null\0byte.py"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names exist on POSIX only")
def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    with pytest.raises(CannotMakeFileMap, match="regular file"):
        make_file_map(pipe)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_no_permission_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "secret.py"
    path.write_text(CODE)
    path.chmod(0)
    with pytest.raises(CannotMakeFileMap, match="ermission"):
        make_file_map(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_wrong_ending_gives_a_map_all_the_same(tmp_path: Path, suffix: str) -> None:
    for number, content in enumerate(
        (CODE, '{"a": [1, 2], "b": {"c": 1}}\n', "# Title\n\ntext\n" * 50, "<a><b/></a>")
    ):
        path = tmp_path / f"{number}.{suffix}"
        path.write_text(content)
        made = make_file_map(path)
        for symbol in made.symbols:
            assert 1 <= symbol.start_line <= symbol.end_line <= made.total_lines


LONG_LINE = b"[" + b'{"key": "value", "n": [1, 2, 3]}, ' * 290_000 + b"0]"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_line_of_ten_megabytes_ends_in_time(suffix: str) -> None:
    """A map arrives by the deadline even if the grammar is too slow, and says how it was made."""
    made = make_file_map_of_text(LONG_LINE, f"line.{suffix}", deadline_seconds=0.01)
    assert made.total_lines == 1
    assert made.parser in ("tree-sitter", "line scanner", "universal-ctags", "heuristic", "none")
    assert len(render_file_map(made).text.encode()) <= MAX_FILE_MAP_BYTES


def test_a_file_of_one_such_line_is_mapped_as_well(tmp_path: Path) -> None:
    path = tmp_path / "line.py"
    path.write_bytes(LONG_LINE)
    made = make_file_map(path, deadline_seconds=0.01)
    assert (made.total_lines, made.total_bytes, made.parser) == (1, len(LONG_LINE), "heuristic")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_deep_nesting_neither_recurses_nor_explodes(tmp_path: Path, suffix: str) -> None:
    for number, (opening, closing) in enumerate((("(", ")"), ("[", "]"), ("{", "}"), ("<a>", "</a>"))):
        path = tmp_path / f"deep{number}.{suffix}"
        path.write_text(opening * 20_000 + closing * 20_000)
        made = make_file_map(path, deadline_seconds=0.01)
        assert not any("failed" in note for note in made.notes)
        assert made.total_bytes == path.stat().st_size
        render_file_map(made)


@pytest.mark.parametrize("name", [*described_language_names(), *OUTLINE_SCANNER_BY_LANGUAGE])
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(content=st.binary(max_size=400))
def test_no_bytes_break_a_parser(name: str, content: bytes) -> None:
    suffix = next((word for word in SUFFIXES if word.startswith(name[:2])), "txt")
    made = make_file_map_of_text(content, f"any.{suffix}", deadline_seconds=1)
    assert not any("failed" in note for note in made.notes)
    for index, symbol in enumerate(made.symbols):
        assert symbol.name and 1 <= symbol.start_line <= symbol.end_line
        assert symbol.parent is None or (0 <= symbol.parent < len(made.symbols) and symbol.parent != index)
    for level in MAP_DETAIL_LEVELS:
        assert render_file_map(made, level=level).text.encode()
    assert "\n" not in json.dumps(file_map_json(made))


@pytest.mark.parametrize(
    "sample",
    sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.is_file()),
    ids=lambda path: path.name,
)
def test_a_damaged_file_still_gives_symbols_that_lie_in_it(tmp_path: Path, sample: Path) -> None:
    """Cut anywhere and with bytes changed: lines stay within the file and parents make no circle."""
    whole = sample.read_bytes()
    chance = random.Random(len(whole))
    for round_ in range(6):
        content = bytearray(whole[: chance.randrange(1, len(whole))])
        for _ in range(round_):
            content[chance.randrange(len(content))] = chance.choice(b"{}()[]<>\"'`\n\\#/*;:= \tx0")
        path = tmp_path / f"{round_}-{sample.name}"
        path.write_bytes(content)
        made = make_file_map(path)
        assert not any("failed" in note for note in made.notes)
        for index, symbol in enumerate(made.symbols):
            assert 1 <= symbol.start_line <= symbol.end_line <= made.total_lines
            above, steps = symbol.parent, 0
            while above is not None:
                assert above != index and steps < len(made.symbols)
                above, steps = made.symbols[above].parent, steps + 1


def test_symbols_around_a_syntax_error_stay(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def before():\n    pass\n\ndef broken(:\n    ]]\n\ndef after():\n    pass\n")
    assert {"before", "after"} <= set(names(path))


def test_a_file_that_changes_while_it_is_mapped_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "moving.py"
    path.write_text(CODE)
    from tools.filemap import file_mapper as mapping

    real = mapping.detect_language

    def late(name: Path, source: bytes) -> str | None:
        path.write_text(CODE + "x = 1\n")
        return real(name, source)

    monkeypatch.setattr(mapping, "detect_language", late)
    assert "changed while mapping" in make_file_map(path).notes


def test_a_cancelled_map_stops(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(CODE)
    stop = threading.Event()
    stop.set()
    with pytest.raises(FileMapCancelled):
        make_file_map(path, cancel=stop)
    with pytest.raises(FileMapCancelled):
        make_file_map(path, cancel=lambda: True)


async def test_cancelling_the_waiting_task_stops_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "code.py"
    path.write_text(CODE)
    begun, loop = asyncio.Event(), asyncio.get_running_loop()
    ended: list[BaseException] = []
    was_stopped = threading.Event()

    def slow(path: Path, text: object, deadline: float, cancel: threading.Event, began: float) -> None:
        loop.call_soon_threadsafe(begun.set)
        if cancel.wait(60):
            was_stopped.set()
        ended.append(FileMapCancelled("stopped"))
        raise ended[0]

    monkeypatch.setattr(mapping, "_map_source_text", slow)
    task = asyncio.create_task(make_file_map_async(path))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(was_stopped.wait, 60)


UNENDED = ("/*", "<!--", "<script>", "'", '"', "```\n", "$a$", "{#", "(", "<a b='", "\\begin{")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_beginnings_that_never_end_take_no_longer_than_allowed(tmp_path: Path, suffix: str) -> None:
    for number, opening in enumerate(UNENDED):
        path = tmp_path / f"open{number}.{suffix}"
        path.write_text(opening * 20_000)
        made = make_file_map(path, deadline_seconds=0.01)
        assert made.total_bytes == len(opening) * 20_000


def test_a_parser_that_was_stopped_is_not_used_again(tmp_path: Path) -> None:
    large, small = tmp_path / "large.py", tmp_path / "small.py"
    large.write_text(CODE * 40_000)
    small.write_text(CODE)
    stopped = make_file_map(large, deadline_seconds=0)
    assert stopped.parser == "heuristic" and any("time limit" in note for note in stopped.notes)
    assert names(small) == ["first", "Second"]


def test_a_description_that_fails_costs_its_outline_and_not_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: object) -> None:
        raise IndexError("child index out of range")

    monkeypatch.setattr(mapping, "outline_with_embedded_code", stumble)
    path = tmp_path / "code.py"
    path.write_text(CODE)
    made = make_file_map(path)
    assert made.parser == "heuristic" and [symbol.name for symbol in made.symbols] == ["first", "Second"]


@pytest.mark.parametrize("suffix", ["js", "ts", "css"])
def test_lines_that_a_program_packed_are_not_outlined(suffix: str, tmp_path: Path) -> None:
    rule = ".a{color:red}" if suffix == "css" else "function a(){return 1}"
    kept = ".kept {}" if suffix == "css" else "function kept() {}"
    path = tmp_path / f"packed.{suffix}"
    path.write_text(f"{rule * 2000}\n{kept}\n")
    made = make_file_map(path)
    assert [(symbol.name.strip("."), symbol.start_line) for symbol in made.symbols] == [("kept", 2)]
    assert made.notes == ("lines of over 10,000 bytes are not outlined; search in them with grep",)
    path.write_text(f"{rule * 2000}")
    assert make_file_map(path).symbols == () and "10,000" in make_file_map(path).notes[0]
