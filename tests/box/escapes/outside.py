"""Attempts to change what is outside, and what runs later."""

import os
import socket
from pathlib import Path

from tests.box.escapes.core import TOLD, attempt, clean, inside, outside

OUT = "changing what is outside"


@attempt(OUT, "a new file in the home")
def _() -> object:
    Path(TOLD["home"], "new").write_text("x")


@attempt(OUT, "a line more in `~/.bashrc`")
def _() -> object:
    with Path(TOLD["home"], ".bashrc").open("a") as file:
        file.write("evil\n")


@attempt(OUT, "truncating a file")
def _() -> object:
    os.truncate(outside(), 0)


@attempt(OUT, "removing a file")
def _() -> object:
    outside("removed").unlink()


@attempt(OUT, "moving a file into the workspace")
def _() -> object:
    outside("moved").rename(inside("moved"))


@attempt(OUT, "moving a file out of the workspace")
def _() -> object:
    path = inside("going")
    path.write_text("x")
    path.rename(outside("came"))


@attempt(OUT, "a folder")
def _() -> object:
    outside("folder").mkdir()


@attempt(OUT, "a symbolic link")
def _() -> object:
    outside("link").symlink_to("/etc/passwd")


@attempt(OUT, "a FIFO")
def _() -> object:
    os.mkfifo(outside("fifo"))


@attempt(OUT, "a socket with a name")
def _() -> object:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(outside("s")))


@attempt(OUT, "rights of a file (chmod)")
def _() -> object:
    outside("modes").chmod(0o777)


@attempt(OUT, "times of a file")
def _() -> object:
    os.utime(outside("modes"), (1, 1))


@attempt(OUT, "an attribute of a file (setxattr)")
def _() -> object:
    os.setxattr(outside("modes"), "user.evil", b"1")


@attempt(OUT, "the owner of a file")
def _() -> object:
    os.chown(outside("modes"), os.getuid(), os.getgid())


@attempt(OUT, "writing through a link in the workspace")
def _() -> object:
    link = clean("link")
    link.symlink_to(outside())
    link.write_text("x")


@attempt(OUT, "writing through a link to a folder")
def _() -> object:
    link = clean("folder-link")
    link.symlink_to(outside("").parent)
    (link / Path(TOLD["outside"]).name / "file").write_text("x")


@attempt(OUT, "writing through a hard link")
def _() -> object:
    link = clean("hard")
    link.hardlink_to(outside("hard"))
    link.write_text("x")


@attempt(OUT, "writing through `/proc/self/root`")
def _() -> object:
    Path(f"/proc/self/root{outside()}").write_text("x")


@attempt(OUT, "writing through `/proc/self/cwd/..`")
def _() -> object:
    Path("/proc/self/cwd", os.path.relpath(outside(), Path.cwd())).write_text("x")


@attempt(OUT, "writing below an opened folder, by `..`")
def _() -> object:
    folder = os.open(".", os.O_PATH)
    os.close(os.open(os.path.relpath(outside(), Path.cwd()), os.O_WRONLY, dir_fd=folder))


@attempt(OUT, "writing through the root of the process that bayou is")
def _() -> object:
    Path(f"/proc/{TOLD['bayou']}/root{outside()}").write_text("x")


@attempt(OUT, "writing through the folder that bayou works in")
def _() -> object:
    Path(f"/proc/{TOLD['bayou']}/cwd/evil").write_text("x")


@attempt(OUT, "writing through a file that bayou has open")
def _() -> object:
    Path(f"/proc/{TOLD['bayou']}/fd/{TOLD['descriptor']}").write_text("x")


@attempt(OUT, "writing through the root of the process that started the command")
def _() -> object:
    Path(f"/proc/{TOLD['starter']}/root{outside()}").write_text("x")


@attempt(OUT, "writing into a descriptor that was left open")
def _() -> object:
    for one in range(3, 200):
        try:
            target = str(Path(f"/proc/self/fd/{one}").readlink())
        except OSError:
            continue
        if target.startswith((TOLD["home"], "/dev/pts", "socket:")):
            return True
    return False


@attempt(OUT, "a job that outlives its call")
def _() -> object:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            try:
                outside("later").write_text("x")
                os.write(writing, b"1")
            finally:
                os._exit(0)
        os._exit(0)
    os.close(writing)
    return os.read(reading, 1)


@attempt(OUT, "another program that is started")
def _() -> object:
    return os.spawnl(os.P_WAIT, "/bin/sh", "sh", "-c", f"echo x > {outside()}") == 0


# What runs later

LATER = "what runs later"


@attempt(LATER, "a hook of git")
def _() -> object:
    inside(".git/hooks/pre-commit").write_text("evil")


@attempt(LATER, "git's configuration")
def _() -> object:
    with inside(".git/config").open("a") as file:
        file.write("[core]\n\tpager = evil\n")


@attempt(LATER, "git's configuration, by a file in its place")
def _() -> object:
    inside(".git/other").write_text("evil")
    inside(".git/other").replace(inside(".git/config"))


@attempt(LATER, "git's configuration, by a hard link")
def _() -> object:
    link = clean("config-link")
    link.hardlink_to(inside(".git/config"))
    with link.open("a") as file:
        file.write("# evil\n")


@attempt(LATER, "rights of a hook")
def _() -> object:
    inside(".git/hooks/kept").chmod(0o777)


@attempt(LATER, "moving the folder of hooks away")
def _() -> object:
    inside(".git/hooks").rename(inside(".git/hooks2"))
    inside(".git/hooks").mkdir()


@attempt(LATER, "moving git's folder away")
def _() -> object:
    inside(".git").rename(inside(".git2"))
    inside(".git2").rename(inside(".git"))


@attempt(LATER, "a task of the editor")
def _() -> object:
    inside(".vscode/tasks.json").write_text("{}")


@attempt(LATER, "settings of bayou in the project")
def _() -> object:
    inside(".bayou/settings.json").write_text("{}")


@attempt(LATER, "a link in place of the editor's folder")
def _() -> object:
    inside(".vscode").rename(inside(".vscode2"))
    inside(".vscode").symlink_to("/tmp")
