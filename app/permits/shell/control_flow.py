"""Judges branches and loops of a script: which commands may run, which may run again, and which values are known
after them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tree_sitter import Node

from app.permits.environment_variables import is_harmless_variable_assignment
from app.permits.programs.program_calls import PipedInput
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import UNKNOWN_TEXT_MARK, parse_word_set, possible_commands_of_choices

if TYPE_CHECKING:
    from app.permits.shell.statement_judge import ShellStatementJudge

_MAX_JUDGED_LOOPS = 24
"""The maximum number of words of a `for` loop for which the body is judged one by one."""
SKIPPED_SHELL_NODE_TYPES = parse_word_set(
    "; ;; comment then do done fi { } ( ) if else elif while until esac ! && || ;& ;;&"
) | {"\n"}
SHELL_STATEMENT_NODE_TYPES = parse_word_set(
    "command redirected_statement pipeline list subshell compound_statement for_statement "
    "c_style_for_statement while_statement if_statement case_statement function_definition "
    "variable_assignment variable_assignments declaration_command unset_command test_command "
    "negated_command"
)


class ShellControlFlowJudge:
    """Judges the `if`, `case` and loop statements of one script."""

    def __init__(self, statements: "ShellStatementJudge") -> None:
        self._statements = statements

    def judge_if(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        """Judges an `if`: each condition runs after the earlier ones, each branch after its own condition."""
        has_else = False
        ends: list[ShellScope] = []
        current = scope
        waiting = list(node.children)
        while waiting:
            child = waiting.pop(0)
            kind = child.type
            if kind in ("elif_clause", "else_clause"):
                waiting[:0] = child.children
            elif kind in ("then", "else"):
                has_else = has_else or kind == "else"
                current = scope.copy()
                ends.append(current)
            elif kind == "elif":
                current = scope
            elif kind not in SKIPPED_SHELL_NODE_TYPES:
                self._statements.judge_statement(child, current, feed)
                current.include_pending_scopes()
        if ends:
            first = ends[0]
            for other in ends[1:] if has_else else [*ends[1:], scope.copy()]:
                first.merge_scope(other)
            scope.replace_with(first)
        return None

    def judge_case(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        """Judges a `case`: every clause may run, or none."""
        value = node.child_by_field_name("value")
        if value is not None:
            self._statements.expansions.expand_node(value, scope)
        end = scope.copy()
        for child in node.children:
            if child.type != "case_item":
                continue
            if any(one.type in (";&", ";;&") for one in child.children):
                self._statements.add_unjudgeable_part(node, "one branch of the case continues into the next")
            own = scope.copy()
            patterns = set(child.children_by_field_name("value"))
            for pattern in patterns:
                self._statements.expansions.expand_node(pattern, scope)
            self._statements.judge_sequence(
                [one for one in child.children if one not in patterns and one.type != "|"], own, feed
            )
            end.merge_scope(own)
        scope.replace_with(end)
        return None

    def judge_loop(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        """Judges a loop body twice, the second time with the state that the first turn left, because a loop may run
        zero times or many."""
        if node.type == "c_style_for_statement":
            self._statements.judge_arithmetic(node)
        body = [
            child
            for child in node.children
            if child.type in SHELL_STATEMENT_NODE_TYPES or child.type in ("do_group", "ERROR")
        ]
        for child in node.children:
            if child not in body and child.child_count:
                self._statements.expansions.judge_substitutions_and_reads(child, scope)
        return self._judge_repeatedly(lambda own: self._statements.judge_sequence(body, own, feed), scope)

    def _judge_repeatedly(
        self, turn: Callable[[ShellScope], PipedInput | None], scope: ShellScope
    ) -> PipedInput | None:
        own = scope.copy()
        said = turn(own)
        if own.known_variables != scope.known_variables or own.possible_folders != scope.possible_folders:
            own.merge_scope(scope.copy())
            turn(own)
        own.merge_scope(scope.copy())
        scope.replace_with(own)
        return said

    def judge_for(self, node: Node, scope: ShellScope, feed: PipedInput | None) -> PipedInput | None:
        """Judges a `for` or `select`, whose variable takes the listed words."""
        variable = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        name = self._statements.node_text(variable) if variable is not None else "_"
        words = self._statements.expansions.expand_nodes(node.children_by_field_name("value"), scope)
        is_known = bool(words) and not any(word.is_unknown for word in words)
        if node.children[0].type == "select" or len(words) > _MAX_JUDGED_LOOPS:
            is_known = False
        if body is None:
            return None
        if not is_harmless_variable_assignment(name, is_exported=False) or node.children[0].type != "for":
            self._statements.add_unjudgeable_part(node, f"{name} may change how programs behave")
        said: PipedInput | None = None
        end = scope.copy()
        values = [word.text for word in words] if is_known else [UNKNOWN_TEXT_MARK]
        values += [word.text for known in possible_commands_of_choices(words) for word in known]
        for value in values[:_MAX_JUDGED_LOOPS]:
            own = end.copy()
            own.known_variables[name] = value
            said = self._statements.judge_statement(body, own, feed) or said
            if not is_known or own.possible_folders != end.possible_folders:
                self._statements.judge_statement(body, own, feed)
            end.merge_scope(own)
        scope.replace_with(end)
        return said
