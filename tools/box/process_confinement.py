"""Confines a process before it becomes a sandboxed command, by executing instructions one after the other, and keeps
its mounts while it runs.

The supervisor program (`tools.running.supervisor`) runs it between fork and exec, and so does `probe`; it needs only
Python's standard library. `tools.box.sandbox_instructions` decides on the instructions: here they are only executed,
and the first failure ends the process."""

import ctypes
import errno
import os
import struct

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = (
    0x0002_0000,
    0x0800_0000,
    0x1000_0000,
    0x4000_0000,
)
(
    _MOUNT_READ_ONLY,
    _MOUNT_NO_SUID,
    _MOUNT_NO_DEVICES,
    _MOUNT_NO_EXEC,
    _MOUNT_BIND,
    _MOUNT_RECURSIVE,
    _MOUNT_PRIVATE,
) = (
    1,
    2,
    4,
    8,
    4096,
    16384,
    1 << 18,
)
_OPEN_TREE_SYSCALL, _MOVE_MOUNT_SYSCALL, _MOUNT_SETATTR_SYSCALL = 428, 429, 442
_LANDLOCK_CREATE_RULESET_SYSCALL, _LANDLOCK_ADD_RULE_SYSCALL, _LANDLOCK_RESTRICT_SELF_SYSCALL = 444, 445, 446
"""The numbers of the Landlock system calls, which are the same on all processor architectures."""
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE, _OPEN_TREE_CLONE, _MOVE_MOUNT_FROM_DESCRIPTOR = (
    -100,
    0x1000,
    0x8000,
    1,
    4,
)
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_SECCOMP_SYSCALL_BY_MACHINE = {"x86_64": 317, "aarch64": 277}
_SECCOMP_SET_FILTER, _SECCOMP_NEW_LISTENER, _SECCOMP_WAIT_KILLABLE = 1, 1 << 3, 1 << 5
_AT_SYMLINK_NOFOLLOW = 0x100
_CAPABILITY_COUNT = 41
_LANDLOCK_RIGHTS_OF_FILES = 1 | 2 | 4 | 1 << 14
_AF_INET, _SOCK_DGRAM = 2, 2
_IFF_UP, _SIOCGIFFLAGS, _SIOCSIFFLAGS = 1, 0x8913, 0x8914
_INOTIFY_MOVED_TO, _INOTIFY_CREATED, _INOTIFY_QUEUE_OVERFLOW = 0x80, 0x100, 0x4000
_INOTIFY_ONLY_FOLDERS, _INOTIFY_DO_NOT_FOLLOW_LINKS = 0x0100_0000, 0x0200_0000
_INOTIFY_EVENT_STRUCT = struct.Struct("iIII")
_MOUNTINFO_MOUNT_POINT_FIELD = 4
"""The index of the mount point among the fields of a line of `/proc/…/mountinfo`."""
_MOUNT_INSTRUCTIONS_TO_RESTORE = (b"pin", b"guard", b"still", b"empty", b"blank")
_MOUNTINFO_ESCAPES = (
    (b"\\", b"\\134"),
    (b" ", b"\\040"),
    (b"\t", b"\\011"),
    (b"\n", b"\\012"),
    (b"#", b"\\043"),
)


