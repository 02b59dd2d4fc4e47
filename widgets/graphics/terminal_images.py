"""Creates the images of one terminal and tracks which ones it stores. `image_support` knows the
protocol.

The terminal is queried at the start without waiting: until replies come, and if it supports no
protocol, images are half blocks. Images are sent once and kept up to a limit; the least
recently used are removed first."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from textual.app import App

from widgets.graphics import kitty, terminal_replies
from widgets.graphics.drawn_image import DrawnImage, ImageProtocol
from widgets.graphics.image_overlay import ImageOverlay
from widgets.graphics.image_support import ImageSetting, ImageSupport

if TYPE_CHECKING:
    from widgets.graphics.image_drawing import Drawing

_MAX_IMAGES = 64
_MAX_MEMORY = 100_000_000
_ARRIVAL_TIMEOUT = 2.0
"""Seconds to wait for the terminal's reply about an image sent through tmux."""


class ImageWatcher(Protocol):
    """The protocol of objects that are notified when images must be drawn again."""

    def images_changed(self) -> None:
        """Called when the terminal can show other images than before, or has lost its stored images."""


def images_of(app: App[object]) -> "TerminalImages":
    """Returns an application's images; one without a terminal shows half blocks."""
    images = getattr(app, "images", None)
    return images if isinstance(images, TerminalImages) else TerminalImages(print, ImageSupport("blocks"))


