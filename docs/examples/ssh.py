"""Works on another machine: `bayou -e ssh.py --ssh user@host:/folder`. Without a host nothing runs at all.

bayou's own tools and the person's `!` commands stay what they are; what they do to files and processes goes through
`ssh`. The other machine needs a shell, `find`, `readlink` and `stat` as on Linux.
"""

import errno
import io
import os
import shlex
import subprocess

from bayou import (
    CommandLine,
    Context,
    DirectoryEntry,
    ExtensionApi,
    FileStat,
    LocalProcesses,
    RunningProcess,
    ToolCallAnswer,
    UserBashAnswer,
)

NO_HOST = "No machine is named, so nothing is done here either. Start with --ssh user@host:/folder."
STAT = 'test -e "$1" || exit 44; stat -Lc "%F|%s|%Y|%a|%i|%h" -- "$1"'
ENTRIES = 'cd "$1" && find . -mindepth 1 -maxdepth 1 -printf "%Y%f\\0"'
REPLACE = 'f=$(readlink -m -- "$1"); t="$f.$$"; { test ! -e "$f" || cp -p "$f" "$t"; } && cat > "$t" && mv "$t" "$f"'


class Machine:
    """The other one, whose folder stands for the folder here."""

    def __init__(self, name: str, folder: str, here: str) -> None:
        self.name, self.folder, self.here = name, folder, here

    def there(self, path: str) -> str:
        inside = path == self.here or path.startswith(f"{self.here}/")
        return (self.folder or ".") + path[len(self.here) :] if inside else path

    def argv(self, command: str, *options: str) -> tuple[str, ...]:
        return ("ssh", "-o", "BatchMode=yes", *options, "--", self.name, command)

    def ask(self, script: str, path: str, data: bytes = b"") -> bytes:
        command = shlex.join(["sh", "-c", script, "sh", self.there(path)])
        done = subprocess.run(self.argv(command), input=data, capture_output=True, check=False)
        if done.returncode == 44:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip() or f"ssh ended with {done.returncode}"
            raise OSError(errno.EIO, f"{self.name}: {words}", path)
        return done.stdout


class Files:
    """`FileOperations`, each a command over there."""

    def __init__(self, machine: Machine) -> None:
        self._ask = machine.ask

    def stat(self, path: str) -> FileStat:
        kind, size, changed, mode, inode, links = self._ask(STAT, path).decode().strip().split("|")
        return FileStat(
            kind="directory" if kind == "directory" else "file" if kind.startswith("regular") else "other",
            size=int(size), mtime_ns=int(changed) * 10**9, mode=int(mode, 8), inode=int(inode), links=int(links),
        )  # fmt: skip

    def real_path(self, path: str) -> str:
        return self._ask('readlink -m -- "$1"', path).decode().rstrip("\n")

    def open(self, path: str) -> io.BytesIO:
        return io.BytesIO(self._ask('test -f "$1" || exit 44; cat -- "$1"', path))

    def entries(self, path: str) -> list[DirectoryEntry]:
        found = self._ask(ENTRIES, path).decode("utf-8", "surrogateescape").split("\0")[:-1]
        return [DirectoryEntry(name=entry[1:], is_directory=entry[0] == "d") for entry in found]

    def modified(self, folder: str, names: list[str]) -> list[int]:
        return [self.stat(f"{folder}/{name}").mtime_ns for name in names]

    def make_directory(self, path: str) -> None:
        self._ask('mkdir -p -- "$1"', path)

    def replace(self, path: str, data: bytes) -> None:
        self._ask(REPLACE, path, data)


class Processes:
    """`ProcessOperations`: a local ssh that forwards."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._here = machine, LocalProcesses()

    async def start(
        self, command: CommandLine, output: int, *, errors: int | None = None, terminal: int | None = None
    ) -> RunningProcess:
        inside = f"cd {shlex.quote(self._machine.there(command.cwd))} && exec {shlex.join(command.argv)}"
        argv = self._machine.argv(inside, *(["-tt"] if terminal is not None else []))
        forwarding = CommandLine(argv=argv, cwd="/", environment=dict(os.environ))
        return await self._here.start(forwarding, output, errors=errors, terminal=terminal)

    def find_program(self, name: str) -> str | None:
        try:
            return self._machine.ask(f"command -v {shlex.quote(name)} || true", "/").decode().strip() or None
        except OSError:
            return None

    def close(self) -> None:
        self._here.close()


def extension(api: ExtensionApi) -> None:
    api.register_flag("ssh", type="string", description="Work on this machine: user@host:/folder")
    name, _, folder = str(api.flag("ssh") or "").partition(":")
    if not name:
        api.on("tool_call", lambda event, context: ToolCallAnswer(block=True, reason=NO_HOST))
        api.on("user_bash", lambda event, context: UserBashAnswer(block=True, reason=NO_HOST))
        return

    @api.on("session_start")
    def begin(event, context: Context) -> None:
        machine = Machine(name, folder, str(context.cwd))
        processes = Processes(machine)
        api.use_operations(files=Files(machine), processes=processes)
        api.on("session_shutdown", lambda event, context: processes.close())
        context.ui.set_status("ssh", f"on {name}:{folder}")