class SandboxInstructionExecutor:
    """Confines the current process by executing sandbox instructions. `namespaces` are descriptors of the namespaces
    that it joins."""

    def __init__(self, namespaces: "list[int]") -> None:
        self._namespaces = list(namespaces)
        self._preserved: list[tuple[int, bytes]] = []
        self._held: list[tuple[int | bytes, bytes]] = []
        self._rules = -1
        self.allowed_sockets: list[bytes] = []
        """The places whose sockets can be connected to; `@` stands for names without a path."""
        self.connections = -1
        """The descriptor on which the kernel reports the process's connections, so that they can be brokered; -1 if
        they are not brokered."""

    def run_instructions(self, instructions: "list[bytes]") -> None:
        """Executes the sandbox instructions in order. Raises OSError with the failing instruction as its file name."""
        for instruction in instructions:
            verb, _, rest = instruction.partition(b" ")
            try:
                getattr(self, "do_" + verb.decode())(rest)
            except OSError as problem:
                raise OSError(problem.errno, "", instruction[:120].decode(errors="replace")) from None

    # Namespaces

    def do_users(self, rest: bytes) -> None:
        """Creates a user namespace that contains only this user."""
        user, group = os.geteuid(), os.getegid()
        _check_result(_LIBC.unshare(_CLONE_NEWUSER))
        for name, text in (
            ("setgroups", b"deny"),
            ("uid_map", b"%d %d 1" % (user, user)),
            ("gid_map", b"%d %d 1" % (group, group)),
        ):
            _write_file(f"/proc/self/{name}", text)

    def do_network(self, rest: bytes) -> None:
        """Creates a network namespace with only the loopback address."""
        _check_result(_LIBC.unshare(_CLONE_NEWNET))
        asking = _check_result(
            _LIBC.socket(_AF_INET, _SOCK_DGRAM, 0)
        )  # importing `socket` takes as long as the whole step
        name = b"lo".ljust(16, b"\0")
        flags = bytearray(name + bytes(24))
        import fcntl  # noqa: PLC0415  (needed only to make a network)

        fcntl.ioctl(asking, _SIOCGIFFLAGS, flags)
        (now,) = struct.unpack_from("h", flags, 16)
        fcntl.ioctl(asking, _SIOCSIFFLAGS, struct.pack("16sh22x", name, now | _IFF_UP))
        os.close(asking)

    def do_join(self, rest: bytes) -> None:
        """Joins the next handed-over namespace of the kind `users` or `network`."""
        kind = _CLONE_NEWUSER if rest == b"users" else _CLONE_NEWNET
        _check_result(_LIBC.setns(self._namespaces.pop(0), kind))

    # Mounts

    def do_mounts(self, rest: bytes) -> None:
        """Creates a mount namespace, and a namespace for System V shared memory, semaphores and message queues."""
        _check_result(_LIBC.unshare(_CLONE_NEWNS | _CLONE_NEWIPC))
        _check_result(_LIBC.mount(b"none", b"/", None, _MOUNT_RECURSIVE | _MOUNT_PRIVATE, None))

    def do_keep(self, path: bytes) -> None:
        """Preserves a path with its mounts as they are now, regardless of later instructions."""
        self._preserved.append((_clone_mount_tree(path), path))

    def do_seal(self, path: bytes) -> None:
        """Makes everything below a path read-only."""
        _make_read_only(_AT_FDCWD, path or b"/", 0)

    def do_back(self, rest: bytes) -> None:
        for tree, path in self._preserved:
            _move_mount(tree, path)
        self._preserved.clear()

    def do_pin(self, path: bytes) -> None:
        """Prevents a path from being moved, by mounting it onto itself; symbolic links are not followed."""
        _move_mount(_clone_mount_tree(path, _AT_SYMLINK_NOFOLLOW), path)

    def do_guard(self, path: bytes) -> None:
        """Makes a path readable, read-only and unmovable."""
        tree = _clone_mount_tree(path)
        _make_read_only(tree, b"", _AT_EMPTY_PATH)
        _move_mount(tree, path)

    def do_still(self, path: bytes) -> None:
        """Makes a path readable, read-only and unmovable; a path that has disappeared meanwhile is ignored."""
        try:
            self.do_guard(path)
        except OSError:
            if os.path.lexists(path):
                raise

    def do_hold(self, path: bytes) -> None:
        """Keeps a file, folder or link visible in a folder that a later instruction (`empty`) empties."""
        is_link = os.path.islink(path)  # noqa: PTH114  (no `pathlib` here)
        self._held.append((os.readlink(path) if is_link else _clone_mount_tree(path), path))  # noqa: PTH115

    def do_empty(self, path: bytes) -> None:
        """Empties a folder except for the held entries."""
        flags = _MOUNT_NO_SUID | _MOUNT_NO_DEVICES | _MOUNT_NO_EXEC
        _check_result(_LIBC.mount(b"tmpfs", path, b"tmpfs", flags, b"size=4k,mode=755"))
        for held, place in [one for one in self._held if one[1].startswith(path + b"/")]:
            os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
            if isinstance(held, bytes):
                os.symlink(held, place)  # noqa: PTH211
                continue
            if _is_directory(held):
                os.makedirs(place, exist_ok=True)  # noqa: PTH103
            else:
                os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
            _move_mount(held, place)
        _make_read_only(_AT_FDCWD, path, 0, below=False)

    def do_blank(self, path: bytes) -> None:
        """Hides a file or socket behind an empty one. A path that has disappeared meanwhile, as sockets do, is
        ignored."""
        if _LIBC.mount(b"/dev/null", path, None, _MOUNT_BIND, None) < 0 and os.path.lexists(path):
            _check_result(-1)

    def do_fresh(self, path: bytes) -> None:
        """Mounts an empty in-memory folder over a path."""
        _check_result(_LIBC.mount(b"tmpfs", path, b"tmpfs", _MOUNT_NO_SUID | _MOUNT_NO_DEVICES, b"mode=1777"))

    def do_terminals(self, rest: bytes) -> None:
        """Shows only the terminals that are opened in the sandbox."""
        options = b"newinstance,ptmxmode=0666,mode=620"
        _check_result(
            _LIBC.mount(b"devpts", b"/dev/pts", b"devpts", _MOUNT_NO_SUID | _MOUNT_NO_EXEC, options)
        )
        if not os.path.islink(b"/dev/ptmx"):  # noqa: PTH114  (no `pathlib` here)
            _check_result(_LIBC.mount(b"/dev/pts/ptmx", b"/dev/ptmx", None, _MOUNT_BIND, None))

    def do_devices(self, names: bytes) -> None:
        """Replaces `/dev` so that only the given devices are visible in it."""
        trees = [(_clone_mount_tree(b"/dev/" + name), b"/dev/" + name) for name in names.split(b" ")]
        _check_result(
            _LIBC.mount(b"tmpfs", b"/dev", b"tmpfs", _MOUNT_NO_SUID | _MOUNT_NO_EXEC, b"size=64k,mode=755")
        )
        for tree, path in trees:
            if _is_directory(tree):
                os.mkdir(path)  # noqa: PTH102  (no `pathlib` here)
            else:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
            _move_mount(tree, path)
        for name, target in (
            (b"ptmx", b"pts/ptmx"),
            (b"fd", b"/proc/self/fd"),
            (b"stdin", b"/proc/self/fd/0"),
            (b"stdout", b"/proc/self/fd/1"),
            (b"stderr", b"/proc/self/fd/2"),
        ):
            os.symlink(target, b"/dev/" + name)  # noqa: PTH211
        if not os.path.isdir(b"/dev/shm"):  # noqa: PTH112
            os.mkdir(b"/dev/shm")  # noqa: PTH102

    # Rules about paths

    def do_rules(self, rest: bytes) -> None:
        """Begins a Landlock ruleset from `FILES NETWORK SCOPES`; the last two are 0 where the system does not
        support them."""
        files, network, scopes = (int(word) for word in rest.split())
        fields = struct.pack("QQQ", files, network, scopes)
        size = 24 if scopes else 16 if network else 8
        self._rules = _check_result(
            _LIBC.syscall(_LANDLOCK_CREATE_RULESET_SYSCALL, fields, ctypes.c_size_t(size), 0)
        )

    def do_allow(self, rest: bytes) -> None:
        """Adds a Landlock rule `RIGHTS PATH`. A path that is missing or inaccessible needs no rule."""
        rights, _, path = rest.partition(b" ")
        try:
            place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            wanted = int(rights) if _is_directory(place) else int(rights) & _LANDLOCK_RIGHTS_OF_FILES
        except OSError:
            return
        fields = struct.pack("=Qi", wanted, place)
        _check_result(_LIBC.syscall(_LANDLOCK_ADD_RULE_SYSCALL, self._rules, 1, fields, 0))
        os.close(place)

    def do_restrict(self, rest: bytes) -> None:
        _check_result(_LIBC.syscall(_LANDLOCK_RESTRICT_SELF_SYSCALL, self._rules, 0))
        os.close(self._rules)

    # Rights

    def do_bare(self, kept: bytes) -> None:
        """Drops all capabilities but `kept`; no program can gain others."""
        wanted = {int(number) for number in kept.split()}
        for number in range(_CAPABILITY_COUNT):
            if number not in wanted:
                _LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
        self.do_final(b"")

    def do_final(self, rest: bytes) -> None:
        _check_result(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))

    def do_reach(self, place: bytes) -> None:
        self.allowed_sockets.append(place)

    def do_filter(self, program: bytes) -> None:
        """Installs a seccomp program, given in hexadecimal digits."""
        _install_filter(program, 0)

    def do_ask(self, program: bytes) -> None:
        """Installs a seccomp program that reports connections to the supervisor program."""
        try:
            self.connections = _install_filter(program, _SECCOMP_NEW_LISTENER | _SECCOMP_WAIT_KILLABLE)
        except OSError:
            self.connections = _install_filter(program, _SECCOMP_NEW_LISTENER)  # Linux before 5.19


