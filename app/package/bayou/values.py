"""Generated from bayou's own definitions: the events, messages and all other values of the client.

python -m app.modes.rpc.reference          generates it again
"""

import json
import os
import random
import time
import types
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice, repeat
from operator import methodcaller
from typing import (
    Any,
    Literal,
    NotRequired,
    TypedDict,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    overload,
)

import msgspec

T = TypeVar("T")


class PrefixView(Sequence[T]):
    """A view of the items that a list had when the view was made. The list may only be appended to."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[T]) -> None:
        self._items = items
        self._length = len(items)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        if isinstance(at, slice):
            begin, end, step = at.indices(self._length)
            if step == 1:
                return tuple(self._items[begin:end])
            return tuple(self._items[index] for index in range(begin, end, step))
        return self._items[range(self._length)[at]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return False
        items = cast("Sequence[object]", other)
        return len(items) == self._length and tuple(self) == tuple(items)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Beginning({list(self)!r})"


Json = dict[str, Any] | list[Any] | str | int | float | None
"""A decoded JSON value: stored details, arguments of tool calls, content of JSON files."""

PRIVATE_PREFIX = f"*{os.urandom(8).hex()}."
"""Prefix of encoded names of fields that are never written; random, so that no input can name such a
field."""

_RAW_FIELD = "raw"
"""The field in which an `Unknown…` member keeps its original data."""

_SCALAR_TYPES = frozenset((str, int, float, bool, type(None)))

_random_bits = map(random.Random(os.urandom(16)).getrandbits, repeat(8 * 1_024))

_random_hex = map(methodcaller("hex", " ", 4), map(methodcaller("to_bytes", 1_024, "little"), _random_bits))

_id_stream = chain.from_iterable(map(str.split, _random_hex))
"""An endless, thread-safe iterator of ids, which need not be secret. It makes many at a time without
Python code for each, since reading a session makes thousands."""


class _EmptyFields(dict[str, Any]):
    """An immutable empty dict that all values share, since a large session has a million values."""

    def __setitem__(self, key: str, value: Any) -> None:
        raise TypeError("all values without further fields share this; make one with `extra`")

    setdefault = update = __ior__ = __setitem__  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[()]]:
        return dict, ()


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, gc=False):
    """An immutable value with a JSON form in pi's spelling.

    Values form no reference cycles, so the garbage collector skips them: a large session has a million."""

    extra: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "extra", default=_EmptyFields())
    """Fields that a newer version or another program added; preserved when written."""


WireStruct = TypeVar("WireStruct", bound=msgspec.Struct)

Encodable = Json | msgspec.Struct | tuple[Any, ...] | PrefixView[Any]

new_id: Callable[[], str] = _id_stream.__next__
"""Returns an id of eight hexadecimal digits for an entry or message. The caller that stores it checks
for collisions."""


def now_ms() -> int:
    """Returns the Unix time in milliseconds, as message timestamps have it."""
    return time.time_ns() // 1_000_000


def now_iso() -> str:
    """Returns the UTC time with milliseconds and a `Z`, as timestamps in session files have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_wire(value: Encodable) -> Any:
    """Converts a value to plain JSON data (dicts, lists, scalars)."""
    if type(value) in _SCALAR_TYPES:
        return value
    if isinstance(value, dict):
        return {key: item if type(item) in _SCALAR_TYPES else to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [item if type(item) in _SCALAR_TYPES else to_wire(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return _struct_to_wire(value)
    if isinstance(value, PrefixView):
        return [to_wire(item) for item in value]
    return value


def convert(data: Any, kind: Any) -> Any:
    """Converts plain JSON data to a value of type `kind`. Raises `msgspec.ValidationError`, also for text with a
    lone surrogate where there should be something else."""
    try:
        return msgspec.convert(data, kind)
    except UnicodeEncodeError as problem:
        raise msgspec.ValidationError(f"Text that is not valid Unicode: {problem.reason}") from None


def from_wire(data: Json, kind: Any) -> Any:
    """Converts plain JSON data to a value of type `kind`, keeping unknown fields and unknown members of open
    unions. Raises `msgspec.ValidationError` when the data does not fit."""
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: a key with a lone surrogate
        return _decode(data, kind)


class _FieldPlan(msgspec.Struct, frozen=True):
    attribute: str
    key: str
    omit_none: bool
    kind: Any
    has_default: bool


class _StructPlan(msgspec.Struct, frozen=True):
    tag_field: str | None
    tag: Any
    fields: tuple[_FieldPlan, ...]
    keys: frozenset[str]
    is_unknown: bool


_struct_plans: dict[type, _StructPlan] = {}


def _plan_for(cls: type[msgspec.Struct]) -> _StructPlan:
    plan = _struct_plans.get(cls)
    if plan is None:
        plan = _struct_plans[cls] = _make_plan(cls)
    return plan


def _make_plan(cls: type[msgspec.Struct]) -> _StructPlan:
    infos = msgspec.structs.fields(cls)
    fields = tuple(
        _FieldPlan(
            attribute=info.name,
            key=info.encode_name,
            omit_none=info.default is None,
            kind=info.type,
            has_default=info.default is not msgspec.NODEFAULT
            or info.default_factory is not msgspec.NODEFAULT,
        )
        for info in infos
        if not info.encode_name.startswith(PRIVATE_PREFIX)
    )
    config = cls.__struct_config__
    keys = {field.key for field in fields}
    if config.tag_field:
        keys.add(config.tag_field)
    return _StructPlan(
        tag_field=config.tag_field,
        tag=config.tag,
        fields=fields,
        keys=frozenset(keys),
        is_unknown=any(
            info.name == _RAW_FIELD and info.encode_name.startswith(PRIVATE_PREFIX) for info in infos
        ),
    )


def _struct_to_wire(value: msgspec.Struct) -> dict[str, Any]:
    plan = _plan_for(type(value))
    if plan.is_unknown:
        return dict(getattr(value, _RAW_FIELD))
    out: dict[str, Any] = {}
    if plan.tag_field:
        out[plan.tag_field] = plan.tag
    for field in plan.fields:
        item = getattr(value, field.attribute)
        if item is None and field.omit_none:
            continue
        out[field.key] = item if type(item) in _SCALAR_TYPES else to_wire(item)
    extra = getattr(value, "extra", None)
    if extra:
        out.update(extra)
    return out


def _decode(data: Json, kind: Any) -> Any:
    if _is_struct(kind):
        return _decode_struct(data, kind)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(data, get_args(kind))
    if origin in (tuple, list) and isinstance(data, list):
        items = [_decode(item, get_args(kind)[0]) for item in data]
        return tuple(items) if origin is tuple else items
    return convert(data, kind)


def _decode_union(data: Json, members: tuple[Any, ...]) -> Any:
    if not isinstance(data, dict):
        return _decode_first_match(data, [m for m in members if not _is_struct(m)])
    structs = [member for member in members if _is_struct(member)]
    for member in structs:
        plan = _plan_for(member)
        if plan.tag_field and not plan.is_unknown and data.get(plan.tag_field) == plan.tag:
            return _decode_or_keep(data, member, structs)
    for member in structs:
        plan = _plan_for(member)
        if plan.is_unknown:
            return member(raw=data)
    if len(structs) == 1:
        return _decode_struct(data, structs[0])
    return _decode_first_match(data, list(members))


def _decode_or_keep(data: dict[str, Any], member: Any, structs: list[Any]) -> Any:
    """Decodes data of a known type; invalid data is kept as the union's unknown member, if it has one."""
    try:
        return _decode_struct(data, member)
    except msgspec.ValidationError:
        for other in structs:
            if _plan_for(other).is_unknown:
                return other(raw=data)
        raise


def _decode_first_match(data: Json, members: list[Any]) -> Any:
    error = msgspec.ValidationError(f"Unexpected {type(data).__name__}")
    for member in members:
        try:
            return _decode(data, member)
        except msgspec.ValidationError as problem:
            error = problem
    raise error


def _decode_struct(data: Json, cls: type[WireStruct]) -> WireStruct:
    if not isinstance(data, dict):
        raise msgspec.ValidationError(f"Expected an object for {cls.__name__}, got {type(data).__name__}")
    plan = _plan_for(cls)
    if plan.is_unknown:
        return cls(raw=data)
    values: dict[str, Any] = {}
    for field in plan.fields:
        if field.key in data:
            value = data[field.key]
            if value is None and field.has_default and not field.omit_none:
                continue
            values[field.attribute] = _decode(
                _empty_value(field.kind) if value is None else value, field.kind
            )
        elif not field.has_default:
            values[field.attribute] = _decode(_empty_value(field.kind), field.kind)
    unknown = {key: item for key, item in data.items() if key not in plan.keys}
    if unknown:
        if not issubclass(cls, Wire):
            raise msgspec.ValidationError(f"{cls.__name__} has no field {next(iter(unknown))!r}")
        values["extra"] = unknown
    return cls(**values)


def _empty_value(kind: Any) -> Json:
    """Returns the empty value for a missing or null `content` field. Other missing fields remain errors."""
    accepts = {get_origin(member) or member for member in (get_args(kind) or (kind,))} | {get_origin(kind)}
    if type(None) in accepts:
        return None
    if tuple in accepts or list in accepts:
        return []
    return "" if str in accepts else {} if dict in accepts else None


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


class Text(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A block of text."""

    text: str
    text_signature: str | None = None


class Image(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """An image, encoded in Base64."""

    data: str
    """The image's data in Base64."""
    mime_type: str


class Thinking(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    """The model's reasoning."""

    thinking: str
    thinking_signature: str | None = None
    """The provider's signature of the reasoning, which is sent back to the same provider and model only."""
    redacted: bool | None = None


class ToolCall(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolCall"):
    """A call of a tool by the model."""

    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None = None
    namespace: str | None = None
    arguments_error: str | None = None
    """The reason why the model's arguments could not be parsed, in which case `arguments` is empty."""


class UnknownContent(Wire, frozen=True, kw_only=True, tag_field="type", tag="*unknown"):
    """A block of a type that this version does not know; preserved when written."""

    raw: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "raw")


Content = Text | Image | Thinking | ToolCall | UnknownContent

AssistantContent = Text | Thinking | ToolCall | UnknownContent

UserContent = Text | Image | UnknownContent


def text_of(
    content: "str | tuple[Content, ...] | tuple[UserContent, ...] | tuple[AssistantContent, ...]",
) -> str:
    """Returns the text blocks of a message's content, joined by line feeds."""
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))


class Cost(Wire, frozen=True, kw_only=True):
    """The cost of a request in US dollars."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    total: float = 0.0
    total_from_provider: bool | float | None = None
    """Whether `total` is the amount that the provider reported, and not computed from prices."""


class Usage(Wire, frozen=True, kw_only=True):
    """Token counts of a request. `input` excludes cached tokens; `reasoning` is part of `output`,
    `cache_write1h` of `cache_write`."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write1h: int | None = None
    reasoning: int | None = None
    total_tokens: int = 0
    cost: Cost = Cost()

    def __add__(self, other: "Usage") -> "Usage":
        return total_usage((self, other))


def total_usage(usages: Sequence[Usage]) -> Usage:
    """Returns the sum of several token usages."""
    costs = [usage.cost for usage in usages]
    return Usage(
        input=sum([usage.input for usage in usages]),
        output=sum([usage.output for usage in usages]),
        cache_read=sum([usage.cache_read for usage in usages]),
        cache_write=sum([usage.cache_write for usage in usages]),
        total_tokens=sum([usage.total_tokens for usage in usages]),
        cost=Cost(
            input=sum([cost.input for cost in costs]),
            output=sum([cost.output for cost in costs]),
            cache_read=sum([cost.cache_read for cost in costs]),
            cache_write=sum([cost.cache_write for cost in costs]),
            total=sum([cost.total for cost in costs]),
        ),
    )


StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]

BLOCKED_PREFIX = "BLOCKED:"
"""The prefix of the last line of an answer by which an agent says that it cannot continue."""


class _Message(Wire, frozen=True, kw_only=True, tag_field="role", tag="*message"):
    id: str = msgspec.field(name=PRIVATE_PREFIX + "id", default_factory=new_id)
    timestamp: int | float = msgspec.field(default_factory=now_ms)
    """Unix time in milliseconds."""


class ToolDeclaration(Wire, frozen=True, kw_only=True):
    """A tool as declared to the model."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = msgspec.field(default={})
    constrained_sampling: Any = None


class ToolName(Wire, frozen=True, kw_only=True):
    """The name of a tool that is no longer declared to the model."""

    name: str


class SystemMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="system"):
    """The prompt's sections and the declared tools, or their changes since the last system message."""

    content: str | tuple[UserContent, ...] = ""
    sections: dict[str, str | None] | None = None
    tools_added: tuple[ToolDeclaration, ...] | None = None
    tools_removed: tuple[ToolName, ...] | None = None


class UserMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="user"):
    """A prompt of the user."""

    content: str | tuple[UserContent, ...]


class AssistantMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="assistant"):
    """An answer of the model."""

    content: tuple[AssistantContent, ...] = ()
    api: str = ""
    provider: str = ""
    model: str = ""
    response_model: str | None = None
    response_id: str | None = None
    provider_thinking_level: Any = None
    thinking_level: str | None = None
    diagnostics: Any = None
    usage: Usage = Usage()
    stop_reason: StopReason = "stop"
    deferred: dict[str, Any] | None = None
    error_message: str | None = None
    raw_stop_reason: str | None = None
    end_turn: bool | None = None
    duration_ms: int | float | None = None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCall))

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def asks_something(self) -> bool:
        """Whether the last paragraph of the model's answer asks the user a question."""
        paragraph = self.text.rstrip().rpartition("\n\n")[2]
        return any(line.rstrip(' *_`)"”»').endswith(("?", "？", "؟")) for line in paragraph.splitlines())

    @property
    def blocked_on(self) -> str:
        """The text of the answer's last line if it begins with `BLOCKED:`, in which an agent says what it needs to
        continue; empty otherwise."""
        last = self.text.rstrip().rsplit("\n", 1)[-1].strip(" *`")
        if not last.startswith(BLOCKED_PREFIX):
            return ""
        return last.removeprefix(BLOCKED_PREFIX).strip(" *`") or "no reason given"

    @property
    def thinking(self) -> str:
        return "".join(block.thinking for block in self.content if isinstance(block, Thinking))


class ToolResultMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="toolResult"):
    """The result of a tool call."""

    tool_call_id: str
    tool_name: str
    content: tuple[UserContent, ...] = ()
    details: Any = None
    usage: Usage | None = None
    nested_calls: dict[str, Any] | None = None
    is_error: bool = False
    duration_ms: int | float | None = None


class BashExecutionMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="bashExecution"):
    """A command that the user ran with `!`."""

    command: str
    output: str
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool | None = None


class CustomMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="custom"):
    """A message of an extension or of bayou (file map, background result); the model reads it as a user
    message."""

    custom_type: str
    content: str | tuple[UserContent, ...]
    display: bool = True
    details: Any = None


class BranchSummaryMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="branchSummary"):
    """The summary of a branch that the user left."""

    summary: str
    from_id: str


class CompactionSummaryMessage(
    _Message, frozen=True, kw_only=True, tag_field="role", tag="compactionSummary"
):
    """The summary that replaces compacted messages."""

    summary: str
    tokens_before: int


class UnknownMessage(_Message, frozen=True, kw_only=True, tag_field="role", tag="*unknown"):
    """A message with an unknown role; preserved in the file, never sent."""

    raw: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "raw")


Message = (
    SystemMessage
    | UserMessage
    | AssistantMessage
    | ToolResultMessage
    | BashExecutionMessage
    | CustomMessage
    | BranchSummaryMessage
    | CompactionSummaryMessage
    | UnknownMessage
)

