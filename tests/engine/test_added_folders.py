"""Folders that a session works in besides its own: what knows them, and which are refused."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from app.assembly.command_line_options import CommandLineOptions, UsageError
from app.assembly.session_builder import assemble_session
from app.engine.core.user_questions import ApprovalReply
from app.engine.files.file_restorer import UndoFilesOfLastPrompts
from app.providers.scripted import call, say
from app.resources.trust.project_trust import trust_question_for
from app.values.content import text_of
from app.values.events import Event, Notice, QuestionAsked
from app.values.messages import CustomMessage, ToolResultMessage
from app.values.user_errors import UserError
from tests.compaction.project_session import ProjectSession


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "library"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "oars.py").write_text("def row_boat():\n    return 1\n")
    return folder


def git_in(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", folder, *words], check=True)


def results(scene: ProjectSession) -> list[str]:
    return [text_of(one.content) for one in scene.session.messages if isinstance(one, ToolResultMessage)]


async def opened(tmp_path: Path, *responses: object, **options: object) -> ProjectSession:
    scene = ProjectSession(tmp_path / "home", responses)  # type: ignore[arg-type]
    await scene.open(**{"permissions": "auto-edit", **options})
    scene.session.permissions.permission_context.shared_permissions.set_client_policy("deny")
    return scene


async def test_a_folder_that_is_removed_while_a_question_stands_is_asked_about_as_one_outside(
    tmp_path: Path, library: Path
) -> None:
    file = library / "src" / "oars.py"
    before = file.read_text()
    scene = await opened(
        tmp_path,
        call("write", path=str(file), content="changed\n"),
        say("done"),
        permissions="ask",
        add_dir=(str(library),),
    )
    scene.session.permissions.permission_context.shared_permissions.set_client_policy("ask")
    asked: list[QuestionAsked] = []

    def remove_and_allow(event: Event) -> None:
        if isinstance(event, QuestionAsked):
            asked.append(event)
            if len(asked) == 1:
                scene.session.folders.remove_folder(str(library))
            event.answer.set_result(ApprovalReply(is_allowed=len(asked) == 1))

    scene.session.subscribe(remove_and_allow)
    await scene.prompt("go")
    assert [one.approval.letter for one in asked if one.approval] == ["contained", "forbidden"]
    assert file.read_text() == before


async def test_tools_commands_and_undo_work_in_an_added_folder(tmp_path: Path, library: Path) -> None:
    file, made = library / "src" / "oars.py", library / "made.txt"
    scene = await opened(
        tmp_path,
        call("write", path=str(file), content="changed\n"),
        call("bash", command=f"echo more >> {file}; echo new > {made}; rm -f {library}/none"),
        say("done"),
        add_dir=(str(library),),
    )
    await scene.prompt("go")
    assert file.read_text() == "changed\nmore\n"
    assert made.read_text() == "new\n"
    assert str(library) in scene.asked[0].system_prompt
    await scene.session.file_restorer.carry_out_restore(
        await scene.session.file_restorer.plan_restore(UndoFilesOfLastPrompts())
    )
    assert file.read_text().startswith("def row_boat")
    assert not made.exists()
    await scene.session.close()


async def test_without_it_the_same_calls_need_approval(tmp_path: Path, library: Path) -> None:
    file = library / "src" / "oars.py"
    scene = await opened(
        tmp_path,
        call("write", path=str(file), content="changed\n"),
        call("bash", command=f"echo more >> {file}"),
        say("done"),
    )
    await scene.prompt("go")
    assert file.read_text().startswith("def row_boat")
    await scene.session.close()


async def test_what_runs_later_and_secrets_of_an_added_folder_stay_protected(
    tmp_path: Path, library: Path
) -> None:
    git_in(library, "init", "-q")
    (library / ".env").write_text("TOKEN=hunter2hunter2\n")
    scene = await opened(
        tmp_path,
        call("bash", command=f"cd {library} && python3 -c \"open('.git/hooks/pre-commit', 'w')\""),
        call("bash", command=f"cd {library} && python3 -c \"print(open('.env').read())\""),
        call("bash", command=f"rm -rf {library}"),
        say("done"),
        add_dir=(str(library),),
    )
    await scene.prompt("go")
    assert not (library / ".git" / "hooks" / "pre-commit").exists()
    assert not any("hunter2" in text for text in results(scene))
    assert "contains the workspace" in results(scene)[2]
    await scene.session.close()


async def test_maps_and_instructions_cover_an_added_folder(tmp_path: Path, library: Path) -> None:
    (library / "AGENTS.md").write_text("Rows are counted from one.")
    scene = await opened(
        tmp_path,
        call("locate", about="row_boat", path=str(library)),
        call("locate", about="row_boat"),
        call("locate", about="nothing_like_it"),
        call("read", path=str(library / "src" / "oars.py")),
        say("done"),
        add_dir=(str(library),),
    )
    await scene.prompt("go")
    assert "oars.py" in results(scene)[0]
    assert f"relative to {library}" in results(scene)[0]
    assert "oars.py" in results(scene)[1] and f"relative to {library}" in results(scene)[1]
    assert results(scene)[2].count("Nothing was found") == 2 and str(library) in results(scene)[2]
    maps = scene.session.repository
    found = await maps.symbols_containing("row_boat")
    async for _ in maps.wait_for_index_growth():
        found = await maps.symbols_containing("row_boat")
    assert [path for path, _ in found] == [str(library / "src" / "oars.py")]
    oars = str(library / "src" / "oars.py")
    assert oars in [one.path for one in await maps.find_files("row_boat")]
    assert oars in [one.path for one in await maps.find_files("")] and oars in await maps.files_below()
    assert (await maps.find_files("row_boat", str(library)))[0].path == oars
    assert [symbol.name for symbol in await maps.symbols_of_file(oars)] == ["row_boat"]
    told = [text_of(one.content) for one in scene.session.messages if isinstance(one, CustomMessage)]
    assert any("Rows are counted from one." in text for text in told)
    await scene.session.close()


async def test_a_resumed_session_has_its_folders_and_names_those_that_are_gone(
    tmp_path: Path, library: Path
) -> None:
    other = tmp_path / "home" / "other"
    other.mkdir()
    scene = await opened(tmp_path, say("ok"))
    scene.session.folders.add_folder(str(library))
    scene.session.folders.add_folder("../other")
    await scene.prompt("go")
    await scene.session.close()
    shutil.rmtree(other)
    again = await ProjectSession(tmp_path / "home", [say("ok")]).open(continue_=True)
    notices: list[str] = []
    again.session.subscribe(lambda event: notices.append(event.text) if isinstance(event, Notice) else None)
    await again.session.events.wait_until_delivered()
    assert again.session.folders.all_folders == (library,)
    again.session.folders.remove_folder(str(library))
    await again.session.close()
    third = await ProjectSession(tmp_path / "home", [say("ok")]).open(continue_=True)
    assert third.session.folders.all_folders == ()
    await third.session.close()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("~/nowhere", "does not exist"),
        ("~/library/src/oars.py", "is a file"),
        ("~", "contains your home folder"),
        ("/", "contains your home folder"),
        (".", "inside the session's folder"),
        ("sub", "inside the session's folder"),
        ("~/library/.git", "repository's internal data"),
        ("~/.bayou/agent/x", "bayou's own files"),
        ("~/.ssh", "keys or passwords"),
        ("", "Name a folder"),
        ("a\0b", "Name a folder"),
    ],
)
async def test_folders_that_may_not_be_added_are_refused_in_words(
    tmp_path: Path, library: Path, path: str, why: str
) -> None:
    for name in ("project/sub", "library/.git", ".bayou/agent/x", ".ssh"):
        (tmp_path / "home" / name).mkdir(parents=True, exist_ok=True)
    scene = await opened(tmp_path)
    with pytest.raises(UserError, match=why):
        scene.session.folders.add_folder(path.replace("~", str(tmp_path / "home"), 1))
    assert scene.session.folders.all_folders == ()
    await scene.session.close()
    with pytest.raises(UsageError, match=r"--add-dir: .*does not exist"):
        assemble_session(CommandLineOptions(add_dir=("/nowhere-at-all",)), scene.paths, {})


async def test_a_folder_replaces_those_in_it_and_is_added_once(tmp_path: Path, library: Path) -> None:
    scene = await opened(tmp_path)
    scene.session.folders.add_folder(str(library / "src"))
    scene.session.folders.add_folder(str(library))
    with pytest.raises(UserError, match=r"inside .*library, which was added"):
        scene.session.folders.add_folder(str(library / "src"))
    (tmp_path / "home" / "link").symlink_to(library)
    with pytest.raises(UserError, match="added already"):
        scene.session.folders.add_folder(str(tmp_path / "home" / "link"))
    assert scene.session.folders.all_folders == (library,)
    await scene.session.close()


async def test_programs_of_git_in_an_added_folder_are_in_the_trust_question(
    tmp_path: Path, library: Path
) -> None:
    git_in(library, "init", "-q")
    git_in(library, "config", "core.fsmonitor", "./evil.sh")
    scene = await opened(tmp_path)
    assert trust_question_for(scene.paths).items == ()
    scene.session.folders.add_folder(str(library))
    assert "evil.sh" in json.dumps([item.display_line for item in trust_question_for(scene.paths).items])
    await scene.session.close()
