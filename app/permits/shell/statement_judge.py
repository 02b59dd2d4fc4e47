"""Judges the statements of a script: lists, pipelines, branches, loops, functions, and the state each leaves."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tree_sitter import Node

from app.permits.command_findings import RiskFinding, safe_risk_finding
from app.permits.programs.program_calls import PipedInput
from app.permits.shell.control_flow import (
    SHELL_STATEMENT_NODE_TYPES,
    SKIPPED_SHELL_NODE_TYPES,
    ShellControlFlowJudge,
)
from app.permits.shell.redirections import RedirectionJudge
from app.permits.shell.simple_command import SimpleShellCommand, judge_simple_command
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import (
    UNKNOWN_TEXT_MARK,
    ShellWord,
    literal_shell_word,
    possible_commands_of_choices,
)

if TYPE_CHECKING:
    from app.permits.shell.command_line import ShellAnalysis

_SHELL_SEQUENCE_NODE_TYPES = frozenset(
    {"ERROR", "do_group", "else_clause", "elif_clause", "negated_command", "program"}
)
_NUMERIC_TEST_OPERAND = re.compile(r"-?\d+|\$\{#\w+(?:\[@\])?\}|\$[#?]")
_NUMBER_COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_VARIABLE_TEST_OPERATORS = frozenset({"-v", "-R"})
"""Operators of tests that take a variable's name, in which a subscript would run as code."""


