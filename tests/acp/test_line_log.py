"""`bayou acp --log FILE` keeps what went both ways, and no secret that bayou knows."""

import stat
from pathlib import Path

from tests.acp.peers import bayou
from tests.acp.test_capabilities import MODEL

SECRET = "sk-ant-api03-Jx7Qm2Zk9Vw4Rt8Ly1Bn6Hd3Gf5"


async def test_the_log_has_lines_of_both_sides_without_known_secrets(tmp_path: Path) -> None:
    log = tmp_path / "acp.log"
    env = {"ANTHROPIC_API_KEY": SECRET}
    async with bayou("--log", str(log), "-e", MODEL, env=env) as client:
        await client.initialize()
        session = await client.new(tmp_path)
        assert await client.prompt(session, f"My key is {SECRET}, is it?") == "end_turn"
        client.write_line(b"no json")
        await client.until(lambda: client.unasked)
        assert await client.close() == 0
    text = log.read_text()
    assert SECRET not in text and SECRET[12:] not in text
    (prompt,) = [line for line in text.splitlines() if '"session/prompt"' in line]
    assert prompt.split(" ")[1] == "<" and "My key is " in prompt and ", is it?" in prompt
    told = [line for line in text.splitlines() if "agent_message_chunk" in line]
    assert told and all(line.split(" ")[1] == ">" for line in told)
    assert " < no json" in text and "Parse error" in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
