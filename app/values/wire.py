"""The base of all values with a JSON form: field names, absent fields, unknown fields, ids, times.

A wire struct writes camelCase keys, omits optional fields that are None, and preserves unknown data:
unknown fields in `extra`, unknown types as the union's `Unknown…` member. The modules beside this one
define the values; `codec` handles bytes and lines."""

import os
import random
import time
import types
import uuid
from collections.abc import Callable, Container
from datetime import UTC, datetime
from itertools import chain, repeat
from operator import methodcaller
from typing import Any, TypeGuard, TypeVar, Union, get_args, get_origin

import msgspec

from app.values.prefix_view import PrefixView
from tools.tool_result_values import Json

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


def unused_id(taken: Container[str]) -> str:
    """Returns an id that is not in `taken`."""
    for _ in range(100):
        found = new_id()
        if found not in taken:
            return found
    return str(uuid.uuid4())


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


def prepare_wire_types(*kinds: type[msgspec.Struct]) -> None:
    """Builds the conversion plans of these types in advance, so that the first value of each need not
    wait."""
    for kind in kinds:
        _plan_for(kind)


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
