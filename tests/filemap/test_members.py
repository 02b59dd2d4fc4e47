"""What lines alone tell is taken by its text; the map is the one that the grammar would give."""

import msgspec
import pytest

from tools.filemap import embedded, engine
from tools.filemap.languages.registry import language_named
from tools.filemap.map import map_text
from tools.filemap.symbols import FileMap
from tools.filemap.watch import Deadline

GO = """package shop

import "fmt"

// Cart holds what is bought.
// It is small.
type Cart struct {
	// Owner pays.
	Owner string `json:"owner"`

	// nobody's

	Lines  []*Line // what is bought
	prices map[string]float64
	meta.Base `json:",inline"`
	Done <-chan struct{}
}

// Add puts a line in.
func (c *Cart) Add(line *Line, more ...int) (int, error) {
	for range more {
		fmt.Println(line, more)
	}
	return 0, nil
}

func Each(visit func(line *Line) error) error {
	panic("it is not written yet; some more words")
}

/* Odd is not told by lines. */
type Odd struct {
	A, B int
	Inner struct {
		C int
	}
}

type (
	Grouped struct {
		Name string
	}
	Alias = Grouped
)

type Pair[K comparable] struct {
	Key K
}

const (
	First = 1 // one
	second = 2
)
"""
TS = """/** Options of a thing. */
export interface Options<T extends object = {}> extends Base, Other<T> {
    /**
     * Says how long.
     */
    readonly length: number;
    name?: "a" | 'b';
    run(first: string, then: (value: T) => void): Promise<T>; // soon
    on<K extends keyof T>(key: K): void;
    [key: string]: any;
    new (value: T): Options<T>;

    // apart

    last: T;
}
declare module "shop" {
    interface Inner {
        a: string;
    }
    interface Odd {
        [Symbol.iterator](): Iterator<string>;
        b: { c: string };
    }
    interface Deep extends Base<{
        a: string;
    }> {
        d: string;
    }
}
"""


PYTHON = '''import os

def plain(a: int, *rest: str) -> int:  # says more
    """Adds them.

    def not_here():
        pass
    """
    return a + len(rest)

def one_line(a): return a
def after_it(a):
    return (a,
a)

async def _hidden(
    first: str = "(",
    second: dict[str, int] | None = None,
) -> None:
    # Nothing is said.
    text = """
def neither_here():
    pass
"""
    print(text)
    # the end


class Thing(Base):
    # what it does

    limit = 3

    def run(self):
        if self.limit:
            return 1

        # and now
        return [
            2
        ]

    @property
    def name(self) -> str:
        return "n"

    @wrapped(
        1,
    )

    def wrapped_one(self):
        return 1

    def outer(self):
        def inner():
            return 1
        return inner

    if os.name == "nt":
        def only_there(self):
            return 1

    def last(self):
        """Ends it."""
        return 3


after = Thing()
'''


def told(
    source: str, name: str, monkeypatch: pytest.MonkeyPatch, *, by_lines: bool
) -> list[tuple[object, ...]]:
    if not by_lines:
        outline = engine.outline
        monkeypatch.setattr(
            embedded,
            "outline",
            lambda language, text, watch: outline(
                msgspec.structs.replace(language, members=None), text, watch
            ),
        )
    made = map_text(source.encode(), name)
    return [(_path(made, index), *msgspec.structs.astuple(symbol)[1:4], symbol.signature, symbol.modifiers, symbol.doc,
             symbol.lead_line) for index, symbol in enumerate(made.symbols)]  # fmt: skip


def _path(made: FileMap, index: int | None) -> str:
    if index is None:
        return ""
    symbol = made.symbols[index]
    return f"{_path(made, symbol.parent)}/{symbol.name}"


@pytest.mark.parametrize(
    ("name", "source"),
    [("cart.go", GO), ("options.ts", TS), ("cart.go", GO.replace("\n", "\r\n")), ("thing.py", PYTHON)],
    ids=["go", "typescript", "windows line ends", "python"],
)
def test_lines_give_what_the_grammar_gives(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_lines = told(source, name, monkeypatch, by_lines=True)
    assert by_lines == told(source, name, monkeypatch, by_lines=False)
    assert len(by_lines) > 10


def test_plain_declarations_are_kept_from_the_grammar() -> None:
    go = language_named("go")
    assert go.members is not None and go.bodies is not None
    source = engine.without_bodies(GO.encode(), go.bodies, Deadline(60))
    rest, blocks = go.members(source, Deadline(60))
    assert rest.count(b"\n") == GO.count("\n")
    assert [block.drafts[0].name for block in blocks] == ["Cart", "Add", "Each", "C", "Name", "Key"]
    assert b"Owner" not in rest and b"Odd" in rest and b"Pair" in rest and b"type Cart" not in rest


def test_functions_beyond_doubt_are_kept_from_the_grammar() -> None:
    python = language_named("python")
    assert python.members is not None
    rest, blocks = python.members(PYTHON.encode(), Deadline(60))
    assert rest.count(b"\n") == PYTHON.count("\n")
    taken = [draft.name for block in blocks for draft in block.drafts]
    assert taken == ["run", "inner", "only_there", "last"]


@pytest.mark.parametrize("text", ["var text = `\n{}`\n", "/*\n{}*/\n"])
def test_what_stands_in_a_text_or_a_comment_is_no_declaration(text: str) -> None:
    inside = "type Told struct {\n\tName string\n}\n\nfunc (t *Told) Get() {\n\n}\n"
    source = "package a\n\n" + text.format(inside) + "\nfunc After() {\n\n}\n"
    assert {symbol.name for symbol in map_text(source.encode(), "a.go").symbols} - {"text"} == {"After"}


def test_members_of_something_lost_in_an_error_come_from_the_grammar() -> None:
    source = "func broken( {\n" + "type (\n\tLost struct {\n\t\tName string\n\t}\n)\n"
    names = [symbol.name for symbol in map_text(source.encode(), "a.go").symbols]
    assert len(names) == len(set(names))


def test_a_comment_at_the_end_of_a_line_belongs_to_that_line() -> None:
    source = "package a\n\nvar A = 1 // says A\nvar B = 2\n\n// Says C.\nvar C = 3\n"
    docs = {symbol.name: symbol.doc for symbol in map_text(source.encode(), "a.go").symbols}
    assert docs == {"A": "", "B": "", "C": "Says C."}


def test_each_name_of_a_group_tells_whether_it_is_exported() -> None:
    source = "package a\n\nconst (\n\tFirst = 1\n\tsecond = 2\n\tThird = 3\n)\n"
    exported = [symbol.name for symbol in map_text(source.encode(), "a.go").symbols if symbol.is_exported]
    assert exported == ["First", "Third"]
