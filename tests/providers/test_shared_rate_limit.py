"""The rate limit that several processes share: who waits, how long, and what is not shared."""

import asyncio
import time
from pathlib import Path

import pytest

from app.providers.shared_rate_limit import SharedRateLimit


async def waits(limit: SharedRateLimit, provider: str) -> bool:
    waiting = asyncio.ensure_future(limit.wait_for_pause_end(provider))
    await asyncio.wait({waiting}, timeout=0.2)
    has_waited = not waiting.done()
    waiting.cancel()
    return has_waited


async def test_another_process_waits_for_that_provider_alone(tmp_path: Path) -> None:
    one = SharedRateLimit(tmp_path)
    other = SharedRateLimit.from_environment({"BAYOU_RATE_LIMIT_DIR": str(tmp_path)})
    assert other is not None
    one.record_response("mine", 429, {"Retry-After": "60"})
    one.record_response("mine", 429, {"Retry-After": "1"})  # a shorter one does not shorten it
    assert await waits(other, "mine")
    assert not await waits(other, "an/other")


@pytest.mark.parametrize(
    ("status", "headers"), [(200, {"Retry-After": "60"}), (429, {}), (429, {"Retry-After": "7200"})]
)
async def test_only_a_short_refusal_is_shared(tmp_path: Path, status: int, headers: dict[str, str]) -> None:
    limit = SharedRateLimit(tmp_path)
    limit.record_response("mine", status, headers)
    assert not await waits(limit, "mine")


async def test_a_wait_ends_and_damaged_files_are_no_limit(tmp_path: Path) -> None:
    limit = SharedRateLimit(tmp_path)
    before = time.time()
    limit.record_response("mine", 429, {"retry-after-ms": "400"})
    await limit.wait_for_pause_end("mine")
    assert time.time() - before >= 0.4
    for file in tmp_path.iterdir():
        file.write_bytes(b"9e999 \xff")
    assert not await waits(limit, "mine")
    assert SharedRateLimit.from_environment({}) is None