class TerminalImages:
    """Creates, sends and caches the images of one terminal."""

    def __init__(
        self, write: Callable[[str], None], ability: ImageSupport, *, lines: Callable[[], int] = lambda: 0
    ) -> None:
        """`write` sends a sequence to the terminal after the current frame. `lines`: the terminal's
        height."""
        self._write = write
        self._ability = ability
        self._watchers: WeakSet[ImageWatcher] = WeakSet()
        self._cached: OrderedDict[tuple[object, ...], DrawnImage] = OrderedDict()
        self._numbers = 0
        self._is_away = False
        self._missed: deque[DrawnImage] = deque(maxlen=_MAX_IMAGES)
        """Images drawn as half blocks only because tmux's pane was hidden or tmux did not pass them on."""
        self._awaited: dict[int, asyncio.Future[bool]] = {}
        """Images whose arrival the terminal has not confirmed yet."""
        self._drawing_slot = asyncio.Semaphore(1)
        self.over = ImageOverlay(self._with_token, write, lines)
        """The images drawn over cells; it is updated after each frame."""

    # -- setting, replies and lifecycle --------------------------------------------------------------------

    def use(self, setting: ImageSetting) -> None:
        """Applies the setting to new images and those on the screen."""
        if setting != self._ability.setting:
            before = self._ability.protocol
            self._ability.setting = setting
            self._turn(before)
            self._write(self._questions())

    def handle_reply(self, answer: str) -> None:
        """Processes a reply of the terminal."""
        if self._is_away:
            return
        before = self._ability.protocol
        number, is_held = terminal_replies.parse_image_reply(answer)
        if number in self._awaited and not self._awaited[number].done():
            self._awaited[number].set_result(is_held)
        elif number and not is_held:
            self._refused(number)
        if self._ability.take(answer):
            self._send(kitty.delete_family(self._ability.family))
        self._turn(before)

    def arrive(self) -> str:
        """Called when bayou takes the terminal; returns the queries to send."""
        if self._is_away:
            self._is_away = False
            asyncio.get_running_loop().call_soon(self.retry_images)
        return self._questions()

    def leave(self) -> str:
        """Called before the shell gets the terminal; returns sequences that delete all images."""
        self._is_away = True
        return self.over.remove_all() + self._delete_all()

    @property
    def needs_retry(self) -> bool:
        """Whether images fell back to half blocks because the tmux pane was hidden."""
        return bool(self._missed)

    def retry_images(self) -> None:
        """Tries images again after input showed that the pane is visible."""
        for image in self._missed:
            image.is_stale = True
        self._missed.clear()
        self._notify_watchers()

    def watch(self, watcher: ImageWatcher) -> None:
        """Notifies the watcher of changes as long as it exists."""
        self._watchers.add(watcher)

    def _notify_watchers(self) -> None:
        for watcher in tuple(self._watchers):
            watcher.images_changed()

    def _turn(self, before: ImageProtocol) -> None:
        """Deletes all images if the protocol changed, and notifies the watchers so that visible
        images are drawn again."""
        if self._ability.protocol != before:
            self._write(self._delete_all())
            self._notify_watchers()

    def _questions(self) -> str:
        if self._ability.is_in_tmux:
            asyncio.get_running_loop().create_task(self._query_tmux())
            return ""
        return self._ability.queries()

    async def _query_tmux(self) -> bool:
        before = self._ability.protocol
        is_reached = await self._ability.query_tmux(self._write) and not self._is_away
        self._turn(before)
        return is_reached

    # -- creating, sending, caching ------------------------------------------------------------------------

    async def obtain(self, data: str, columns: int, rows: int) -> DrawnImage | str:
        """Returns an image drawn for the given number of cells, or the reason why it cannot be shown. `data` is
        base64."""
        from widgets.graphics.image_drawing import CellBox, draw  # noqa: PLC0415  (at the first image)

        async with self._drawing_slot:
            while True:
                if (kept := self.kept(data, columns, rows)) is not None:
                    return kept
                protocol, cell = self._ability.protocol, self._ability.cell
                made = await asyncio.to_thread(draw, data, CellBox(columns, rows, *cell), protocol)
                if isinstance(made, str):
                    return made
                image = DrawnImage(made.pixels, _key(data, columns, rows, protocol, cell), columns, rows)
                if not await self._is_sent(image, made, protocol):
                    self._missed.append(image)
                elif protocol == self._ability.protocol:
                    self._cache_image(image)
                else:
                    self._write(self._delete_sequence(image))
                    continue
                return image

    def kept(self, data: str, columns: int, rows: int) -> DrawnImage | None:
        """Returns a cached image that needs neither drawing nor sending."""
        image = self._cached.get(_key(data, columns, rows, self._ability.protocol, self._ability.cell))
        if image is not None:
            self._cached.move_to_end(image.key)
        return image

    def mark_used(self, image: DrawnImage) -> None:
        """Marks the image as recently used, so that others are removed before it."""
        if image.key in self._cached:
            self._cached.move_to_end(image.key)

    async def _is_sent(self, image: DrawnImage, made: "Drawing", protocol: ImageProtocol) -> bool:
        """Sends an image; returns whether it can be shown. Images over cells are sent when they are
        drawn."""
        is_in_tmux = self._ability.is_in_tmux and protocol == "kitty"
        is_reached = not is_in_tmux or await self._query_tmux()
        if self._is_away or not is_reached:
            return False
        self._numbers += 1
        image.memory = made.memory
        image.sequence = made.data if protocol in ("iterm2", "sixel") else ""
        image.token = self._numbers if image.sequence or protocol == "placements" else 0
        if protocol not in ("kitty", "placements"):
            return True
        colour = kitty.COLOURS[self._numbers % len(kitty.COLOURS)]
        number = kitty.number_of(self._ability.family, colour)
        is_answered = is_in_tmux and self._ability.is_in_front
        has_cells = protocol == "kitty"
        parts = kitty.transmit(
            number, made.data, image.columns, image.rows, has_cells=has_cells, is_answered=is_answered
        )
        for part in parts:
            self._send(part)
        if is_answered and not await self._is_confirmed(number):
            self._send(kitty.delete(number))
            return False
        image.number, image.colour, image.has_cells = number, colour, has_cells
        return True

    async def _is_confirmed(self, number: int) -> bool:
        """Returns whether the terminal confirmed an image, since tmux drops some output while it
        redraws."""
        answer = self._awaited[number] = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(answer, _ARRIVAL_TIMEOUT)
        except TimeoutError:
            return False
        finally:
            del self._awaited[number]

    def _cache_image(self, image: DrawnImage) -> None:
        self.over.is_used = self.over.is_used or bool(image.token)
        self._cached[image.key] = image
        while len(self._cached) > 1 and (len(self._cached) > _MAX_IMAGES or self._memory > _MAX_MEMORY):
            _, oldest = self._cached.popitem(last=False)
            self._write(self._delete_sequence(oldest))

    @property
    def _memory(self) -> int:
        return sum(image.memory for image in self._cached.values())

    def _with_token(self, token: int) -> DrawnImage | None:
        return next((image for image in self._cached.values() if image.token == token), None)

    def _refused(self, number: int) -> None:
        """Handles an image that the terminal could not show: it becomes half blocks, and after some
        failures all do."""
        for image in self._cached.values():
            if image.number == number and not image.is_refused:
                image.is_refused = True
                self._ability.note_failure()
                self._notify_watchers()

    def _delete_all(self) -> str:
        gone = "".join(self._delete_sequence(image) for image in self._cached.values())
        self._cached.clear()
        return gone

    def _delete_sequence(self, image: DrawnImage) -> str:
        image.is_stale = True
        return self._ability.wrapped(kitty.delete(image.number)) if image.number else ""

    def _send(self, sequence: str) -> None:
        self._write(self._ability.wrapped(sequence))


def _key(
    data: str, columns: int, rows: int, protocol: ImageProtocol, cell: tuple[int, int]
) -> tuple[object, ...]:
    return len(data), hash(data), columns, rows, protocol, cell
