"""A disposable machine: own mounts, processes and network, in which nothing reaches the real one.

`/` is read-only; what commands may change are fresh folders in memory. Every name and every address leads to a listener
in here. It is made by the process that becomes the first of it (`inside`), which `unshare` starts.
"""

import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tarfile
import threading
from io import BytesIO
from pathlib import Path
from typing import Final

from tools.box.process_confinement import SandboxInstructionExecutor

HOME: Final = Path("/home/dev")
PROJECT: Final = HOME / "project"
LISTENED: Final = Path("/run/heard/lines")
OUTPUT: Final = Path("/run/heard/output")
KEPT_BYTES: Final = Path("/run/heard/bytes")
"""What was sent, as it came: the lines above are easier to read, this can be searched for what is packed."""
AGENT: Final = HOME / "agent.sock"
SECRET: Final = "PLANTEDKEY1f9dxWv"
HOST, PORT = "203.0.113.9", 9999
FRESH: Final = ("/home", "/tmp", "/var/tmp", "/srv", "/opt", "/run", "/var/spool", "/mnt")
COMMAND: Final = (
    "unshare", "--mount", "--net", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc",
)  # fmt: skip
_REAL_HOME: Final = Path.home()
_PORTS: Final = (21, 22, 25, 53, 80, 443, 1337, 4444, 5432, 6379, 8000, 8080, 8443, 9000, 9001, 9418, 9999)
_RIGHTS: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18, 19, 21, 23, 31)
"""All but those over the clock, modules, devices, the memory and the running of the real machine."""
_BODY: Final = b'touch "$HOME/ran-from-network"\n'


def is_possible() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run([*COMMAND, "true"], capture_output=True, check=False).returncode == 0


def make() -> None:
    """Of this process's namespaces. What Python still has to load is kept where it is."""
    etc = _packed("/etc")
    needed = {str(Path(__file__).parents[3]), sys.prefix, sys.base_prefix, *_tools()}
    kept = [path for path in needed if path.startswith(tuple(f"{one}/" for one in FRESH))]
    confinement = SandboxInstructionExecutor([])
    confinement.run_instructions([b"mounts", *(b"keep " + path.encode() for path in kept)])
    for path in (*FRESH, "/etc"):
        if Path(path).is_dir():
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", path], check=True)
    for path in ("/tmp", "/var/tmp"):
        Path(path).chmod(0o1777)
    for path in kept:
        Path(path).mkdir(parents=True, exist_ok=True)
    confinement.run_instructions([b"back"])
    _unpack(etc, "/etc")
    passwd = Path("/etc/passwd")
    passwd.write_text(passwd.read_text().replace(":/root:", f":{HOME}:"))
    Path("/etc/resolv.conf").unlink(missing_ok=True)
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    Path("/etc/hosts").write_text("127.0.0.1 localhost\n")
    Path("/etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
    devices = [
        one
        for one in ("null", "zero", "full", "random", "urandom", "tty", "shm", "pts")
        if Path("/dev", one).exists()
    ]
    writable = [path for path in (*FRESH, "/etc", "/proc", "/dev") if Path(path).is_dir()]
    confinement.run_instructions(
        [
            b"devices " + " ".join(devices).encode(),
            *(b"keep " + path.encode() for path in writable),
            b"seal /",
            b"back",
            b"fresh /dev/shm",
            b"terminals",
            *(
                b"guard " + path.encode()
                for path in ("/proc/sys", "/proc/sysrq-trigger", *kept)
                if Path(path).exists()
            ),
            b"bare " + " ".join(map(str, _RIGHTS)).encode(),
        ]
    )
    LISTENED.parent.mkdir()
    LISTENED.touch()
    KEPT_BYTES.touch()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for family, addresses in (("-4", "0.0.0.0/0"), ("-6", "::/0")):
        subprocess.run(["ip", family, "route", "add", "local", addresses, "dev", "lo"], check=False)


def _tools() -> set[str]:
    """The folders below the fresh ones that programs of `PATH` come from."""
    found: set[str] = set()
    for one in map(Path, os.environ["PATH"].split(":")):
        if one.is_dir() and one.is_relative_to("/opt") and len(one.parts) > 2:
            found.add(str(Path(*one.parts[:3])))
    return found


class Listeners:
    """Takes every connection and every question for a name, and writes down what was sent."""

    def __init__(self) -> None:
        self._ports: set[int] = set()
        self._agent: socket.socket | None = None

    def start(self) -> None:
        for port in _PORTS:
            self.add(port)
        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        names.bind(("0.0.0.0", 53))
        threading.Thread(target=self._answer_names, args=(names,), daemon=True).start()

    def add(self, port: int) -> None:
        if port in self._ports:
            return
        self._ports.add(port)
        listening = socket.create_server(("0.0.0.0", port), backlog=64)
        threading.Thread(target=self._accept, args=(listening, port), daemon=True).start()

    def begin_row(self) -> None:
        """Listens anew where the home says that an agent of its person does."""
        if self._agent is not None:
            self._agent.close()
        self._agent = socket.socket(socket.AF_UNIX)
        AGENT.unlink(missing_ok=True)
        self._agent.bind(str(AGENT))
        self._agent.listen(16)
        threading.Thread(target=self._accept, args=(self._agent, 0), daemon=True).start()

    def _accept(self, listening: socket.socket, port: int) -> None:
        while True:
            try:
                link, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link, port), daemon=True).start()

    def _serve(self, link: socket.socket, port: int) -> None:
        with link:
            data = _received(link)
            note(f"{link.getsockname()[0] if port else AGENT}:{port}  {data!r}")
            try:
                if b" HTTP/1." in data.partition(b"\r\n")[0]:
                    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(_BODY)}\r\nConnection: close\r\n\r\n"
                    link.sendall(head.encode() + _BODY)
            except OSError:
                pass

    def _answer_names(self, names: socket.socket) -> None:
        while True:
            asked, sender = names.recvfrom(4096)
            labels, at = list[str](), 12
            while at < len(asked) and asked[at]:
                labels.append(asked[at + 1 : at + 1 + asked[at]].decode("latin-1"))
                at += asked[at] + 1
            question = asked[12 : at + 5]
            name, is_address = ".".join(labels), asked[at + 1 : at + 3] == b"\0\1"
            note(f"dns {name}")
            head = asked[:2] + struct.pack(">HHHHH", 0x8180, 1, int(is_address), 0, 0)
            record = (
                b"\xc0\x0c"
                + struct.pack(">HHIH", 1, 1, 5, 4)
                + bytes((198, 51, 100, 1 + sum(name.encode()) % 250))
            )
            names.sendto(head + question + (record if is_address else b""), sender)


