"""Reads a command line as a shell would: every command anywhere in it becomes a part.

What cannot be parsed, or would take too long, becomes a contained part."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from tree_sitter import Node, Parser

from app.permits.command_findings import RiskFinding, contained_risk_finding, highest_risk_finding
from app.permits.command_place import CommandPlace
from app.permits.path_effects import PathEffectJudge
from app.permits.plain_commands import reason_line_is_not_plain
from app.permits.programs.program_calls import PipedInput
from app.permits.risk_classes import (
    RISK_SEVERITY,
    FilesLostByCommand,
    Risk,
    ToolCallJudgement,
    ToolCallPart,
    judgement_of_parts,
)
from app.permits.shell.simple_command import SimpleShellCommand, judge_simple_command
from app.permits.shell.statement_judge import ShellStatementJudge
from app.permits.shell.word_expansion import ShellWordExpander
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord

MAX_COMMAND_BYTES = 200_000
"""The maximum number of bytes of a command line that are judged; a longer line is at least contained."""
MAX_SHELL_ANALYSIS_STEPS = 12_000
MAX_WRAPPER_DEPTH = 3
_MAX_SHELL_NESTING_DEPTH = 60

_CONFUSING_SHELL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
    "\ud800-\udfff\ue000-\uf8ff]"
)
_NESTING_CHARACTERS = re.compile(r"\$[({]|[(){}]")


@lru_cache(1)
def _load_bash_parser() -> Parser:
    """Loads the bash parser at the first judgement, because that takes a few dozen milliseconds."""
    import tree_sitter_language_pack  # noqa: PLC0415  (a large library; needed at the first command)

    return Parser(tree_sitter_language_pack.get_language("bash"))


def judge_command_line(text: str, place: CommandPlace) -> ToolCallJudgement:
    """Judges a command line that would run at this place, and returns its parts with their risks."""
    reading = ShellAnalysis(place)
    try:
        return reading.judge_script(text)
    except RecursionError:
        reading.add_unjudgeable_part(text, "is nested too deeply")
    except Exception as problem:  # noqa: BLE001  (a bug in judging one command must not end the gate)
        reading.add_unjudgeable_part(text, f"cannot be judged ({type(problem).__name__})")
    return judgement_of_parts(reading.parts)


def _is_nested_deeply(text: str) -> bool:
    if text.count("(") + text.count("{") <= _MAX_SHELL_NESTING_DEPTH:
        return False
    depth = 0
    for found in _NESTING_CHARACTERS.finditer(text):
        depth += -1 if found[0] in ")}" else 1
        if depth > _MAX_SHELL_NESTING_DEPTH:
            return True
    return False


_PLAIN_TEXT_NODES = frozenset({"raw_string", "ansi_c_string", "heredoc_start"})
_READING_PARAMETER_EXPANSION = re.compile(
    rb"\$\{(?:#(?:\w+(?:\[[@*]\])?|[@*])|(?:\w+|[@*])(?:\[(?:\d+|[@*])\])?"
    rb"(?:(?::?[-+?]|%|#|/|\^|,)(?:[\w ./:@%+,=*?#^-]|\$\w+)*|:\s?-?\d+(?::-?\d+)?)?)\}"
)
_LINE_CONTINUATION_IN_WORD = re.compile(rb"(?:\A|[^ \t]|\\[ \t])\\\n")
"""Matches a line continuation in the middle of a word; bash joins the lines before it looks for expansions and
comments."""
_LINE_CONTINUATION = re.compile(rb"(?<!\\)((?:\\\\)*)\\\n")
_SPLIT_BEFORE_BACKSLASH = re.compile(rb"[^\s;&|<>(=:,{\[!]\\")
_BACKSLASH_ESCAPED_CHARACTER = re.compile(rb"\\(.)", re.DOTALL)
_SHELL_WORD_START = re.compile(rb"(?:\A|(?<!\\)[ \t\n])\Z")
_COMMAND_SUBSTITUTION_START = re.compile(rb"(?<!\\)(?:\\\\)*(?:`|\$\(|\$\[|[<>]\()")


def _is_parsed_as_bash_does(root: Node, source: bytes) -> bool:
    """Returns whether the parse agrees with bash: each comment starts where a word could start, plain text contains
    no command, and each `${…}` only reads a variable, without assignment, arithmetic, indirection or quotes."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.children
        if node.type == "expansion" and not _READING_PARAMETER_EXPANSION.fullmatch(
            source[node.start_byte : node.end_byte]
        ):
            return False
        if children:
            if node.type != "heredoc_redirect" or not _is_heredoc_quoted(node, source):
                waiting += children
            continue
        if node.type == "comment":
            if not _SHELL_WORD_START.search(source, 0, node.start_byte):
                return False
        elif (
            node.is_named
            and node.type not in _PLAIN_TEXT_NODES
            and _COMMAND_SUBSTITUTION_START.search(source[node.start_byte : node.end_byte])
        ):
            return False
    return True


