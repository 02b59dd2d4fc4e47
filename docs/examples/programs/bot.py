"""A bot: answers lines `CHANNEL TEXT` from standard input, each channel with a session of its own that it remembers.

`python bot.py [FLAG…]`; flags such as `--model NAME` go to bayou. Replace the loop by the events of your chat.
"""

import asyncio
import sys

from bayou.client import RpcClient, RpcError

READS = ["--permissions", "read-only"]


class Bot:
    """One bayou for each channel, started with its first line."""

    def __init__(self, flags: list[str]) -> None:
        self.flags = flags
        self.channels: dict[str, RpcClient] = {}

    async def answer(self, channel: str, text: str) -> str:
        client = self.channels.get(channel)
        try:
            if client is None:
                client = RpcClient(arguments=["--session-id", f"bot-{channel}", *READS, *self.flags])
                await client.start()
                self.channels[channel] = client
            await client.prompt_and_wait(text, timeout=300)
            return await client.get_last_assistant_text() or "There was no answer."
        except (RpcError, TimeoutError) as problem:
            return f"That did not work: {problem}"

    async def close(self) -> None:
        for client in self.channels.values():
            await client.stop()


async def main() -> None:
    bot = Bot(sys.argv[1:])
    while line := await asyncio.to_thread(sys.stdin.readline):
        channel, _, text = line.strip().partition(" ")
        if text:
            print(f"{channel}: {await bot.answer(channel, text)}", flush=True)
    await bot.close()


if __name__ == "__main__":
    asyncio.run(main())
