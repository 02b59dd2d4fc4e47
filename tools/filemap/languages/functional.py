"""Describes Haskell, OCaml, Elixir, Erlang, Clojure and Elm for maps of files."""

import re
from collections.abc import Callable
from itertools import pairwise

from tree_sitter import Node

from tools.filemap.language_description import (
    AncestorNodeTypes,
    DefinitionWord,
    FoundSymbol,
    LanguageDescription,
    SymbolNameNode,
    SyntaxNodeContext,
    SyntaxNodeRule,
    first_child_of_types,
    first_line_of_node_without_body,
    first_named_child,
    last_named_child,
    make_definition_words,
    name_by_child_type,
    word_set,
)
from tools.filemap.languages.doc_comments import attach_elixir_docs
from tools.filemap.map_deadline import MapDeadline
from tools.filemap.symbol_list_changes import (
    merge_clauses_of_functions,
    remove_symbols,
    sort_symbols_in_file_order,
)

_STRING_TOKEN_REGEX = rb'"(?:[^"\\]|\\.)*"' + rb"|'(?:[^'\\\n]|\\.)*'"
_OTHER_TOKEN_REGEX = rb"<<|>>|[()\[\]{},]|[\w@]+|[^\s\w]"
_ERLANG_TOKENS_PATTERN = re.compile(
    _STRING_TOKEN_REGEX + rb"|\$\\?.|(?P<remark>%[^\n]*)|" + _OTHER_TOKEN_REGEX, re.S
)
_ELIXIR_TOKENS_PATTERN = re.compile(
    _STRING_TOKEN_REGEX + rb"|\?\\?.|(?P<remark>#[^\n]*)|" + _OTHER_TOKEN_REGEX, re.S
)
_OPENING_BRACKET_BYTES, _CLOSING_BRACKET_BYTES = (
    frozenset((b"(", b"[", b"{", b"<<")),
    frozenset((b")", b"]", b"}", b">>")),
)
_MAX_CLAUSE_HEAD_BYTES = 4000


def _is_same_name_and_kind(before: FoundSymbol, after: FoundSymbol) -> bool:
    kinds = ("function", "signature", "spec", "macro")
    return before.kind in kinds and after.kind in kinds and before.name.strip("()") == after.name.strip("()")


def _name_haskell_binding(node: Node, place: SyntaxNodeContext) -> Node | None:
    name = node.child_by_field_name("name")
    if name is not None:
        return name
    infix = first_child_of_types(node, "infix")
    return infix.child_by_field_name("operator") if infix is not None else None


