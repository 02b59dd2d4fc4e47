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
from widgets.graphics.drawn_image import DisplayableImage, ImageProtocol
from widgets.graphics.image_overlay import ImageOverlay
from widgets.graphics.image_support import ImageProtocolSetting, TerminalImageSupport

if TYPE_CHECKING:
    from widgets.graphics.image_drawing import EncodedImage

_MAX_IMAGES_STORED_BY_TERMINAL = 64
_MAX_TERMINAL_IMAGE_BYTES = 100_000_000
_IMAGE_ARRIVAL_TIMEOUT = 2.0
"""Seconds to wait for the terminal's reply about an image sent through tmux."""


class ImageChangeListener(Protocol):
    """The protocol of objects that draw images and are notified when they must be drawn again."""

    def images_changed(self) -> None:
        """Called when the terminal can show images in another way than before, or has lost its stored images."""


def terminal_images_of_app(app: App[object]) -> "TerminalImages":
    """Returns the images of an application's terminal; an application without a terminal gets some that show half
    blocks."""
    images = getattr(app, "images", None)
    return (
        images
        if isinstance(images, TerminalImages)
        else TerminalImages(print, TerminalImageSupport("blocks"))
    )


class TerminalImages:
    """Creates, sends and caches the images of one terminal."""

    def __init__(
        self,
        write: Callable[[str], None],
        ability: TerminalImageSupport,
        *,
        lines: Callable[[], int] = lambda: 0,
    ) -> None:
        """Creates the images of a terminal. `write` sends a sequence to the terminal after the current frame. `lines`
        returns the terminal's height."""
        self._write = write
        self._image_support = ability
        self._watchers: WeakSet[ImageChangeListener] = WeakSet()
        self._cached_images: OrderedDict[tuple[object, ...], DisplayableImage] = OrderedDict()
        self._image_id_count = 0
        self._is_terminal_left = False
        self._images_to_retry: deque[DisplayableImage] = deque(maxlen=_MAX_IMAGES_STORED_BY_TERMINAL)
        """Images drawn as half blocks only because tmux's pane was hidden or tmux did not pass them on."""
        self._unconfirmed_images: dict[int, asyncio.Future[bool]] = {}
        """Images whose arrival the terminal has not confirmed yet."""
        self._drawing_slot = asyncio.Semaphore(1)
        self.overlay = ImageOverlay(self._image_with_token, write, lines)
        """The images drawn over cells; it is updated after each frame."""

    # -- setting, replies and lifecycle --------------------------------------------------------------------

    def apply_setting(self, setting: ImageProtocolSetting) -> None:
        """Applies the setting for the image protocol: to new images, and to those on the screen, which are drawn
        again."""
        if setting != self._image_support.setting:
            before = self._image_support.protocol
            self._image_support.setting = setting
            self._change_protocol(before)
            self._write(self._start_queries())

    def handle_reply(self, answer: str) -> None:
        """Processes a terminal's reply about images: whether a sent image arrived or was refused, or what the terminal
        supports."""
        if self._is_terminal_left:
            return
        before = self._image_support.protocol
        number, is_held = terminal_replies.parse_kitty_image_reply(answer)
        if number in self._unconfirmed_images and not self._unconfirmed_images[number].done():
            self._unconfirmed_images[number].set_result(is_held)
        elif number and not is_held:
            self._handle_refusal(number)
        if self._image_support.record_reply(answer):
            self._send_sequence(kitty.kitty_delete_image_family_sequence(self._image_support.image_id_family))
        self._change_protocol(before)

    def begin_terminal_use(self) -> str:
        """Called when bayou takes the terminal; returns the queries about images to send."""
        if self._is_terminal_left:
            self._is_terminal_left = False
            asyncio.get_running_loop().call_soon(self.retry_images)
        return self._start_queries()

    def end_terminal_use(self) -> str:
        """Called before the shell gets the terminal; returns the sequences that delete all of bayou's images."""
        self._is_terminal_left = True
        return self.overlay.remove_all_images() + self._delete_all_images()

    @property
    def needs_retry(self) -> bool:
        """Whether some images are shown as half blocks only because the tmux pane was hidden or tmux did not pass them
        on."""
        return bool(self._images_to_retry)

    def retry_images(self) -> None:
        """Draws images again that fell back to half blocks, because input has shown that the tmux pane is visible."""
        for image in self._images_to_retry:
            image.is_stale = True
        self._images_to_retry.clear()
        self._notify_watchers()

    def add_image_listener(self, watcher: ImageChangeListener) -> None:
        """Registers an object that is notified when images change, as long as it exists."""
        self._watchers.add(watcher)

    def _notify_watchers(self) -> None:
        for watcher in tuple(self._watchers):
            watcher.images_changed()

    def _change_protocol(self, before: ImageProtocol) -> None:
        """After a change of the image protocol, deletes all stored images and notifies the watchers, so that visible
        images are drawn again."""
        if self._image_support.protocol != before:
            self._write(self._delete_all_images())
            self._notify_watchers()

    def _start_queries(self) -> str:
        if self._image_support.is_in_tmux:
            asyncio.get_running_loop().create_task(self._query_tmux())
            return ""
        return self._image_support.terminal_queries()

    async def _query_tmux(self) -> bool:
        before = self._image_support.protocol
        is_reached = await self._image_support.query_tmux(self._write) and not self._is_terminal_left
        self._change_protocol(before)
        return is_reached

    # -- creating, sending, caching ------------------------------------------------------------------------

    async def draw_image(self, data: str, columns: int, rows: int) -> DisplayableImage | str:
        """Draws an image for the given number of cells and sends it to the terminal; returns it, or the reason why it
        cannot be shown. `data` is base64."""
        from widgets.graphics.image_drawing import ImageCellBox, encode_image_data  # noqa: PLC0415  (at the first image)

        async with self._drawing_slot:
            while True:
                if (kept := self.cached_image(data, columns, rows)) is not None:
                    return kept
                protocol, cell = self._image_support.protocol, self._image_support.cell_size
                made = await asyncio.to_thread(
                    encode_image_data, data, ImageCellBox(columns, rows, *cell), protocol
                )
                if isinstance(made, str):
                    return made
                image = DisplayableImage(
                    made.pixels, _image_cache_key(data, columns, rows, protocol, cell), columns, rows
                )
                if not await self._send_image(image, made, protocol):
                    self._images_to_retry.append(image)
                elif protocol == self._image_support.protocol:
                    self._cache_image(image)
                else:
                    self._write(self._delete_sequence(image))
                    continue
                return image

    def cached_image(self, data: str, columns: int, rows: int) -> DisplayableImage | None:
        """Returns the image drawn earlier for the same data, size and protocol, which then counts as recently used;
        None if it is not cached."""
        image = self._cached_images.get(
            _image_cache_key(data, columns, rows, self._image_support.protocol, self._image_support.cell_size)
        )
        if image is not None:
            self._cached_images.move_to_end(image.cache_key)
        return image

    def mark_image_used(self, image: DisplayableImage) -> None:
        """Marks the image as recently used, so that others are removed before it."""
        if image.cache_key in self._cached_images:
            self._cached_images.move_to_end(image.cache_key)

    async def _send_image(
        self, image: DisplayableImage, made: "EncodedImage", protocol: ImageProtocol
    ) -> bool:
        """Sends a drawn image to the terminal, unless its protocol sends it at each drawing; returns whether it can be
        shown."""
        is_in_tmux = self._image_support.is_in_tmux and protocol == "kitty"
        is_reached = not is_in_tmux or await self._query_tmux()
        if self._is_terminal_left or not is_reached:
            return False
        self._image_id_count += 1
        image.terminal_memory = made.terminal_memory
        image.drawing_sequence = made.data if protocol in ("iterm2", "sixel") else ""
        image.overlay_token = (
            self._image_id_count if image.drawing_sequence or protocol == "placements" else 0
        )
        if protocol not in ("kitty", "placements"):
            return True
        colour = kitty.KITTY_IMAGE_ID_COLOURS[self._image_id_count % len(kitty.KITTY_IMAGE_ID_COLOURS)]
        number = kitty.make_kitty_image_id(self._image_support.image_id_family, colour)
        is_answered = is_in_tmux and self._image_support.is_pane_in_front
        has_cells = protocol == "kitty"
        parts = kitty.kitty_image_upload_sequences(
            number, made.data, image.columns, image.rows, has_cells=has_cells, is_answered=is_answered
        )
        for part in parts:
            self._send_sequence(part)
        if is_answered and not await self._is_arrival_confirmed(number):
            self._send_sequence(kitty.kitty_delete_image_sequence(number))
            return False
        image.kitty_id, image.placeholder_colour, image.has_placeholders = number, colour, has_cells
        return True

    async def _is_arrival_confirmed(self, number: int) -> bool:
        """Waits for the terminal's reply about a sent image; returns False if it reports a failure or none comes in
        time, since tmux drops some output while it redraws."""
        answer = self._unconfirmed_images[number] = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(answer, _IMAGE_ARRIVAL_TIMEOUT)
        except TimeoutError:
            return False
        finally:
            del self._unconfirmed_images[number]

    def _cache_image(self, image: DisplayableImage) -> None:
        self.overlay.is_used = self.overlay.is_used or bool(image.overlay_token)
        self._cached_images[image.cache_key] = image
        while len(self._cached_images) > 1 and (
            len(self._cached_images) > _MAX_IMAGES_STORED_BY_TERMINAL
            or self._cached_memory > _MAX_TERMINAL_IMAGE_BYTES
        ):
            _, oldest = self._cached_images.popitem(last=False)
            self._write(self._delete_sequence(oldest))

    @property
    def _cached_memory(self) -> int:
        return sum(image.terminal_memory for image in self._cached_images.values())

    def _image_with_token(self, token: int) -> DisplayableImage | None:
        return next((image for image in self._cached_images.values() if image.overlay_token == token), None)

    def _handle_refusal(self, number: int) -> None:
        """Shows an image as half blocks that the terminal could not show; after some such failures all images are shown
        so."""
        for image in self._cached_images.values():
            if image.kitty_id == number and not image.is_refused:
                image.is_refused = True
                self._image_support.record_image_failure()
                self._notify_watchers()

    def _delete_all_images(self) -> str:
        gone = "".join(self._delete_sequence(image) for image in self._cached_images.values())
        self._cached_images.clear()
        return gone

    def _delete_sequence(self, image: DisplayableImage) -> str:
        image.is_stale = True
        return (
            self._image_support.wrap_for_tmux(kitty.kitty_delete_image_sequence(image.kitty_id))
            if image.kitty_id
            else ""
        )

    def _send_sequence(self, sequence: str) -> None:
        self._write(self._image_support.wrap_for_tmux(sequence))


def _image_cache_key(
    data: str, columns: int, rows: int, protocol: ImageProtocol, cell: tuple[int, int]
) -> tuple[object, ...]:
    return len(data), hash(data), columns, rows, protocol, cell