def _with_joined_words(source: bytes, root: Node) -> bytes:
    """Returns the source with the words joined that the parser splits and bash does not: at a line continuation, and
    at a backslash behind a quotation."""
    if _LINE_CONTINUATION_IN_WORD.search(source):
        source = _LINE_CONTINUATION.sub(rb"\1", source)
        root = _load_bash_parser().parse(source).root_node
    if b"\\" not in source:
        return source
    waiting, found = [root], list[Node]()
    while waiting:
        node = waiting.pop()
        waiting += node.children
        start, parent = node.start_byte, node.parent
        is_first = parent is None or parent.type != "concatenation" or parent.start_byte == start
        if (
            node.type == "word"
            and is_first
            and _SPLIT_BEFORE_BACKSLASH.fullmatch(source[max(start - 1, 0) : start + 1])
        ):
            found.append(node)
    for node in sorted(found, key=lambda one: -one.start_byte):
        word = _BACKSLASH_ESCAPED_CHARACTER.sub(
            lambda one: b'"\'"' if one[1] == b"'" else b"'" + one[1] + b"'",
            source[node.start_byte : node.end_byte],
        )
        source = source[: node.start_byte] + word + source[node.end_byte :]
    return source


def _is_heredoc_quoted(heredoc: Node, source: bytes) -> bool:
    start = next((child for child in heredoc.children if child.type == "heredoc_start"), None)
    return start is not None and source[start.start_byte : start.start_byte + 1] in (b"'", b'"', b"\\")


