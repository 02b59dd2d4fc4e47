"""Expands the nodes of a parsed command into words, as the shell would."""

import re
from collections.abc import Callable, Iterable

import msgspec
from tree_sitter import Node

from app.permits.programs.program_calls import PipedInput
from app.permits.shell_scope import ShellScope
from app.permits.shell_words import (
    ANY_CHARACTER_MARK,
    ANY_FILE_NAME_MARK,
    CLOSE_BRACE_MARK,
    CLOSE_CHOICE_MARK,
    COMMA_MARK,
    OPEN_BRACE_MARK,
    OPEN_BRACKET_MARK,
    OPEN_CHOICE_MARK,
    OR_MARK,
    UNKNOWN_TEXT_MARK,
    WILDCARD_MARK_PATTERN,
    WORD_BREAK_MARK,
    ShellWord,
    expand_shell_braces,
    parse_word_set,
    possible_texts_of_choices,
    with_unknown_choices,
)

_PLAIN_SHELL_TEXT = re.compile(r"[A-Za-z0-9_./=:,@%+^-]+")
_SINGLE_WORD_TEXT = re.compile(r"[A-Za-z0-9_./=:@%+^-]+")
_NON_WORD_SHELL_CHARACTERS = re.compile(r"(?<!\\)[$`;|&<>\n()]")
_ESCAPABLE_IN_DOUBLE_QUOTES = {"$", "`", '"', "\\"}
_GLOB_BRACKET_PATTERN = re.compile(f"{OPEN_BRACKET_MARK}[!^]?\\]?[^/\\]]*\\]")
_ASSIGNMENT_START = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_TILDE_PREFIX = re.compile(r"~([A-Za-z_][A-Za-z0-9_-]*)?(?=/|$)")
_SPLIT_OR_GLOB_CHARACTER = re.compile(rf"[\s*?\[{UNKNOWN_TEXT_MARK}{ANY_FILE_NAME_MARK}{ANY_CHARACTER_MARK}]")
_GLOB_MARK = re.compile(f"[{ANY_FILE_NAME_MARK}{ANY_CHARACTER_MARK}{OPEN_BRACKET_MARK}]")
_BRACE_EXPANSION = re.compile(rf"{OPEN_BRACE_MARK}.*(?:\.\.|{COMMA_MARK})", re.DOTALL)
_BLANKS = re.compile(r"\s+")
_PARAMETER_DEFAULT_OPERATORS = parse_word_set(":- - := = :+ +")
"""The operators of `${name:-word}` and the like, whose value is the variable's, the word or nothing."""
_NUMERIC_SHELL_VARIABLES = frozenset("?#$!")
_ARITHMETIC_NODE_TYPES = parse_word_set(
    "$(( )) ( ) + - * / % ** < > <= >= == != && || ! ~ ^ & | << >> ? : number"
)

JudgeSubstitution = Callable[[Node], PipedInput]
"""A function that judges a command substitution and returns its output, as far as it is known."""


