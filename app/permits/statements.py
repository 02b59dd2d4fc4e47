"""Statements of a script: lists, pipelines, branches, loops, functions, and what each leaves for the next."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from app.permits.branches import SKIPPED, STATEMENTS, Branches
from app.permits.calls import Feed
from app.permits.letters import Finding
from app.permits.redirections import Redirections, words_behind
from app.permits.scope import Function, ShellScope
from app.permits.simple import Simple, judge_words
from app.permits.words import UNKNOWN, Word, literal

if TYPE_CHECKING:
    from app.permits.shell import ShellReading

_SEQUENCES = frozenset({"ERROR", "do_group", "else_clause", "elif_clause", "negated_command", "program"})
_EVALUATED = re.compile(r"\w\[[^\]]*(\$\(|`)")


class Statements:
    """Those of one script, over its parsed nodes."""

    def __init__(self, reading: "ShellReading", source: bytes) -> None:
        self._reading = reading
        self._source = source
        self.expansions = reading.expansions(source, self)
        self.redirections = Redirections(reading, self.expansions, self)
        self._current: ShellScope | None = None
        self._branches = Branches(self)

    def text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # One after the other

    def sequence(self, nodes: Sequence[Node], scope: ShellScope, feed: Feed | None) -> Feed | None:
        """Statements one behind the other; what comes out of them is what comes out of the last one."""
        said: Feed | None = None
        has_network = False
        for place, node in enumerate(nodes):
            kind = node.type
            if kind in SKIPPED or kind == "&":
                continue
            is_background = place + 1 < len(nodes) and nodes[place + 1].type == "&"
            own = scope.copy() if is_background else scope
            said = self.statement(node, own, feed)
            has_network = has_network or (said is not None and said.network)
            if is_background:
                scope.gather(own)
            scope.settle()
        if has_network:
            return Feed(network=True)
        return said

    def statement(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        reading = self._reading
        if not reading.step():
            return None
        if reading.depth > 40:
            reading.doubt(self.text(node), "it is nested too deeply to be told")
            return None
        deed = _DEEDS.get(node.type)
        reading.depth += 1
        self._current, before = scope, self._current
        try:
            if deed is not None:
                return deed(self, node, scope, feed)
            if node.type in _SEQUENCES:
                return self.sequence(node.children, scope, feed)
            if node.child_count or node.is_named:
                reading.doubt(self.text(node), "it is written in a way that is not known here")
                self.expansions.judge_within(node)
            return None
        finally:
            reading.depth -= 1
            self._current = before

    def substituted(self, node: Node) -> Feed:
        """A command within a word: it runs in a shell of its own."""
        reading = self._reading
        assert self._current is not None
        if reading.depth > 40:
            reading.doubt(self.text(node), "it is nested too deeply to be told")
            return Feed()
        scope = self._current.copy()
        scope.pending = ()
        for child in node.children:
            if child.type == "file_redirect":
                found = self.redirections.judge([child], scope, None)
                if found.findings:
                    reading.add(self.text(child), found.findings, None)
        before = self._current
        reading.depth += 1
        self._current = scope
        try:
            # What stands in `>(…)` is fed by somebody.
            is_fed = node.children and node.children[0].type == ">("
            inside = [child for child in node.children[1:-1] if child.type != "file_redirect"]
            said = self.sequence(inside, scope, Feed() if is_fed else None)
        finally:
            reading.depth -= 1
            self._current = before
        before.gather(scope)
        return said or Feed()

    # Simple commands

    def _command(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        return self.command(node, scope, feed, (), self.text(node))

    def command(
        self,
        node: Node,
        scope: ShellScope,
        feed: Feed | None,
        redirected: Sequence[Finding],
        text: str,
        behind: Sequence[Node] = (),
    ) -> Feed | None:
        """`behind`: words of it that stand behind its redirections."""
        words: list[Word] = []
        assigned: list[tuple[str, str]] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assigned.append(self._assigned(child, scope))
            elif child.type == "command_name":
                if child.children and child.children[0].type == "arithmetic_expansion":
                    self.expansions.judge_within(child)
                    words.append(literal("(("))
                    continue
                words += self.expansions.word(child.children[0] if child.child_count == 1 else child, scope)
            elif child.type in STATEMENTS:  # `time ( … )`
                if not words or words[0].text not in ("time", "coproc"):
                    self._reading.doubt(text, "it is not written as bash reads it")
                self.statement(child, scope.copy(), feed)
            elif child.type == "herestring_redirect":
                feed = self.redirections.here_string(child, scope)
            elif child.type == "file_redirect":
                found = self.redirections.judge([child], scope, feed)
                redirected = [*redirected, *found.findings]
                feed = found.feed
                for word in words_behind([child]):
                    words += self.expansions.word(word, scope)
            else:
                words += self.expansions.word(child, scope)
        for word in behind:
            words += self.expansions.word(word, scope)
        first = node.child_by_field_name("name")
        is_odd = (
            first is not None
            and self._source[first.start_byte : first.end_byte].find(b"$") >= 0
            and any(child.type in ("ansi_c_string", "translated_string") for child in _flat(first))
        )
        simple = Simple(text, words, scope, feed, redirected, tuple(assigned), is_odd)
        return judge_words(self._reading, simple)

    def _redirected(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        return self.redirected(body, redirects, scope, feed, _first_line(self.text(node), redirects))

    def redirected(
        self, body: Node | None, redirects: Sequence[Node], scope: ShellScope, feed: Feed | None, text: str
    ) -> Feed | None:
        if body is not None and body.type in ("list", "pipeline"):
            # A redirection belongs to the last command before it.
            return self._spread(body, redirects, scope, feed)
        found = self.redirections.judge(redirects, scope, feed)
        behind = words_behind(redirects)
        if behind and body is not None and body.type == "negated_command":
            body = body.children[-1]
        if body is not None and body.type == "command":
            said = self.command(body, scope, found.feed, found.findings, text, behind)
        else:
            if behind:
                self._reading.doubt(text, "words stand behind a redirection")
            if found.findings:
                self._reading.add(text, found.findings, None)
            said = self.statement(body, scope, found.feed) if body is not None else None
        if said is not None and said.network:
            scope.fetched |= found.written
        if found.is_diverted:
            said = Feed(network=True) if said is not None and said.network and found.has_tail else None
        return self.redirections.tails(redirects, scope, said)

    def _spread(
        self, body: Node, redirects: Sequence[Node], scope: ShellScope, feed: Feed | None
    ) -> Feed | None:
        last = body.children[-1]
        text = f"{self.text(last)} {' '.join(self.text(one) for one in redirects)}"
        final = partial(self.redirected, last, redirects, text=_first_line(text, redirects))
        if body.type == "pipeline":
            return self._pipeline(body, scope, feed, lambda own, fed: final(scope=own, feed=fed))
        return self._list(body, scope, feed, lambda own, fed: final(scope=own, feed=fed))

    # Several commands

    def _pipeline(
        self,
        node: Node,
        scope: ShellScope,
        feed: Feed | None,
        final: Callable[[ShellScope, Feed | None], Feed | None] | None = None,
    ) -> Feed | None:
        stages = [child for child in node.children if child.type not in ("|", "|&")]
        has_network = False
        for place, stage in enumerate(stages):
            own = scope.copy()
            own.pending = ()
            is_last = place == len(stages) - 1
            said = final(own, feed) if final is not None and is_last else self.statement(stage, own, feed)
            has_network = has_network or (feed is not None and feed.network)
            scope.gather(own)
            feed = said or Feed()
            if has_network:
                feed = feed._replace(network=True)
        return feed

    def _list(
        self,
        node: Node,
        scope: ShellScope,
        feed: Feed | None,
        final: Callable[[ShellScope, Feed | None], Feed | None] | None = None,
    ) -> Feed | None:
        links = _chain(node)
        if links is None:
            return self.sequence(node.children, scope, feed)
        said = self.statement(links[0][1], scope, feed)
        has_network = said is not None and said.network
        for place, (operator, right) in enumerate(links[1:], 2):

            def then(
                own: ShellScope, right: Node = right, is_last: bool = place == len(links)
            ) -> Feed | None:
                return final(own, feed) if final is not None and is_last else self.statement(right, own, feed)

            said = self.follow(operator, scope, then)
            has_network = has_network or (said is not None and said.network)
        return Feed(network=True) if has_network else said

    def follow(
        self, operator: str, scope: ShellScope, then: Callable[[ShellScope], Feed | None]
    ) -> Feed | None:
        """What comes behind `&&` or `||`."""
        if operator == "&&":
            before = scope.copy()
            before.pending = ()
            said = then(scope)
            scope.pending = (*scope.pending, before)
            return said
        went_well = scope.copy()
        went_well.pending = ()
        scope.settle()
        said = then(scope)
        scope.settle()
        if scope.has_left:
            scope.join(went_well)
        else:
            went_well.join(scope)
            scope.take_over(went_well)
        return said

    def _subshell(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        own = scope.copy()
        own.pending = ()
        said = self.sequence(node.children, own, feed)
        scope.gather(own)
        return said

    def _compound(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        if node.children and node.children[0].type == "((":
            self.expansions.judge_within(node)
            return None
        return self.sequence(node.children, scope, feed)

    # Definitions and variables

    def _function(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return None
        name = self.text(name_node)
        calls = len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.text(body)))
        if "&" in self.text(body).replace("&&", "") and calls:
            letter = "F" if calls > 1 else "U"
            self._reading.add(
                self.text(node),
                [Finding(letter, f"{name} starts itself in the background without end")],
                None,
            )
        scope.functions[name] = Function(name, node, self._source)
        self._reading.uncalled[node.id] = (scope.copy(), self, node)
        return None

    def function_body(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        reading = self._reading
        reading.uncalled.pop(node.id, None)
        if node.id in reading.running:
            return None
        reading.running.add(node.id)
        try:
            for redirect in node.children_by_field_name("redirect"):
                found = self.redirections.judge([redirect], scope, feed)
                if found.findings:
                    reading.add(self.text(redirect), found.findings, None)
            body = node.child_by_field_name("body")
            return self.statement(body, scope, feed) if body is not None else None
        finally:
            reading.running.discard(node.id)

    def _assigned(self, node: Node, scope: ShellScope) -> tuple[str, str]:
        """Name and value of an assignment, which is not yet made."""
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.text(name_node) if name_node is not None else "_"
        if not name.partition("[")[0].isidentifier():
            self._reading.doubt(self.text(node), "it has no name as variables have")
        value = "" if value_node is None else self.expansions.value(value_node, scope)
        if name_node is not None and name_node.type == "subscript":
            self.expansions.judge_within(name_node)
            name, value = name.partition("[")[0], UNKNOWN
        if "+=" in self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")[: len(name) + 2]:
            before = scope.variables.get(name)
            value = UNKNOWN if before is None else before + value
        if _EVALUATED.search(value):
            self._reading.doubt(self.text(node), "its value runs where it is used as a number")
        return name, value

    def _assignment(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        name, value = self._assigned(node, scope)
        judge_words(self._reading, Simple(self.text(node), [], scope, feed, (), ((name, value),)))
        return None

    def _assignments(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        for child in node.named_children:
            self._assignment(child, scope, feed)
        return None

    def _declaration(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        words: list[Word] = []
        assigned: list[tuple[str, str]] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                assigned.append(self._assigned(child, scope))
            else:
                words += self.expansions.word(child, scope)
        name = literal(self.text(node.children[0]))
        judge_words(self._reading, Simple(self.text(node), [name, *words], scope, feed, (), tuple(assigned)))
        return None

    def _unset(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        words = [literal("unset"), *self.expansions.words(node.named_children, scope)]
        judge_words(self._reading, Simple(self.text(node), words, scope, feed))
        return None

    def _test(self, node: Node, scope: ShellScope, feed: Feed | None) -> Feed | None:
        self.expansions.judge_within(node)
        if _EVALUATED.search(self.text(node)) and any(
            one.type in ("string", "raw_string") for one in _flat(node)
        ):
            self._reading.doubt(self.text(node), "a subscript in it runs as code")
        else:
            self._reading.add(self.text(node), [Finding("R", "only looks")], None)
        return None


_DEEDS: dict[str, Callable[[Statements, Node, ShellScope, Feed | None], Feed | None]] = {
    "command": Statements._command,
    "redirected_statement": Statements._redirected,
    "pipeline": Statements._pipeline,
    "list": Statements._list,
    "subshell": Statements._subshell,
    "compound_statement": Statements._compound,
    "for_statement": lambda own, node, scope, feed: own._branches.each(node, scope, feed),
    "c_style_for_statement": lambda own, node, scope, feed: own._branches.loop(node, scope, feed),
    "while_statement": lambda own, node, scope, feed: own._branches.loop(node, scope, feed),
    "if_statement": lambda own, node, scope, feed: own._branches.branch(node, scope, feed),
    "case_statement": lambda own, node, scope, feed: own._branches.case(node, scope, feed),
    "function_definition": Statements._function,
    "variable_assignment": Statements._assignment,
    "variable_assignments": Statements._assignments,
    "declaration_command": Statements._declaration,
    "unset_command": Statements._unset,
    "test_command": Statements._test,
}


def _chain(node: Node) -> list[tuple[str, Node]] | None:
    """`a && b || c` as its commands, each with the operator before it; None if it is not whole."""
    links: list[tuple[str, Node]] = []
    while node.type == "list":
        children = [child for child in node.children if child.type != "comment"]
        if len(children) != 3:
            return None
        links.append((children[1].type, children[2]))
        node = children[0]
    return [("", node), *reversed(links)]


def _flat(node: Node) -> list[Node]:
    """The node and all below it."""
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += one.children
    return found


def _first_line(text: str, redirects: Sequence[Node]) -> str:
    """A here-document's text is no part of what is told of its command."""
    if any(redirect.type == "heredoc_redirect" for redirect in redirects):
        return text.split("\n", 1)[0]
    return text
