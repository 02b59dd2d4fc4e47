"""What commands in the box did to files goes back as any other; what could only read is not looked at."""

from pathlib import Path

from tests.box.conftest import skip_below
from tests.compaction.project_session import ProjectSession
from tests.undo.test_in_sessions import Page, bash


async def test_what_a_command_in_the_box_changed_goes_back(tmp_path: Path) -> None:
    skip_below("namespaces")
    scene = ProjectSession(tmp_path)
    scene.settings({"permissions": {"mode": "auto-edit"}})
    scene.write("a.txt", "old")
    scene.write("gone.txt", "was here")
    acting = Page(await scene.open())
    await acting.prompt(
        "go", bash("python3 -c \"open('a.txt','w').write('new')\"; rm gone.txt; mkdir d; echo 1 > d/b")
    )
    assert acting.read("a.txt") == "new" and acting.read("gone.txt") is None and acting.read("d/b")
    assert acting.session.permissions.boxes.sandbox_state().is_in_force
    await acting.undo()
    assert (
        acting.read("a.txt") == "old" and acting.read("gone.txt") == "was here" and acting.read("d/b") is None
    )
    await acting.redo()
    assert acting.read("a.txt") == "new"
    before = len(acting.custom("bayou.files"))
    await acting.prompt("look", bash("cat a.txt; ls", 2))
    assert len(acting.custom("bayou.files")) == before
    await scene.session.close()
