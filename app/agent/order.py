"""The order of calls that touch the same files. Those that do not run side by side.

A place is taken before the call runs, one call after the other; what a call waits for is what took its place before.
So nobody waits in a circle.
"""

import asyncio

from tools.touches import NOTHING, Touches, waits


class Place:
    """Where a call stands. It is left once, when the call has its result."""

    def __init__(self, touches: Touches, behind: tuple["Place", ...]) -> None:
        self.touches = touches
        self._behind = behind
        self.has_to_wait = bool(behind)
        self._left = asyncio.Event()
        self._followers: list[Place] = []
        for earlier in behind:
            earlier._followers.append(self)

    @property
    def is_waited_for(self) -> bool:
        return any(not later.is_left for later in self._followers)

    @property
    def is_left(self) -> bool:
        return self._left.is_set()

    async def reached(self) -> None:
        for earlier in self._behind:
            await earlier._left.wait()

    def leave(self) -> None:
        self._left.set()


class Order:
    """Of the calls of one answer, or of those that are made within one call."""

    def __init__(self) -> None:
        self._places: list[Place] = []

    def take(self, touches: Touches) -> Place:
        self._places = [place for place in self._places if not place.is_left]
        behind = tuple(place for place in self._places if waits(touches, place.touches))
        place = Place(touches, behind)
        if touches != NOTHING:
            self._places.append(place)
        return place
