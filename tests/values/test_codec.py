"""Entries and messages to JSON and back: nothing is lost, also not what this version does not know."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.values import codec
from app.values.codec import decode, decode_json, encode, encode_json, encode_line_in_pieces
from app.values.content import Text, Thinking, ToolCall, UnknownContent
from app.values.entries import CustomEntry, Entry, LabelEntry, MessageEntry, UnknownEntry
from app.values.events import Event
from app.values.messages import AssistantMessage, Message, ToolResultMessage, UnknownMessage, UserMessage
from app.values.usage import Cost, Usage
from app.values.wire import PRIVATE_PREFIX, convert, from_wire, to_wire

any_text = st.text(st.characters(), max_size=20)  # lone surrogates and separators included
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=10,
)
user_keys = {"type", "id", "parentId", "timestamp", "message", "role", "content"}
unknown_fields = st.dictionaries(any_text.filter(lambda key: key not in user_keys), plain, max_size=3)


def unless_known(**taken: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(
        any_text.filter(lambda key: key not in user_keys and key not in taken), plain, max_size=3
    )


blocks = st.one_of(
    st.builds(
        lambda text, more: {"type": "text", "text": text, **more},
        any_text,
        unless_known(text=1, textSignature=1),
    ),
    st.builds(lambda text: {"type": "thinking", "thinking": text, "thinkingSignature": text}, any_text),
    st.builds(
        lambda args: {"type": "toolCall", "id": "1", "name": "t", "arguments": args},
        st.dictionaries(any_text, plain, max_size=3),
    ),
    st.builds(
        lambda kind, more: {**more, "type": kind},
        st.sampled_from(["video", "*unknown", "*block"]),
        unknown_fields,
    ),
)
assistant_fields = {info.encode_name: 1 for info in msgspec.structs.fields(AssistantMessage)}
wire_messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text, "timestamp": 1}, any_text),
    st.builds(
        lambda content, more: {
            "role": "assistant",
            "content": content,
            "api": "a",
            "provider": "p",
            "model": "m",
            "usage": to_wire(Usage()),
            "stopReason": "stop",
            "timestamp": 1,
            **more,
        },
        st.lists(blocks, max_size=3),
        unless_known(**assistant_fields),
    ),
    st.builds(
        lambda role, more: {**more, "role": role}, st.sampled_from(["seer", "*unknown"]), unknown_fields
    ),
)
wire_entries = st.one_of(
    st.builds(
        lambda message, more: {
            "type": "message",
            "id": "1",
            "parentId": None,
            "timestamp": "t",
            "message": message,
            **more,
        },
        wire_messages,
        unknown_fields,
    ),
    st.builds(
        lambda data: {
            "type": "custom",
            "id": "1",
            "parentId": "0",
            "timestamp": "t",
            "customType": "c",
            "data": data,
        },
        plain.filter(lambda data: data is not None),
    ),
    st.builds(
        lambda kind, more: {**more, "type": kind},
        st.sampled_from(["hologram", "*unknown", "*entry"]),
        unknown_fields,
    ),
)


@settings(max_examples=300)
@given(wire_entries)
def test_a_line_comes_back_with_the_same_content(data: dict[str, Any]) -> None:
    line = json.dumps(data).encode()
    entry = decode(line, Entry)
    written = encode(entry)
    assert json.loads(written) == data
    assert b"\n" not in written
    assert decode(written, Entry) == entry or isinstance(
        entry, MessageEntry
    )  # messages draw a new private id


@settings(max_examples=300)
@given(wire_entries)
def test_a_line_in_pieces_is_the_line(data: dict[str, Any]) -> None:
    entry = from_wire(data, Entry)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codec, "_ENCODED_CHUNK_CHARACTERS", 3)
        line = b"".join(encode_line_in_pieces(entry))
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert decode_json(line) == decode_json(encode(entry))


@given(plain)
def test_plain_data_comes_back_as_it_was(data: Any) -> None:
    assert json.loads(encode_json(data)) == data
    assert decode_json(encode_json(data)) == data


@given(wire_messages)
def test_messages_keep_what_they_do_not_know(data: dict[str, Any]) -> None:
    assert to_wire(from_wire(data, Message)) == data


EVENT_FIELDS = {
    "message",
    "usage",
    "assistantMessageEvent",
    "args",
    "toolCallId",
    "toolName",
    "parentToolCallId",
    "entry",
}
wire_events = st.builds(
    lambda event, more: {**more, **event},
    st.one_of(
        st.builds(lambda message: {"type": "message_end", "message": message}, wire_messages),
        st.builds(lambda entry: {"type": "entry_appended", "entry": entry}, wire_entries),
        st.builds(
            lambda text: {
                "type": "message_update",
                "usage": to_wire(Usage()),
                "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": text},
            },
            any_text,
        ),
        st.builds(
            lambda args, name: {
                "type": "tool_execution_start",
                "toolCallId": "1",
                "toolName": name,
                "args": args,
            },
            plain.filter(lambda args: args is not None),
            any_text,
        ),
    ),
    st.dictionaries(any_text.filter(lambda key: key not in user_keys | EVENT_FIELDS), plain, max_size=3),
)


@settings(max_examples=300)
@given(wire_events)
def test_events_come_back_as_they_were_written(data: dict[str, Any]) -> None:
    """The union is closed (who tells of events is bayou itself); fields that are not known are kept."""
    line = encode(from_wire(data, Event))
    assert b"\n" not in line
    assert json.loads(line) == data
    assert to_wire(decode(line, Event)) == data


def test_separators_of_unicode_are_text_and_lone_surrogates_are_written_as_escapes() -> None:
    odd = "a\u2028b\u2029c\x85d\ud800e"
    entry = MessageEntry(id="1", parent_id=None, message=UserMessage(content=odd))
    line = encode(entry)
    assert b"\n" not in line and b"\\ud800" in line
    back = decode(line, Entry)
    assert isinstance(back, MessageEntry) and isinstance(back.message, UserMessage)
    assert back.message.content == odd


def test_fast_and_careful_reading_agree() -> None:
    message = AssistantMessage(
        content=(Thinking(thinking="t"), Text(text="x"), ToolCall(id="1", name="n", arguments={"a": [1]})),
        usage=Usage(input=1, cost=Cost(total=0.5, total_from_provider=False)),
        provider="p",
    )
    line = encode(MessageEntry(id="1", parent_id=None, message=message))
    extended = json.loads(line)
    extended["message"]["colour"] = extended["message"]["content"][1]["tone"] = "green"
    fast, careful = decode(line, Entry), decode(json.dumps(extended).encode(), Entry)
    assert to_wire(fast) == json.loads(line)
    assert to_wire(careful) == extended
    assert careful.message.extra == {"colour": "green"}
    assert [type(block) for block in careful.message.content] == [Thinking, Text, ToolCall]


@pytest.mark.parametrize("key", ["*raw", "*extra", "*id", "\u002araw"])
def test_a_foreign_key_is_never_taken_for_a_private_one(key: str) -> None:
    data = {
        "type": "message",
        "id": "1",
        "parentId": None,
        "timestamp": "t",
        key: {"id": "evil"},
        "message": {"role": "user", "content": "x", "timestamp": 1, key: "evil"},
    }
    entry = decode(json.dumps(data).encode(), Entry)
    assert entry.id == "1" and entry.message.id != "evil"
    assert to_wire(entry) == data
    assert PRIVATE_PREFIX not in encode(entry).decode()


def test_what_is_missing_or_null_is_read_as_nothing_said() -> None:
    for content in ("null", "[]"):
        line = '{"type":"message","id":"1","parentId":null,"timestamp":"t","message":{"role":"assistant","content":%s}}'
        entry = decode(line % content, Entry)
        assert isinstance(entry.message, AssistantMessage) and entry.message.content == ()
    entry = decode(
        '{"type":"message","id":"1","timestamp":"t","message":{"role":"toolResult","toolCallId":"c","toolName":"t"}}',
        Entry,
    )
    assert (
        isinstance(entry.message, ToolResultMessage)
        and entry.message.content == ()
        and entry.parent_id is None
    )


def test_a_known_type_that_cannot_be_read_is_kept_as_it_is() -> None:
    broken = {"type": "label", "id": "1", "parentId": None, "timestamp": "t", "targetId": 5}
    entry = decode(json.dumps(broken).encode(), Entry)
    assert isinstance(entry, UnknownEntry) and (entry.id, entry.parent_id) == ("1", None)
    assert to_wire(entry) == broken
    message = decode(b'{"role":"assistant","content":7}', Message)
    assert isinstance(message, UnknownMessage)


def test_absent_is_absent_and_null_data_too() -> None:
    assert "label" not in to_wire(LabelEntry(id="1", parent_id=None, target_id="0"))
    assert "data" not in to_wire(CustomEntry(id="1", parent_id=None, custom_type="t"))
    assert to_wire(CustomEntry(id="1", parent_id=None, custom_type="t"))["parentId"] is None


@pytest.mark.parametrize("line", [b"", b"{", b"\xff", b"nul", b"[" * 100_000, b'{"a":NaN}', b"1e999"])
def test_what_is_no_json_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(line, Entry)


@pytest.mark.parametrize("place", ["entry", "message", "block", "arguments", "details", "unknown"])
def test_lone_surrogates_are_kept_wherever_they_stand(place: str) -> None:
    odd = {"\ud800": {"\udfff": "\ud800"}}
    call = {"type": "toolCall", "id": "1", "name": "t", "arguments": odd if place == "arguments" else {}}
    message: dict[str, Any] = {
        "role": "assistant",
        "content": [call | (odd if place == "block" else {})],
        "timestamp": 1,
    }
    message |= odd if place == "message" else {}
    entry: dict[str, Any] = {
        "type": "message",
        "id": "1",
        "parentId": None,
        "timestamp": "t",
        "message": message,
    }
    if place == "details":
        entry = {
            "type": "custom",
            "id": "1",
            "parentId": None,
            "timestamp": "t",
            "customType": "c",
            "data": odd,
        }
    entry |= odd if place == "entry" else {}
    entry |= {"type": "hologram", **odd} if place == "unknown" else {}
    written = json.loads(encode(decode(json.dumps(entry).encode(), Entry)))
    assert {key: value for key, value in written.items() if key != "message"} == {
        key: value for key, value in entry.items() if key != "message"
    }
    if "message" in entry:
        assert written["message"].items() >= message.items()


def test_an_unknown_block_is_kept() -> None:
    block = from_wire({"type": "video", "url": "u"}, Text | UnknownContent)
    assert to_wire(block) == {"type": "video", "url": "u"}


def test_a_lone_surrogate_that_is_no_escape_is_decoded_or_refused() -> None:
    assert decode_json('{"a":"\ud800"}') == {"a": "\ud800"}
    with pytest.raises(msgspec.DecodeError):
        decode_json("\ud800")
    with pytest.raises(msgspec.ValidationError):
        convert("\ud800", bool)
