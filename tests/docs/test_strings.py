"""`python -m tests.strings` finds the strings of every kind."""

import ast

import pytest

from tests.string_sentences import Program
from tests.string_texts import Module
from tests.strings import FOLDERS, InterfaceString, Literals, error_classes, main, table_strings

SOURCE = '''
"""A docstring is not shown."""
CSS = "Tides { height: 1; }"

def show(screen: "Screen of tides", name: str) -> None:
    """Neither is this one."""
    screen.open(title="Tides", hint="[sea]", empty="no tides here", id="tide list")
    KeyHint("enter", "open", 9, "tui.select.confirm")
    if name == "the usual sea":
        raise SessionNotFound(f"There is no tide {name}. Choose one with /tides.")
    tell("High water is at noon.", re.compile("any two words"))
'''


PARTS = """
def _reason(count: int) -> str:
    return "the sea is empty" if count == 0 else "all boats are out"

def show(request: Request, name: str, count: int) -> None:
    request.headers["Authorization"] = f"Bearer {name}"
    hint = " Choose one with /tides." if name else ""
    tell(f"No tide: {_reason(count)}.{hint}")
    text = "High water is at noon."
    if count:
        text += " Low water is at six."
    tell(text, "ebb flood slack".split())
"""


JOINED = """
from app.values.user_errors import FileError, UserError

_MAX_BOATS = 3 << 10

class SeaIsEmpty(UserError):
    pass

def _refuse(name: str, why: str) -> None:
    raise UserError(f"{name} cannot sail: {why}.")

def sail(harbour: Harbour, boats: list[str]) -> None:
    if len(boats) > _MAX_BOATS:
        _refuse(harbour.flagship, "more boats than the harbour has")
    if harbour.is_closed:
        raise FileError(harbour.chart, "is not a chart")
    if not boats:
        raise SeaIsEmpty("no boats are out")
    tell(f"{len(boats)} of {_MAX_BOATS} boats left {self._display(harbour.port)}, the first {boats[0]}.")
    try:
        sail(harbour, boats[1:])
    except SeaIsEmpty as problem:
        tell(f"The race ended, because {problem}.")
"""


def listed(file: str, source: str) -> list[InterfaceString]:
    module = Module(file, ast.parse(source))
    return list(Literals(module, Program([module], {*error_classes(), "SeaIsEmpty"})))


@pytest.mark.parametrize(
    ("kind", "context"),
    [
        ("settings", "theme"),
        ("flags", "--model"),
        ("flags", "bayou export"),
        ("slash commands", "/model [name]"),
        ("session commands", "steer"),
        ("keys", "jobs: ctrl+x (app.jobs.stop)"),
    ],
)
def test_tables_give_their_strings(kind: str, context: str):
    found = [one for one in table_strings() if (one.kind, one.context) == (kind, context)]
    assert [bool(one.text and one.file and one.line) for one in found] == [True]


def test_literals_of_a_page_have_the_kind_of_their_place():
    assert {(one.kind, one.text) for one in listed("app/tui/features/tides/page.py", SOURCE)} == {
        ("titles", "Tides"),
        ("hints", "[sea]"),
        ("hints", "open"),
        ("empty states", "no tides here"),
        ("errors", "There is no tide {name}. Choose one with /tides."),
        ("messages", "High water is at noon."),
    }


def test_a_text_that_completes_another_is_listed_in_the_whole_sentence():
    assert {one.text for one in listed("app/tui/features/tides/page.py", PARTS)} == {
        "No tide: the sea is empty. Choose one with /tides.",
        "No tide: all boats are out. Choose one with /tides.",
        "High water is at noon.",
        "High water is at noon. Low water is at six.",
    }


def test_a_text_that_is_given_to_an_error_or_a_function_is_listed_as_a_person_reads_it():
    assert {one.text for one in listed("app/tui/features/tides/page.py", JOINED)} == {
        "{flagship} cannot sail: more boats than the harbour has.",
        "{chart} is not a chart",
        "The race ended, because no boats are out.",
        "{count} of 3072 boats left {port}, the first {boat}.",
    }


def test_a_hint_is_listed_with_its_page_and_key():
    hints = [one for one in listed("app/tui/features/tides/page.py", SOURCE) if one.text == "open"]
    assert [one.context for one in hints] == ["tides: enter"]


def test_elsewhere_only_errors_and_hints_are_shown():
    assert [one.kind for one in listed("tools/tides.py", SOURCE)] == ["hints", "errors"]


def test_the_list_is_the_same_each_time_and_can_be_narrowed():
    lines: list[str] = []
    main(["--kind", "reasons", "--", "app/permits"], lines.append)
    again: list[str] = []
    main(["--kind", "reasons", "--", "app/permits"], again.append)
    assert lines == again
    assert lines[0].startswith("# reasons (")
    assert all(line.startswith("app/permits/") for line in lines[1:] if line)
    assert FOLDERS["app/permits"] == "reasons"
