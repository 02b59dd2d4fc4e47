"""Judges redirections and here-documents, and the commands that follow a here-document on its line."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tree_sitter import Node

from app.permits.command_findings import RiskFinding, contained_risk_finding
from app.permits.programs.program_calls import PipedInput
from app.permits.shell.control_flow import SHELL_STATEMENT_NODE_TYPES
from app.permits.shell.word_expansion import ShellWordExpander
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord, possible_commands_of_choices

if TYPE_CHECKING:
    from app.permits.shell.command_line import ShellAnalysis
    from app.permits.shell.statement_judge import ShellStatementJudge

_WRITING_REDIRECTION_OPERATORS = frozenset({">", ">>", "&>", "&>>", ">|", ">&", "<>"})
_HEREDOC_DELIMITER = re.compile(r"(['\"]?)([A-Za-z_]\w*)\1")


class RedirectionJudge:
    """Judges the redirections of one script."""

    def __init__(
        self, reading: "ShellAnalysis", expansions: ShellWordExpander, statements: "ShellStatementJudge"
    ) -> None:
        self._reading = reading
        self._expansions = expansions
        self._statements = statements

    def judge_redirections(
        self, nodes: Sequence[Node], scope: ShellScope, feed: PipedInput | None
    ) -> tuple[list[RiskFinding], PipedInput | None]:
        """Judges redirections; returns the findings and the input that the command gets."""
        findings: list[RiskFinding] = []
        waiting = list(nodes)
        if sum(node.type == "heredoc_redirect" for node in nodes) > 1:
            findings.append(contained_risk_finding("has several here-documents"))
        while waiting:
            node = waiting.pop(0)
            if node.type == "file_redirect":
                found, read = self._judge_file(node, scope)
                findings += found
                feed = feed if read is None else read
            elif node.type == "herestring_redirect":
                feed = self.judge_here_string(node, scope)
            elif node.type == "heredoc_redirect":
                text = self._document_text(node, scope)
                feed = PipedInput(text, is_of_workspace=text is not None)
                waiting += [child for child in node.children if child.type == "file_redirect"]
                if node.children_by_field_name("argument"):
                    findings.append(contained_risk_finding("has words after the start of a here-document"))
            elif node.is_named:
                self._reading.add_unjudgeable_part(
                    self._expansions.node_text(node), "has an unknown kind of redirection"
                )
                self._expansions.judge_substitutions_within(node)
        return findings, feed

    def _judge_file(self, node: Node, scope: ShellScope) -> tuple[list[RiskFinding], PipedInput | None]:
        """Judges a redirection to or from a file; returns the findings, and a description of the input that the
        command gets; None for the input if a file is written."""
        expansions = self._expansions
        operator = next((one.type for one in node.children if one.type[0] in "<>&"), ">")
        ground = self._reading.path_effects(scope)
        findings: list[RiskFinding] = []
        sources: list[ShellWord] = []
        descriptor = node.child_by_field_name("descriptor")
        before = expansions.source[max(node.start_byte - 1, 0) : node.start_byte]
        if (descriptor is not None and not expansions.node_text(descriptor).isdecimal()) or before == b"}":
            findings.append(contained_risk_finding("a redirection sets a variable"))
        targets = node.children_by_field_name("destination")
        if len(targets) > 1:
            findings.append(contained_risk_finding("has words after a redirection"))
        for target in targets:
            if target.start_point.row != node.start_point.row and "\\\n" not in expansions.node_text(node):
                findings.append(
                    contained_risk_finding("a redirection has no target, which shells do not accept")
                )
            if operator in (">&", "<&") and target.type == "number" and not target.child_count:
                continue
            words = expansions.expand_node(target, scope)
            for word in [*words, *(one for known in possible_commands_of_choices(words) for one in known)]:
                if operator in (">&", "<&") and word.text == "-":
                    continue
                sources.append(word)
                findings.append(
                    ground.judge_write(word)
                    if operator in _WRITING_REDIRECTION_OPERATORS
                    else ground.judge_read(word)
                )
        if operator in _WRITING_REDIRECTION_OPERATORS:
            return findings, None
        is_of_workspace = (
            operator == "<"
            and (descriptor is None or expansions.node_text(descriptor) == "0")
            and all(
                word.is_literal
                and not (word.is_process_substitution or ground.may_be_outside_workspace_roots(word))
                for word in sources
            )
        )
        return findings, PipedInput(is_of_workspace=is_of_workspace)

    def judge_here_string(self, node: Node, scope: ShellScope) -> PipedInput:
        texts = [
            self._expansions.expand_assigned_value(child, scope)
            for child in node.named_children
            if child.type != "file_descriptor"
        ]
        text = " ".join(texts)
        is_known = UNKNOWN_TEXT_MARK not in text and not any(
            char in self._expansions.node_text(node) for char in "$`"
        )
        return PipedInput(
            None if UNKNOWN_TEXT_MARK in text else text, (ShellWord(text),), is_of_workspace=is_known
        )

    def _document_text(self, node: Node, scope: ShellScope) -> str | None:
        """Returns the text of a here-document; None if part of it is only known at run time."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if start is None or not self._heredoc_end_matches_bash(node, start):
            self._reading.add_unjudgeable_part(
                self._expansions.node_text(node), "the end of its here-document is unclear"
            )
        if start is None:
            return None
        if body is None:
            return ""
        text = self._expansions.node_text(body)
        if any(char in self._expansions.node_text(start) for char in "'\"\\"):
            return text
        self._expansions.judge_substitutions_and_reads(body, scope)
        if "`" in text or "\\" in text:
            self._reading.add_unjudgeable_part(text, "a command in a here-document could not be parsed")
        has_more = any(child.type not in ("heredoc_content",) for child in body.named_children)
        return None if has_more or "\\" in text or "$" in text or "`" in text else text

    def _heredoc_end_matches_bash(self, node: Node, start: Node) -> bool:
        """Returns whether bash ends the here-document at the same line as the parser, which also accepts blanks
        around the delimiter."""
        delimiter = _HEREDOC_DELIMITER.fullmatch(self._expansions.node_text(start))
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        if delimiter is None or end is None:
            return False
        lines = self._expansions.source.decode("utf-8", "replace").split("\n")
        strips = any(child.type == "<<-" for child in node.children)
        for row in range(start.start_point.row + 1, end.start_point.row + 1):
            line = lines[row].lstrip("\t") if strips else lines[row]
            if line == delimiter[2]:
                return row == end.start_point.row
        return False

    def judge_rest_of_heredoc_line(
        self, nodes: Sequence[Node], scope: ShellScope, said: PipedInput | None
    ) -> None:
        """Judges the commands that follow `<<EOF` on its line: the rest of a pipeline or list."""
        for node in nodes:
            for child in node.children if node.type == "heredoc_redirect" else ():
                if child.type == "pipeline":
                    for stage in child.children:
                        if stage.type not in ("|", "|&"):
                            self._statements.judge_statement(
                                stage, scope.without_pending_scopes(), said or PipedInput()
                            )
                elif child.type in SHELL_STATEMENT_NODE_TYPES:
                    self._statements.judge_statement(child, scope, None)