def _name_haskell_signature(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    name = node.child_by_field_name("name")
    if name is not None:
        return [name]
    names = node.child_by_field_name("names")
    return names.named_children if names is not None else None


def _name_haskell_instance(node: Node, place: SyntaxNodeContext) -> str:
    line = first_line_of_node_without_body(node, place, 120, until=" where")
    return line.removeprefix("instance").strip()


def _name_haskell_foreign(node: Node, place: SyntaxNodeContext) -> Node | None:
    signature = node.child_by_field_name("signature")
    return signature.child_by_field_name("name") if signature is not None else None


def _name_haskell_constructor(node: Node, place: SyntaxNodeContext) -> Node | None:
    names = (part.child_by_field_name("name") for part in node.named_children)
    return next(filter(None, names), None)


def _name_haskell_field(node: Node, place: SyntaxNodeContext) -> list[Node] | None:
    return [each for each in node.children_by_field_name("name") if each.type == "field_name"] or None


def _merge_type_signatures(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Merges a Haskell or Elm type signature with the equations or the definition below it."""
    joined = merge_clauses_of_functions(drafts, _is_same_name_and_kind)
    for draft in joined:
        if draft.kind == "signature":
            draft.kind = "function"
    return joined


HASKELL_LANGUAGE = LanguageDescription(
    name="haskell",
    node_rules={
        "type_synomym": SyntaxNodeRule("type", is_leaf=True),
        "type_family": SyntaxNodeRule("type", is_leaf=True),
        "data_type": SyntaxNodeRule("type", body_field="constructors"),
        "newtype": SyntaxNodeRule("type", body_field="constructor"),
        "class": SyntaxNodeRule("class", body_field="declarations"),
        "instance": SyntaxNodeRule("instance", _name_haskell_instance, body_field="declarations"),
        "function": SyntaxNodeRule("function", _name_haskell_binding, is_leaf=True, body_field="match"),
        "bind": SyntaxNodeRule("function", _name_haskell_binding, is_leaf=True, body_field="match"),
        "signature": SyntaxNodeRule("signature", _name_haskell_signature, is_leaf=True),
        "foreign_import": SyntaxNodeRule("function", _name_haskell_foreign, is_leaf=True),
        "data_constructor": SyntaxNodeRule("constructor", _name_haskell_constructor),
        "field": SyntaxNodeRule("field", _name_haskell_field, is_leaf=True),
    },
    entered_nodes=word_set(
        "haskell imports declarations class_declarations instance_declarations data_constructors top_splice record "
        "fields newtype_constructor"
    ),
    comment_nodes=word_set("comment haddock"),
    import_rules={"import": "module"},
    finish_symbols=_merge_type_signatures,
)


def _name_ocaml_binding(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    pattern = node.child_by_field_name("pattern")
    if pattern is not None and pattern.type == "string":  # `let%test "…" = …`
        said = f"test {place.text(pattern)[1:-1]}"
        return [SymbolNameNode(said, "test", said)]
    if pattern is None or pattern.type not in ("value_name", "parenthesized_operator"):
        return None
    body = node.child_by_field_name("body")
    has_parameter = any(child.type == "parameter" for child in node.named_children)
    is_function = has_parameter or (
        body is not None and body.type in ("fun_expression", "function_expression")
    )
    return [SymbolNameNode(pattern, "function" if is_function else "value")]


def _name_ocaml_exception(node: Node, place: SyntaxNodeContext) -> Node | None:
    inner = first_named_child(node)
    return first_child_of_types(inner, "constructor_name") if inner is not None else None


def _finish_ocaml_symbols(drafts: list[FoundSymbol], _source: bytes) -> list[FoundSymbol]:
    """Completes OCaml symbols: an operator such as `( >>= )` is named >>=."""
    for draft in drafts:
        if draft.name.startswith("("):
            draft.name = draft.name.strip("() ")
    return drafts


_OCAML_ATTRIBUTE_PATTERN = re.compile(rb"\[@\s*[a-z](?:[^\[\]\"]|\"(?:[^\"\\]|\\.)*\"|\[[^\[\]]*\])*\]", re.S)
_NOT_BLANK_PATTERN = re.compile(rb"[^\s]")


def _blank_ocaml_attributes(source: bytes, _watch: MapDeadline) -> bytes:
    """Blanks out attributes of OCaml expressions, which may be where the grammar allows none; `[@@…]` ends its
    declaration."""
    if b"[@" not in source:
        return source
    return _OCAML_ATTRIBUTE_PATTERN.sub(lambda match: _NOT_BLANK_PATTERN.sub(b" ", match[0]), source)


def _ocaml_language(name: str, called: str) -> LanguageDescription:
    return LanguageDescription(
        name=name,
        display_name=called,
        node_rules={
            "let_binding": SyntaxNodeRule("function", _name_ocaml_binding, is_leaf=True),
            "type_binding": SyntaxNodeRule("type"),
            "exception_definition": SyntaxNodeRule("exception", _name_ocaml_exception, is_leaf=True),
            "module_binding": SyntaxNodeRule("module", name_by_child_type("module_name")),
            "module_type_definition": SyntaxNodeRule("interface", name_by_child_type("module_type_name")),
            "class_binding": SyntaxNodeRule("class", name_by_child_type("class_name")),
            "class_type_binding": SyntaxNodeRule("class", name_by_child_type("class_type_name")),
            "method_definition": SyntaxNodeRule("method", name_by_child_type("method_name"), is_leaf=True),
            "method_specification": SyntaxNodeRule("method", name_by_child_type("method_name"), is_leaf=True),
            "instance_variable_definition": SyntaxNodeRule(
                "field", name_by_child_type("instance_variable_name"), is_leaf=True
            ),
            "external": SyntaxNodeRule(
                "function", name_by_child_type("value_name", "parenthesized_operator"), is_leaf=True
            ),
            "value_specification": SyntaxNodeRule(
                "function", name_by_child_type("value_name", "parenthesized_operator"), is_leaf=True
            ),
            "field_declaration": SyntaxNodeRule("field", name_by_child_type("field_name"), is_leaf=True),
            "constructor_declaration": SyntaxNodeRule("constructor", name_by_child_type("constructor_name")),
        },
        entered_nodes=word_set(
            "compilation_unit value_definition type_definition module_definition structure signature functor "
            "class_definition class_type_definition object_expression class_body_type record_declaration "
            "variant_declaration module_type_constraint include_module functor_application "
            "module_parameter module_application typed_module_expression parenthesized_module_expression "
            "let_open_expression item_extension attribute_payload"
        ),
        prepare_source=_blank_ocaml_attributes,
        wrapper_nodes=word_set("value_definition type_definition module_definition class_definition"),
        import_rules={"open_module": name_by_child_type("module_path")},
        finish_symbols=_finish_ocaml_symbols,
        modifier_words=word_set("rec virtual private mutable"),
    )


_SYMBOL_KIND_BY_ELIXIR_MACRO = {
    "defmodule": "module", "defprotocol": "protocol", "defimpl": "implementation", "def": "function",
    "defp": "function", "defmacro": "macro", "defmacrop": "macro", "defguard": "macro", "defguardp": "macro",
    "defdelegate": "function", "defstruct": "struct", "defexception": "exception", "test": "test",
    "describe": "test", "defoverridable": "",
}  # fmt: skip


def _name_elixir_call(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    target = node.child_by_field_name("target")
    if target is None or target.type != "identifier":
        return None
    word = place.text(target)
    kind = _SYMBOL_KIND_BY_ELIXIR_MACRO.get(word)
    if not kind:
        return None
    arguments = first_child_of_types(node, "arguments")
    first = first_named_child(arguments) if arguments is not None else None
    if word in ("defstruct", "defexception"):
        return [
            SymbolNameNode(
                word.removeprefix("def"), kind, first_line_of_node_without_body(node, place, until="")
            )
        ]
    if first is None:
        return None
    if kind == "implementation" and arguments is not None:
        said = place.text(arguments).strip("()").replace(", for:", " for").split()
        return [SymbolNameNode(" ".join(said), kind)]
    if kind in ("module", "protocol"):
        return [SymbolNameNode(first, kind, place.text(first))]
    if kind == "test":
        label = place.text(first).strip('"')
        return [SymbolNameNode(f"{word} {label}", kind, f"{word} {label}")]
    head = " ".join(place.text(first).split())[:160]
    return [SymbolNameNode(_find_elixir_function_name(first, place), kind, head)] if head else None


_SYMBOL_KIND_BY_ELIXIR_ATTRIBUTE = {
    "type": "type", "typep": "type", "opaque": "type", "callback": "callback", "macrocallback": "callback",
}  # fmt: skip


def _name_elixir_attribute(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of an Elixir attribute that declares something: `@type name :: …` or `@callback
    name(…) :: …`."""
    call = node.child_by_field_name("operand")
    target = call.child_by_field_name("target") if call is not None else None
    kind = _SYMBOL_KIND_BY_ELIXIR_ATTRIBUTE.get(place.text(target)) if target is not None else None
    arguments = first_child_of_types(call, "arguments") if call is not None and kind else None
    first = first_named_child(arguments) if arguments is not None else None
    if kind is None or first is None:
        return None
    head = " ".join(place.text(first).split("::")[0].split())[:160]
    return [SymbolNameNode(_find_elixir_function_name(first, place), kind, head)]


def _find_elixir_function_name(node: Node, place: SyntaxNodeContext) -> Node | str:
    """Returns the name of an Elixir function from its head with guards, defaults and arguments; for an operator, the
    operator."""
    for _ in range(4):
        if node.type == "binary_operator":
            operator = node.child_by_field_name("operator")
            sign = place.text(operator) if operator is not None else ""
            left = node.child_by_field_name("left")
            if sign in ("when", "\\\\", "::") and left is not None:
                node = left
                continue
            return operator if operator is not None else node
        if node.type == "unary_operator":
            return node.child_by_field_name("operator") or node
        if node.type == "block" and node.named_child_count == 1:  # in parentheses
            node = first_named_child(node) or node
            continue
        target = node.child_by_field_name("target") if node.type == "call" else None
        if target is None or place.text(target) == "unquote":
            return node
        node = target
    return node


def _finish_elixir_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Elixir symbols: merges the clauses of a function, and marks definitions by `defp` as private."""
    for draft in drafts:
        word = source[draft.start : draft.start + 10].split(b" ", 1)[0]
        if draft.kind in ("function", "macro", "type", "callback") and not word.endswith(b"p"):
            draft.modifiers = ("exported",)
    return attach_elixir_docs(
        merge_clauses_of_functions(drafts, _make_same_function_check(source, _ELIXIR_TOKENS_PATTERN)), source
    )


_ELIXIR_DEFINITION_WORDS = (
    DefinitionWord(b"def", re.compile(rb"\bdef[a-z]*[ (]")),
    *make_definition_words(b"@type", b"@opaque", b"@callback", b"@macrocallback", b'test "', b'describe "'),
)


def _elixir_definition_filter(here: AncestorNodeTypes) -> tuple[DefinitionWord, ...] | None:
    """Restricts the search for symbols inside of Elixir calls, such as `made = quote do … end` and `if … do … end`, to
    definitions."""
    return _ELIXIR_DEFINITION_WORDS if here[0] in ("call", "binary_operator") else None


ELIXIR_LANGUAGE = LanguageDescription(
    name="elixir",
    node_rules={
        "call": SyntaxNodeRule("function", _name_elixir_call),
        "unary_operator": SyntaxNodeRule("type", _name_elixir_attribute, is_leaf=True),
    },
    entered_nodes=word_set("source do_block else_block binary_operator stab_clause body"),
    definition_filter=_elixir_definition_filter,
    finish_symbols=_finish_elixir_symbols,
)


def _name_erlang_function(node: Node, place: SyntaxNodeContext) -> Node | None:
    clause = node.child_by_field_name("clause")
    return clause.child_by_field_name("name") if clause is not None else None


def _name_erlang_macro(node: Node, place: SyntaxNodeContext) -> Node | None:
    left = node.child_by_field_name("lhs")
    return left.child_by_field_name("name") if left is not None else None


def _name_erlang_type(node: Node, place: SyntaxNodeContext) -> Node | None:
    name = node.child_by_field_name("name")
    return (name.child_by_field_name("name") or name) if name is not None else None


def _finish_erlang_symbols(drafts: list[FoundSymbol], source: bytes) -> list[FoundSymbol]:
    """Completes Erlang symbols: merges the clauses of a function with its spec, for each arity."""
    drafts = sort_symbols_in_file_order(drafts)
    specs: list[int] = []
    for index, (spec, draft) in enumerate(pairwise(drafts)):
        if spec.kind == "spec" and draft.kind == "function" and spec.name == draft.name:
            draft.decorator_row, draft.doc = spec.start_row, draft.doc or spec.doc
            specs.append(index)
    joined = merge_clauses_of_functions(
        remove_symbols(drafts, specs), _make_same_function_check(source, _ERLANG_TOKENS_PATTERN)
    )
    exported = _find_exported_erlang_names(source)
    for draft in joined:
        if draft.kind != "macro":
            draft.signature = draft.signature.split(" ->")[0].rstrip("). ")
        if draft.signature.count("(") > draft.signature.count(")"):
            draft.signature += ")"
        if draft.kind == "function" and draft.name in exported:
            draft.modifiers = ("exported",)
    return joined


def _find_exported_erlang_names(source: bytes) -> set[str]:
    lists = re.findall(rb"^-export\(\[([^\]]*)\]", source, re.M)
    return {
        part.split("/")[0].strip() for each in lists for part in each.decode("utf-8", "replace").split(",")
    }


ERLANG_LANGUAGE = LanguageDescription(
    name="erlang",
    node_rules={
        "module_attribute": SyntaxNodeRule("module", is_leaf=True),
        "record_decl": SyntaxNodeRule("record", is_leaf=True),
        "pp_define": SyntaxNodeRule("macro", _name_erlang_macro, is_leaf=True),
        "type_alias": SyntaxNodeRule("type", _name_erlang_type, is_leaf=True),
        "opaque": SyntaxNodeRule("type", _name_erlang_type, is_leaf=True),
        "spec": SyntaxNodeRule("spec", "fun", is_leaf=True),
        "callback": SyntaxNodeRule("callback", "fun", is_leaf=True),
        "fun_decl": SyntaxNodeRule("function", _name_erlang_function, is_leaf=True),
    },
    entered_nodes=word_set("source_file"),
    import_rules={"import_attribute": "module", "pp_include": "file", "pp_include_lib": "file"},
    finish_symbols=_finish_erlang_symbols,
)

_SYMBOL_KIND_BY_LISP_FORM = {
    "defn": "function", "defn-": "function", "def": "variable", "defmacro": "macro", "defprotocol": "protocol",
    "defrecord": "class", "deftype": "class", "defmulti": "function", "defmethod": "method", "defonce": "variable",
    "ns": "namespace", "deftest": "test", "definline": "function", "definterface": "interface",
    "defstruct": "struct", "extend-type": "extension", "extend-protocol": "extension", "declare": "",
    "in-ns": "namespace", "comment": "",
}  # fmt: skip
_LISP_FORMS_WITH_METHODS = word_set("defprotocol defrecord deftype definterface extend-type extend-protocol")
"""Clojure forms whose inner lists are methods; in other forms, such as `(let [x 1] …)`, lists of the same shape are
none."""
_LISP_COMMENT_NODES = word_set("comment dis_expr gap")


def _name_lisp_definition(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    if place.ancestor_type() == "list_lit":
        return _name_lisp_method(node, place)
    parts = [child for child in node.named_children[:8] if child.type not in _LISP_COMMENT_NODES]
    if len(parts) < 2 or parts[0].type != "sym_lit":
        return None
    head = place.text(parts[0])
    plain = head.split("/")[-1]
    kind = _SYMBOL_KIND_BY_LISP_FORM.get(
        plain, "variable" if plain.startswith("def") and len(plain) > 3 else ""
    )
    if not kind:
        return None
    name = parts[1]
    if name.type == "sym_lit":
        name = last_named_child(name) or name
    if name.type not in ("sym_name", "sym_lit", "kwd_lit"):
        return None
    shown = place.text(name)
    if plain == "defmethod" and len(parts) > 2:
        shown += " " + " ".join(place.text(parts[2]).split())[:40]
    signature = _lisp_arguments_text(parts, place) if kind in ("function", "macro", "method") else ""
    return [SymbolNameNode(shown if plain == "defmethod" else name, kind, f"{shown}{signature}")]


def _name_lisp_method(node: Node, place: SyntaxNodeContext) -> list[SymbolNameNode] | None:
    """Returns the symbol name of a Clojure method: `(name [this] …)` inside a protocol, record or type."""
    link = place.ancestors
    if link is None or (link[1] is not None and link[1][0] == "list_lit"):
        return None
    head = first_named_child(node.parent) if node.parent is not None else None
    if head is None or place.text(head).split("/")[-1] not in _LISP_FORMS_WITH_METHODS:
        return None
    parts = node.named_children[:3]
    if len(parts) < 2 or parts[0].type != "sym_lit" or parts[1].type != "vec_lit":
        return None
    return [SymbolNameNode(parts[0], "method", f"{place.text(parts[0])} {place.text(parts[1])}"[:120])]


def _lisp_arguments_text(parts: list[Node], place: SyntaxNodeContext) -> str:
    for part in parts[2:6]:
        if part.type == "vec_lit":
            return " " + " ".join(place.text(part).split())[:100]
        if part.type == "list_lit" and part.named_child_count:
            first = first_named_child(part)
            return " " + " ".join(place.text(first).split())[:100] + " …" if first is not None else ""
    return ""


CLOJURE_LANGUAGE = LanguageDescription(
    name="clojure",
    node_rules={"list_lit": SyntaxNodeRule("variable", _name_lisp_definition)},
    entered_nodes=word_set("source read_cond_lit splicing_read_cond_lit"),
)


def _name_elm_value(node: Node, place: SyntaxNodeContext) -> Node | None:
    left = node.child_by_field_name("functionDeclarationLeft")
    return first_named_child(left) if left is not None else None


ELM_LANGUAGE = LanguageDescription(
    name="elm",
    node_rules={
        "module_declaration": SyntaxNodeRule("module", is_leaf=True),
        "type_alias_declaration": SyntaxNodeRule("type", is_leaf=True),
        "type_declaration": SyntaxNodeRule("type"),
        "port_annotation": SyntaxNodeRule("function", is_leaf=True),
        "type_annotation": SyntaxNodeRule("signature", is_leaf=True),
        "value_declaration": SyntaxNodeRule("function", _name_elm_value, is_leaf=True),
        "union_variant": SyntaxNodeRule("constructor", is_leaf=True),
    },
    entered_nodes=word_set("file"),
    import_rules={"import_clause": "moduleName"},
    finish_symbols=_merge_type_signatures,
)

LANGUAGE_DESCRIPTIONS = (
    HASKELL_LANGUAGE,
    _ocaml_language("ocaml", "OCaml"),
    _ocaml_language("ocaml_interface", "OCaml interface"),
    ELIXIR_LANGUAGE,
    ERLANG_LANGUAGE,
    CLOJURE_LANGUAGE,
    ELM_LANGUAGE,
)


def _make_same_function_check(
    source: bytes, tokens: re.Pattern[bytes]
) -> Callable[[FoundSymbol, FoundSymbol], bool]:
    """Returns a function that says whether two neighbouring symbols are clauses of one function; it reads the source,
    because signatures are truncated."""

    def is_same(before: FoundSymbol, after: FoundSymbol) -> bool:
        if before.kind not in ("function", "macro") or before.kind != after.kind or before.name != after.name:
            return False
        return arity(before) == arity(after)

    def arity(draft: FoundSymbol) -> int:
        if "(" not in draft.signature:
            return 0
        start = source.find(b"(", draft.start)
        return (
            _count_clause_arguments(source[start : start + _MAX_CLAUSE_HEAD_BYTES], tokens)
            if start >= 0
            else 0
        )

    return is_same


def _count_clause_arguments(head: bytes, tokens: re.Pattern[bytes]) -> int:
    depth = commas = 0
    is_empty = True
    for match in tokens.finditer(head):
        token = match[0]
        if match["remark"] is not None:
            continue
        if token in _OPENING_BRACKET_BYTES:
            is_empty = is_empty and depth == 0
            depth += 1
        elif token in _CLOSING_BRACKET_BYTES:
            depth -= 1
            if depth == 0:
                break
        elif token == b",":
            commas += depth == 1
        else:
            is_empty = False
    return 0 if is_empty else commas + 1
