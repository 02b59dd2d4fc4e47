"""How often a stale anchor leads to the right place, and that it hardly ever leads to a wrong one."""

import random

import pytest

from tools.edits.dialects.anchored_edits import AnchoredEdit, locate_anchored_edits
from tools.edits.dialects.line_anchors import compute_anchor_tag
from tools.edits.editable_text import DecodedFileText, replace_text_spans
from tools.files.shown_file_versions import ShownFileVersionText
from tools.files.text_encoding import UTF8_ENCODING
from tools.tool_definition import ToolError

EDITS = 700


def source(luck: random.Random) -> list[str]:
    """Returns code-like lines, a third of them repeated."""
    out: list[str] = []
    while len(out) < 250:
        name = f"{luck.choice(['load', 'save', 'find', 'make', 'send'])}_{luck.randrange(400)}"
        out.append(f"def {name}(self, value):")
        for _ in range(luck.randrange(2, 9)):
            out.append(
                luck.choice(
                    [
                        "    if value is None:",
                        "        return None",
                        f"    total_{luck.randrange(60)} = value.{name}({luck.randrange(9)})",
                        "    try:",
                        "    except ValueError:",
                        "        pass",
                        f"    self.{name} = value",
                        "    }",
                    ]
                )
            )
        out += ["    return value", ""]
    return out


class Line:
    """A line that can be told from another one with the same text."""

    def __init__(self, text: str) -> None:
        self.text = text


def changed(lines: list[Line], count: int, luck: random.Random) -> list[Line]:
    out = list(lines)
    for _ in range(count):
        at = luck.randrange(len(out))
        match luck.randrange(4):
            case 0:
                out.insert(at, Line(f"    added_{luck.randrange(10_000)} = 1"))
            case 1:
                out.insert(at, Line(luck.choice(out).text))
            case 2:
                del out[at]
            case _:
                out[at] = Line(out[at].text + "  # changed")
    return out


def meant(was: list[Line], now: list[Line], first: int, last: int) -> int | None:
    """Returns the present position of these lines; None: some are gone or separated."""
    wanted = was[first : last + 1]
    at = next((index for index, line in enumerate(now) if line is wanted[0]), None)
    if at is None or len(now) < at + len(wanted):
        return None
    return at if all(now[at + offset] is line for offset, line in enumerate(wanted)) else None


@pytest.mark.parametrize(("changes", "least"), [(1, 0.95), (3, 0.90), (10, 0.78)])
def test_a_stale_anchor_finds_its_lines_or_is_refused(changes: int, least: float) -> None:
    luck = random.Random(changes)
    right = wrong = 0
    for _ in range(EDITS):
        was = [Line(text) for text in source(luck)]
        now = changed(was, changes, luck)
        first = luck.randrange(len(was))
        last = min(len(was) - 1, first + luck.choice([0, 0, 2, 7]))
        place = meant(was, now, first, last)
        texts = [line.text for line in was]
        text = "".join(f"{line.text}\n" for line in now)
        target = DecodedFileText(text=text, raw_text=text, encoding=UTF8_ENCODING, line_endings="lf")
        shown = ShownFileVersionText(lines=(*texts, ""), shown=frozenset(range(1, len(was) + 1)))
        edit = AnchoredEdit(
            first_anchor=f"{first + 1}{compute_anchor_tag(first + 1, texts[first])}",
            last_anchor=f"{last + 1}{compute_anchor_tag(last + 1, texts[last])}",
            new_lines=("HERE",),
        )
        try:
            placed = locate_anchored_edits(target, (edit,), "f", (shown,))
        except ToolError:
            right += place is None
            continue
        made = replace_text_spans(text, [span for spans in placed.spans_by_edit for span in spans]).split(
            "\n"
        )
        if place is not None and made.index("HERE") == place and len(made) == len(now) + 1 - (last - first):
            right += 1
        else:
            wrong += 1
    assert right / EDITS >= least
    assert wrong / EDITS <= 0.003


def test_runs_of_lines_are_found_in_large_texts_without_comparing_all_with_all() -> None:
    """Twenty thousand lines, each of which stands many times: no more work than lines."""
    lines = [f"line {number % 97}" for number in range(20_000)]
    now = [*lines[:9_000], "new", *lines[9_000:]]
    text = "\n".join(now) + "\n"
    target = DecodedFileText(text=text, raw_text=text, encoding=UTF8_ENCODING, line_endings="lf")
    shown = ShownFileVersionText(lines=(*lines, ""), shown=frozenset(range(1, 20_001)))
    edit = AnchoredEdit(first_anchor=f"15000{compute_anchor_tag(15_000, lines[14_999])}", new_lines=("HERE",))
    placed = locate_anchored_edits(target, (edit,), "f", (shown,))
    made = replace_text_spans(text, [span for spans in placed.spans_by_edit for span in spans]).split("\n")
    assert made[15_000] == "HERE"