QueueMode = Literal["one-at-a-time", "all"]

InterruptMode = Literal["wait", "immediate"]


class JudgedPart(Wire, frozen=True, kw_only=True, gc=True):
    """One part of a tool call with its verdict in `letter`: `safe` only reads, `contained` runs in the sandbox
    or needs approval, `forbidden` needs a typed word."""

    text: str
    letter: str
    why: str


class OfferedRule(Wire, frozen=True, kw_only=True, gc=True):
    """A permission rule that would answer this approval question from now on."""

    text: str
    answers: int
    """The number of this session's questions that the rule would have answered."""


class Approval(Wire, frozen=True, kw_only=True, gc=True):
    """The call that an approval question concerns, with the verdict on it."""

    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    parts: tuple[JudgedPart, ...]
    letter: str
    why: str
    decided_by: str
    mode: str
    confirmation_word: str | None = msgspec.field(default=None, name="floorWord")
    """The word that the user has to type to allow the call; None: a plain answer is enough."""
    rules: tuple[OfferedRule, ...] = ()
    asked: int = 0
    """The number of approval questions in this session so far."""
    helper: str | None = None
    """The kind of the helper agent whose call this is; None: the session's own call."""
    number: int = 1
    of: int = 1
    """The number of calls in the model's answer."""


class Diagnostic(Wire, frozen=True, kw_only=True):
    """One problem at one position in a file."""

    path: str
    """The file with the problem, relative to the session's folder."""
    line: int
    column: int = 0
    text: str
    code: str = ""
    source: str = ""
    """The program or extension that reported the problem."""
    severity: Literal["error", "warning", "note"] = "error"


class DiagnosticsStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="diagnostics_start"):
    """Linters and type checkers begin to check files that the agent changed. Then: `diagnostics_end`."""

    programs: tuple[str, ...]
    files: int


class DiagnosticsEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="diagnostics_end"):
    """The checks by linters and type checkers have ended or were stopped. New problems reach the model in a
    message of the type `diagnostics`."""

    problems: tuple[Diagnostic, ...] = ()
    """New problems, worst first, as many as the model receives."""
    total: int = 0
    failures: tuple[str, ...] = ()
    """The reasons why some programs could not report problems."""
    aborted: bool = False


class _Entry(Wire, frozen=True, kw_only=True, tag_field="type", tag="*entry"):
    id: str = msgspec.field(default_factory=new_id)
    parent_id: str | None
    timestamp: str = msgspec.field(default_factory=now_iso)


class MessageEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message of the conversation."""

    message: Message


class ModelChangeEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="model_change"):
    """The model was changed."""

    provider: str
    model_id: str


class ThinkingLevelChangeEntry(
    _Entry, frozen=True, kw_only=True, tag_field="type", tag="thinking_level_change"
):
    """The thinking level was changed."""

    thinking_level: str


class UsageEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="usage"):
    """Usage of a request that has no message in the session."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | None = None


class CompactionEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """A compaction: its summary replaces the entries before the first kept one."""

    summary: str
    first_kept_entry_id: str
    """The entry's own id when no earlier entry is kept."""
    tokens_before: int = 0
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None
    system_message: SystemMessage | None = None


class BranchSummaryEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="branch_summary"):
    """A summary of a branch that the user left."""

    from_id: str
    """The id of the leaf of the branch that the user left, or `root`."""
    summary: str
    details: Any = None
    usage: Usage | None = None
    from_hook: bool | None = None


class CustomEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="custom"):
    """State of bayou (`bayou.*`) or of an extension; never part of the model's context."""

    custom_type: str
    data: Any = None


class CustomMessageEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="custom_message"):
    """A message of bayou or an extension that the model reads."""

    custom_type: str
    content: str | tuple[UserContent, ...]
    display: bool = True
    details: Any = None


class ContextEditEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="context_edit"):
    """Leaves an earlier entry out of the context (`replacement` null) or replaces its content."""

    target_id: str
    replacement: dict[str, Any] | None


class LabelEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="label"):
    """The label of another entry was set or removed."""

    target_id: str
    label: str | None = None
    """Absent or empty: the label is removed."""


class SessionInfoEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="session_info"):
    """The session's name was set or removed."""

    name: str | None = None


class UnknownEntry(_Entry, frozen=True, kw_only=True, tag_field="type", tag="*unknown"):
    """An entry of an unknown type, or a known one that cannot be decoded; preserved as it is."""

    id: str = msgspec.field(name=PRIVATE_PREFIX + "id", default="")
    parent_id: str | None = msgspec.field(name=PRIVATE_PREFIX + "parentId", default=None)
    timestamp: str = msgspec.field(name=PRIVATE_PREFIX + "timestamp", default="")
    raw: dict[str, Any] = msgspec.field(name=PRIVATE_PREFIX + "raw")

    def __post_init__(self) -> None:
        for attribute, key in (("id", "id"), ("parent_id", "parentId"), ("timestamp", "timestamp")):
            value = self.raw.get(key)
            if isinstance(value, str):
                msgspec.structs.force_setattr(self, attribute, value)


Entry = (
    MessageEntry
    | ModelChangeEntry
    | ThinkingLevelChangeEntry
    | UsageEntry
    | CompactionEntry
    | BranchSummaryEntry
    | CustomEntry
    | CustomMessageEntry
    | ContextEditEntry
    | LabelEntry
    | SessionInfoEntry
    | UnknownEntry
)

ServerState = Literal["off", "untrusted", "error", "new", "known", "starting", "ready", "sign-in", "failed"]

ToolReach = Literal["direct", "search", "hidden"]

ToolExposure = Literal["auto", "direct", "search", "hidden"]


class ToolView(Wire, frozen=True, kw_only=True):
    """A tool of an MCP server."""

    name: str
    full_name: str
    """The name of the tool that the model, rules and records use: prefixed with the server."""
    reach: ToolReach
    title: str = ""
    description: str = ""
    tokens: int = 0
    """The estimated number of tokens of the tool's declaration, if it is declared to the model."""
    says_read_only: bool = False
    says_destructive: bool = False


class ServerView(Wire, frozen=True, kw_only=True):
    """An MCP server with its state, tools and counts."""

    name: str
    state: ServerState
    reason: str = ""
    """The reason why the server is not ready; empty if it is."""
    exposure: ToolExposure
    reach: ToolReach
    """The exposure that applies to the server's tools in this session, as `exposure` may be `auto`."""
    origin: str = ""
    """The file or extension that defines the server."""
    address: str = ""
    """The command or URL of the server, without secrets."""
    description: str = ""
    era: str = ""
    version: str = ""
    tools: tuple[ToolView, ...] = ()
    omissions: tuple[str, ...] = ()
    """A sentence for each tool, prompt or resource of the server that is left out because of hidden characters."""
    prompt_count: int = 0
    resource_count: int = 0
    tokens: int = 0
    """The estimated number of tokens that the server's tools add to every request."""
    stderr: tuple[str, ...] = ()
    log: str = ""
    """The path of the file with the server's whole error output."""
    process: int | None = None


class McpServerState(Wire, frozen=True, kw_only=True):
    """The state of an MCP server."""

    name: str
    state: str
    reason: str = ""
    tool_count: int = 0


class McpServersChange(Wire, frozen=True, kw_only=True, tag_field="type", tag="mcp_servers_change"):
    """An MCP server changed its state or its tools, prompts or resources."""

    servers: tuple[McpServerState, ...]


ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]


class PriceTier(Wire, frozen=True, kw_only=True):
    """Prices of requests with more input tokens than `input_tokens_above`."""

    input_tokens_above: int
    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0


class Prices(Wire, frozen=True, kw_only=True):
    """A model's prices in US dollars per million tokens."""

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    tiers: tuple[PriceTier, ...] | None = None


class Model(Wire, frozen=True, kw_only=True):
    """The properties of one model of a provider."""

    id: str
    name: str
    api: str
    """The API that the model's server speaks, which decides the adapter."""
    provider: str
    """The id of the provider whose credentials the model needs."""
    base_url: str = ""
    reasoning: bool = False
    thinking_level_map: dict[str, str | None] | None = None
    """Maps thinking levels to the provider's names for them; None means that the level is not supported. `xhigh`
    and `max` exist only when listed."""
    input: tuple[str, ...] = ("text",)
    input_limits: dict[str, Any] | None = None
    cost: Prices = Prices()
    context_window: int = 128_000
    max_tokens: int = 16_384
    prompt_cache: dict[str, Any] | None = None
    sampling_params: dict[str, Any] | None = None
    sampling_params_by_thinking_level: dict[str, Any] | None = None
    headers: dict[str, str] | None = None
    compat: dict[str, Any] | None = None
    type: str | None = None
    transport: Literal["http", "sdk"] | None = None
    """The client that sends requests: `sdk` is the vendor's client library, anything else bayou's HTTP client."""

    @property
    def key(self) -> str:
        """The model's full name, `provider/id`."""
        return f"{self.provider}/{self.id}"

    @property
    def reads_images(self) -> bool:
        return "image" in self.input


class PendingFile(Wire, frozen=True, kw_only=True):
    """One file of staged changes with its counts of added and removed lines."""

    path: str
    added: int = 0
    removed: int = 0


class PendingAction(Wire, frozen=True, kw_only=True):
    """One staged action: its changes wait to be applied or discarded, and are not in the files yet."""

    id: str
    label: str
    source_tool: str
    files: tuple[PendingFile, ...] = ()


class PendingOutcome(Wire, frozen=True, kw_only=True):
    """The result of applying or discarding staged changes."""

    id: str
    action: Literal["apply", "discard"]
    is_done: bool
    """Whether all changes were applied or discarded; False: nothing was applied, or, of a helper's changes, which
    are merged file by file, not all."""
    text: str
    by: Literal["model", "person", "program", "extension"]


class PendingChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="pending_changed"):
    """The list of staged changes has changed; carries the outcome of the change that was resolved."""

    waiting: tuple[PendingAction, ...]
    resolved: PendingOutcome | None = None


class _BlockEvent(Wire, frozen=True, kw_only=True, tag_field="type", tag="*block"):
    content_index: int


class TextStart(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="text_start"):
    pass


class TextDelta(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="text_delta"):
    """More text of a text block in the response."""

    delta: str


class TextEnd(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="text_end"):
    """A text block of the response is complete."""

    content: str


class ThinkingStart(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="thinking_start"):
    pass


class ThinkingDelta(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="thinking_delta"):
    """More text of a thinking block in the response."""

    delta: str


class ThinkingEnd(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="thinking_end"):
    """A thinking block of the response is complete."""

    content: str


class ToolCallStart(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="toolcall_start"):
    """A tool call begins in the response."""

    id: str
    tool_name: str


