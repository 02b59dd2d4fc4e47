"""`read` shows a page of any file or folder, and says how to continue."""

import base64
import importlib.util
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.conftest import ToolCaller
from tools.files.file_pages import FilePageRequest, read_file_page
from tools.files.line_index import LineIndexCache
from tools.files.text_encoding import detect_encoding
from tools.thread_work import StopFlag
from tools.tool_result_values import ImageBlock, ImagePart


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\0" * width for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_a_small_file_comes_whole_and_without_notice(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text("one\n\ttwo\n")
    result = await hands("read", path="a.txt")
    assert result.text == "one\n\ttwo"
    assert result.details == {"firstLine": 1, "lastLine": 2, "totalLines": 2}


async def test_a_long_file_comes_in_pages(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text(numbered(2500))
    result = await hands("read", path="a.txt")
    assert result.text.endswith("line 2000\n\n[Showing lines 1-2000 of 2500. Use offset=2001 to continue.]")
    assert result.details is not None
    assert result.details["truncation"]["truncatedBy"] == "lines"
    assert result.details["map"] == {"path": str(project / "a.txt"), "firstLine": 1, "lastLine": 2000}
    rest = await hands("read", path="a.txt", offset=2001)
    page = numbered(2500).split("line 2000\n")[1].rstrip("\n")
    assert rest.text == f"{page}\n\n[Showing lines 2001-2500 of 2500.]"
    assert rest.details is not None and "map" not in rest.details


async def test_a_page_ends_at_50_kb(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text(f"{'x' * 999}\n" * 100)
    text = await hands.text("read", path="a.txt")
    assert text.endswith("[Showing lines 1-51 of 100 (50.0KB limit). Use offset=52 to continue.]")


@pytest.mark.parametrize(
    ("arguments", "first", "last"),
    [
        ({"offset": 1, "limit": 1}, 1, 1),
        ({"offset": 10, "limit": 3}, 10, 12),
        ({"limit": 2}, 1, 2),
        ({"offset": 98}, 98, 100),
        ({"offset": 100, "limit": 9}, 100, 100),
        ({"path": "a.txt:50-51"}, 50, 51),
        ({"path": "a.txt:50"}, 50, 100),
        ({"tail": 3}, 98, 100),
        ({"tail": 300}, 1, 100),
    ],
)
async def test_a_range_is_exactly_these_lines_and_says_which(
    arguments: dict[str, Any], first: int, last: int, hands: ToolCaller, project: Path
) -> None:
    (project / "a.txt").write_text(numbered(100))
    result = await hands("read", {"path": "a.txt", **arguments})
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    more = f" Use offset={last + 1} to continue." if last < 100 else ""
    assert result.text == "\n".join(f"line {n}" for n in range(first, last + 1)) + (
        f"\n\n[Showing {lines} of 100.{more}]"
    )
    assert result.details == {"firstLine": first, "lastLine": last, "totalLines": 100}


async def test_the_end_of_a_file_in_a_wide_encoding(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text(numbered(9), encoding="utf-16")
    text = await hands.text("read", path="a.txt", tail=2)
    assert text.startswith("line 8\nline 9\n\n[Showing lines 8-9 of 9.")


async def test_past_the_end_is_a_message_with_the_total(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text(numbered(3))
    result = await hands("read", path="a.txt", offset=10)
    assert result.text.startswith("Line 10 is beyond end of file (3 lines total).") and not result.is_error
    (project / "empty").touch()
    assert await hands.text("read", path="empty") == "empty is empty."


async def test_a_line_over_the_limit_is_clipped_with_its_size(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_text("x" * 200_000 + "\nnext\n")
    text = await hands.text("read", path="a.txt")
    assert text.startswith(
        "x" * 51200 + "\n\n[Line 1 of 2 is 195.3KB, exceeds 50.0KB limit; its beginning is shown."
    )
    assert text.endswith(
        "Use offset=2 to continue with the next line. The rest of it comes with bash: "
        f"`sed -n '1p' {project}/a.txt | tail -c +51201 | head -c 51200`.]"
    )
    assert (await hands.text("read", path="a.txt", offset=2)).startswith("next\n")


async def test_the_command_for_the_rest_of_a_line_works_for_any_file_name(
    hands: ToolCaller, project: Path
) -> None:
    (project / "it's a log.txt").write_text("x" * 51200 + "the rest\n")
    text = await hands.text("read", path="it's a log.txt")
    command = text.split("`")[1]
    assert (await hands.text("bash", command=command)) == "the rest"


async def test_a_broken_link_is_reported(hands: ToolCaller, project: Path) -> None:
    (project / "link").symlink_to("gone/target.txt")
    for tool, more in (("read", {}), ("edit", {"edits": [{"oldText": "a", "newText": "b"}]}), ("ls", {})):
        error = await hands.error(tool, path="link", **more)
        assert "is a broken symbolic link" in error and f"{project}/gone/target.txt does not exist" in error


@pytest.mark.parametrize(
    ("data", "shown", "label"),
    [
        ("é漢\n".encode("utf-8-sig"), "é漢", "utf-8 with byte order mark"),
        ("é漢\nzwei\n".encode("utf-16"), "é漢\nzwei", "utf-16-le with byte order mark"),
        ("plain text\n".encode("utf-16-be"), "plain text", "utf-16-be"),
        ("これは日本語のテストです。\n".encode("shift_jis"), "これは日本語のテストです。", "shift_jis"),
        ("これは日本語のテストです。\n".encode("euc_jp"), "これは日本語のテストです。", "euc_jp"),
        ("한국어 텍스트입니다 좋은 아침\n".encode("euc_kr"), "한국어 텍스트입니다 좋은 아침", "euc_kr"),
        ("Съешь ещё этих мягких булок\n".encode("cp1251"), "Съешь ещё этих мягких булок", "cp1251"),
        ("Съешь ещё этих мягких булок\n".encode("koi8_r"), "Съешь ещё этих мягких булок", "koi8_r"),
        ("Ein Käse für „Björn“\n".encode("cp1252"), "Ein Käse für „Björn“", "cp1252"),
        (
            "Übergröße, Fußgänger, naïve señor\n".encode("cp1252"),
            "Übergröße, Fußgänger, naïve señor",
            "cp1252",
        ),
        ("déjà vu où ça\n".encode("cp1252"), "déjà vu où ça", "cp1252"),
        ("取得数据，返回值\n".encode("gb18030"), "取得数据，返回值", "gb18030"),
        ("中華民國的資料庫\n".encode("big5"), "中華民國的資料庫", "big5"),
    ],
)
async def test_encodings_are_found_and_told(
    hands: ToolCaller, project: Path, data: bytes, shown: str, label: str
) -> None:
    (project / "a.txt").write_bytes(data)
    assert await hands.text("read", path="a.txt") == f"{shown}\n\n[Encoding: {label}.]"


async def test_odd_bytes_in_utf8_are_shown_and_told(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_bytes("größe und maß, äöü".encode() + b" \xff end\n")
    text = await hands.text("read", path="a.txt")
    assert "\ufffd end" in text and "not valid UTF-8" in text


async def test_crlf_is_not_shown(hands: ToolCaller, project: Path) -> None:
    (project / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    assert await hands.text("read", path="a.txt") == "one\ntwo"


async def test_images_are_known_by_their_bytes(hands: ToolCaller, project: Path) -> None:
    data = png(40, 30)
    (project / "picture.txt").write_bytes(data)
    result = await hands("read", path="picture.txt")
    image = result.content[1]
    assert isinstance(image, ImagePart) and base64.b64decode(image.data) == data
    assert result.text == "Read image file [image/png]"
    assert result.details == {
        "image": {"mimeType": "image/png", "width": 40, "height": 30, "bytes": len(data)}
    }
    blind = await hands("read", path="picture.txt", within=hands.context(model_reads_images=False))
    assert blind.content == result.content
    assert blind.details is not None and blind.details["imageUnsupportedByModel"] is True


async def test_an_image_no_model_takes_is_refused_with_a_way_out(hands: ToolCaller, project: Path) -> None:
    (project / "big.png").write_bytes(png(9000, 10) + b"\0" * 5_000_000)
    words = await hands.error("read", path="big.png") if not has_pillow() else "scale it down with bash"
    assert "scale it down with bash" in words


def has_pillow() -> bool:
    return importlib.util.find_spec("PIL") is not None


async def test_notebooks_come_as_cells(hands: ToolCaller, project: Path) -> None:
    cells = [
        {"cell_type": "markdown", "id": "m1", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "...", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "bad"},
            ],
        },
    ]
    (project / "n.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    assert await hands.text("read", path="n.ipynb") == (
        "--- cell 1 [markdown] id=m1 ---\n# Title\ntext\n\n--- cell 2 [code] ---\nprint(1)\n--- output ---\n1\n"
        "--- output ---\n<Figure>\n(image/png not shown)\n--- output ---\nValueError: bad"
    )
    (project / "broken.ipynb").write_text('{"cells": 3')
    assert await hands.text("read", path="broken.ipynb") == '{"cells": 3'


async def test_a_directory_is_answered_with_its_entries_and_a_hint(hands: ToolCaller, project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub/x").touch()
    assert await hands.text("read", path="sub") == (
        "sub is a directory. Its entries:\nx\n\n[Read one of them by its path, or search with find or grep.]"
    )


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x7fELF\2\1\1\0", "ELF"),
        (b"%PDF-1.7\n\0\xff", "PDF"),
        (b"PK\x03\x04\0\0", "zip"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\x01\x02\x03\x04\x05\x00", "binary data"),
    ],
)
async def test_binaries_are_refused_with_kind_and_size(
    hands: ToolCaller, project: Path, head: bytes, kind: str
) -> None:
    (project / "x").write_bytes(head + bytes(3000 - len(head)))
    words = await hands.error("read", path="x")
    assert kind in words and "2.9KB" in words


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("a b.txt", "'a b.txt'"),
        ("a b.txt", '"a b.txt"'),
        ("a b.txt", "a\\ b.txt"),
        ("plain.txt", "@plain.txt"),
        ("plain.txt", " plain.txt\n"),
        ("caf\u00e9.txt", "cafe\u0301.txt"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("Screenshot at 9.41.00\u202fAM.txt", "Screenshot at 9.41.00 AM.txt"),
        ("it\u2019s.txt", "it's.txt"),
        ("@literal.txt", "@literal.txt"),
        ("'quoted'", "'quoted'"),
        ("line\nfeed.txt", "line␊feed.txt"),
    ],
)
async def test_paths_are_tolerated(hands: ToolCaller, project: Path, name: str, asked: str) -> None:
    (project / name).write_text("found")
    assert await hands.text("read", path=asked) == "found"


async def test_home_and_file_urls_are_understood(
    hands: ToolCaller, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x y").write_text("found")
    assert await hands.text("read", path="~/x y") == "found"
    assert await hands.text("read", path=f"file://{tmp_path}/x%20y") == "found"


async def test_near_misses_are_named(hands: ToolCaller, project: Path) -> None:
    (project / "src").mkdir()
    (project / "src/reader.py").touch()
    assert f"Did you mean {project}/src/reader.py?" in await hands.error("read", path="src/raeder.py")
    assert f"Did you mean {project}/src/reader.py?" in await hands.error("read", path="src/READER.PY")
    words = await hands.error("read", path="scr/reader.py")
    assert f"The folder {project}/scr does not exist. Did you mean {project}/src?" in words


content_lines = st.lists(
    st.one_of(
        st.text(st.sampled_from("ab é漢😀\t"), max_size=12),
        st.integers(40, 60).map(lambda n: "w" * n),
    ),
    max_size=30,
)


@settings(max_examples=200)
@given(content_lines, st.booleans(), st.sampled_from(["utf-8", "utf-16", "utf-16-be-bom"]), st.integers(1, 9))
def test_pages_put_together_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ends: bool, encoding: str, limit: int
) -> None:
    text = "\n".join(lines) + ("\n" if ends and lines else "")
    data = b"\xfe\xff" + text.encode("utf-16-be") if encoding == "utf-16-be-bom" else text.encode(encoding)
    path = tmp_path_factory.mktemp("pages") / "f"
    path.write_bytes(data)
    if not text or detect_encoding(data) is None:
        return
    indexes = LineIndexCache()
    shown: list[str] = []
    offset = 1
    version = (0, 0, len(data), 0)
    while True:
        with path.open("rb", buffering=0) as file:
            request = FilePageRequest(offset=offset, limit=limit)
            page = read_file_page(file, "f", version, request, indexes, StopFlag())
        assert len(page.lines) <= limit
        assert page.total_lines == text.count("\n") + (0 if text.endswith("\n") else 1)
        shown += page.lines
        offset = page.last_line + 1
        if offset > page.total_lines:
            break
    assert "\n".join(shown) + ("\n" if text.endswith("\n") else "") == text


async def test_following_the_notices_reads_the_whole_file(hands: ToolCaller, project: Path) -> None:
    lines = [f"{number} {'é漢😀x' * (number * 7 % 300)}" for number in range(1, 700)]
    (project / "a.txt").write_text("\n".join(lines) + "\n")
    shown: list[str] = []
    offset: int | None = None
    while True:
        result = await hands("read", {"path": "a.txt", "offset": offset})
        assert result.details is not None
        body = result.text.rsplit("\n\n[", 1)[0]
        assert len(body.encode()) <= 51200
        shown += body.split("\n")
        offset = result.details["lastLine"] + 1
        if offset > result.details["totalLines"]:
            break
        assert f"Use offset={offset} to continue" in result.text
    assert shown == lines


async def test_reading_from_a_huge_file_takes_little_memory(hands: ToolCaller, project: Path) -> None:
    import tracemalloc

    with (project / "huge").open("wb") as file:
        for _ in range(64):
            file.write(b"0123456789abcde\n" * 65536)
    tracemalloc.start()
    text = await hands.text("read", path="huge", offset=2_000_000, limit=20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert text.startswith("0123456789abcde\n") and "of 4194304" in text
    assert peak < 4 << 20


async def test_cards_can_be_drawn_again_from_what_is_stored(hands: ToolCaller, project: Path) -> None:
    from tools.builtin.read import make_read_tool

    (project / "p.png").write_bytes(png(4, 4))
    result = await hands("read", path="p.png")
    card = make_read_tool().card({"path": "p.png"}, result)
    assert card.summary == "4×4" and isinstance(card.blocks[0], ImageBlock)