class ShellWordExpander(msgspec.Struct, frozen=True):
    """Expands the words of one command line."""

    source: bytes
    home: str
    user: str
    judge_command_substitution: JudgeSubstitution
    add_unjudgeable_part: Callable[[str], None]

    def node_text(self, node: Node) -> str:
        return self._source_between(node.start_byte, node.end_byte)

    def _source_between(self, start: int, end: int) -> str:
        """Returns the source text between two byte positions, which may cut a character."""
        piece = self.source[start:end]
        try:
            return piece.decode()
        except UnicodeDecodeError:
            self.add_unjudgeable_part("cannot be parsed reliably")
            return piece.decode("utf-8", "replace")

    def expand_nodes(self, nodes: Iterable[Node], scope: ShellScope) -> list[ShellWord]:
        return [word for node in nodes for word in self.expand_node(node, scope)]

    def expand_node(self, node: Node, scope: ShellScope) -> list[ShellWord]:
        """Expands one node; brace expansion may give several words."""
        source = self.node_text(node)
        if node.type == "word" and _PLAIN_SHELL_TEXT.fullmatch(source):
            return [ShellWord(source, source_text=source)]
        if node.type == "process_substitution":
            self.judge_command_substitution(node)
            return [ShellWord("/dev/fd/63", source_text=source, is_process_substitution=True)]
        text, splits = self._expand_piece(node, scope)
        found = self._words_of(with_unknown_choices(text), source, scope, splits=splits)
        choices = tuple(
            tuple(
                word
                for piece in one.split(WORD_BREAK_MARK)
                if piece or WORD_BREAK_MARK not in one
                for word in self._words_of(piece, source, scope, splits=splits)
            )
            for one in possible_texts_of_choices(text)
        )
        if not choices and _GLOB_BRACKET_PATTERN.search(text):  # which stays as it is if it matches no file
            literal = text.replace(OPEN_BRACKET_MARK, "[")
            choices = (tuple(self._words_of(literal, source, scope, splits=splits)),)
        return [msgspec.structs.replace(found[0], choices=choices), *found[1:]] if choices else found

    def _words_of(self, text: str, source: str, scope: ShellScope, *, splits: bool) -> list[ShellWord]:
        """Returns the words that braces and `~` make of a text with marks."""
        found: list[ShellWord] = []
        splits = splits or _BRACE_EXPANSION.search(text) is not None
        for one in expand_shell_braces(text):
            one = self._text_with_marks(one, scope)
            found.append(ShellWord(one, splits and WILDCARD_MARK_PATTERN.search(one) is not None, source))
        return found

    def expand_assigned_value(self, node: Node, scope: ShellScope) -> str:
        """Expands the value of an assignment, which the shell neither splits nor globs."""
        if node.type == "array":
            for child in node.named_children:
                self.expand_node(child, scope)
                if self.node_text(child).startswith("["):
                    self.add_unjudgeable_part("an array index may run code")
            return UNKNOWN_TEXT_MARK
        text, _ = self._expand_piece(node, scope)
        text = (
            with_unknown_choices(text)
            .replace(OPEN_BRACE_MARK, "{")
            .replace(COMMA_MARK, ",")
            .replace(CLOSE_BRACE_MARK, "}")
            .replace(OPEN_BRACKET_MARK, "[")
        )
        if node.type in ("word", "concatenation"):
            text = (
                text.replace(ANY_FILE_NAME_MARK, "*").replace(ANY_CHARACTER_MARK, "?")
                if self.node_text(node).find("$") < 0
                else text
            )
            text = self._expand_tilde(text, scope)
            text = re.sub(r"(?<=:)~(?=/|:|$)", lambda _: self.home, text)
        return text

    def _text_with_marks(self, text: str, scope: ShellScope) -> str:
        if OPEN_BRACKET_MARK in text:
            text = _GLOB_BRACKET_PATTERN.sub(ANY_CHARACTER_MARK, text).replace(OPEN_BRACKET_MARK, "[")
        return self._expand_tilde(text, scope)

    def _expand_tilde(self, text: str, scope: ShellScope) -> str:
        """Expands an unquoted `~` at the start of a word; in a quoted one, the character is marked."""
        if text.startswith("\ue014"):
            return text.replace("\ue014", "")
        if text.startswith("~"):
            if text.startswith(("~+", "~-")):
                self.add_unjudgeable_part("the folder cannot be determined")
            found = _TILDE_PREFIX.match(text)
            if found and (found[1] is None or found[1] == self.user):
                return (scope.known_value("HOME", self.home) or self.home) + text[found.end() :]
            if found and found[1] == "root":
                return "/root" + text[found.end() :]
            if found:
                return f"/home/{found[1]}" + text[found.end() :]
        # bash also expands it in arguments that look like assignments, such as `dd if=~/x`.
        assigned = _ASSIGNMENT_START.match(text)
        if assigned and "~" in text:
            home = scope.known_value("HOME", self.home) or self.home
            text = assigned[0] + re.sub(r"(?:^|(?<=:))~(?=/|:|$)", lambda _: home, text[assigned.end() :])
        return text.replace("\ue014", "")

    # Pieces of a word

    def _expand_piece(self, node: Node, scope: ShellScope) -> tuple[str, bool]:
        """Returns the text of one piece of a word, with marks, and whether the shell may split it."""
        kind = node.type
        if kind in ("word", "number", "variable_name", "regex", "extglob_pattern", "file_descriptor"):
            return self._unquoted_piece(self.node_text(node))
        if kind == "raw_string":
            return "\ue014" + self.node_text(node)[1:-1], False
        if kind == "string":
            text, splits = self._quoted_text(node, scope)
            return "\ue014" + text, splits
        if kind == "ansi_c_string":
            return "\ue014" + unescape_ansi_c_quoted(self.node_text(node)[2:-1]), False
        if kind in ("concatenation", "command_name"):
            return self._expand_joined(node.children, scope, node.start_byte, node.end_byte)
        if kind in ("simple_expansion", "expansion"):
            return self._expand_variable(node, scope, is_quoted=False)
        if kind == "$":
            return UNKNOWN_TEXT_MARK, True  # of `$A:$B` the parser takes the second name for a separate word
        if kind == "command_substitution":
            value = self._command_substitution(node, scope)
            return (
                (UNKNOWN_TEXT_MARK, True)
                if not value or _SPLIT_OR_GLOB_CHARACTER.search(value)
                else (value, False)
            )
        if kind == "arithmetic_expansion":
            self._judge_arithmetic(node, scope)
            return ANY_FILE_NAME_MARK, False
        if kind == "brace_expression":
            return ANY_FILE_NAME_MARK, True
        if kind == "process_substitution":
            self.judge_command_substitution(node)
            return UNKNOWN_TEXT_MARK, False
        self.judge_substitutions_and_reads(node, scope)
        self.add_unjudgeable_part(f"a word could not be parsed: {kind.lower()}")
        return UNKNOWN_TEXT_MARK, True

    def _expand_joined(
        self, pieces: Iterable[Node], scope: ShellScope, at: int, end: int
    ) -> tuple[str, bool]:
        """Expands the pieces of a word that goes from one byte position to another."""
        texts: list[str] = []
        splits = False
        for child in pieces:
            if child.start_byte > at:
                text, may_split = self._unquoted_piece(self._source_between(at, child.start_byte))
                texts.append(text)
                splits = splits or may_split
            text, may_split = self._expand_piece(child, scope)
            if texts and text.startswith("\ue014"):
                text = text[1:]
            texts.append(text)
            splits = splits or may_split
            at = child.end_byte
        if at < end:
            text, may_split = self._unquoted_piece(self._source_between(at, end))
            texts.append(text)
            splits = splits or may_split
        return "".join(texts), splits

    def _unquoted_piece(self, text: str) -> tuple[str, bool]:
        """Returns unquoted text with marks for its patterns, and whether it has any."""
        text = self._unquoted_text(text)
        return text, _GLOB_MARK.search(text) is not None

    def _unquoted_text(self, text: str) -> str:
        """Returns unquoted text with its escapes removed."""
        if _SINGLE_WORD_TEXT.fullmatch(text):
            return text
        text = text.replace("\\\n", "")
        if _NON_WORD_SHELL_CHARACTERS.search(text):
            self.add_unjudgeable_part("one of its words can be read in two ways")
            return UNKNOWN_TEXT_MARK
        out: list[str] = []
        special = {
            "*": ANY_FILE_NAME_MARK,
            "?": ANY_CHARACTER_MARK,
            "{": OPEN_BRACE_MARK,
            ",": COMMA_MARK,
            "}": CLOSE_BRACE_MARK,
            "[": OPEN_BRACKET_MARK,
        }
        chars = iter(text)
        for char in chars:
            if char == "\\":
                follower = next(chars, "")
                out.append("\ue014" + follower if not out else follower)
            else:
                out.append(special.get(char, char))
        return "".join(out)

    def _quoted_text(self, node: Node, scope: ShellScope) -> tuple[str, bool]:
        texts: list[str] = []
        splits = False
        at, end = node.start_byte + 1, node.end_byte - 1
        for child in node.children:
            if child.type in ("string_content", '"') or child.start_byte < at:
                continue
            texts.append(_unescape_double_quoted(self._source_between(at, child.start_byte)))
            at = child.end_byte
            if child.type in ("simple_expansion", "expansion"):
                text, may_split = self._expand_variable(child, scope, is_quoted=True)
                texts.append(text)
                splits = splits or may_split
            elif child.type == "command_substitution":
                texts.append(self._command_substitution(child, scope))
            elif child.type == "arithmetic_expansion":
                self._judge_arithmetic(child, scope)
                texts.append(ANY_FILE_NAME_MARK)
            else:
                texts.append(self.node_text(child))
        texts.append(_unescape_double_quoted(self._source_between(at, end)))
        return "".join(texts), splits

    def _expand_variable(self, node: Node, scope: ShellScope, *, is_quoted: bool) -> tuple[str, bool]:
        text = self.node_text(node)
        name = text[2:-1] if node.type == "expansion" else text[1:]
        if not re.fullmatch(r"\w+|[@*?#$!-]", name):
            values = self._judge_parameter_expansion(node, scope, is_quoted=is_quoted)
            return values, not is_quoted or "@" in name
        if name in _NUMERIC_SHELL_VARIABLES:
            return ANY_FILE_NAME_MARK, False
        value = self._known_value(name, scope)
        if value is None:
            return UNKNOWN_TEXT_MARK, not is_quoted or name == "@"
        if is_quoted:
            return value, False
        if _SPLIT_OR_GLOB_CHARACTER.search(value) or not value:
            return UNKNOWN_TEXT_MARK, True
        return value, False

    def _judge_parameter_expansion(self, node: Node, scope: ShellScope, *, is_quoted: bool) -> str:
        """Judges the words inside `${name…}` and returns its possible values: of `${name:-word}` the word and what is
        known of the variable."""
        pieces = node.children
        if len(pieces) < 4 or pieces[2].type not in _PARAMETER_DEFAULT_OPERATORS:
            self.judge_substitutions_and_reads(node, scope)
            return UNKNOWN_TEXT_MARK
        name, operator = self.node_text(pieces[1]), pieces[2].type
        word, _ = self._expand_joined(pieces[3:-1], scope, pieces[2].end_byte, node.end_byte - 1)
        other = "" if operator.endswith("+") else self._known_value(name, scope)
        if operator.endswith("="):
            scope.set_variable(name, UNKNOWN_TEXT_MARK)
        values = [word] if other is None else [word, other]
        if not is_quoted:
            values = [_BLANKS.sub(WORD_BREAK_MARK, value) for value in values]
        return f"{OPEN_CHOICE_MARK}{OR_MARK.join(values)}{CLOSE_CHOICE_MARK}"

    def _judge_arithmetic(self, node: Node, scope: ShellScope) -> None:
        """Judges `$(( … ))`: bash evaluates a variable in it as an expression, which may run code."""
        self.judge_substitutions_within(node)
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if (one.type == "number" and one.child_count == 0) or one.type in _ARITHMETIC_NODE_TYPES:
                continue
            if one.type in ("variable_name", "simple_expansion"):
                if self.node_text(one).removeprefix("$") in _NUMERIC_SHELL_VARIABLES:
                    continue
            elif one.child_count:
                waiting += one.children
                continue
            self.add_unjudgeable_part("arithmetic that may run code")
            return

    def _known_value(self, name: str, scope: ShellScope) -> str | None:
        otherwise = None
        if name == "HOME":
            otherwise = self.home
        elif name == "PWD" and len(scope.possible_folders) == 1:
            otherwise = scope.possible_folders[0]
        value = scope.known_value(name, otherwise)
        if value is not None:
            return value
        if name.isdigit() and scope.script_arguments is not None:
            at = int(name)
            return scope.script_arguments[at] if at < len(scope.script_arguments) else ""
        if name in ("@", "*") and scope.script_arguments is not None and len(scope.script_arguments) == 2:
            return scope.script_arguments[1]
        return None

    def _command_substitution(self, node: Node, scope: ShellScope) -> str:
        feed = self.judge_command_substitution(node)
        return feed.text.rstrip("\n") if feed.text is not None else UNKNOWN_TEXT_MARK

    def judge_substitutions_within(self, node: Node) -> None:
        """Judges all command substitutions inside a node of the parsed command."""
        self.judge_substitutions_and_reads(node, None)

    def judge_substitutions_and_reads(self, node: Node, scope: ShellScope | None) -> None:
        """Judges all command substitutions inside a node and, with a scope, how variables are read there."""
        waiting = list(reversed(node.children))
        while waiting:
            child = waiting.pop()
            if child.type in ("command_substitution", "process_substitution"):
                self.judge_command_substitution(child)
            elif scope is not None and child.type == "expansion":
                self._expand_variable(child, scope, is_quoted=True)
            elif scope is not None and child.type == "arithmetic_expansion":
                self._judge_arithmetic(child, scope)
            elif scope is not None and child.type == "subscript" and "$" in self.node_text(child):
                self.add_unjudgeable_part("an array index may run code")
            elif scope is not None and child.type == "translated_string":
                self.add_unjudgeable_part('a translated text ($"…") is only known at run time')
            elif child.child_count:
                waiting += reversed(child.children)