class ToolCallDelta(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="toolcall_delta"):
    """More text of a tool call's arguments in the response."""

    delta: str
    """Raw JSON text of the arguments."""


class ToolCallEnd(_BlockEvent, frozen=True, kw_only=True, tag_field="type", tag="toolcall_end"):
    """A tool call of the response is complete."""

    tool_call: ToolCall


BlockEvent = (
    TextStart
    | TextDelta
    | TextEnd
    | ThinkingStart
    | ThinkingDelta
    | ThinkingEnd
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
)

TodoStatus = Literal["pending", "in_progress", "completed", "abandoned"]

OPEN_STATUSES: tuple[TodoStatus, ...] = ("pending", "in_progress")


class TodoItem(Wire, frozen=True, kw_only=True):
    """One item of the todo list."""

    content: str
    """The text of the item, which also identifies it."""
    status: TodoStatus = "pending"
    id: str = ""
    blocked: str | None = None
    """The reason why the item cannot be worked on; None if it can."""

    @property
    def is_open(self) -> bool:
        return self.status in OPEN_STATUSES


class TodoPhase(Wire, frozen=True, kw_only=True):
    """A named group of todo items."""

    name: str
    tasks: tuple[TodoItem, ...] = ()
    id: str = ""


GoalStatus = Literal["active", "done", "blocked", "limit", "refused", "paused"]


class GoalCheck(Wire, frozen=True, kw_only=True):
    """A command whose exit code 0 means that the goal, or one of its items, is done."""

    command: str
    name: str = ""
    """The text of the todo item that the command checks; empty for the whole goal."""


class CheckResult(Wire, frozen=True, kw_only=True):
    """The result of one command of a goal's check."""

    command: str
    name: str = ""
    exit_code: int | None = None
    """The exit code of the check's command; None: it was not run or did not end by itself, and `problem` says why."""
    seconds: float = 0.0
    problem: str = ""
    output: str = ""
    """The end of the command's output."""

    @property
    def has_passed(self) -> bool:
        return self.exit_code == 0 and not self.problem


class GoalProof(Wire, frozen=True, kw_only=True):
    """The last check of a goal: its results, and the state of the files."""

    at: str
    """The time at which the check ended."""
    results: tuple[CheckResult, ...]
    digest: str = ""
    """A digest of the contents of the workspace's files after the check; empty: they are not watched."""
    written: tuple[str, ...] = ()
    """Files of the workspace that changed while the check ran."""
    tampered: tuple[str, ...] = ()
    """Files that the check reads or names, and that changed since the goal was set."""
    is_unchanged: bool = False
    """Whether no file changed since the goal was set."""

    @property
    def at_clock(self) -> str:
        """The local time of day at which the check ended."""
        try:
            return datetime.fromisoformat(self.at).astimezone().strftime("%H:%M")
        except ValueError:
            return self.at

    @property
    def has_passed(self) -> bool:
        return bool(self.results) and all(one.has_passed for one in self.results)


class Goal(Wire, frozen=True, kw_only=True):
    """The user's goal, with its checks and their last result."""

    text: str
    checks: tuple[GoalCheck, ...]
    status: GoalStatus = "active"
    reason: str = ""
    """The reason why the goal is not being worked on; empty while it is."""
    failed: int = 0
    """The number of checks that failed since the goal was set or continued."""
    proof: GoalProof | None = None
    digest: str = ""
    """A digest of the contents of the workspace's files when the goal was set."""


class GoalView(Wire, frozen=True, kw_only=True):
    """A goal, and whether its proof still holds."""

    goal: Goal
    is_stale: bool = False
    """Whether a file of the workspace changed since the goal was found done."""
    changed: tuple[str, ...] = ()
    """The files that changed since the goal was found done, as far as they are known."""
    is_checking: bool = False


class ToolOutcome(Wire, frozen=True, kw_only=True):
    """A tool's result on the wire."""

    content: tuple[UserContent, ...] = ()
    details: Any = None
    structured_content: Any = None
    usage: Usage | None = None
    terminate: bool | None = None


class AgentStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_start"):
    """A run begins. Then: `turn_start`."""


class AgentEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_end"):
    """A run has ended, after its last `turn_end`. Then: a retry, an interruption, a compaction, another
    run, or `agent_settled`."""

    messages: tuple[Message, ...]
    will_retry: bool


class AgentSettled(Wire, frozen=True, kw_only=True, tag_field="type", tag="agent_settled"):
    """The agent is idle and continues only with new input. Once per run that a user or program started."""

    aborted: bool


class TurnStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="turn_start"):
    """A turn begins: one request to the model, and its tool calls."""


class TurnEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="turn_end"):
    """A turn has ended; its assistant message and all results are recorded."""

    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


class MessageStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_start"):
    """A message enters the conversation; an assistant's message is `pending` and empty. Then: its
    `message_end`."""

    message: Message
    message_id: str | None = None
    """The id of the message's entry in the session file."""


class MessageUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_update"):
    """The assistant message that started last has received more content."""

    usage: Usage
    assistant_message_event: BlockEvent
    message_id: str | None = None


class MessageEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="message_end"):
    """A message is complete and in the session file."""

    message: Message
    message_id: str | None = None


class ToolExecutionStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_start"):
    """A tool call begins; in call order, after the assistant message's end."""

    tool_call_id: str
    tool_name: str
    args: Any
    parent_tool_call_id: str | None = None


class ToolExecutionUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_update"):
    """A tool call has a partial result, which replaces the previous one."""

    tool_call_id: str
    tool_name: str
    args: Any
    partial_result: ToolOutcome
    parent_tool_call_id: str | None = None


class ToolExecutionEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_execution_end"):
    """A tool call has ended; in completion order, exactly once per started call. Result messages follow in
    call order."""

    tool_call_id: str
    tool_name: str
    result: ToolOutcome
    is_error: bool
    duration_ms: int | None = None
    """The duration of the tool's run in milliseconds; absent when the tool never ran."""
    parent_tool_call_id: str | None = None
    message: ToolResultMessage | None = msgspec.field(name=PRIVATE_PREFIX + "message", default=None)
    """The result message for the model, recorded with this event."""


class PromptFailure(Wire, frozen=True, kw_only=True):
    """Why a prompt has no answer."""

    message: str
    provider: str | None = None
    kind: str | None = None
    """`auth`, `rate_limit`, `server`, …; absent when no provider failed."""
    retryable: bool = False