class MountRestorer:
    """Restores mounts of one running command that a program outside has removed.

    Linux removes a mount when a program that does not see it deletes the file or folder below, or replaces it by
    renaming, as editors and `git config` do: a new file at a hidden or protected path would be open to the command.
    The supervisor's watcher of the command creates the restorer before the mounts, so that no change is missed."""

    def __init__(self, instructions: "list[bytes]") -> None:
        parts = [instruction.partition(b" ") for instruction in instructions]
        self._held = [(verb, path) for verb, _, path in parts if verb in _MOUNT_INSTRUCTIONS_TO_RESTORE]
        self._shown = [path for verb, _, path in parts if verb == b"hold"]
        self._namespaces: list[int] = []
        self._folders: dict[int, bytes] = {}
        self._paths = {path for _, held in self._held for path in _with_folders_above(held)}
        self._states: dict[bytes, tuple[int, ...]] = {}
        self.changed = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        """The descriptor that becomes readable after changes in the watched folders; -1 where the system cannot
        report changes, because the user's programs have used up the limit of watches."""
        self._watch_folders()

    def set_command_namespaces(self, namespaces: "list[int]") -> None:
        """Takes ownership of the descriptors of the command's user and mount namespaces."""
        self._namespaces = namespaces

    def restore_mounts(self) -> None:
        """Restores the mounts that are lost, if one of their paths may have been replaced."""
        if not self._has_replaced_path():
            return
        self._restore()
        if self._watch_folders():
            self._restore()

    def _watch_folders(self) -> bool:
        """Begins to watch the folders; returns whether some were not watched before."""
        count = len(self._folders)
        what = _INOTIFY_MOVED_TO | _INOTIFY_CREATED | _INOTIFY_ONLY_FOLDERS | _INOTIFY_DO_NOT_FOLLOW_LINKS
        for folder in {os.path.dirname(path) for path in self._paths}:  # noqa: PTH120  (no `pathlib` here)
            number = _LIBC.inotify_add_watch(self.changed, folder, what) if self.changed >= 0 else -1
            if number >= 0:
                self._folders[number] = folder
            elif self.changed >= 0 and ctypes.get_errno() == errno.ENOSPC:
                os.close(self.changed)
                self.changed = -1
        if self.changed < 0 and not self._states:
            self._states = self._current_states()
            return True
        return len(self._folders) > count

    def _has_replaced_path(self) -> bool:
        if self.changed < 0:
            before, self._states = self._states, self._current_states()
            return before != self._states
        try:
            events = os.read(self.changed, 1 << 16)
        except BlockingIOError:
            return False
        position = 0
        while position < len(events):
            number, what, _, length = _INOTIFY_EVENT_STRUCT.unpack_from(events, position)
            position += _INOTIFY_EVENT_STRUCT.size + length
            name = events[position - length : position].rstrip(b"\0")
            folder = self._folders.get(number, b"").rstrip(b"/")
            if what & _INOTIFY_QUEUE_OVERFLOW or folder + b"/" + name in self._paths:
                return True
        return False

    def _current_states(self) -> "dict[bytes, tuple[int, ...]]":
        found: dict[bytes, tuple[int, ...]] = {}
        for path in self._paths:
            try:
                state = os.lstat(path)
            except OSError:
                continue
            found[path] = (state.st_dev, state.st_ino, state.st_ctime_ns)
        return found

    def _restore(self) -> None:
        try:
            child = os.fork()
        except OSError:  # The user has too many processes, perhaps the command's: the next look tries again.
            if self.changed >= 0:
                os.close(self.changed)
            self.changed, self._states = -1, {b"": ()}
            return
        if child == 0:
            try:
                self._restore_inside()
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def _restore_inside(self) -> None:
        """Joins the command's namespaces and repeats the mounts that are missing there. Runs in a separate process,
        which stays in these namespaces."""
        users, mounts = self._namespaces
        if not os.path.sameopenfile(users, os.open("/proc/self/ns/user", os.O_RDONLY)):
            _LIBC.setns(users, _CLONE_NEWUSER)
        if _LIBC.setns(mounts, _CLONE_NEWNS) < 0:
            return
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123  (no `pathlib` here)
            present = {line.split()[_MOUNTINFO_MOUNT_POINT_FIELD] for line in file}
        for verb, path in self._held:
            if _escaped(path) in present or not os.path.lexists(path):
                continue
            shown = self._shown if verb == b"empty" else []
            shown = [one for one in shown if one.startswith(path + b"/") and os.path.lexists(one)]
            try:
                SandboxInstructionExecutor([]).run_instructions(
                    [*(b"hold " + one for one in shown), verb + b" " + path]
                )
            except OSError:
                continue  # It is gone again, or of another kind.


