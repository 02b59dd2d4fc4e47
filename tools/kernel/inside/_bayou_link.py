"""The link between the kernel and bayou: length-prefixed JSON messages on a descriptor that no child inherits.

A separate thread receives the messages, so that the cell's thread can be interrupted anywhere without losing
one."""
# pyright: basic

import _thread
import json
import os
import signal
from _queue import SimpleQueue


class CellInterrupter:
    """Delivers an interrupt (SIGINT) to the running cell only: other work in the cell's thread is finished first."""

    def __init__(self):
        self.is_open = False
        """Whether a cell is running, so that an interrupt is delivered at once."""
        self._shields = 0
        self._is_pending = False

    def install_signal_handler(self):
        """Installs the interrupt handler before each cell, because the cell before may have replaced it."""
        signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, number, frame):
        if self.is_open and not self._shields:
            raise KeyboardInterrupt
        self._is_pending = self.is_open

    def __enter__(self):
        if _is_main_thread():
            self._shields += 1

    def __exit__(self, *problem):
        if not _is_main_thread():
            return
        self._shields -= 1
        if self._is_pending and not self._shields:
            self._is_pending = False
            if self.is_open:
                raise KeyboardInterrupt


_MAIN_THREAD_ID = _thread.get_ident()


def _is_main_thread():
    return _thread.get_ident() == _MAIN_THREAD_ID


class BayouLinkClosed(Exception):
    """Raised if bayou has closed its end of the link to the kernel."""


class PendingBayouAnswer:
    """The answer that the kernel expects to a message that it sent to bayou."""

    def __init__(self, on_answer=None):
        self.answer = None
        self.number = 0
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        self._on_answer = on_answer

    def set(self, answer):
        self.answer = answer
        self._lock.release()
        if self._on_answer is not None:
            self._on_answer(answer)

    def wait(self):
        self._lock.acquire()
        self._lock.release()
        return self.answer


class BayouLink:
    def __init__(self):
        self._descriptor = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.close(nothing)
        self.interrupts = CellInterrupter()
        self.unwanted = 0
        """The number of a cell that was interrupted, perhaps before it started; it must not run."""
        self.is_child = False
        """Whether this process is a fork made by a cell, and not the kernel."""
        self._orders = SimpleQueue()
        self._sending = _thread.allocate_lock()
        self._waiting = {}
        self._count = 0
        os.register_at_fork(after_in_child=self._mark_forked)

    def start(self):
        """Starts the thread that receives bayou's messages; it handles no signals."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        _thread.start_new_thread(self._listen, ())
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def wait_for_next_order(self):
        """Returns the next order from bayou to the kernel; None when bayou has closed the link."""
        return self._orders.get()

    def send(self, word):
        if self.is_child:
            raise BayouLinkClosed("A forked child cannot speak for the kernel.")
        data = json.dumps(word).encode()
        view = memoryview(len(data).to_bytes(4, "big") + data)
        with self.interrupts, self._sending:
            try:
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError:
                raise BayouLinkClosed("bayou has gone.") from None

    def ask(self, word, on_answer=None):
        """Sends bayou a message that gets an answer, and returns the pending answer."""
        waiting = PendingBayouAnswer(on_answer)
        with self.interrupts:
            with self._sending:
                self._count += 1
                number = self._count
                self._waiting[number] = waiting
            self.send({**word, "id": number})
        waiting.number = number
        return waiting

    def cancel_pending_answer(self, waiting):
        """Tells bayou that the cell no longer waits for this answer."""
        with self.interrupts:
            if self._waiting.pop(waiting.number, None) is not None:
                self.send({"op": "cancel", "id": waiting.number})

    def _listen(self):
        while True:
            head = self._read(4)
            body = self._read(int.from_bytes(head, "big")) if head else None
            if body is None:
                break
            word = json.loads(body)
            if word["op"] == "interrupt":
                self.unwanted = word["id"]
                continue
            if word["op"] != "answer":
                self._orders.put(word)
                continue
            waiting = self._waiting.pop(word["id"], None)
            if waiting is not None:
                waiting.set(word)
        self._orders.put(None)
        for waiting in list(self._waiting.values()):
            waiting.set({"error": "bayou has gone."})

    def _read(self, count):
        parts = []
        while count:
            try:
                part = os.read(self._descriptor, min(count, 1 << 20))
            except OSError:
                part = b""
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _mark_forked(self):
        self.is_child = True
        try:
            os.close(self._descriptor)
        except OSError:
            pass
