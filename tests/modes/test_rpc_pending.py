"""A program answers staged changes by their ids, with any request ids."""

import os
from pathlib import Path

import pytest

from bayou.client import RpcClient, RpcError
from tests.modes.test_rpc_process import FAST

STAGES = """
def extension(api):
    @api.command("stage")
    async def stage(arguments, context):
        await context.stage("the first", {"a.txt": "a\\n"})
        await context.stage("the second", {"b.txt": "b\\n"})
"""


async def test_each_of_several_is_answered_by_its_name_and_the_last_without(tmp_path: Path) -> None:
    (tmp_path / "stages.py").write_text(STAGES)
    arguments = ("--no-session", "-e", str(tmp_path / "stages.py"))
    async with RpcClient(arguments=arguments, cwd=tmp_path, env={**os.environ, **FAST}) as bayou:
        await bayou.prompt("/stage")
        first, second = await bayou.list_pending()
        with pytest.raises(
            RpcError, match=f"say which by id. {first.id}: the first; {second.id}: the second"
        ):
            await bayou.resolve_pending("apply")
        done = await bayou.resolve_pending("apply", pending_id=second.id)
        assert (done["id"], done["done"]) == (second.id, True)
        assert (await bayou.resolve_pending("discard", "no need"))["id"] == first.id
        assert not await bayou.list_pending()
    assert (tmp_path / "b.txt").read_text() == "b\n"
    assert not (tmp_path / "a.txt").exists()