class PromptResult(Wire, frozen=True, kw_only=True, tag_field="type", tag="prompt_result"):
    """The outcome of a prompt that was sent with an id: exactly one for each accepted prompt."""

    id: Any
    """The id of the request that sent the prompt."""
    agent_invoked: bool
    """Whether the prompt went to the agent; False for a command, or for words that an extension handled."""
    status: Literal["completed", "aborted", "error"]
    message_id: str | None = None
    """The id of the prompt's own message."""
    stop_reason: StopReason | None = None
    """The reason why the last answer to the prompt ended."""
    error: PromptFailure | None = None
    session_settled: bool = True
    """Whether the agent is idle now; False: the run goes on with prompts that were queued behind this one."""


class QueueUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="queue_update"):
    """The queues have changed; carries all queued messages."""

    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class EntryAppended(Wire, frozen=True, kw_only=True, tag_field="type", tag="entry_appended"):
    """An entry was recorded that no other event reports."""

    entry: Entry


class SessionInfoChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="session_info_changed"):
    """The session has another name."""

    name: str | None = None


class SessionReplaced(Wire, frozen=True, kw_only=True, tag_field="type", tag="session_replaced"):
    """The conversation was replaced: a session was opened, created or forked, or the user moved to another
    point of the tree."""

    reason: Literal["new", "resume", "fork", "tree", "reload"]


class ModelChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="model_changed"):
    """The session has another model."""

    model: Model
    source: Literal["set", "cycle", "restore"]


class ThinkingLevelChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking_level_changed"):
    """The session has another thinking level."""

    level: str


class AnswerInterrupted(Wire, frozen=True, kw_only=True, tag_field="type", tag="answer_interrupted"):
    """An answer was stopped because of its content, for example by a rule, and leaves the context. After
    an `agent_end` with `will_retry`. Then: `agent_start`, whose turn delivers the message that says
    why."""

    message_id: str
    """The id of the stopped answer."""
    custom_type: str
    """The type of the message that says why: `rule-violation`."""
    details: Any = None
    """The details of the message that says why the answer was stopped."""


class CompactionStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_start"):
    """A compaction begins. Then: `compaction_end`."""

    reason: Literal["manual", "threshold", "overflow"]


class CompactionProgress(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_progress"):
    """More text of the summary that is being written."""

    delta: str
    source: Literal["compaction", "preview", "branchSummary"] = "compaction"
    """Why the summary is written; `preview` is a compaction that takes effect only if the user accepts it."""


class CompactionResult(Wire, frozen=True, kw_only=True):
    """The summary of a compaction, and the tokens before and after it."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int | None = None
    usage: Usage | None = None
    details: Any = None


class CompactionEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="compaction_end"):
    """A compaction has ended, was stopped, or failed."""

    reason: Literal["manual", "threshold", "overflow"]
    result: CompactionResult | None = None
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None


class AutoRetryStart(Wire, frozen=True, kw_only=True, tag_field="type", tag="auto_retry_start"):
    """After an `agent_end` with `will_retry`. Then, after the delay: `agent_start`, or `auto_retry_end`."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class AutoRetryEnd(Wire, frozen=True, kw_only=True, tag_field="type", tag="auto_retry_end"):
    """A retried request succeeded, or no further one will be tried."""

    success: bool
    attempt: int
    final_error: str | None = None


class SummarizationRetryScheduled(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_scheduled"
):
    """A request for a summary failed and will be repeated after the delay."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


class SummarizationRetryAttemptStart(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_attempt_start"
):
    """A request for a summary is repeated."""

    source: Literal["compaction", "branchSummary"]
    reason: str | None = None


class SummarizationRetryFinished(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="summarization_retry_finished"
):
    pass


class BashExecutionUpdate(Wire, frozen=True, kw_only=True, tag_field="type", tag="bash_execution_update"):
    """A command that the user runs has more output."""

    id: str | None = None
    delta: str


class ProviderRequestPrepared(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_prepared"
):
    """A request will be sent; lists its messages that no earlier request has delivered. Then: `delivered`
    or `failed`."""

    request_id: str
    session_id: str
    message_ids: Sequence[str]


class ProviderRequestDelivered(
    Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_delivered"
):
    """Response headers arrived, so the provider has received the request."""

    request_id: str
    status: int
    headers: dict[str, str]


class ProviderRequestFailed(Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_request_failed"):
    """A request failed before response headers arrived."""

    request_id: str
    error_message: str


class ProviderWaiting(Wire, frozen=True, kw_only=True, tag_field="type", tag="provider_waiting"):
    """No data has arrived for a while: not yet (`waiting`) or no more (`stalled`), with the seconds until
    the request times out (0: never). `flowing` when data arrives again."""

    state: str
    seconds: float


class JobChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="job_changed"):
    """A background job began, ended, or was reported to the model."""

    job_id: str
    title: str
    state: Literal["running", "done", "failed", "killed", "delivered"]
    tool_call_id: str | None = None


class HelperChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="helper_changed"):
    """A helper agent was called, began, or ended."""

    helper_id: str
    kind: str
    title: str
    state: Literal["waiting", "running", "done", "stopped"]
    model: str = ""
    tool_call_id: str | None = None
    session_file: str | None = None
    """The session file of the helper; set once the helper has ended."""


class TodosChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="todos_changed"):
    """The agent, a user or a program changed the todo list."""

    phases: tuple[TodoPhase, ...]


class GoalChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="goal_changed"):
    """The goal was set, checked, stopped or removed, or its proof became stale."""

    view: GoalView | None = None
    """The state of the goal; None: there is no goal."""


class TodoReminder(Wire, frozen=True, kw_only=True, tag_field="type", tag="todo_reminder"):
    """The agent stopped with open items and is reminded of them; the reminder's message follows."""

    todos: tuple[TodoItem, ...]
    attempt: int
    max_attempts: int


class TodoAutoClear(Wire, frozen=True, kw_only=True, tag_field="type", tag="todo_auto_clear"):
    """A todo list with all items closed was cleared; follows `todos_changed`."""


class FileChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="file_changed"):
    """A tool changed a file. The hashes are of its content before and after (null: the file did not
    exist)."""

    path: str
    tool_call_id: str
    before_hash: str | None
    after_hash: str | None
    mode_before: int | None = None
    mode_after: int | None = None
    added: int = 0
    removed: int = 0


class Notice(Wire, frozen=True, kw_only=True, tag_field="type", tag="notice"):
    """A message for the user."""

    level: Literal["info", "warning", "error"]
    text: str
    about: Literal["contextFull"] | None = None
    """The subject of the notice, for user interfaces that offer an action for it."""


class ExtensionError(Wire, frozen=True, kw_only=True, tag_field="type", tag="extension_error"):
    """An extension raised an error in a handler."""

    extension_path: str
    event: str
    error: str


class PlanModeChanged(Wire, frozen=True, kw_only=True, tag_field="type", tag="plan_mode_changed"):
    """Plan mode was turned on, in which the agent only reads and plans, or off."""

    is_on: bool


