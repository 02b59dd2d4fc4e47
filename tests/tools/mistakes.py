"""The mistakes that models make in edits, as data: the file, the call and the expected outcome."""

from typing import Any

from tests.tools.mistaken_files import PROSE, PYTHON, SCRIPT, TABBED


class Mistake:
    """One row: the file, the call and the expected outcome."""

    def __init__(
        self,
        number: int,
        what: str,
        file: str,
        edits: list[tuple[str, str]] | dict[str, Any],
        *,
        after: str | None = None,
        says: str = "",
        refused: str = "",
        name: str = "a.py",
        before: bytes | None = None,
    ) -> None:
        self.what = f"{number} {what}"
        self.file = before if before is not None else file.encode()
        self.edits = edits
        self.after = after
        self.says = says
        self.refused = refused
        self.name = name

    def arguments(self) -> dict[str, Any]:
        if isinstance(self.edits, dict):
            return self.edits
        return {"edits": [{"oldText": old, "newText": new} for old, new in self.edits]}


def swap(file: str, old: str, new: str) -> str:
    assert file.count(old) == 1, old
    return file.replace(old, new)


GET = "        value = load(self.root + name)\n        return value\n"
IF = "    if not os.path.exists(path):\n        return default\n"
NUMBERED = "7:    if not os.path.exists(path):\n8:        return default\n"
SHELL = 'f() {\n  y=1\n  printf "old"\n}\n'
LOOP = "    if (line) {\n      handle(line);\n    }\n"

