"""The process that brings an index up to date beside a session: at low priority, until it is done or its input ends."""

import os
import selectors
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tools.repomap.building import CannotIndex, IndexBusy, IndexedFolder, IndexProgress, build, writing
from tools.repomap.hidden import HiddenFiles
from tools.repomap.nearness import learn
from tools.repomap.way import RightOfWay
from tools.repomap.worker import end, receive, send, start

_NICE = 10
_TOLD_SECONDS = 0.25
"""So often it is told how far one is: who is told paints it."""


class _Order(msgspec.Struct, frozen=True, array_like=True):
    root: bytes
    index: bytes
    home: bytes | None
    """Where the person is at home, if git may be asked."""
    hidden: HiddenFiles = HiddenFiles()
    begins_at: bytes = b""


class BuildReport(msgspec.Struct, frozen=True, array_like=True):
    """What the builder says: how far it is, and at last how it ended."""

    done: int = 0
    total: int = 0
    has_ended: bool = False
    problem: str = ""


_ORDERS = msgspec.msgpack.Decoder(_Order)
_REPORTS = msgspec.msgpack.Decoder(BuildReport)


class IndexBuilder:
    """A session's end of it."""

    def __init__(
        self,
        folder: IndexedFolder,
        index: Path,
        home: Path | None,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        """`heard`: there is another report; from a thread."""
        self.report = BuildReport()
        self.began = time.monotonic()
        self._heard = heard
        self._way = RightOfWay.made()
        self._process = start("builder", self._way)
        self._way.hand_over()
        self._done = threading.Event()
        assert self._process.stdin is not None
        order = _Order(
            os.fsencode(folder.root),
            os.fsencode(index),
            os.fsencode(home) if home else None,
            folder.hidden,
            os.fsencode(folder.begins_at),
        )
        send(self._process.stdin, order)
        threading.Thread(target=self._listen, name="bayou-index", daemon=True).start()

    @property
    def is_running(self) -> bool:
        return not self._done.is_set()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended by then."""
        return self._done.wait(seconds)

    def give_way(self, *, wholly: bool) -> None:
        """It waits for a moment, or leaves a processor free; and longer if it is told again."""
        if wholly:
            self._way.take()
        else:
            self._way.share()

    def close(self) -> None:
        """Ends it; what it has committed stays."""
        end(self._process)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            while not self.report.has_ended:
                self.report = _REPORTS.decode(receive(self._process.stdout))
                self._heard()
        except (EOFError, OSError, ValueError, msgspec.MsgspecError):
            self.report = msgspec.structs.replace(self.report, has_ended=True)
        finally:
            self._process.stdout.close()
            self.close()
            self._done.set()
            self._heard()


def main() -> None:
    os.nice(_NICE)
    way = RightOfWay.of_words(sys.argv[1:])
    order = _ORDERS.decode(receive(sys.stdin.buffer))
    watched = sys.stdin.buffer.fileno()

    def is_stopped() -> bool:
        """Input that can be read has ended: nothing more is sent."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(watched, selectors.EVENT_READ)
            return bool(waiting.select(0))

    told = float("-inf")

    def tell(progress: IndexProgress) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < _TOLD_SECONDS and progress.done < progress.total:
            return
        told = now
        send(sys.stdout.buffer, BuildReport(progress.done, progress.total))

    root = Path(os.fsdecode(order.root))
    folder = IndexedFolder(root, order.hidden, os.fsdecode(order.begins_at))
    problem = ""
    try:
        with writing(Path(os.fsdecode(order.index))) as store:
            if build(store, folder, progress=tell, is_stopped=is_stopped, way=way) and order.home is not None:
                learn(store, root, Path(os.fsdecode(order.home)))
    except IndexBusy:
        problem = "another bayou builds the index"
    except CannotIndex as failure:
        problem = str(failure)
    except BrokenPipeError:
        return
    send(sys.stdout.buffer, BuildReport(has_ended=True, problem=problem))