class PlanProposed(Wire, frozen=True, kw_only=True, gc=True):
    """The plan that a question asks to accept."""

    title: str
    plan: str
    """The text of the plan in Markdown."""


class QuestionAsked(Wire, frozen=True, kw_only=True, gc=True, tag_field="type", tag="extension_ui_request"):
    """A question to the user. The user interface that shows it sets `answer`; cancelling the run cancels
    it."""

    id: str
    method: str
    title: str | None = None
    message: str | None = None
    options: tuple[str, ...] | None = None
    placeholder: str | None = None
    prefill: str | None = None
    timeout: int | None = None
    approval: Approval | None = None
    """The call to decide on, if the question is whether a call may run; None otherwise."""
    plan: PlanProposed | None = None
    """The proposed plan, if the question is whether a plan is accepted; None otherwise."""
    form: Any = msgspec.field(name=PRIVATE_PREFIX + "form", default=None)
    """The form that the question belongs to (a `UserForm`), for user interfaces that show all its fields at once;
    others ask field by field."""
    answer: Any = msgspec.field(name=PRIVATE_PREFIX + "answer", default=None)
    """The future on which the user interface sets the answer (an `asyncio.Future`); None when no answer is awaited."""


RunEvent = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
)
"""The events that the agent loop yields."""

Event = (
    AgentStart
    | AgentEnd
    | AgentSettled  # behind them in the reference, too
    | RunEvent
    | PromptResult
    | QueueUpdate
    | EntryAppended
    | SessionInfoChanged
    | SessionReplaced
    | ModelChanged
    | ThinkingLevelChanged
    | CompactionStart
    | CompactionProgress
    | CompactionEnd
    | AutoRetryStart
    | AutoRetryEnd
    | AnswerInterrupted
    | SummarizationRetryScheduled
    | SummarizationRetryAttemptStart
    | SummarizationRetryFinished
    | BashExecutionUpdate
    | ProviderRequestPrepared
    | ProviderRequestDelivered
    | ProviderRequestFailed
    | ProviderWaiting
    | JobChanged
    | HelperChanged
    | TodosChanged
    | GoalChanged
    | TodoReminder
    | TodoAutoClear
    | PendingChanged
    | DiagnosticsStart
    | DiagnosticsEnd
    | PlanModeChanged
    | McpServersChange
    | FileChanged
    | Notice
    | ExtensionError
    | QuestionAsked
)

JobState = Literal["running", "done", "failed", "killed", "delivered"]

_decoder = msgspec.json.Decoder()


def encode_json(data: Any) -> bytes:
    """Encodes plain JSON data as UTF-8 without white space. Lone surrogates are written as escapes."""
    try:
        return msgspec.json.encode(data)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(data, ensure_ascii=True, separators=(",", ":"), default=_encode_pieces).encode(
            "ascii"
        )


def _encode_pieces(data: Any) -> Any:
    """Encodes values that JSON does not know: returns encoded data unchanged, and of a struct its fields."""
    if isinstance(data, msgspec.Raw):
        return decode_json(bytes(data))
    if isinstance(data, msgspec.Struct):
        return msgspec.to_builtins(data)
    raise TypeError(f"{type(data).__name__} has no JSON form")


def decode_json(line: bytes | str) -> Any:
    """Decodes one document to plain JSON data. Raises `msgspec.DecodeError` with the position of the
    fault."""
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError as problem:
        return _decode_leniently(line, problem)
    except UnicodeEncodeError as problem:  # text with a lone surrogate
        return _decode_leniently(line, msgspec.DecodeError(str(problem)))
    except (UnicodeDecodeError, RecursionError) as problem:
        raise msgspec.DecodeError(str(problem)) from problem


def _decode_leniently(line: bytes | str, problem: msgspec.DecodeError) -> Any:
    # The fast decoder refuses lone surrogates; other writers do put them into files.
    try:
        text = line if isinstance(line, str) else line.decode("utf-8")
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise problem from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


RestoreChoice = Literal["restore", "merge", "keep"]
"""The decision of a restore on one file."""


class Removed(TypedDict):
    """The texts of messages that were removed from the queues."""

    steering: list[str]
    followUp: list[str]


class BashResult(TypedDict):
    output: str
    exitCode: NotRequired[int]
    cancelled: bool
    truncated: bool
    fullOutputPath: NotRequired[str]


class CellResult(TypedDict):
    id: str
    """The id that the cell's `tool_execution` events carry."""
    output: str
    """The cell's output as the model reads it; pictures are in the message or entry that records the cell."""
    pictures: int
    isError: bool
    details: Any


class KernelName(TypedDict):
    name: str
    type: str
    value: str
    """The value of the name as text, or its size if that says more; empty if the value cannot be shown without
    running code."""


class Kernel(TypedDict):
    state: Literal["none", "idle", "busy"]
    interpreter: NotRequired[str]
    found: NotRequired[str]
    """The source that names the kernel's interpreter: `.venv`, `eval.python`, `python3`."""
    version: NotRequired[str]
    pid: NotRequired[int]
    memory: NotRequired[int]
    """The memory that the kernel uses, in bytes."""
    cells: int
    """The number of cells that the kernel has run."""
    names: list[KernelName]
    """The names defined in the kernel; empty while a cell runs."""


class State(TypedDict):
    model: NotRequired[Model]
    thinkingLevel: ThinkingLevel
    isStreaming: bool
    isCompacting: bool
    steeringMode: QueueMode
    followUpMode: QueueMode
    interruptMode: InterruptMode
    sessionFile: NotRequired[str]
    sessionId: str
    sessionName: NotRequired[str]
    autoCompactionEnabled: bool
    autoRetryEnabled: bool
    messageCount: int
    pendingMessageCount: int
    planMode: bool
    """Whether plan mode is on, in which nothing changes until the user accepts a plan."""
    addedFolders: list[str]
    """The folders that the session works in besides its own."""
    todoPhases: list[TodoPhase]
    """The todo list at the session's current entry."""
    systemPrompt: str
    """The system prompt of the next request."""
    tools: list[ToolDeclaration]
    """The tools that the model has, with the schemas of their arguments."""


class PendingResolved(TypedDict):
    id: str
    done: bool
    """Whether the staged changes were applied or discarded; False if a file had changed, so that nothing was
    written."""
    text: str


class PermissionRule(TypedDict):
    deed: Literal["allow", "ask", "deny"]
    text: str
    origin: Literal["user", "folder", "project", "session"]


class PermissionVerdict(TypedDict):
    toolCallId: str
    toolName: str
    letter: str
    """The risk class of the call: `safe`, `contained` or `forbidden`."""
    why: str
    decision: str
    by: str


