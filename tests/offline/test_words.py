"""What people may write, and what the offline guide takes it for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers.offline.forms import FORMS, help_text
from app.providers.offline.wishes import (
    IT,
    Demo,
    EditFile,
    FindName,
    Help,
    Incomplete,
    KeepTodos,
    ListFolder,
    MapFile,
    Overview,
    ReadFile,
    RunCommand,
    SearchText,
    Unclear,
    Wish,
    WriteFile,
)
from app.providers.offline.words import steps_of


def edit(path: str | None, *replacements: tuple[str, str]) -> EditFile:
    return EditFile(path=path, replacements=replacements)


def read(*paths: str) -> list[Wish]:
    return [ReadFile(path=path) for path in paths]


ONE_STEP: list[tuple[str, list[Wish]]] = [
    ("read README.md", read("README.md")),
    ("read a.py, b.py and c/d.py", read("a.py", "b.py", "c/d.py")),
    ("read a.py and b.py at once", read("a.py", "b.py")),
    ("Please read the file a.py.", read("a.py")),
    ("can you show me the README.md?", read("README.md")),
    ("Could you read foo.py for me, please?", read("foo.py")),
    ("read `my notes.txt`", read("my notes.txt")),
    ("read @src/a.py", read("src/a.py")),
    ("cat ../x", read("../x")),
    ("src/main.rs", read("src/main.rs")),
    ("read it", read(IT)),
    ("read a.py:10-20", [ReadFile(path="a.py", first=10, last=20)]),
    ("read a.py:7", [ReadFile(path="a.py", first=7, last=7)]),
    ("read lines 3 to 9 of foo.py", [ReadFile(path="foo.py", first=3, last=9)]),
    ("read foo.py lines 3-9", [ReadFile(path="foo.py", first=3, last=9)]),
    ("read function main in app.py", [ReadFile(path="app.py", symbol="main")]),
    ("map app/x.py", [MapFile(path="app/x.py")]),
    ("outline of app/x.py", [MapFile(path="app/x.py")]),
    ("list.py", read("list.py")),
    ("1. read a.py", read("a.py")),
    ("what's in src/a.py?", read("src/a.py")),
    ("read *.txt", [FindName(name="*.txt")]),
    ("what does this project do?", [Overview()]),
    ("overview of src/a.py", [MapFile(path="src/a.py")]),
    ("show me the files", [ListFolder()]),
    ("which files mention boats", [SearchText(pattern="boats")]),
    ("where is row used?", [SearchText(pattern=r"\brow\b")]),
    ("grep x in that file", [SearchText(pattern="x", where=IT)]),
    ("cat a.py | head -3", [RunCommand(command="cat a.py | head -3")]),
    ("ls -la src", [RunCommand(command="ls -la src")]),
    ('grep -rn "a b" src', [RunCommand(command='grep -rn "a b" src')]),
    ("! make", [RunCommand(command="make")]),
    ("change one to two in a.txt", [edit("a.txt", ("one", "two"))]),
    ("change 'one to two' to \"three\" in a.txt please", [edit("a.txt", ("one to two", "three"))]),
    ("rename one to two", [edit(None, ("one", "two"))]),
    ("change a.txt: replace x to y with z", [edit("a.txt", ("x to y", "z"))]),
    ("make a new file called a.txt with hello", [WriteFile(path="a.txt", text="hello\n")]),
    ("find *.py in app", [FindName(name="*.py", folder="app")]),
    ("where is config.json?", [FindName(name="config.json")]),
    ("grep TODO", [SearchText(pattern="TODO")]),
    ('grep "def main" in src', [SearchText(pattern="def main", where="src")]),
    ("search for two words", [SearchText(pattern="two words")]),
    ('grep "read and find"', [SearchText(pattern="read and find")]),
    ("list", [ListFolder()]),
    ("ls ..", [ListFolder(path="..")]),
    ("list the files in src", [ListFolder(path="src")]),
    ("list src and tests", [ListFolder(path="src"), ListFolder(path="tests")]),
    ("list and run `pwd`", [ListFolder(), RunCommand(command="pwd")]),
    ("run git status", [RunCommand(command="git status")]),
    ("run echo a and b; echo 'c d'", [RunCommand(command="echo a and b; echo 'c d'")]),
    ("run `ls -l` and read x.py", [RunCommand(command="ls -l"), *read("x.py")]),
    ("$ make", [RunCommand(command="make")]),
    ("edit notes.txt: replace one with two", [edit("notes.txt", ("one", "two"))]),
    (
        "edit `a b.txt`: replace \"x with\" with 'y'; replace p with q",
        [edit("a b.txt", ("x with", "y"), ("p", "q"))],
    ),
    ("replace a with b in x.txt", [edit("x.txt", ("a", "b"))]),
    ("in x.txt replace a with b and replace c with d", [edit("x.txt", ("a", "b"), ("c", "d"))]),
    ("replace a with b", [edit(None, ("a", "b"))]),
    ("edit it: replace a with nothing much", [edit(IT, ("a", "nothing much"))]),
    ('edit a.txt: replace "x" with ""', [edit("a.txt", ("x", ""))]),
    ("write n.txt: remember the milk", [WriteFile(path="n.txt", text="remember the milk\n")]),
    ("demo markdown", [Demo(kind="markdown")]),
    ("help", [Help()]),
    ("What can you do?", [Help()]),
    ("Hello!", [Help(is_greeting=True)]),
    ("why is the sky blue", [Unclear(text="why is the sky blue")]),
]


@pytest.mark.parametrize(("text", "wishes"), ONE_STEP, ids=[text for text, _ in ONE_STEP])
def test_one_step(text: str, wishes: list[Wish]):
    assert steps_of(text) == [wishes]


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("todos", KeepTodos()),
        ("what is still open?", KeepTodos()),
        ("todo: water the plants", KeepTodos(op="add", tasks=("water the plants",))),
        ("todo add 'a; b'; c", KeepTodos(op="add", tasks=("a; b", "c"))),
        ("todo done water the plants", KeepTodos(op="done", tasks=("water the plants",))),
        ("todo done", KeepTodos(op="done")),
        ("search for fixme and todo in src", SearchText(pattern="fixme and todo", where="src")),
        ("read todo.md", ReadFile(path="todo.md")),
    ],
)
def test_todos(text: str, wish: Wish):
    assert steps_of(text) == [[wish]]


def test_requests_joined_by_and_are_one_step():
    assert steps_of("read a.py and grep main in src, then list") == [
        [*read("a.py"), SearchText(pattern="main", where="src")],
        [ListFolder()],
    ]


def test_then_makes_a_step_that_waits():
    assert steps_of("read a.py then run pytest -q, and then read b.py") == [
        read("a.py"),
        [RunCommand(command="pytest -q")],
        read("b.py"),
    ]


def test_lines_are_requests_that_can_be_done_at_once():
    assert steps_of("read a.py\n\nlist src") == [[*read("a.py"), ListFolder(path="src")]]


def test_what_follows_a_change_or_a_command_waits_for_it():
    assert steps_of("write a.txt: hi\nread a.txt") == [[WriteFile(path="a.txt", text="hi\n")], read("a.txt")]
    assert steps_of("edit a: replace x with y and read a") == [[edit("a", ("x", "y"))], read("a")]
    assert len(steps_of("run make\nrun make test")) == 2


def test_changes_of_different_files_are_one_step():
    assert len(steps_of("write a.txt: 1\nwrite b.txt: 2")) == 1
    assert len(steps_of("write a.txt: 1\nwrite a.txt: 2")) == 2


def test_a_fence_holds_a_text_of_several_lines():
    wishes = [[WriteFile(path="a.py", text="def f():\n    return 1\n")]]
    for gap in (" ", "\n"):
        assert steps_of(f"write a.py:{gap}```python\ndef f():\n    return 1\n```") == wishes


@pytest.mark.parametrize(
    "text",
    [
        "read",
        "read all",
        "map",
        "find",
        "grep",
        "run",
        "run the tests",
        "edit a.txt",
        "write a.txt",
        "demo x",
    ],
)
def test_a_request_that_lacks_something_is_asked_about(text: str):
    [[wish]] = steps_of(text)
    assert isinstance(wish, Incomplete)
    assert "Say: `" in wish.question or "Say, for example: `" in wish.question


@pytest.mark.parametrize("form", FORMS, ids=[form.verb for form in FORMS])
def test_every_example_of_the_help_is_understood(form):
    for wish in (wish for step in steps_of(form.example) for wish in step):
        assert not isinstance(wish, Unclear | Incomplete)


def test_help_lists_every_form():
    assert all(f"`{form.syntax}`" in help_text() for form in FORMS)


@given(st.text(max_size=200))
def test_any_text_is_taken_for_something(text: str):
    steps = steps_of(text)
    assert steps
    assert all(steps)


@given(
    st.lists(
        st.sampled_from(
            [
                "read",
                "edit",
                ":",
                "replace",
                "with",
                "and",
                "then",
                "run",
                "`x`",
                '"a',
                'b"',
                "'",
                "\n",
                "a.py",
                "in",
                ",",
                ";",
                "?",
                "it",
            ]
        )
    )
)
def test_any_mixture_of_known_words_is_taken_for_something(words: list[str]):
    assert all(steps_of(" ".join(words)))
