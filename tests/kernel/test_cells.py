"""What cells show and keep: values, output in its order, errors, pictures, what is too long."""

import base64
import struct
import zlib

import pytest

from tests.kernel.conftest import Say
from tests.tools.conftest import ToolCaller
from tools.builtin.evaluate import make_eval_tool
from tools.tool_result_values import ImageBlock, ImagePart, MarkdownBlock, TextBlock, TreeBlock

PNG = (
    b"\x89PNG\r\n\x1a\n"
    + b"\x00\x00\x00\rIHDR"
    + struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    + struct.pack(">I", zlib.crc32(b"IHDR" + struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)))
    + (
        lambda data: (
            struct.pack(">I", len(data)) + b"IDAT" + data + struct.pack(">I", zlib.crc32(b"IDAT" + data))
        )
    )(zlib.compress(b"\x00\x80"))
    + b"\x00\x00\x00\x00IEND\xaeB`\x82"
)
PICTURE = f"""
import base64
class Picture:
    def _repr_png_(self):
        return base64.b64decode({base64.b64encode(PNG).decode()!r})
"""


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("1 + 1", "Out: 2"),
        ("x = 3", "(no output)"),
        ("x = 3\nx;", "(no output)"),
        ("None", "(no output)"),
        ("print('a')\n'b'", "a\nOut: 'b'"),
        ("'ä' + '\\ud800'", "Out: 'ä\\ud800'"),
        ("def f():\n    return 4\nf()", "Out: 4"),
        ("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('out')", "out\nerr\nout"),
        ("import os\nprint('a', end='')\nos.system('echo b')\nprint('c')", "ab\nc"),
        ("import subprocess\nprint('a')\nsubprocess.run(['echo', 'b'])\nprint('c');", "a\nb\nc"),
        ("import os\nprint(1)\nos.write(1, b'2\\n')\nprint(3)", "1\n2\n3"),
        ("import sys\nsys.stdout.buffer.write(b'\\xff\\n');", "\ufffd"),
        ("print('10%\\r20%')", "20%"),
        ("import asyncio\nawait asyncio.sleep(0)\n5", "Out: 5"),
        ("import asyncio\nasync def f(): return 6\nasyncio.run(f())", "Out: 6"),
        ("import asyncio\nasync with asyncio.Lock():\n    print(7)", "7"),
        ("{1: [2, {3}], 'a': (4,)}", "Out: {1: [2, {3}], 'a': (4,)}"),
        ("l = []\nl.append(l)\nl", "Out: [...]"),
        ("__name__", "Out: '__main__'"),
    ],
)
async def test_a_cell_shows(say: Say, code: str, shown: str) -> None:
    assert await say(code) == shown


async def test_names_modules_and_functions_stay(say: Say) -> None:
    await say("import math\nkept = [1]\ndef twice(n):\n    return 2 * n")
    assert await say("kept.append(twice(math.floor(2.5)))\nkept") == "Out: [1, 4]"
    assert await say("_") == "Out: [1, 4]"


async def test_one_loop_lives_between_the_cells(say: Say) -> None:
    await say("import asyncio\nqueue = asyncio.Queue()\nwaiting = asyncio.create_task(queue.get())")
    await say("await queue.put(8)")
    assert await say("await waiting") == "Out: 8"


async def test_tasks_that_nothing_holds_end_with_their_cell_and_it_is_reported(say: Say) -> None:
    told = await say("import asyncio\nasyncio.create_task(asyncio.sleep(99))\nawait asyncio.sleep(0)")
    assert "A task still ran at the end of the cell, held by no name" in told


async def test_an_error_is_told_from_the_cell_on(say: Say) -> None:
    told = await say("def f(n):\n    return 1 / n\n\nf(0)")
    assert [line for line in told.splitlines() if set(line) - set(" ~^")] == [
        "Traceback (most recent call last):",
        '  File "<cell 1>", line 4, in <module>',
        "    f(0)",
        '  File "<cell 1>", line 2, in f',
        "    return 1 / n",
        "ZeroDivisionError: division by zero",
    ]
    told = await say(
        "import asyncio\nasync def g():\n    raise ValueError('x') from KeyError('y')\nawait g()"
    )
    assert "_bayou" not in told and "asyncio" not in told.replace("import asyncio", "")
    assert "KeyError: 'y'" in told and told.endswith("ValueError: x")
    assert (await say("x = (")).splitlines()[-1].startswith("SyntaxError")


async def test_what_cannot_end_a_kernel_does_not(say: Say) -> None:
    await say("kept = 1")
    assert "SystemExit: 3" in await say("import sys\nsys.exit(3)")
    assert "RecursionError" in await say("def f(): f()\nf()")
    assert "interactive input is not supported" in await say("input('name? ')")
    assert "BaseException" in await say("raise BaseException('x')")
    assert "null byte" in await say("x = 1\0")
    assert "Bad: <exception str() failed>" in await say(
        "class Bad(Exception):\n    def __str__(self): raise SystemExit\nraise Bad"
    )
    await say("import sys\nsys.stdout.close()\nsys.stdout = None")
    await say("import os\nos.close(1); os.close(2)")
    await say("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN);")
    assert await say("exit()") != "" and await say("kept") == "Out: 1"