class Permissions(TypedDict):
    mode: Literal["read-only", "ask", "auto-edit", "full"]
    hasBox: bool
    """Whether commands run in a sandbox that lets them write only the workspace."""
    rules: list[PermissionRule]
    problems: list[str]
    """The errors of permission rules that cannot be read."""
    verdicts: list[PermissionVerdict]
    """The last twenty permission decisions."""


class Sandbox(TypedDict):
    setting: Literal["auto", "off", "required"]
    step: Literal["namespaces", "namespaces without landlock", "landlock", "seatbelt", "none"]
    """The strongest sandbox that this system supports."""
    why: str
    """The reason why the system supports no stronger sandbox."""
    isInForce: bool
    """Whether the agent's next command runs in the sandbox."""
    network: str
    writable: list[str]
    guarded: list[str]
    """The read-only paths inside the places that commands may write."""
    hidden: list[str]


class SecretMasked(TypedDict):
    mark: str
    """The placeholder that replaces the secret."""
    kind: str
    digest: str
    """The digest of the secret, which is the last part of its placeholder."""
    where: str
    """The most recent source of the secret: a tool with its path, or the prompt."""
    count: int


class CycledModel(TypedDict):
    model: Model
    thinkingLevel: ThinkingLevel
    isScoped: bool


class CycledLevel(TypedDict):
    level: ThinkingLevel


class Tokens(TypedDict):
    input: int
    output: int
    cacheRead: int
    cacheWrite: int
    total: int


class ContextUsage(TypedDict):
    tokens: int | None
    contextWindow: int
    percent: float | None


class SessionStats(TypedDict):
    sessionFile: NotRequired[str]
    sessionId: str
    userMessages: int
    assistantMessages: int
    toolCalls: int
    toolResults: int
    totalMessages: int
    tokens: Tokens
    cost: float
    contextUsage: NotRequired[ContextUsage]


class CommandSource(TypedDict):
    path: str
    source: str
    scope: Literal["user", "project", "temporary"]
    origin: Literal["package", "top-level"]


class CommandInfo(TypedDict):
    name: str
    description: NotRequired[str]
    source: Literal["extension", "prompt", "skill"]
    sourceInfo: CommandSource


class Moved(TypedDict):
    cancelled: bool


class Forked(TypedDict):
    text: NotRequired[str]
    cancelled: bool


class Navigated(TypedDict):
    cancelled: bool
    editorText: NotRequired[str]
    summaryEntry: NotRequired[BranchSummaryEntry]


class ForkMessage(TypedDict):
    entryId: str
    text: str


class Entries(TypedDict):
    entries: list[Entry]
    leafId: str | None


class JobInfo(TypedDict):
    id: str
    title: str
    state: JobState
    seconds: float
    toolCallId: str
    isPinned: bool
    output: NotRequired[str]
    """The end of the job's output; only in the answer about a single job."""


class HelperInfo(TypedDict):
    id: str
    kind: str
    title: str
    state: Literal["waiting", "running", "done", "stopped"]
    model: str
    tool: str
    """The tool that the helper is using; empty between tools."""
    turns: int
    tokens: int
    cost: float
    seconds: float
    toolCallId: str
    isIsolated: bool
    sessionFile: NotRequired[str]
    lines: NotRequired[list[str]]
    """Lines on what the helper has done so far; only in the answer about a single helper."""
    answer: NotRequired[str]


class RestoreRow(TypedDict):
    """One file of a planned restore, and what happens to it."""

    path: str
    state: Literal["ready", "conflict", "same", "unheld", "refused"]
    """The state of the file for the restore. `conflict`: it is not as the session left it, and stays unless the
    user chooses otherwise. `unheld`, `refused`: it always stays."""
    deed: str
    why: NotRequired[str]
    by: NotRequired[str]
    """The tools and commands that had changed the file."""
    added: int
    removed: int
    canMerge: bool
    choice: RestoreChoice
    """The choice that applies to the file by default."""
    diff: NotRequired[str]


class RestorePreview(TypedDict):
    title: str
    """The prompt before which the files are restored, or the last prompt before the entry."""
    entryId: NotRequired[str]
    digest: str
    added: int
    removed: int
    files: list[RestoreRow]
    heads: list[str]
    """Moves of git's HEAD since then, which the restore does not revert."""


class KeptFile(TypedDict):
    path: str
    why: str


class RestoredFiles(TypedDict):
    restored: int
    kept: list[KeptFile]
    entryId: NotRequired[str]
    """The entry that records the restore; absent when nothing was changed."""


class ChangedFile(TypedDict):
    path: str
    deed: str
    """The kind of the change: `new`, `removed`, `changed`, `mode 644 → 755`, `unknown`."""
    added: int
    removed: int
    by: NotRequired[str]
    """The calls that changed the file."""
    why: NotRequired[str]
    """A remark on the file: another program changed it in between, or its content is not stored."""


class ChangedHunk(TypedDict):
    """One hunk of a file's change, which is kept or taken back as a whole."""

    id: str
    """The id of the hunk, which stays the same as long as the change is the same, wherever its lines are."""
    kind: Literal["lines", "file", "mode", "move"]
    """The kind of the hunk: `lines`; `file` for all of a new, removed or binary file; `mode`; `move` for the file's
    new name."""
    state: Literal["open", "kept", "taken_back", "conflict"]
    why: NotRequired[str]
    """The reason why the hunk cannot be taken back or put back."""
    first: int
    """The number of the hunk's first changed line; 0 if the hunk has no lines."""
    last: int
    added: int
    removed: int
    note: NotRequired[str]
    """A description of a change that no lines show."""
    patch: NotRequired[str]


class ReviewedFileRow(TypedDict):
    path: str
    deed: str
    movedFrom: NotRequired[str]
    folded: NotRequired[str]
    """The reason why the file's hunks need no review: `lock file`, `generated`, `vendored`."""
    why: NotRequired[str]
    hunks: list[ChangedHunk]


class ReviewedChangesData(TypedDict):
    title: str
    files: list[ReviewedFileRow]


class FileDifferences(TypedDict):
    title: str
    note: NotRequired[str]
    """The position of this list among those of the prompts that changed files."""
    added: int
    removed: int
    files: list[ChangedFile]
    older: NotRequired[str]
    """The id of the previous prompt that changed files."""
    newer: NotRequired[str]
    """The id of the next prompt that changed files."""
    patch: NotRequired[str]
    """The patch of all files, in a form that git can apply."""
    lacking: NotRequired[list[str]]
    """The files that are not completely in the patch, with the reason."""


PromptDisposition = Literal["started", "queued", "handled"]

PermissionMode = Literal["read-only", "ask", "auto-edit", "full"]