def _install_filter(program: bytes, flags: int) -> int:
    """Installs a seccomp program; returns the descriptor of its notifications, if the flags request one."""
    code = bytes.fromhex(program.decode())
    kept = ctypes.create_string_buffer(code, len(code))
    fields = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(kept))
    return _check_result(
        _LIBC.syscall(_SECCOMP_SYSCALL_BY_MACHINE[os.uname().machine], _SECCOMP_SET_FILTER, flags, fields)
    )


def _check_result(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def _clone_mount_tree(path: bytes, more: int = 0) -> int:
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE | more
    return _check_result(_LIBC.syscall(_OPEN_TREE_SYSCALL, _AT_FDCWD, path, flags))


def _move_mount(tree: int, path: bytes) -> None:
    _check_result(_LIBC.syscall(_MOVE_MOUNT_SYSCALL, tree, b"", _AT_FDCWD, path, _MOVE_MOUNT_FROM_DESCRIPTOR))
    os.close(tree)


def _make_read_only(folder: int, path: bytes, flags: int, *, below: bool = True) -> None:
    change = struct.pack("QQQQ", _MOUNT_READ_ONLY, 0, 0, 0)
    flags |= _AT_RECURSIVE if below else 0
    _check_result(_LIBC.syscall(_MOUNT_SETATTR_SYSCALL, folder, path, flags, change, ctypes.c_size_t(32)))


def _is_directory(descriptor: int) -> bool:
    import stat  # noqa: PLC0415  (seldom)

    return stat.S_ISDIR(os.fstat(descriptor).st_mode)


def _write_file(path: str, text: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text)
    finally:
        os.close(descriptor)


def _with_folders_above(path: bytes) -> "list[bytes]":
    """Returns the path and each folder above it except the root."""
    found = [path]
    while (path := os.path.dirname(path)) not in (b"/", b""):  # noqa: PTH120  (no `pathlib` here)
        found.append(path)
    return found


def _escaped(path: bytes) -> bytes:
    """Returns a path with the escapes with which `/proc/…/mountinfo` writes it."""
    for character, code in _MOUNTINFO_ESCAPES:
        path = path.replace(character, code)
    return path


def kernel_landlock_version() -> int:
    """Returns which version of Landlock the kernel has; 0 if there is none."""
    return max(0, _LIBC.syscall(_LANDLOCK_CREATE_RULESET_SYSCALL, None, ctypes.c_size_t(0), 1))
