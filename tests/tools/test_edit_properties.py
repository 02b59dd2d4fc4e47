"""For random files, an edit gives the result of a simple model, or changes nothing."""

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.edits.dialects.old_text_replacement import TextReplacement
from tools.edits.diffs import make_diff_of_texts, split_at_line_feeds
from tools.edits.edited_text import apply_replacements
from tools.edits.shown_lines import LinesShownToModel
from tools.edits.syntax_checks import FileSyntaxCheck, SyntaxCheckCache
from tools.tool_definition import ToolError

WORDS = st.text(st.sampled_from("abcé漢😀()=;'\"- "), min_size=0, max_size=8)
INDENT = st.sampled_from(["", "  ", "    ", "\t", "\t\t", "      "])
ENDINGS = st.sampled_from(["lf", "crlf", "mixed"])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], list[str], str]:
    """Draws lines that differ even without white space, with line endings and an encoding."""
    bodies = draw(st.lists(st.tuples(INDENT, WORDS), min_size=1, max_size=12))
    lines = [f"{indent}L{number:02} {body.strip()}".rstrip() for number, (indent, body) in enumerate(bodies)]
    how = draw(ENDINGS)
    endings = [{"lf": "\n", "crlf": "\r\n"}.get(how) or draw(st.sampled_from(["\n", "\r\n"])) for _ in lines]
    if draw(st.booleans()):
        endings[-1] = ""
    return lines, endings, draw(ENCODINGS)


def unread(text: str) -> FileSyntaxCheck:
    """Returns a file of a language without a grammar."""
    return SyntaxCheckCache().check_file("f", text)


def perturb(old: list[str], how: str) -> list[str]:
    if how == "trailing":
        return [f"{line}  " for line in old]
    if how == "indent":
        return [f"    {line}" if line else line for line in old]
    if how == "quotes":
        return [line.replace("'", "’").replace('"', "“").replace("-", "–") for line in old]
    return old


@settings(max_examples=300)
@given(files(), st.data())
def test_an_edit_equals_the_reference_model(
    file: tuple[list[str], list[str], str], data: st.DataObject
) -> None:
    lines, endings, encoding = file
    raw = "".join(line + ending for line, ending in zip(lines, endings, strict=True))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(lines)), min_size=2, max_size=6)))
    spans = [(cuts[i], cuts[i + 1]) for i in range(0, len(cuts) - 1, 2)]
    how = data.draw(st.sampled_from(["exact", "trailing", "indent", "quotes"]))
    expected = [(line, ending) for line, ending in zip(lines, endings, strict=True)]
    edits: list[TextReplacement] = []
    for first, last in reversed(spans):
        new = [f"N{n} new" for n in range(data.draw(st.integers(1, 4)))]
        old = lines[first:last]
        edits.append(
            TextReplacement(
                old_text="\n".join(perturb(old, how)),
                new_text="\n".join(perturb(new, "indent" if how == "indent" else "")),
            )
        )
        before = endings[first - 1] if first else max(("\n", "\r\n"), key=endings.count)
        own = endings[first : last - 1]
        made = [(own + [own[-1] if own else before] * len(new))[n] for n in range(len(new) - 1)]
        expected[first:last] = list(zip(new, [*made, endings[last - 1]], strict=True))
    is_broken = data.draw(st.booleans()) and data.draw(st.booleans())
    if is_broken:
        edits.insert(
            data.draw(st.integers(0, len(edits))), TextReplacement(old_text="L999 not there", new_text="x")
        )
    content = raw.encode(encoding)
    if is_broken:
        with pytest.raises(ToolError):
            apply_replacements(
                content, tuple(edits), "f", LinesShownToModel(lines=dict(enumerate(lines, 1))), unread
            )
        return
    edited = apply_replacements(
        content, tuple(edits), "f", LinesShownToModel(lines=dict(enumerate(lines, 1))), unread
    )
    wanted = "".join(line + ending for line, ending in expected)
    if how == "indent":  # new lines lose the shift that the old ones had
        wanted = wanted.replace("    N", "N")
    assert edited.data == wanted.encode(encoding)
    assert edited.text == wanted.replace("\r\n", "\n")


def apply_patch(old: str, patch: str, folder: Path) -> str:
    """Returns the result of the real `patch`."""
    (folder / "f").write_bytes(old.encode())
    subprocess.run(
        ["patch", "-p1", "--quiet", "--no-backup-if-mismatch"], cwd=folder, input=patch.encode(), check=True
    )
    return (folder / "f").read_bytes().decode()


lines_of_text = st.lists(
    st.sampled_from(["a\n", "b\n", "c\n", "d\n", "longer line\n", "\n"]), max_size=14
).map("".join)


@settings(max_examples=40)
@given(lines_of_text.filter(bool), lines_of_text.filter(bool), st.booleans(), st.booleans())
def test_a_diff_is_one_that_patch_understands(
    tmp_path_factory: pytest.TempPathFactory, old: str, new: str, cut_old: bool, cut_new: bool
) -> None:
    old = old[:-1] + "x" if cut_old else old
    new = new[:-1] + "y" if cut_new else new
    diff = make_diff_of_texts("f", old, new)
    if old == new:
        assert (diff.patch, diff.added, diff.removed) == ("", 0, 0)
        return
    assert apply_patch(old, diff.patch, tmp_path_factory.mktemp("patch")) == new
    least = difflib.SequenceMatcher(None, split_at_line_feeds(old), split_at_line_feeds(new), autojunk=False)
    assert len(split_at_line_feeds(old)) - diff.removed == len(split_at_line_feeds(new)) - diff.added
    assert diff.removed <= len(split_at_line_feeds(old)) and least.ratio() >= 0
