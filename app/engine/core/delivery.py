"""Tracks which messages have reached the model, by their ids.

A message is delivered when a request that contains it gets response headers; failed requests do not count. A
message that leaves the context before that (summarised, omitted) is dropped."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from app.values.messages import CustomMessage

DeliveryOutcome = Literal["delivered", "dropped"]
DeliverAs = Literal["steer", "follow_up", "next_turn", "aside"]


class SendMessage(Protocol):
    """The type of the function that sends the agent a message which the user did not type; `PromptSubmission.send`
    implements it."""

    async def __call__(
        self, message: CustomMessage, *, deliver_as: DeliverAs, trigger: bool = False
    ) -> str: ...


class MessageDeliveryReceipt(msgspec.Struct, frozen=True, kw_only=True):
    message_id: str
    outcome: DeliveryOutcome
    request_id: str | None = None


class _OpenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to the provider that has no response headers yet."""

    message_ids: Sequence[str]
    prefix_key: object


class MessageDeliveries:
    """The open requests of a session, and the callers that wait for the delivery of a message."""

    def __init__(self) -> None:
        self._open_requests: dict[str, _OpenRequest] = {}
        self._request_by_message: dict[str, str | None] = {}
        """The id of the request that delivered each message; None: the message was dropped."""
        self._lost_ids: set[str] = set()
        """The ids of awaited messages that left the context but are still in an open request."""
        self._settled_of: tuple[object, int] = (None, 0)
        """The token of an unchanged conversation, and the number of its first messages that are known to be
        delivered."""
        self._waiting: dict[str, list[asyncio.Future[MessageDeliveryReceipt]]] = {}

    def note_request_sent(self, request_id: str, message_ids: Sequence[str], stretch: object = None) -> None:
        """Records a request that has no response headers yet. Requests with the same `stretch` token begin with the
        same messages, which are checked only once."""
        self._open_requests[request_id] = _OpenRequest(message_ids=message_ids, prefix_key=stretch)

    def undelivered_ids(self, message_ids: Sequence[str], stretch: object) -> tuple[str, ...]:
        """Returns the messages that no request has delivered to the model yet."""
        settled_of, settled = self._settled_of
        known = settled if stretch is not None and stretch is settled_of else 0
        return tuple(
            message_id
            for message_id in message_ids[known:]
            if self._request_by_message.get(message_id) is None
        )

    def note_request_delivered(self, request_id: str) -> None:
        request = self._open_requests.pop(request_id, None)
        if request is None:
            return
        stretch, settled = self._settled_of
        known = settled if stretch is not None and stretch is request.prefix_key else 0
        self._settled_of = (request.prefix_key, max(known, len(request.message_ids)))
        for message_id in request.message_ids[known:]:
            self._record_delivery(message_id, request_id)

    def note_request_failed(self, request_id: str) -> None:
        self._open_requests.pop(request_id, None)
        self._drop_undeliverable_messages()

    def is_request_open(self, request_id: str) -> bool:
        return request_id in self._open_requests

    def drop_messages_not_in(self, remaining: frozenset[str], is_known: Callable[[str], bool]) -> None:
        """Marks known messages as dropped that are not in `remaining`, after the context has changed. A message
        in an open request can still be delivered."""
        self._lost_ids = {message_id for message_id in self._waiting if is_known(message_id)} - remaining
        self._drop_undeliverable_messages()

    def _drop_undeliverable_messages(self) -> None:
        if not self._lost_ids:
            return
        open_ids = {
            message_id for request in self._open_requests.values() for message_id in request.message_ids
        }
        for message_id in self._lost_ids - open_ids:
            self._record_delivery(message_id, None)
        self._lost_ids &= open_ids

    def note_message_dropped(self, message_id: str) -> None:
        """Notes that a message was removed from its queue and will never be sent."""
        if message_id in self._waiting:
            self._record_delivery(message_id, None)

    async def wait_for_delivery(
        self, message_id: str, timeout: float | None = None, *, look: Callable[[], None] = lambda: None
    ) -> MessageDeliveryReceipt:
        """Waits for the first request that delivers the message to the model. Raises `TimeoutError`. `look` calls
        `drop_messages_not_in`, so that the call does not wait for a message that has already left the context."""
        if message_id in self._request_by_message:
            return _delivery_receipt(message_id, self._request_by_message[message_id])
        future: asyncio.Future[MessageDeliveryReceipt] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(message_id, [])
        waiting.append(future)
        look()
        try:
            return await asyncio.wait_for(future, timeout)
        finally:
            if future in waiting:
                waiting.remove(future)

    def _record_delivery(self, message_id: str, request_id: str | None) -> None:
        if message_id in self._request_by_message:
            return
        self._request_by_message[message_id] = request_id
        for future in self._waiting.pop(message_id, ()):
            if not future.done():
                future.set_result(_delivery_receipt(message_id, request_id))


def _delivery_receipt(message_id: str, request_id: str | None) -> MessageDeliveryReceipt:
    outcome: DeliveryOutcome = "dropped" if request_id is None else "delivered"
    return MessageDeliveryReceipt(message_id=message_id, outcome=outcome, request_id=request_id)