class ShellAnalysis:
    """The judgement of one command line: the parts found so far, and the remaining number of steps."""

    def __init__(self, place: CommandPlace) -> None:
        self.place = place
        self.parts: dict[ToolCallPart, None] = {}
        self.steps = MAX_SHELL_ANALYSIS_STEPS
        self.unwrapped = 0
        self.depth = 0
        self.is_input_of_workspace = True
        """Whether the input of the command being judged, inherited or piped, is such as
        `PipedInput.is_of_workspace` describes."""
        self.feeding_depth = 0
        """The number of enclosing commands whose input is the output of the command being judged; 0 if no command
        reads it."""
        self.outside_sources = 0
        """The number of parts whose output may show more than text of the line and files of the workspace."""
        self._strictest_risks: list[Risk] = ["safe"]
        self._unplain: str | None = None

    def judge_script(self, text: str) -> ToolCallJudgement:
        """Judges a whole command line. In the sandbox a command that seems to read runs in its read-only form, whatever
        another shell makes of it."""
        if self.place.shell_program != "bash" and not self.place.hides_secrets:
            self.add_unjudgeable_part(
                text, f"runs in {self.place.shell_program}, and bayou reads it as bash would"
            )
        if self.place.working_folder == UNKNOWN_TEXT_MARK:  # a shell that lasts
            self.add_unjudgeable_part(text, "an earlier command in this shell may have changed what it runs")
        if not self.place.has_sandbox:
            self._unplain = reason_line_is_not_plain(text)
        self.add_script_parts(
            text,
            ShellScope(
                possible_folders=(self.place.working_folder,), shell_aliases=dict(self.place.shell_aliases)
            ),
        )
        return judgement_of_parts(self.parts)

    @property
    def needs_plain_commands(self) -> bool:
        """Whether only plain commands may stay `safe`, because no sandbox limits the line and it is not contained
        for another reason."""
        return not self.place.has_sandbox and self._unplain is None

    def add_script_parts(self, text: str, scope: ShellScope, feed: PipedInput | None = None) -> None:
        """Judges a script and adds its parts."""
        if _CONFUSING_SHELL_CHARACTERS.search(text):
            text = _CONFUSING_SHELL_CHARACTERS.sub("\ufffd", text)
            self.add_unjudgeable_part(text, "contains misleading characters")
        source = text.encode("utf-8", "replace")
        if len(source) > MAX_COMMAND_BYTES:
            self.add_unjudgeable_part(text, f"it is longer than {MAX_COMMAND_BYTES // 1000} kB")
            source = source[:MAX_COMMAND_BYTES].decode("utf-8", "ignore").encode()
        if _is_nested_deeply(text):
            self.add_unjudgeable_part(text, "is nested too deeply")
        root = _load_bash_parser().parse(source).root_node
        if root.has_error:
            self.add_unjudgeable_part(text, "is not valid bash")
            if b"<>" in source:  # the parser does not know this redirection, which writes
                source = source.replace(b"<>", b">")
                root = _load_bash_parser().parse(source).root_node
        # A backslash has another meaning within backticks.
        if b"`" in source and b"\\" in source:
            self.add_unjudgeable_part(text, "cannot be parsed reliably")
        if any(
            one in source for one in (b"#", b"`", b"$(", b"$[", b"${", b"<(", b">(")
        ) and not _is_parsed_as_bash_does(root, source):
            self.add_unjudgeable_part(text, "cannot be parsed reliably")
        joined = _with_joined_words(source, root)
        before = scope.copy() if joined != source else scope
        ShellStatementJudge(self, source).judge_sequence(root.children, scope, feed)
        if joined != source:
            self.add_unjudgeable_part(text, "cannot be parsed reliably")
            root = _load_bash_parser().parse(joined).root_node
            with self.collect_alternative_meaning():
                ShellStatementJudge(self, joined).judge_sequence(root.children, before, feed)

    @contextmanager
    def collect_alternative_meaning(self) -> Iterator[None]:
        """Keeps, of the parts added inside the `with` block, only those that are forbidden or name another host: the
        line may also mean this."""
        parts, self.parts = self.parts, {}
        sources = self.outside_sources
        self._strictest_risks.append("safe")
        try:
            yield
        finally:
            named = {host for part in parts for host in part.named_hosts}
            kept = {
                part: None
                for part in self.parts
                if part.risk == "forbidden" or not named.issuperset(part.named_hosts)
            }
            self.parts = {**parts, **kept}
            self.outside_sources = sources
            self._strictest_risks.pop()
            for part in kept:
                self._raise_strictest_risk(part.risk)

    def spend_analysis_step(self) -> bool:
        """Uses up one step of the limit on work; returns False when none is left."""
        self.steps -= 1
        if self.steps == 0:
            self.add_unjudgeable_part("…", "is too long to be judged")
        return self.steps > 0

    def add_part(
        self,
        text: str,
        findings: Sequence[RiskFinding],
        words: Sequence[ShellWord] | None,
        hosts: Sequence[str] = (),
        removals: Sequence[FilesLostByCommand] = (),
        *,
        is_plain: bool = True,
        is_plain_network_request: bool = False,
        shows_only_workspace: bool = False,
    ) -> None:
        """Adds a part with the strictest of its findings."""
        self.outside_sources += not shows_only_workspace
        found = highest_risk_finding(findings)
        if found.risk == "safe" and self._unplain is not None:
            found = contained_risk_finding(self._unplain)
        self._raise_strictest_risk(found.risk)
        plain = None
        if words is not None and all(word.is_literal and not word.may_split for word in words):
            plain = tuple(word.text for word in words)
        part = ToolCallPart(
            text=text,
            risk=found.risk,
            why=found.why,
            command_words=plain,
            named_hosts=tuple(hosts),
            uses_network=any(one.uses_network for one in findings),
            removals=tuple(removals),
            is_plain=is_plain,
            is_plain_network_request=is_plain_network_request,
        )
        self.parts[part] = None

    def _raise_strictest_risk(self, risk: Risk) -> None:
        if RISK_SEVERITY[risk] > RISK_SEVERITY[self._strictest_risks[-1]]:
            self._strictest_risks[-1] = risk

    @contextmanager
    def track_highest_risk(self) -> Iterator[Callable[[], Risk]]:
        """Yields a function that returns the highest risk among the parts added inside the `with` block."""
        self._strictest_risks.append("safe")
        own: list[Risk] = ["safe"]
        try:
            yield lambda: own[0]
        finally:
            own[0] = self._strictest_risks.pop()
            self._raise_strictest_risk(own[0])

    def add_unjudgeable_part(self, text: str, why: str) -> None:
        """Adds a contained part for text that cannot be judged, with the reason."""
        shown = text if len(text) <= 200 else text[:200] + "…"
        self.add_part(shown, [contained_risk_finding(why)], None)

    def judge_inner_command(
        self, words: Sequence[ShellWord], scope: ShellScope, feed: PipedInput | None
    ) -> PipedInput | None:
        """Judges a command that another program starts."""
        text = " ".join(word.source_text or word.text for word in words)
        if self.unwrapped >= MAX_WRAPPER_DEPTH + 1:
            self.add_unjudgeable_part(text, "has too many nested wrappers")
            return None
        self.unwrapped += 1
        try:
            return judge_simple_command(self, SimpleShellCommand(text, words, scope, feed, is_wrapped=True))
        finally:
            self.unwrapped -= 1

    def judge_passed_script(self, text: str, scope: ShellScope, feed: PipedInput | None = None) -> None:
        """Judges a script that is passed to a shell."""
        if self.unwrapped >= MAX_WRAPPER_DEPTH:
            self.add_unjudgeable_part(text, "has too many nested wrappers")
            return
        self.unwrapped += 1
        try:
            self.add_script_parts(text, scope, feed)
        finally:
            self.unwrapped -= 1

    def path_effects(self, scope: ShellScope) -> PathEffectJudge:
        return PathEffectJudge(self.place, scope)

    def make_word_expander(self, source: bytes, statements: "ShellStatementJudge") -> ShellWordExpander:
        return ShellWordExpander(
            source,
            self.place.home_folder,
            self.place.user_name,
            statements.judge_command_substitution,
            lambda why: self.add_unjudgeable_part(source[:200].decode("utf-8", "ignore"), why),
        )
