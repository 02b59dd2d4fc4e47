"""Files named on the command line: what is kept from being read is not sent because it is named."""

from pathlib import Path

import pytest

from tests.modes.processes import write_settings
from tests.modes.test_print_and_json import bayou


@pytest.mark.parametrize(
    ("deed", "named"),
    [
        ("deny", "kept/plan.txt"),
        ("ask", "kept/plan.txt"),
        ("deny", "link.txt"),
        ("deny", ".env"),
        ("ask", ".netrc"),
    ],
)
@pytest.mark.parametrize("face", [("-p",), ("--mode", "json")], ids=str)
async def test_a_file_that_is_kept_back_is_not_sent(
    tmp_path: Path, deed: str, named: str, face: tuple[str, ...]
) -> None:
    write_settings({"permissions": {deed: ["read: kept/**"]}})
    (tmp_path / "kept").mkdir()
    for name in ("kept/plan.txt", ".env", ".netrc"):
        (tmp_path / name).write_text("the hidden anchorage")
    (tmp_path / "link.txt").symlink_to("kept/plan.txt")
    done = await bayou("--model", "offline", *face, f"@{named}", "say it", cwd=tmp_path)
    assert done.code != 0
    assert f"@{named}: reading its file " in done.err and "It is not sent" in done.err
    assert "anchorage" not in done.out + done.err


async def test_other_files_are_sent_and_what_is_piped_is(tmp_path: Path) -> None:
    write_settings({"permissions": {"deny": ["read: kept/**"]}})
    (tmp_path / "open.txt").write_text("the open sea")
    done = await bayou("--mode", "json", "@open.txt", "say it", cwd=tmp_path, stdin=b"the piped anchorage ")
    assert done.code == 0
    assert "the open sea" in done.out and "the piped anchorage" in done.out
