"""Fixtures of the provider tests: a local server, and closing of connections after each test."""

from collections.abc import AsyncIterator

import pytest

from app.providers.senders.client import close_connections
from tests.providers.loopback import Loopback, loopback


@pytest.fixture
async def server() -> AsyncIterator[Loopback]:
    async with loopback() as running:
        yield running
        await close_connections()
