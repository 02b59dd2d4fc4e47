"""The same tools work elsewhere with other file and process operations."""

import io
from pathlib import Path
from typing import BinaryIO

from tests.tools.conftest import ToolCaller
from tools.file_and_process_operations import CommandLine, DirectoryEntry, FileStat
from tools.running.local_processes import LocalProcess, LocalProcesses
from tools.session_workspace import SessionWorkspace
from tools.tool_definition import FileChange


class FilesInMemory:
    """File operations on a dict of paths."""

    def __init__(self, **files: str) -> None:
        self.files = {f"/far/{name}": text.encode() for name, text in files.items()}
        self.version = 0

    def stat(self, path: str) -> FileStat:
        if path in self.files:
            return FileStat(kind="file", size=len(self.files[path]), mtime_ns=self.version, mode=0o644)
        if any(name.startswith(f"{path.rstrip('/')}/") for name in self.files):
            return FileStat(kind="directory", size=0, mtime_ns=0, mode=0o755)
        raise FileNotFoundError(2, "No such file", path)

    def real_path(self, path: str) -> str:
        return path

    def open(self, path: str) -> BinaryIO:
        self.stat(path)
        return io.BytesIO(self.files[path])

    def entries(self, path: str) -> list[DirectoryEntry]:
        inside = [name.removeprefix(f"{path}/") for name in self.files if name.startswith(f"{path}/")]
        if not inside:
            raise FileNotFoundError(2, "No such directory", path)
        names = {name.split("/")[0]: "/" in name for name in inside}
        return [DirectoryEntry(name=name, is_directory=is_directory) for name, is_directory in names.items()]

    def modified(self, folder: str, names: list[str]) -> list[int]:
        return [0 for _ in names]

    def make_directory(self, path: str) -> None:
        pass

    def replace(self, path: str, data: bytes) -> None:
        self.files[path] = data
        self.version += 1


async def test_files_may_be_anywhere() -> None:
    files = FilesInMemory(**{"a.txt": "one\ntwo\n", "src/b.py": "x = 1\n"})
    workspace = SessionWorkspace(Path("/far"), files=files)
    changes: list[FileChange] = []
    workspace.mutations.subscribe(changes.append)
    hands = ToolCaller(workspace)
    assert await hands.text("read", path="a.txt") == "one\ntwo"
    assert await hands.text("ls") == "a.txt\nsrc/"
    await hands("edit", path="src/b.py", oldText="1", newText="2")
    await hands("write", path="deep/new.txt", content="fresh\n")
    assert files.files["/far/src/b.py"] == b"x = 2\n" and files.files["/far/deep/new.txt"] == b"fresh\n"
    assert [change.path for change in changes] == ["/far/src/b.py", "/far/deep/new.txt"]
    assert "Did you mean /far/a.txt?" in await hands.error("read", path="a.tx")


class Elsewhere(LocalProcesses):
    """Commands run behind another program, as with ssh."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[tuple[str, ...]] = []

    async def start(
        self, command: CommandLine, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> LocalProcess:
        self.commands.append(command.argv)
        there = CommandLine(
            argv=("env", "PLACE=far", *command.argv), cwd=command.cwd, environment=command.environment
        )
        return await super().start(there, output, errors=errors, terminal=terminal)


async def test_processes_may_be_anywhere(project: Path) -> None:
    processes = Elsewhere()
    hands = ToolCaller(SessionWorkspace(project, processes=processes))
    assert await hands.text("bash", command="echo $PLACE") == "far"
    assert processes.commands[0][1:] == ("-c", "echo $PLACE")
    processes.close()