MISTAKES = [
    Mistake(
        1, "none", PYTHON, [("default=None", "default=0")], after=swap(PYTHON, "default=None", "default=0")
    ),
    Mistake(
        2,
        "blanks at the end of an old line",
        PYTHON,
        [("    if not os.path.exists(path):  \n        return default\n", "    return default\n")],
        after=swap(PYTHON, IF, "    return default\n"),
        says="ignoring trailing whitespace",
    ),
    Mistake(
        3,
        "the file has trailing blanks",
        PYTHON.replace("exists(path):\n", "exists(path):   \n"),
        [(IF, "    return default\n")],
        after=swap(PYTHON, IF, "    return default\n"),
        says="ignoring trailing whitespace",
    ),
    Mistake(
        4,
        "all indentation dropped",
        PYTHON,
        [("if not os.path.exists(path):\n    return default\n", "if not path:\n    return default\n")],
        after=swap(PYTHON, "os.path.exists(path)", "path"),
        says="ignoring indentation",
    ),
    Mistake(
        5,
        "spaces for tabs",
        TABBED,
        [("    for i := 0; i < 3; i++ {\n        fmt", "    for i := 0; i < 9; i++ {\n        fmt")],
        refused="was not found",
        name="a.go",
    ),
    Mistake(
        5,
        "spaces for tabs, whole lines",
        TABBED,
        [
            (
                "    for i := 0; i < 3; i++ {\n        fmt.Println(i)\n",
                "    for i := 0; i < 9; i++ {\n        fmt.Println(i)\n",
            )
        ],
        after=swap(TABBED, "i < 3", "i < 9"),
        says="ignoring indentation",
        name="a.go",
    ),
    Mistake(
        6,
        "first line unindented",
        PYTHON,
        [
            (
                "if not os.path.exists(path):\n        return default\n",
                "if not path:\n        return default\n",
            )
        ],
        after=swap(PYTHON, "os.path.exists(path)", "path"),
    ),
    Mistake(
        7,
        "curly quotes",
        PYTHON,
        [("open(path, “w”)", 'open(path, "wb")')],
        after=swap(PYTHON, '"w"', '"wb"'),
        says="ignoring look-alikes",
    ),
    Mistake(
        8,
        "hyphen for a dash",
        PROSE,
        [('"it\'s fine" - and', "nothing, and")],
        after="She said nothing, and left.\nThe end.\n",
        says="ignoring look-alikes",
        name="a.md",
    ),
    Mistake(
        9,
        "line feeds, in a file with carriage returns",
        PYTHON.replace("\n", "\r\n"),
        [(IF, "    return default\n")],
        after=swap(PYTHON, IF, "    return default\n").replace("\n", "\r\n"),
    ),
    Mistake(
        10,
        "one line feed too many at the end of the file",
        PYTHON,
        [("        return value is not None\n\n", "        return bool(value)\n\n")],
        after=swap(PYTHON, "return value is not None", "return bool(value)"),
        says="ignoring a line feed at the end of the file",
    ),
    Mistake(
        11,
        "line numbers in the old text",
        PYTHON,
        [(NUMBERED, "    return default\n")],
        after=swap(PYTHON, IF, "    return default\n"),
        says="without line numbers",
    ),
    Mistake(
        12,
        "line numbers in old and new text",
        PYTHON,
        [(NUMBERED, "7:    if not path:\n8:        return default\n")],
        after=swap(PYTHON, "os.path.exists(path)", "path"),
        says="without line numbers",
    ),
    Mistake(
        13,
        "... for lines left out",
        PYTHON,
        [("def load(path, default=None):\n    ...\n        return file.read()", "def load(path): ...")],
        refused='"..." is not filled in; give the lines, or two edits.',
    ),
    Mistake(
        14,
        "old text twice",
        PYTHON,
        [("value = load(self.root + name)", "value = 1")],
        refused="2 times in a.py, at lines 27, 31",
    ),
    Mistake(
        15,
        "context that does not tell places apart",
        PYTHON,
        [("(self, name):\n        value = load(self.root + name)\n", "(self): pass\n")],
        refused="2 times in a.py",
    ),
    Mistake(
        16,
        "line feeds as two characters",
        PYTHON,
        [
            (
                "    if not os.path.exists(path):\\n        return default\\n",
                "    if not path:\\n        return default\\n",
            )
        ],
        after=swap(PYTHON, "os.path.exists(path)", "path"),
        says="with its escapes undone",
    ),
    Mistake(
        16,
        "quotes escaped",
        SCRIPT,
        [('line !== \\"\\") {', 'line !== \\"x\\") {')],
        after=swap(SCRIPT, 'line !== ""', 'line !== "x"'),
        says="with its escapes undone",
        name="a.js",
    ),
    Mistake(
        17,
        "HTML entities",
        SCRIPT,
        [("line.length &lt; 3 &amp;&amp; line", "line.length &lt; 4 &amp;&amp; line")],
        after=swap(SCRIPT, "line.length < 3", "line.length < 4"),
        says="with its entities undone",
        name="a.js",
    ),
    Mistake(
        18,
        "code fence around the new text",
        SCRIPT,
        [("    return readFile(this.path);", "```js\n    return readFile(this.path, 'utf8');\n```")],
        after=swap(SCRIPT, "readFile(this.path)", "readFile(this.path, 'utf8')"),
        says="Left out the code fence",
        name="a.js",
    ),
    Mistake(
        18,
        "code fence around the new text, in Python",
        PYTHON,
        [(IF, "```python\n    return default\n```\n")],
        after=swap(PYTHON, IF, "    return default\n"),
        says="Left out the code fence",
    ),
    Mistake(
        19,
        "a word of four lines misremembered",
        PYTHON,
        [(IF.replace("default", "fallback") + "    with open(path) as file:\n", "x")],
        refused="Nearest text, lines 7-9",
    ),
    Mistake(
        20,
        "comment line left out",
        PYTHON,
        [("def save(path, text):\n    Path(path).parent", "def save(path, text):\n    Path(path)")],
        refused="was not found",
    ),
    Mistake(
        21,
        "blank line left out",
        PYTHON,
        [("mkdir(parents=True)\n    with open", "mkdir()\n    with open")],
        refused="was not found",
    ),
    Mistake(
        22,
        "the edit sent again",
        swap(PYTHON, IF, "    if path is None:\n        return default\n"),
        [(IF, "    if path is None:\n        return default\n")],
        after=swap(PYTHON, IF, "    if path is None:\n        return default\n"),
        says="Nothing to do: line 7 already reads like the new text.",
    ),
    Mistake(
        22,
        "an insertion sent again",
        swap(PYTHON, "import os\n", "import os\nimport sys\n"),
        [("import os\n", "import os\nimport sys\n")],
        after=swap(PYTHON, "import os\n", "import os\nimport sys\n"),
        says="Nothing to do: line 1 already reads like the new text.",
    ),
    Mistake(
        23,
        "old equals new",
        PYTHON,
        [("import os\n", "import os\n")],
        after=PYTHON,
        says="Nothing to do: its old and its new text are the same.",
    ),
    Mistake(24, "empty old text, to append", PYTHON, [("", "x = 1\n")], refused="oldText is empty"),
    Mistake(
        25,
        "overlapping edits",
        PYTHON,
        [("import os\nfrom", "from"), ("from pathlib", "import pathlib")],
        refused="Edits 1 and 2 overlap",
    ),
    Mistake(
        26,
        "the second edit quotes what the first makes",
        PYTHON,
        [("default=None", "fallback=None"), ("def load(path, fallback=None)", "def load(path, fallback=0)")],
        after=swap(PYTHON, "default=None", "fallback=0"),
        says="edit 2 in what an edit before it makes",
    ),
    Mistake(
        27,
        "edits as JSON text",
        PYTHON,
        {"edits": '[{"oldText": "import os\\n", "newText": ""}]'},
        after=swap(PYTHON, "import os\n", ""),
    ),
    Mistake(
        28,
        "other tools' field names",
        PYTHON,
        {"old_string": "import os\n", "new_string": ""},
        after=swap(PYTHON, "import os\n", ""),
    ),
    Mistake(
        29,
        "closing line lost",
        SCRIPT,
        [(LOOP, "    if (line) {\n      handle(line, 1);\n")],
        after=swap(SCRIPT, LOOP, "    if (line) {\n      handle(line, 1);\n"),
        says="New syntax error at line",
        name="a.js",
    ),
    Mistake(
        30,
        "closing line of the outside repeated",
        SCRIPT,
        [(LOOP, "    if (line) {\n      handle(line, 1);\n    }\n  }\n")],
        after=swap(SCRIPT, "handle(line);", "handle(line, 1);"),
        says='Left out 1 line that stands behind the range already ("}").',
        name="a.js",
    ),
    Mistake(
        31,
        "two lines behind the range repeated",
        SCRIPT,
        [(LOOP, "    if (line) {\n      handle(line, 1);\n    }\n  }\n  return lines;\n")],
        after=swap(SCRIPT, "handle(line);", "handle(line, 1);"),
        says="Left out 2 lines that stand behind the range already",
        name="a.js",
    ),
    Mistake(
        33,
        "two lines added above since the read",
        "import re\nimport sys\n" + PYTHON,
        [(IF, "    return default\n")],
        after="import re\nimport sys\n" + swap(PYTHON, IF, "    return default\n"),
    ),
    Mistake(
        34,
        "the very line changed since",
        swap(PYTHON, "return default\n", "return default or None\n"),
        [(IF, "    return default\n")],
        refused="was not found",
    ),
    Mistake(
        40,
        "a unified diff",
        PYTHON,
        [
            (
                "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n def load(path, default=None):\n"
                '     """Reads a file."""\n-    if not os.path.exists(path):\n+    if not path:\n'
                "         return default\n",
                "",
            )
        ],
        after=swap(PYTHON, "os.path.exists(path)", "path"),
        says="read as a diff",
    ),
    Mistake(
        41,
        "+ before the new lines",
        PYTHON,
        [(IF, "+    if not path:\n+        return default\n")],
        after=swap(PYTHON, "os.path.exists(path)", "path"),
        says='Left out the "+" before the new lines.',
    ),
    Mistake(
        42,
        "old lines with - in the body",
        PYTHON,
        {
            "edits": [
                {
                    "oldText": "",
                    "newText": "@@\n     if not os.path.exists(path):\n-        return default\n"
                    "+        return None\n",
                }
            ]
        },
        after=swap(PYTHON, "return default\n", "return None\n"),
        says="read as a diff",
    ),
    Mistake(
        43,
        "line numbers in the new text alone",
        PROSE,
        [("The end.", "2: The end.\n3: Truly.")],
        refused="begins its lines with their numbers",
        name="a.md",
    ),
    Mistake(
        43,
        "anchors in the new text alone",
        PROSE,
        [("The end.", "2ab|The very end.\n3cd|Truly.")],
        refused="begins its lines with their numbers",
        name="a.md",
    ),
    Mistake(
        44,
        "the note below a result",
        PROSE,
        [("The end.", "The end.\n[Showing lines 1-2 of 900. Use offset=3 to continue.]")],
        refused="which is a note of a tool result",
        name="a.md",
    ),
    Mistake(
        45,
        "a line feed within a string",
        SHELL,
        [('  printf "old"', '  printf "a\nb"')],
        after=SHELL.replace('"old"', '"a\nb"'),
        says='goes on in the next: if "\\n" was meant',
        name="a.sh",
    ),
    Mistake(
        45,
        "a backslash and an n for a line feed",
        SHELL,
        [("  y=1", "  y=1\\n  z=2")],
        after=SHELL.replace("y=1", "y=1\\n  z=2"),
        says="if a line feed was meant",
        name="a.sh",
    ),
    Mistake(
        45,
        "escaped once more, with a line feed in a string",
        SHELL,
        [("f() {\\n  y=1", 'f() {\\n  y="a\\nb"')],
        refused="Send both texts as they are in the file.",
        name="a.sh",
    ),
]