async def test_what_is_not_text_stands_in_its_place(hands: ToolCaller) -> None:
    code = PICTURE + (
        "class Note:\n    def _repr_markdown_(self): return '**bold**'\n"
        "class Tree:\n    def _repr_json_(self): return {'a': [1, None]}\n"
        "print('one'); display(Picture()); print('two'); display(Note()); print('three'); display(Tree()); Picture()"
    )
    result = await hands("eval", code=code)
    kinds = [type(part).__name__ if isinstance(part, ImagePart) else part.text for part in result.content]
    assert kinds == ["one", "ImagePart", "two", "**bold**", "three", '{"a": [1, null]}', "ImagePart"]
    picture = result.content[1]
    assert isinstance(picture, ImagePart) and base64.b64decode(picture.data) == PNG
    card = make_eval_tool().card({"code": code, "title": "Pictures"}, result)
    assert card.subject == "Pictures"
    blocks = card.blocks[1:]
    assert [type(block) for block in blocks] == [
        *(TextBlock, ImageBlock, TextBlock, MarkdownBlock, TextBlock, TreeBlock, ImageBlock),
    ]


async def test_html_is_text_where_there_is_nothing_else(say: Say) -> None:
    page = "<style>p {}</style><h1>Sum</h1><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    await say(f"class Page:\n    def _repr_html_(self): return {page!r}")
    assert await say("Page()") == "Sum\na | b\n1 | 2"
    await say("class Told(Page):\n    def __repr__(self): return 'told'")
    assert await say("Told()") == "Out: told"


async def test_four_pictures_at_most(hands: ToolCaller) -> None:
    result = await hands("eval", code=PICTURE + "for _ in range(6): display(Picture())")
    assert sum(isinstance(part, ImagePart) for part in result.content) == 4
    assert "2 more pictures not shown" in result.text


async def test_long_values_are_cut_where_they_are(say: Say) -> None:
    shown = await say("list(range(3_000_000))")
    assert shown.startswith("Out: [0, 1, 2,") and shown.endswith("… (list of 3,000,000)")
    assert len(shown) < 8_100
    assert len(await say("'x' * 10_000_000")) < 8_100
    assert "bits>" in await say("10 ** 100_000")


async def test_long_output_ends_in_an_artifact_that_cells_can_read(hands: ToolCaller) -> None:
    result = await hands("eval", code="for n in range(20_000): print('line', n)\n'end'")
    assert result.text.splitlines()[-2:] == ["Out: 'end'", result.text.splitlines()[-1]]
    assert result.details is not None and result.details["truncation"]["truncatedBy"] == "lines"
    number = result.details["artifact"].removeprefix("artifact://")
    counted = await hands("eval", code=f"text = artifact({number})\nlen(text.splitlines()), text[:7]")
    assert counted.text == "Out: (20001, 'line 0\\n')"
    assert "There is no artifact 99" in (await hands("eval", code="artifact(99)")).text


async def test_several_cells_in_the_form_that_others_use(hands: ToolCaller) -> None:
    code = '===== py:"first" t:15s =====\na = 1\n===== py:"second" =====\nprint(a)\n1 / 0\n===== py =====\nprint(9)'
    result = await hands("eval", code=code)
    assert result.is_error
    lines = result.text.splitlines()
    assert lines[:3] == ["[1/3] first", "[2/3] second", "1"]
    assert lines[-1] == (
        "Cell 2 failed (exit code 1). Earlier cells succeeded—their state persists. Fix only cell 2."
    )
    assert (await hands("eval", code="a")).text == "Out: 1"
    assert "only Python runs here" in await hands.error("eval", code="===== js =====\nconsole.log(1)")


async def test_a_cell_has_a_folder_and_a_new_namespace_when_it_wants(hands: ToolCaller) -> None:
    (hands.cwd / "sub").mkdir()
    (hands.cwd / "mine.py").write_text("WORD = 'found'\n")
    assert (await hands("eval", code="import mine\nmine.WORD")).text == "Out: 'found'"
    assert (
        await hands("eval", code="import os\nos.path.basename(os.getcwd())", cwd="sub")
    ).text == "Out: 'sub'"
    assert (await hands("eval", code="os.path.basename(os.getcwd())")).text == "Out: 'project'"
    assert "NameError" in (await hands("eval", code="os", reset=True)).text
    assert "does not exist" in await hands.error("eval", code="1", cwd="nowhere")


async def test_files_of_the_project_do_not_stand_in_for_the_kernels_own(hands: ToolCaller) -> None:
    for name in ("json", "ast", "traceback", "linecache", "signal", "io", "_bayou_link"):
        (hands.cwd / f"{name}.py").write_text("raise RuntimeError('mine')\n")
    assert (await hands("eval", code="1 / 1")).text == "Out: 1.0"
    assert "ZeroDivisionError" in (await hands("eval", code="1 / 0")).text