def _unescape_double_quoted(text: str) -> str:
    """Removes the escapes of text in double quotes."""
    if "\\" not in text:
        return text
    text = text.replace("\\\n", "")
    return re.sub(r"\\([$`\"\\])", r"\1", text)


_ANSI_C_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x(\{[0-9A-Fa-f]*\}?|[0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(\\\\|.)|(.))",
    re.DOTALL,
)
_ANSI_C_CHARACTER_BY_ESCAPE = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))
_NON_TEXT_CHARACTERS = re.compile("[\ud800-\udfff\ue000-\uf8ff]")


def unescape_ansi_c_quoted(text: str) -> str:
    """Removes the escapes of `$'…'`, as bash does. A text that is not UTF-8, or has characters that are marks here,
    is unknown."""
    if "\\" not in text:
        return text

    def unescape(found: re.Match[str]) -> bytes:
        octal, byte, short, long, control, other = found.groups()
        if octal or byte:
            return bytes([(int(octal, 8) if octal else int(byte.strip("{}") or "0", 16)) & 0xFF])
        if short or long:
            return chr(int(short or long, 16)).encode()
        if control:
            return b"\x7f" if control == "?" else bytes([control[0].upper().encode("ascii")[0] & 0x1F])
        return _ANSI_C_CHARACTER_BY_ESCAPE.get(other, found[0]).encode()

    pieces, at = list[bytes](), 0
    try:
        for found in _ANSI_C_ESCAPE.finditer(text):
            pieces += [text[at : found.start()].encode(), unescape(found)]
            at = found.end()
        known = b"".join([*pieces, text[at:].encode()]).partition(b"\0")[0].decode()
    except (ValueError, OverflowError):
        return UNKNOWN_TEXT_MARK
    return UNKNOWN_TEXT_MARK if _NON_TEXT_CHARACTERS.search(known) else known
