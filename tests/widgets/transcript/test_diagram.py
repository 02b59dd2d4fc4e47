"""Mermaid fences: drawn where they can be, code where they cannot, and copied as they were written."""

import sys
from types import SimpleNamespace

import pytest

from tests.widgets.transcript.drawn import rows
from widgets.transcript.markdown import diagram
from widgets.transcript.markdown.markdown_stream import MarkdownStream, parse_bounded

SOURCE = "graph LR\n A --> B"
FENCE = f"```mermaid\n{SOURCE}\n```\n"


@pytest.fixture(autouse=True)
def _nothing_drawn_yet() -> None:
    diagram.draw_mermaid.cache_clear()


def drawn_by(monkeypatch: pytest.MonkeyPatch, draw: object) -> None:
    monkeypatch.setitem(sys.modules, "termaid", SimpleNamespace(render=draw))


def test_a_picture_stands_for_the_source_and_copies_as_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_by(monkeypatch, lambda source: "\n[A]-->[B]\n\n")
    (leaf,) = parse_bounded(FENCE)
    assert rows([leaf]) == ["[A]-->[B]"]
    assert leaf.plain == SOURCE


def test_what_cannot_be_drawn_is_shown_as_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str) -> str:
        raise ValueError(source)

    drawn_by(monkeypatch, refuse)
    assert rows(parse_bounded(FENCE)) == SOURCE.split("\n")


def test_without_the_library_it_is_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "termaid", None)
    assert rows(parse_bounded(FENCE)) == SOURCE.split("\n")


def test_it_is_drawn_once_its_fence_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_by(monkeypatch, lambda source: "picture")
    stream = MarkdownStream()
    for char in FENCE[:-4]:
        stream.feed(char)
    assert rows(stream.leaves) == SOURCE.split("\n")
    stream.feed(FENCE[-4:])
    assert rows(stream.leaves) == ["picture"]


def test_escape_sequences_in_a_picture_are_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_by(monkeypatch, lambda source: "\x1b[31mred")
    assert "\x1b" not in rows(parse_bounded(FENCE))[0]


def test_the_real_library_draws_boxes() -> None:
    pytest.importorskip("termaid", reason="draws the diagrams; not installed here")
    assert any("│" in row for row in rows(parse_bounded(FENCE)))
