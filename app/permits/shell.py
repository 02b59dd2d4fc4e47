"""A command line, read as a shell would read it: every command anywhere in it becomes a part.

What cannot be read, or would take too long, is a part of its own that only the run will tell.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from tree_sitter import Node, Parser

from app.permits.calls import Feed
from app.permits.expansions import Expansions
from app.permits.letters import Finding, risk_of_letter, worst
from app.permits.paths import PathGround
from app.permits.place import CommandPlace
from app.permits.scope import ShellScope
from app.permits.simple import Simple, judge_words
from app.permits.statements import Statements
from app.permits.verdicts import CallPart, Judgement, verdict_of
from app.permits.words import Word

MOST_BYTES = 200_000
"""A longer one is judged by its beginning, and is never known."""
MOST_STEPS = 12_000
MOST_UNWRAPPED = 3

_STRANGE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
    "\ud800-\udfff\ue000-\uf8ff]"
)


_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_MOST_BLANKS = 50
_TEXTS = frozenset({"string_content", "raw_string", "comment", "heredoc_body", "heredoc_content"})


def _are_quoted_blanks(strange: Sequence[str], source: bytes, root: Node) -> bool:
    """Blanks of a language, in text that nobody runs; each stands in the source as the mark that replaced it."""
    if not all(map(_BLANKS.fullmatch, strange)):
        return False
    for found in re.finditer("\ufffd".encode(), source):
        node = root.descendant_for_byte_range(found.start(), found.end())
        if node is None or node.type not in _TEXTS:
            return False
    return True


@lru_cache(1)
def _parser() -> Parser:
    """Loading it takes a few dozen milliseconds, so it is loaded when the first command is judged."""
    import tree_sitter_language_pack  # noqa: PLC0415  (a large library; needed at the first command)

    return Parser(tree_sitter_language_pack.get_language("bash"))


def judge_command(text: str, place: CommandPlace) -> Judgement:
    """What a command line does when it is run at this place."""
    reading = ShellReading(place)
    try:
        return reading.whole(text)
    except RecursionError:
        reading.doubt(text, "it is nested too deeply to be told")
        return verdict_of(reading.parts.values())


_MOST_NESTED = 60
_BRACES = re.compile(r"\$[({]|[(){}]")


def _is_nested_deeply(text: str) -> bool:
    if text.count("${") + text.count("$(") <= _MOST_NESTED:
        return False
    depth = 0
    for found in _BRACES.finditer(text):
        depth += -1 if found[0] in ")}" else 1
        if depth > _MOST_NESTED:
            return True
    return False


class ShellReading:
    """One judgement: the parts that were found, and how much work is left for it."""

    def __init__(self, place: CommandPlace) -> None:
        self.place = place
        self.parts: dict[tuple[str, str, str], CallPart] = {}
        self.steps = MOST_STEPS
        self.unwrapped = 0
        self.depth = 0
        self.uncalled: dict[int, tuple[ShellScope, Statements, Node]] = {}
        self.running: set[int] = set()

    def whole(self, text: str) -> Judgement:
        scope = ShellScope(folders=(self.place.folder,), aliases=dict(self.place.aliases))
        self.read(text, scope)
        for before, statements, body in list(self.uncalled.values()):
            before.arguments = None
            statements.function_body(body, before, None)
        return verdict_of(self.parts.values())

    def read(self, text: str, scope: ShellScope, feed: Feed | None = None) -> None:
        """Adds the parts of a script."""
        strange = _STRANGE.findall(text)
        if strange:
            text = _STRANGE.sub("\ufffd", text)
        source = text.encode("utf-8", "replace")
        if len(source) > MOST_BYTES:
            self.doubt(text, f"it is longer than {MOST_BYTES // 1000} kB")
            source = source[:MOST_BYTES].decode("utf-8", "ignore").encode()
        if _is_nested_deeply(text):
            self.doubt(text, "it is nested too deeply to be told")
        root = _parser().parse(source).root_node
        if root.has_error:
            self.doubt(text, "it is not written as bash reads it")
        if strange and not (len(strange) < _MOST_BLANKS and _are_quoted_blanks(strange, source, root)):
            self.doubt(text, "it holds characters that a shell reads otherwise than a person")
        statements = Statements(self, source)
        statements.sequence(root.children, scope, feed)

    def step(self) -> bool:
        """False: enough work was spent on it."""
        self.steps -= 1
        if self.steps == 0:
            self.doubt("…", "it is too long to be judged whole")
        return self.steps > 0

    def add(
        self, text: str, findings: Sequence[Finding], words: Sequence[Word] | None, hosts: Sequence[str] = ()
    ) -> None:
        """A part, with the strictest that was found of it."""
        found = worst(findings)
        plain = None
        if words is not None and all(word.is_literal and not word.may_split for word in words):
            plain = tuple(word.text for word in words)
        self.parts.setdefault(
            (text, found.letter, found.why),
            CallPart(
                text=text,
                risk=risk_of_letter(found.letter),
                why=found.why,
                words=plain,
                hosts=tuple(hosts),
                network=any(one.letter == "N" for one in findings),
            ),
        )

    def doubt(self, text: str, why: str) -> None:
        shown = text if len(text) <= 200 else text[:200] + "…"
        self.add(shown, [Finding("U", why)], None)

    def inner(
        self, words: Sequence[Word], scope: ShellScope, feed: Feed | None, *, is_of_project: bool = False
    ) -> Feed | None:
        """A command that another one starts."""
        text = " ".join(word.source or word.text for word in words)
        if self.unwrapped >= MOST_UNWRAPPED + 1:
            self.doubt(text, "it is wrapped too often to be told")
            return None
        self.unwrapped += 1
        try:
            one = Simple(text, words, scope, feed, is_handed_on=True, is_of_project=is_of_project)
            return judge_words(self, one)
        finally:
            self.unwrapped -= 1

    def script(self, text: str, scope: ShellScope, feed: Feed | None = None) -> None:
        """A text that is given to a shell."""
        if self.unwrapped >= MOST_UNWRAPPED:
            self.doubt(text, "it is wrapped too often to be told")
            return
        self.unwrapped += 1
        try:
            self.read(text, scope, feed)
        finally:
            self.unwrapped -= 1

    def ground(self, scope: ShellScope) -> PathGround:
        return PathGround(self.place, scope)

    def expansions(self, source: bytes, statements: "Statements") -> Expansions:
        return Expansions(
            source,
            self.place.home,
            self.place.user,
            statements.substituted,
            lambda why: self.doubt(source[:200].decode("utf-8", "ignore"), why),
        )