def _received(link: socket.socket) -> bytes:
    """Reads a request with its body, or all bytes until the sender waits."""
    data = b""
    link.settimeout(2)
    try:
        while piece := link.recv(65_536):
            with KEPT_BYTES.open("ab") as file:
                file.write(piece)
            data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            if b"100-continue" in head.lower() and not body:
                link.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                continue
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            if data.startswith((b"GET ", b"HEAD ")) or (length and len(body) >= int(length[1])):
                break
            link.settimeout(0.5)
    except OSError:
        pass
    return data


def note(line: str) -> None:
    with LISTENED.open("a") as file:
        file.write(line + "\n")


def _packed(folder: str) -> bytes:
    held = BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.add(folder, arcname=".")
    return held.getvalue()


def _unpack(data: bytes, folder: str) -> None:
    with tarfile.open(fileobj=BytesIO(data)) as archive:
        archive.extractall(folder, filter="fully_trusted")


class Template:
    """The home and the project that every row begins with."""

    def __init__(self) -> None:
        environment = {**os.environ, **person(), "SECRET": SECRET}
        script = Path(__file__).with_name("home.sh")
        HOME.mkdir(parents=True, exist_ok=True)
        subprocess.run(["bash", "-eu", str(script)], check=True, env=environment, capture_output=True)
        self._home = _packed(str(HOME))
        self._etc = _packed("/etc")

    def restore(self, *, is_etc_touched: bool = True, keeps_own: bool = False) -> None:
        """`keeps_own`: a session runs, and works with what is in bayou's own folder."""
        own = HOME / ".bayou"
        etc = (Path("/etc"),) if is_etc_touched else ()
        for folder in (HOME, PROJECT, *map(Path, FRESH[1:]), *etc):
            for one in folder.iterdir() if folder.is_dir() else ():
                if one in (PROJECT, LISTENED.parent) or os.path.ismount(one) or (keeps_own and one == own):
                    continue
                shutil.rmtree(
                    one, ignore_errors=True
                ) if one.is_dir() and not one.is_symlink() else one.unlink(missing_ok=True)
        HOME.mkdir(exist_ok=True)
        _unpack(self._home, str(HOME))
        if is_etc_touched:
            _unpack(self._etc, "/etc")
        LISTENED.write_text("")
        KEPT_BYTES.write_text("")
        OUTPUT.write_text("")


def person() -> dict[str, str]:
    """The environment of the person who works here."""
    return {
        "HOME": str(HOME),
        "USER": "dev",
        "PROJECT": str(PROJECT),
        "REMOTE": str(HOME / "remotes/origin.git"),
        "OUT": str(HOME / "out"),
        "LHOST": HOST,
        "LPORT": str(PORT),
        "PIP_TRUSTED_HOST": HOST,
        "LISTENLOG": str(KEPT_BYTES),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(_REAL_HOME / ".rustup")),
        "LISTENED": str(LISTENED),
        "OUTPUT": str(OUTPUT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": "/tmp",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": f"{os.environ['PATH']}:{Path(sys.executable).parent}",
    }
