"""The mistakes that models make in edits, each with what is to come of it: what was meant, a refusal, or a warning.

Nothing here may be written wrongly and in silence. Which mistakes there are was counted once, on several formats; those
that only anchors can make are with the anchors.
"""

from pathlib import Path

import pytest

from tests.tools.conftest import ToolCaller
from tests.tools.mistaken_files import PYTHON
from tests.tools.mistakes import IF, MISTAKES, NUMBERED, Mistake, swap


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake.what for mistake in MISTAKES])
async def test_a_mistake_comes_to_what_was_meant_or_is_refused_or_told(
    hands: ToolCaller, project: Path, mistake: Mistake
) -> None:
    path = project / mistake.name
    path.write_bytes(mistake.file)
    await hands("read", path=mistake.name)
    if mistake.refused:
        said = await hands.error("edit", path=mistake.name, **mistake.arguments())
        assert mistake.refused in said
        assert "Nothing was changed." in said or "oldText is empty" in said
        assert path.read_bytes() == mistake.file
        return
    said = await hands.text("edit", path=mistake.name, **mistake.arguments())
    assert mistake.after is not None
    assert path.read_bytes().decode() == mistake.after
    assert mistake.says in said


async def test_a_kept_line_that_is_forgotten_is_the_one_mistake_that_nothing_tells(
    hands: ToolCaller, project: Path
) -> None:
    """Number 32: valid code in the wrong shape. If it breaks the file, the result says so."""
    (project / "a.py").write_text(PYTHON)
    old = "    # The folder may be missing.\n    Path(path).parent.mkdir(parents=True)\n\n    with open(path"
    said = await hands.text("edit", path="a.py", oldText=old, newText="    with open(path")
    assert said == "Successfully replaced 1 block(s) in a.py."


async def test_old_numbers_after_ones_own_edit_fit_by_what_was_shown(
    hands: ToolCaller, project: Path
) -> None:
    """Number 35: the lines have moved since, but they are those that were shown under these numbers."""
    (project / "a.py").write_text(PYTHON)
    await hands("read", path="a.py")
    (project / "a.py").write_text("import re\n" + PYTHON)
    await hands("edit", path="a.py", oldText=NUMBERED, newText="    return default\n")
    assert (project / "a.py").read_text() == "import re\n" + swap(PYTHON, IF, "    return default\n")


def test_of_the_mistakes_counted_once_most_come_to_what_was_meant() -> None:
    """By their numbers: 24 right, two answered with that there is nothing to do; a row that is refused or warned of
    makes its number none of these. Only 32, above, is written wrongly and in silence."""
    rows: dict[int, list[Mistake]] = {}
    for mistake in MISTAKES:
        rows.setdefault(int(mistake.what.split()[0]), []).append(mistake)
    told = {number for number, all_of in rows.items() if any("Nothing to do" in one.says for one in all_of)}
    right = {
        number
        for number, all_of in rows.items()
        if all(one.after is not None and "New syntax error" not in one.says for one in all_of)
    }
    assert told == {22, 23}
    assert len((right | {35}) - told) == 24