class ShellStatementJudge:
    """Judges the statements of one parsed script."""

    def __init__(self, reading: "ShellAnalysis", source: bytes) -> None:
        self._reading = reading
        self._source = source
        self.expansions = reading.make_word_expander(source, self)
        self.redirections = RedirectionJudge(reading, self.expansions, self)
        self._current: ShellScope | None = None
        self._branches = ShellControlFlowJudge(self)

    def node_text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def add_unjudgeable_part(self, node: Node, why: str) -> None:
        self._reading.add_unjudgeable_part(_text_without_heredocs(self.node_text(node), [node]), why)

    # Sequences

    def judge_sequence(
        self, nodes: Sequence[Node], scope: ShellScope, feed: PipedInput | None
    ) -> PipedInput | None:
        """Judges statements in order and returns the output of the last one."""
        said: PipedInput | None = None
        for place, node in enumerate(nodes):
            kind = node.type
            if kind in SKIPPED_SHELL_NODE_TYPES or kind == "&":
                continue
            is_background = place + 1 < len(nodes) and nodes[place + 1].type == "&"
            said = self.judge_statement(node, scope.copy() if is_background else scope, feed)
            scope.include_pending_scopes()
        return said

    def judge_statement(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        reading = self._reading
        if not reading.spend_analysis_step():
            return None
        if reading.depth > 40:
            reading.add_unjudgeable_part(self.node_text(node), "is nested too deeply")
            return None
        deed = _JUDGE_BY_NODE_TYPE.get(node.type)
        reading.depth += 1
        self._current, before = scope, self._current
        inherited = reading.is_input_of_workspace
        reading.is_input_of_workspace = inherited if feed is None else feed.is_of_workspace
        try:
            if deed is not None:
                return deed(self, node, scope, feed)
            if node.type in _SHELL_SEQUENCE_NODE_TYPES:
                return self.judge_sequence(node.children, scope, feed)
            if node.child_count or node.is_named:
                reading.add_unjudgeable_part(
                    self.node_text(node), "uses shell syntax that bayou does not know"
                )
                self.expansions.judge_substitutions_within(node)
            return None
        finally:
            reading.depth -= 1
            self._current = before
            reading.is_input_of_workspace = inherited

    def judge_command_substitution(self, node: Node) -> PipedInput:
        """Judges a command substitution, which runs in a subshell, and returns its output."""
        reading = self._reading
        assert self._current is not None
        if reading.depth > 40:
            reading.add_unjudgeable_part(self.node_text(node), "is nested too deeply")
            return PipedInput()
        scope = self._current.without_pending_scopes()
        for child in node.children:
            if child.type == "file_redirect":
                found, _ = self.redirections.judge_redirections([child], scope, None)
                if found:
                    reading.add_part(self.node_text(child), found, None)
        before = self._current
        reading.depth += 1
        self._current = scope
        try:
            # The command in `>(…)` reads output of the surrounding command.
            is_fed = node.children and node.children[0].type == ">("
            inside = [child for child in node.children[1:-1] if child.type != "file_redirect"]
            said = self.judge_sequence(inside, scope, PipedInput() if is_fed else None)
        finally:
            reading.depth -= 1
            self._current = before
        return said or PipedInput()

    # Simple commands

    def _judge_plain_command(
        self, node: Node, scope: ShellScope, feed: PipedInput | None
    ) -> PipedInput | None:
        return self.judge_command(node, scope, feed, (), self.node_text(node))

    def judge_command(
        self,
        node: Node,
        scope: ShellScope,
        feed: PipedInput | None,
        redirected: Sequence[RiskFinding],
        text: str,
    ) -> PipedInput | None:
        words: list[ShellWord] = []
        assigned: list[tuple[str, str]] = []
        for child in node.children:
            if child.type == "variable_assignment":
                if assigned and re.search("[$`]", self.node_text(child)):
                    self._reading.add_unjudgeable_part(text, "a value depends on the assignment before it")
                assigned.append(self._assigned_value(child, scope))
            elif child.type == "command_name":
                if child.children and child.children[0].type == "arithmetic_expansion":
                    return self.judge_arithmetic(node)
                words += self.expansions.expand_node(
                    child.children[0] if child.child_count == 1 else child, scope
                )
            elif child.type in SHELL_STATEMENT_NODE_TYPES:  # `time ( … )`
                if not words or words[0].text not in ("time", "coproc"):
                    self._reading.add_unjudgeable_part(text, "is not valid bash")
                self.judge_statement(child, scope.copy(), feed)
            elif child.type == "herestring_redirect":
                feed = self.redirections.judge_here_string(child, scope)
            elif child.type == "file_redirect":
                found, feed = self.redirections.judge_redirections([child], scope, feed)
                redirected = [*redirected, *found]
            else:
                words += self.expansions.expand_node(child, scope)
        reading = self._reading
        inherited = reading.is_input_of_workspace
        reading.is_input_of_workspace = inherited if feed is None else feed.is_of_workspace
        simple = SimpleShellCommand(text, words, scope, feed, redirected, tuple(assigned))
        before = scope.copy() if any(word.choices for word in words) else scope
        said = judge_simple_command(reading, simple)
        for known in possible_commands_of_choices(words):
            with reading.collect_alternative_meaning():
                judge_simple_command(reading, simple._replace(words=known, scope=before.copy()))
        reading.is_input_of_workspace = inherited
        scope.has_exited = re.fullmatch(r"exit(?: \d+)?", text) is not None
        return said

    def _judge_redirected(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        text = _text_without_heredocs(self.node_text(node), redirects)
        if body is not None and body.type == "command":
            found, fed = self.redirections.judge_redirections(redirects, scope, feed)
            said = self.judge_command(body, scope, fed, found, text)
        else:  # in a list it applies to the last command, which runs in the folder where the earlier ones led
            reads = any(node.type != "file_redirect" or "<" in self.node_text(node)[:4] for node in redirects)
            fed = PipedInput() if reads else feed
            said = self.judge_statement(body, scope, fed) if body is not None else None
            found, _ = self.redirections.judge_redirections(redirects, scope, feed)
            if found:
                self._reading.add_part(text, found, None)
        self.redirections.judge_rest_of_heredoc_line(redirects, scope, said)
        return said

    # Several commands

    def _judge_pipeline(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        reading = self._reading
        stages = [stage for stage in node.children if stage.type not in ("|", "|&")]
        for stage in stages:
            is_last = stage == stages[-1]
            sources = reading.outside_sources
            reading.feeding_depth += not is_last
            try:
                said = self.judge_statement(stage, scope.without_pending_scopes(), feed)
            finally:
                reading.feeding_depth -= not is_last
            is_of_workspace = reading.outside_sources == sources
            feed = (said or PipedInput())._replace(is_of_workspace=is_of_workspace)
        return feed

    def _judge_list(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        links = _chained_commands(node)
        if links is None:
            return self.judge_sequence(node.children, scope, feed)
        said = self.judge_statement(links[0][1], scope, feed)
        for operator, right in links[1:]:
            said = self.judge_after_operator(operator, scope, partial(self.judge_statement, right, feed=feed))
        return said

    def judge_after_operator(
        self, operator: str, scope: ShellScope, then: Callable[..., PipedInput | None]
    ) -> PipedInput | None:
        """Judges the command after `&&` or `||`."""
        if operator == "&&":
            before = scope.without_pending_scopes()
            said = then(scope)
            scope.pending_scopes = (*scope.pending_scopes, before)
            return said
        went_well = scope.without_pending_scopes()
        scope.include_pending_scopes()
        said = then(scope)
        scope.include_pending_scopes()
        if scope.has_exited:
            scope.merge_scope(went_well)
        else:
            went_well.merge_scope(scope)
            scope.replace_with(went_well)
        return said

    def _judge_subshell(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        return self.judge_sequence(node.children, scope.without_pending_scopes(), feed)

    def _judge_compound(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        if node.children and node.children[0].type == "((":
            return self.judge_arithmetic(node)
        return self.judge_sequence(node.children, scope, feed)

    def judge_arithmetic(self, node: Node) -> None:
        """Judges `(( … ))`."""
        self.expansions.judge_substitutions_within(node)
        self._reading.add_unjudgeable_part(self.node_text(node), "arithmetic that may run code")

    # Definitions and variables

    def _judge_function(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        """Judges a function definition: the line is contained, and the body is judged once for forbidden commands."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return None
        name = self.node_text(name_node)
        calls = len(re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.node_text(body)))
        if "&" in self.node_text(body).replace("&&", "") and calls > 1:
            said = RiskFinding("forbidden", f"{name} starts itself in the background endlessly (fork bomb)")
            self._reading.add_part(self.node_text(node), [said], None)
        self._reading.add_unjudgeable_part(f"{name}()", "a function redefines a command")
        own = scope.copy()
        own.script_arguments = None
        found, _ = self.redirections.judge_redirections(node.children_by_field_name("redirect"), own, feed)
        if found:
            self._reading.add_part(self.node_text(node), found, None)
        self.judge_statement(body, own, PipedInput())
        scope.merge_scope(own)
        return None

    def _assigned_value(self, node: Node, scope: ShellScope) -> tuple[str, str]:
        """Returns the name and value of an assignment, before it takes effect."""
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.node_text(name_node) if name_node is not None else "_"
        value = "" if value_node is None else self.expansions.expand_assigned_value(value_node, scope)
        if not (name.isidentifier() and name.isascii()):
            if name_node is not None:
                self.expansions.judge_substitutions_within(name_node)
            self._reading.add_unjudgeable_part(self.node_text(node), "the variable name may run code")
            name, value = name.partition("[")[0], UNKNOWN_TEXT_MARK
        if "+=" in self.node_text(node)[: len(name) + 2]:
            before = scope.known_value(name)
            value = UNKNOWN_TEXT_MARK if before is None else before + value
        return name, value

    def _judge_assignment(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        name, value = self._assigned_value(node, scope)
        judge_simple_command(
            self._reading, SimpleShellCommand(self.node_text(node), [], scope, feed, (), ((name, value),))
        )
        return None

    def _judge_assignments(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        for child in node.named_children:
            self._judge_assignment(child, scope, feed)
        return None

    def _judge_declaration(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        words: list[ShellWord] = []
        assigned: list[tuple[str, str]] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                assigned.append(self._assigned_value(child, scope))
            else:
                words += self.expansions.expand_node(child, scope)
        name = literal_shell_word(self.node_text(node.children[0]))
        judge_simple_command(
            self._reading,
            SimpleShellCommand(self.node_text(node), [name, *words], scope, feed, (), tuple(assigned)),
        )
        return None

    def _judge_unset(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        words = [literal_shell_word("unset"), *self.expansions.expand_nodes(node.named_children, scope)]
        judge_simple_command(self._reading, SimpleShellCommand(self.node_text(node), words, scope, feed))
        return None

    def _judge_test(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        """Judges `[ … ]` as `test`; `[[ … ]]` evaluates numeric operands, which may run code."""
        if node.children[0].type == "[":
            self._reading.add_script_parts("test " + self.node_text(node)[1:-1], scope)
            return None
        self.expansions.judge_substitutions_and_reads(node, scope)
        is_plain = True
        for one in _node_and_descendants(node):
            kind = one.type
            if kind in ("unary_expression", "binary_expression"):
                operators = {self.node_text(child) for child in one.children if child.type == "test_operator"}
                is_plain = is_plain and not operators & _VARIABLE_TEST_OPERATORS
                if operators & _NUMBER_COMPARISONS:
                    sides = [child for child in one.children if child.type != "test_operator"]
                    is_plain = is_plain and all(
                        _NUMERIC_TEST_OPERAND.fullmatch(self.node_text(side).strip('"')) for side in sides
                    )
        if node.children[0].type != "[[" or not is_plain:
            self._reading.add_unjudgeable_part(self.node_text(node), "the comparison may run code")
        else:
            self._reading.add_part(self.node_text(node), [safe_risk_finding("only reads")], None)
        return None


_JUDGE_BY_NODE_TYPE: dict[
    str, Callable[[ShellStatementJudge, Node, ShellScope, PipedInput | None], PipedInput | None]
] = {
    "command": ShellStatementJudge._judge_plain_command,
    "redirected_statement": ShellStatementJudge._judge_redirected,
    "pipeline": ShellStatementJudge._judge_pipeline,
    "list": ShellStatementJudge._judge_list,
    "subshell": ShellStatementJudge._judge_subshell,
    "compound_statement": ShellStatementJudge._judge_compound,
    "for_statement": lambda own, node, scope, feed: own._branches.judge_for(node, scope, feed),
    "c_style_for_statement": lambda own, node, scope, feed: own._branches.judge_loop(node, scope, feed),
    "while_statement": lambda own, node, scope, feed: own._branches.judge_loop(node, scope, feed),
    "if_statement": lambda own, node, scope, feed: own._branches.judge_if(node, scope, feed),
    "case_statement": lambda own, node, scope, feed: own._branches.judge_case(node, scope, feed),
    "function_definition": ShellStatementJudge._judge_function,
    "variable_assignment": ShellStatementJudge._judge_assignment,
    "variable_assignments": ShellStatementJudge._judge_assignments,
    "declaration_command": ShellStatementJudge._judge_declaration,
    "unset_command": ShellStatementJudge._judge_unset,
    "test_command": ShellStatementJudge._judge_test,
}


def _chained_commands(node: Node) -> list[tuple[str, Node]] | None:
    """Returns the commands of `a && b || c`, each with the operator before it; None if the node is incomplete."""
    links: list[tuple[str, Node]] = []
    while node.type == "list":
        children = [child for child in node.children if child.type != "comment"]
        if len(children) != 3:
            return None
        links.append((children[1].type, children[2]))
        node = children[0]
    return [("", node), *reversed(links)]


def _node_and_descendants(node: Node) -> list[Node]:
    """Yields the node and all its descendants."""
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += one.children
    return found


def _text_without_heredocs(text: str, redirects: Sequence[Node]) -> str:
    """Returns the text of the command without its here-documents."""
    if any(redirect.type == "heredoc_redirect" for redirect in redirects):
        return text.split("\n", 1)[0]
    return text
