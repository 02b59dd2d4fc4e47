"""Calls while their arguments arrive, drawn again now and then: what changes files as the diff that it would make.

The arguments are read as they come, never from their beginning again. What a look at files costs decides when the next
one is: it is done beside the page, and takes a sixth of a processor at most.
"""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from app.engine.arriving import SHARE, ArrivingLook
from app.tui.transcript.shown_call import ShownCall

SECONDS = 0.15
"""How often a call whose arguments are arriving is drawn again, at most."""
Look = Callable[[str, int], Awaitable[ArrivingLook | None]]
Spawn = Callable[[Awaitable[None]], object]


class ArrivingCalls(msgspec.Struct, frozen=True):
    look: Look
    draw: Callable[[ShownCall], None]
    spawn: Spawn
    clock: Callable[[], float]

    def extend(self, known: ShownCall, delta: str) -> None:
        if known.is_looked_at:
            self._follow(known)
            return
        known.heard.append(delta)
        now = self.clock()
        if now - known.drawn < SECONDS:
            return
        known.drawn = now
        heard, known.heard = known.heard, []
        known.arguments.feed("".join(heard))
        known.call = msgspec.structs.replace(known.call, arguments=dict(known.arguments.so_far()))
        self.draw(known)

    def end(self, known: ShownCall) -> bool:
        """Its arguments are whole. False: it is to be drawn by them alone."""
        known.is_whole = True
        if known.is_looked_at:
            self._follow(known)
        return known.is_looked_at

    def _follow(self, known: ShownCall) -> None:
        known.has_news = True
        if not known.is_followed:
            known.is_followed = True
            self.spawn(self._looking(known))

    async def _looking(self, known: ShownCall) -> None:
        """As long as there is news of it."""
        try:
            while known.has_news and not known.is_over:
                known.has_news = False
                look = await self.look(known.reply_id, known.index)
                if known.is_over:
                    return
                if look is None:  # another answer arrives already
                    return
                known.has_been_seen, known.preview = True, look.result
                if not known.is_whole:
                    known.call = msgspec.structs.replace(known.call, arguments=dict(look.arguments))
                self.draw(known)
                await asyncio.sleep(max(SECONDS, SHARE * look.cost))
        finally:
            known.is_followed = False
