"""A large source is parsed in pieces; its map is that of the whole."""

import sys

import pytest

from tools.filemap import engine
from tools.filemap.bodies import without_bodies
from tools.filemap.language import FoundSymbol
from tools.filemap.languages.registry import language_named
from tools.filemap.parsing import grammar_of, parse
from tools.filemap.pieces import SourcePiece, pieces_of
from tools.filemap.watch import Deadline

PYTHON = """@wrapped
class Thing@(Base):
    '''Says @.'''

    def run(self, a: int) -> int:
        if a:
            return 1

        return @

    @property
    def name(self) -> str:
        return "@"

"""
METHOD = '    def run_@(self, a: int) -> int:\n        """Does @.\n\nclass NotHere:\n        """\n        return @\n\n'
SCRIPT = "/** Says @. */\nexport interface Thing@ {\n  name: string;\n\n  run(a: number): void;\n}\n\n"
INNER = "    // Says @.\n    export function run@(a: string): string {\n        return `{ ${a} @\n\n    }`;\n    }\n\n"
GO = """// Thing@ says it.
type Thing@ struct {
\tName string

\tCount int
}

func (t *Thing@) Get() string {
\treturn t.Name
}

"""
CPP = "// Says @.\nstruct Thing@ {\n  int count;\n\n  int get() const { return count; }\n};\n\n"
LISP = '(defn run-@\n  "Says @.\n\n(defn not-here)"\n  [a]\n  (+ a @))\n\n'
ERLANG = "%% Says @.\nrun_@(A) when A > 1 ->\n    A;\n\nrun_@(A) ->\n    A + @.\n\n"
SHAPES = {
    "python": [("", PYTHON, 1500, "")],
    "python in a class": [
        ("class Outer:\n    '''Large.'''\n\n", METHOD, 3000, "\n\ndef after():\n    pass\n")
    ],
    "typescript": [("", SCRIPT, 3000, "")],
    "typescript in a namespace": [
        ("export namespace outer {\n", INNER, 2500, "}\n\nconst after = 1;\n"),
        ("declare module 'inner' {\n", INNER, 2500, "}\n"),
    ],
    "go": [("package a\n\n", GO, 2500, "")],
    "cpp": [("#if A\n", CPP, 2500, "#endif\n"), ("\nnamespace a::b {\n\n", CPP, 4000, "}  // namespace\n")],
    "clojure": [("(ns a)\n\n", LISP, 5000, "")],
    "erlang": [("-module(a).\n\n", ERLANG, 5000, "")],
}


def source_of(name: str) -> bytes:
    parts = (head + "".join(part.replace("@", str(n)) for n in range(count)) + foot
             for head, part, count, foot in SHAPES[name])  # fmt: skip
    return "".join(parts).encode()


def told(drafts: list[FoundSymbol]) -> list[tuple[object, ...]]:
    def named(index: int) -> str:
        return f"{drafts[index].name}:{drafts[index].start}" if index >= 0 else ""

    return sorted(
        (each.start, each.name, each.kind, each.start_row, each.end_row, each.lead_row, each.signature,
         each.modifiers, each.doc, named(each.parent))
        for each in drafts
    )  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_pieces_give_what_the_whole_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    language, source = language_named(name.split()[0]), source_of(name)
    in_pieces = engine.outline(language, source, Deadline(60))
    monkeypatch.setattr(
        engine, "pieces_of", lambda text, _how, _watch: [SourcePiece(0, len(text), 0, (), ())]
    )
    whole = engine.outline(language, source, Deadline(60))
    assert len(whole.drafts) > 1000
    assert told(in_pieces.drafts) == told(whole.drafts)
    assert in_pieces.has_errors == whole.has_errors


@pytest.mark.parametrize("name", SHAPES)
def test_no_piece_is_large_where_declarations_are_small(name: str) -> None:
    language, source = language_named(name.split()[0]), source_of(name)
    assert language.pieces is not None
    text = without_bodies(source, language.bodies, Deadline(60)) if language.bodies is not None else source
    pieces = pieces_of(text, language.pieces, Deadline(60))
    assert [piece.end for piece in pieces[:-1]] == [piece.start for piece in pieces[1:]]
    assert (pieces[0].start, pieces[-1].end) == (0, len(text))
    assert len(pieces) > 2
    assert max(piece.end - piece.start for piece in pieces) < len(text) / 2 + 200_000


def test_what_cannot_be_cut_stays_whole() -> None:
    how = language_named("typescript").pieces
    assert how is not None
    text = ("(function () {\n" + "\n  var a = 1;\n" * 30_000 + "})();\n").encode()
    assert pieces_of(text, how, Deadline(60)) == [SourcePiece(0, len(text), 0, (), ())]


@pytest.mark.parametrize("name", ["python", "go"])
def test_nothing_of_a_source_stays_when_it_was_parsed(name: str) -> None:
    source = bytes(bytearray(source_of(name)))
    grammar = grammar_of(language_named(name).grammar)
    before = sys.getrefcount(source)
    parse(grammar, source, Deadline(60))
    assert sys.getrefcount(source) == before
