"""Lines of structs and interfaces that need no grammar: one field or method each, told whole."""

import re

from tools.filemap.language import FoundSymbol, Members, words
from tools.filemap.wording import header

_EXPORTED, _READONLY = ("exported",), ("readonly",)

_GO_TAG = r"(?:[ ]*`[^`\n]*`)?"
_GO_TYPE = r"(?:\[\w*\]|\*|map\[[\w.]+\]|(?:<-)?chan[ ])*(?:interface\{\}|struct\{\}|[A-Za-z_][\w.]*)"
_GO_LINE = re.compile(
    r"[ \t\r]*\n"
    r"|(?:[ \t]*(?P<doc>//[^\n]*)\n(?:[ \t]*//[^\n]*\n)*+)?"
    rf"(?:[ \t]*(?P<said>(?P<name>(?!_ )[A-Za-z_]\w*)[ ]+{_GO_TYPE}{_GO_TAG}"
    rf"|(?P<embedded>[A-Za-z_]\w*(?:\.\w+)?){_GO_TAG})[ \t\r]*(?://[^\n]*)?\n)?"
)


def _go_field(line: re.Match[str], start: int, row: int, doc: str) -> FoundSymbol:
    name, embedded, said = line.group("name", "embedded", "said")
    name = name or embedded
    signature = header(said, is_cut=False)
    return FoundSymbol(
        name, "field", start, row, row, -1, signature, _exported(name), doc, -1, "", "field_declaration"
    )


_GO_HEAD = re.compile(
    rb"(?P<indent>\t?)(?:(?:type )?(?P<struct>[A-Za-z_]\w*)(?:\[[^\]\n{]*\])? struct"
    rb"|func (?:(?P<receiver>\(\w+ \*?(?P<type>\w+)\)) )?(?P<said>(?P<name>[A-Za-z_]\w*)\([^\n{}\"'`/]*)) \{[ \t\r]*\n"
)


def _go_whole(head: re.Match[bytes]) -> FoundSymbol | None:
    """Structs and functions of one line; `type (…)` and type parameters are left to the grammar."""
    struct, receiver, scope, name, said = head.group("struct", "receiver", "type", "name", "said")
    if struct is not None:
        if not head[0].startswith(b"type ") or b"[" in head[0]:
            return None
        name = struct.decode()
        said = f"{name} struct"
        return FoundSymbol(name, "struct", 0, 0, 0, -1, said, _exported(name), node_type="type_spec")
    if said.count(b"(") != said.count(b")"):
        return None
    name, signature = name.decode(), header(said.decode(), is_cut=True)
    if receiver is None:
        return FoundSymbol(name, "function", 0, 0, 0, -1, signature, _exported(name))
    signature = f"{receiver.decode()} {signature}"
    return FoundSymbol(name, "method", 0, 0, 0, -1, signature, _exported(name), scope=scope.decode())


def _exported(name: str) -> tuple[str, ...]:
    return _EXPORTED if name[0].isupper() else ()


GO_MEMBERS = Members(
    words=(b"\nfunc ", b" struct {"),
    head=_GO_HEAD,
    line=_GO_LINE,
    make=_go_field,
    owners=words("type_spec field_declaration"),
    whole=_go_whole,
)


_TS_REST = r"[^;{}`/\n'\"]*+(?:(?:\"[^\"\n]*\"|'[^'\n]*')[^;{}`/\n'\"]*+)*+"
_TS_COMMENT = r"/(?:/[^\n]*|\*[^*]*+\*+(?:[^/*][^*]*+\*+)*+/)"
_TS_LINE = re.compile(
    r"[ \t\r]*\n"
    rf"|(?:[ \t]*(?P<doc>{_TS_COMMENT})[ \t\r]*\n(?:[ \t]*{_TS_COMMENT}[ \t\r]*\n)*+)?"
    rf"(?:[ \t]*(?:(?P<said>(?P<readonly>readonly )?(?!new[(<])(?P<name>[A-Za-z_$][\w$]*)\??(?P<mark>[:(<]){_TS_REST})"
    rf"|(?:\[[\w$]+: |\(|new[ ]?\(){_TS_REST});[ \t\r]*(?://[^\n]*)?\n)?"
)


def _ts_member(line: re.Match[str], start: int, row: int, doc: str) -> FoundSymbol:
    name, mark, readonly, said = line.group("name", "mark", "readonly", "said")
    kind, node_type = ("property", "property_signature") if mark == ":" else ("method", "method_signature")
    modifiers = () if readonly is None else _READONLY
    signature = header(said if readonly is None else said[len(readonly) :], is_cut=False)
    return FoundSymbol(name, kind, start, row, row, -1, signature, modifiers, doc, -1, "", node_type)


TS_MEMBERS = Members(
    words=(b"interface ",),
    head=re.compile(
        rb"(?P<indent>[ \t]*)(?:export |declare |default )*interface [^\n{};]*[\w$>][ \t]*\{[ \t\r]*\n"
    ),
    line=_TS_LINE,
    make=_ts_member,
    owners=words("interface_declaration"),
)
