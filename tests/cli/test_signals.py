"""A signal is heard however much else waits on the event loop."""

import asyncio
import os
import signal
import threading

from app.assembly.signals import handle_signals

WORDS = 5_000
"""More than the pipe that wakes the loop holds."""


async def test_while_thousands_of_words_of_threads_wait():
    heard: list[int] = []
    came = asyncio.Event()
    loop = asyncio.get_running_loop()

    def act(number: int) -> None:
        heard.append(number)
        came.set()

    def speak() -> None:
        for _ in range(WORDS):
            loop.call_soon_threadsafe(int)

    handle_signals((signal.SIGUSR1,), act)
    thread = threading.Thread(target=speak)
    thread.start()
    thread.join()  # the loop stands meanwhile, as it does while it paints
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(came.wait(), 20)
    await asyncio.sleep(0)
    assert heard == [signal.SIGUSR1]
    loop.remove_signal_handler(signal.SIGUSR1)


async def test_while_nothing_else_happens():
    came = asyncio.Event()
    handle_signals((signal.SIGUSR1,), lambda _: came.set())
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    await asyncio.wait_for(came.wait(), 20)
    asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR1)
