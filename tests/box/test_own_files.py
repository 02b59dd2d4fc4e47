"""bayou's own tools obey the same box: resolved beneath, and no way round by links."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.box.boxed_commands import BoxedCommands
from tools.box.sandbox_policy import SandboxPolicy
from tools.files.sandboxed_files import DeniedBySandbox, SandboxedFiles


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("inside/sub", "inside/.git/hooks", "outside", "secret"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "secret" / "key").write_text("a key")
    (tmp_path / "outside" / "file").write_text("old")
    return tmp_path.resolve()


@pytest.fixture
def files(place: Path) -> SandboxedFiles:
    box = SandboxPolicy(
        kind="work",
        writable=(f"{place}/inside",),
        guarded=(f"{place}/inside/.git/hooks",),
        hidden_folders=(f"{place}/secret",),
        granted=(f"{place}/outside/let-through",),
    )
    return SandboxedFiles(lambda: box)


def test_inside_is_written_read_and_removed(files: SandboxedFiles, place: Path) -> None:
    path = f"{place}/inside/new/a.txt"
    files.replace(path, b"one")
    files.replace(path, b"two")
    with files.open(path) as opened:
        assert opened.read() == b"two"
    files.remove(path)
    assert not Path(path).exists()


@pytest.mark.parametrize("way", ["plain", "dots", "link to file", "link to folder", "chain", "proc"])
def test_nothing_leads_out(files: SandboxedFiles, place: Path, way: str) -> None:
    inside, target = place / "inside", place / "outside" / "file"
    (inside / "file").symlink_to(target)
    (inside / "folder").symlink_to(place / "outside")
    (inside / "sub" / "back").symlink_to("../folder")
    path = {
        "plain": target,
        "dots": f"{inside}/sub/../../outside/file",
        "link to file": inside / "file",
        "link to folder": inside / "folder" / "file",
        "chain": inside / "sub" / "back" / "file",
        "proc": f"/proc/self/root{target}",
    }[way]
    with pytest.raises(DeniedBySandbox):
        files.replace(str(path), b"new")
    if way not in ("link to file", "proc"):
        with pytest.raises(DeniedBySandbox):
            files.remove(str(path))
    with pytest.raises(DeniedBySandbox):
        files.make_directory(str(Path(path).parent / "x") if way != "link to file" else f"{place}/outside/x")
    assert target.read_text() == "old"


def test_what_is_guarded_or_hidden_stays_so_by_links_too(files: SandboxedFiles, place: Path) -> None:
    (place / "inside" / "h").symlink_to(".git/hooks")
    (place / "inside" / "k").symlink_to(place / "secret" / "key")
    for path in (f"{place}/inside/.git/hooks/x", f"{place}/inside/h/x"):
        with pytest.raises(DeniedBySandbox):
            files.replace(path, b"evil")
    for path in (f"{place}/secret/key", f"{place}/inside/k"):
        with pytest.raises(DeniedBySandbox):
            files.open(path)


def test_what_a_person_let_through_goes_through(files: SandboxedFiles, place: Path) -> None:
    files.replace(f"{place}/outside/let-through", b"new")
    assert (place / "outside" / "let-through").read_bytes() == b"new"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not tell what is open")
def test_a_folder_that_becomes_a_link_in_between_leads_nowhere(files: SandboxedFiles, place: Path) -> None:
    swapped = place / "inside" / "swapped"
    swapped.mkdir()
    aside = place / "inside" / "aside"
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            try:
                swapped.rename(aside)
                swapped.symlink_to(place / "outside")
                swapped.unlink()
                aside.rename(swapped)
            except OSError:
                continue

    racing = threading.Thread(target=swap)
    racing.start()
    try:
        for _ in range(300):
            try:
                files.replace(f"{swapped}/file", b"evil")
            except OSError:
                continue
    finally:
        is_over.set()
        racing.join()
    assert (place / "outside" / "file").read_text() == "old"


async def test_a_session_s_tools_have_its_box(
    boxed: Callable[..., BoxedCommands], home: Path, project: Path
) -> None:
    hands = boxed()
    files = hands.workspace.files
    files.replace(f"{project}/a.txt", b"in")
    with pytest.raises(DeniedBySandbox):
        files.open(f"{home}/.ssh/id_ed25519")
    with pytest.raises(DeniedBySandbox):
        files.replace(f"{home}/b.txt", b"out")
    hands.effective_settings.set("sandbox.mode", "off")
    files.replace(f"{home}/b.txt", b"out")


@pytest.mark.parametrize("way", ["replace", "replace unchanged"])
@pytest.mark.parametrize("shares", ["outside", "a cache", "a hook"])
def test_a_file_that_has_a_name_elsewhere_becomes_one_of_its_own(place: Path, shares: str, way: str) -> None:
    """The layouts of uv and pnpm."""
    cache, inside = place / "cache", place / "inside"
    cache.mkdir()
    files = SandboxedFiles(lambda: SandboxPolicy(kind="work", writable=(str(inside), str(cache))))
    folder = {"outside": place / "outside", "a cache": cache, "a hook": inside / ".git" / "hooks"}[shares]
    elsewhere = folder / "module.py"
    elsewhere.write_text("old")
    (inside / "module.py").hardlink_to(elsewhere)
    change(files, str(inside / "module.py"), way)
    assert (inside / "module.py").read_text() == "new" and elsewhere.read_text() == "old"


@pytest.mark.parametrize("way", ["replace", "replace unchanged"])
def test_names_in_the_workspace_stay_one_file(files: SandboxedFiles, place: Path, way: str) -> None:
    one, other = place / "inside" / "one", place / "inside" / "sub" / "other"
    one.write_text("old")
    other.hardlink_to(one)
    change(files, str(one), way)
    assert other.read_text() == "new"


def change(files: SandboxedFiles, path: str, way: str) -> None:
    if way == "replace":
        files.replace(path, b"new")
    else:
        files.replace_unchanged(path, b"new", b"old", files.stat(path).version, is_shared=False)
