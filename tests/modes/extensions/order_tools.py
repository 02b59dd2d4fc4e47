"""A tool that tells in which order its calls began."""

import asyncio
import itertools

from bayou import ExtensionApi


def extension(api: ExtensionApi) -> None:
    numbers = itertools.count(1)
    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}

    @api.tool("note", "x", schema=schema)
    async def note(arguments, context) -> str:
        told = f"{next(numbers)}:{arguments['number']}"
        await asyncio.sleep(0)
        return told
