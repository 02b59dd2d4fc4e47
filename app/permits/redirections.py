"""Where a command reads from and writes to: files, here-documents, and what goes on behind them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tree_sitter import Node

from app.permits.calls import Feed
from app.permits.expansions import Expansions
from app.permits.letters import Finding
from app.permits.paths import PathGround
from app.permits.scope import ShellScope
from app.permits.words import UNKNOWN

if TYPE_CHECKING:
    from app.permits.shell import ShellReading
    from app.permits.statements import Statements

_WRITES = frozenset({">", ">>", "&>", "&>>", ">|", ">&", "<>"})


class Redirected(NamedTuple):
    findings: list[Finding]
    feed: Feed | None
    written: frozenset[str]
    is_diverted: bool
    """What it says goes to a file."""
    has_tail: bool
    """A command stands behind a here-document's beginning."""


class Redirections:
    def __init__(self, reading: "ShellReading", expansions: Expansions, statements: "Statements") -> None:
        self._reading = reading
        self._expansions = expansions
        self._statements = statements

    def judge(self, nodes: Sequence[Node], scope: ShellScope, feed: Feed | None) -> Redirected:
        findings: list[Finding] = []
        written: set[str] = set()
        is_diverted = has_tail = False
        waiting = list(nodes)
        while waiting:
            node = waiting.pop(0)
            if node.type == "file_redirect":
                ground = self._reading.ground(scope)
                operator = next((one.type for one in node.children if one.type[0] in "<>&"), ">")
                found, files, source = self._file(node, operator, ground, scope)
                findings += found
                written |= files
                feed = source or feed
                is_diverted = is_diverted or (bool(files) and not _is_second(node, self._expansions))
            elif node.type == "herestring_redirect":
                feed = self.here_string(node, scope)
            elif node.type == "heredoc_redirect":
                feed = Feed(text=self._document(node))
                waiting += [child for child in node.children if child.type == "file_redirect"]
                has_tail = has_tail or any(child.type in ("pipeline", "&&", "||") for child in node.children)
            elif node.is_named:
                self._reading.doubt(self._expansions.text(node), "a redirection that is not known here")
                self._expansions.judge_within(node)
        return Redirected(findings, feed, frozenset(written), is_diverted, has_tail)

    def _file(
        self, node: Node, operator: str, ground: PathGround, scope: ShellScope
    ) -> tuple[list[Finding], frozenset[str], Feed | None]:
        findings: list[Finding] = []
        files: frozenset[str] = frozenset()
        feed: Feed | None = None
        for target in node.children_by_field_name("destination")[:1]:
            if target.start_point.row != node.start_point.row and "\\\n" not in self._expansions.text(node):
                findings.append(Finding("U", "a redirection goes nowhere, which a shell does not read"))
            if operator in (">&", "<&") and target.type == "number":
                continue
            for word in self._expansions.word(target, scope):
                if operator in (">&", "<&") and word.text in ("-",):
                    continue
                if operator in _WRITES:
                    findings.append(ground.write(word))
                    forms = frozenset(ground.forms(word.text))
                    scope.written |= forms
                    files |= forms
                else:
                    findings.append(ground.read(word))
                    is_fetched = word.from_network or ground.was(scope.fetched, word)
                    feed = Feed(network=is_fetched)
        return findings, files, feed

    def here_string(self, node: Node, scope: ShellScope) -> Feed:
        texts = [
            self._expansions.value(child, scope)
            for child in node.named_children
            if child.type != "file_descriptor"
        ]
        text = " ".join(texts)
        return Feed(text=None if UNKNOWN in text else text)

    def _document(self, node: Node) -> str | None:
        """The text of a here-document; None if the run will fill something in."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if start is None:
            return None
        if body is None:
            return ""
        is_quoted = any(char in self._expansions.text(start) for char in "'\"\\")
        text = self._expansions.text(body)
        if not is_quoted:
            self._expansions.judge_within(body)
        if is_quoted:
            return text
        if "`" in text:
            self._reading.doubt(text, "a command in a here-document could not be read")
        has_more = any(child.type not in ("heredoc_content",) for child in body.named_children)
        return None if has_more or "\\" in text or "$" in text or "`" in text else text

    def tails(self, nodes: Sequence[Node], scope: ShellScope, said: Feed | None) -> Feed | None:
        """What stands behind `<<EOF` on its line: more of the pipeline, or the next of the list."""
        for node in nodes:
            if node.type != "heredoc_redirect":
                continue
            operator = None
            for child in node.children:
                if child.type == "pipeline":
                    said = self._tail_of_pipeline(child, scope, said)
                elif child.type in ("&&", "||"):
                    operator = child.type
                elif (
                    operator is not None
                    and child.is_named
                    and child.type
                    not in (
                        "heredoc_body",
                        "heredoc_end",
                    )
                ):
                    said = self._follow(operator, child, scope)
                    operator = None
        return said

    def _follow(self, operator: str, node: Node, scope: ShellScope) -> Feed | None:
        return self._statements.follow(
            operator, scope, lambda own: self._statements.statement(node, own, None)
        )

    def _tail_of_pipeline(self, node: Node, scope: ShellScope, said: Feed | None) -> Feed | None:
        feed = said or Feed()
        for child in node.children:
            if child.type in ("|", "|&"):
                continue
            own = scope.copy()
            feed = self._statements.statement(child, own, feed) or Feed(network=feed.network)
            scope.gather(own)
        return feed


def words_behind(redirects: Sequence[Node]) -> list[Node]:
    """What stands behind where a redirection leads to, or behind `<<EOF` on its line: words of the command.

    The parser counts the first as further places (`git > log push`), and the second as words of the redirection.
    """
    found: list[Node] = []
    for node in redirects:
        if node.type == "file_redirect":
            found += node.children_by_field_name("destination")[1:]
        elif node.type == "heredoc_redirect":
            found += words_behind([child for child in node.children if child.type == "file_redirect"])
            found += node.children_by_field_name("argument")
    return sorted(found, key=lambda node: node.start_byte)


def _is_second(node: Node, expansions: Expansions) -> bool:
    """A redirection of errors alone."""
    descriptor = node.child_by_field_name("descriptor")
    return descriptor is not None and expansions.text(descriptor) != "1"
