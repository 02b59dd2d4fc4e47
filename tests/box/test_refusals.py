"""What a box refused is read off what a command printed, and told."""

import posixpath

import msgspec
import pytest

from tools.box.sandbox_policy import SandboxPolicy
from tools.box.sandbox_refusals import (
    SandboxRefusal,
    find_sandbox_refusals,
    format_refusal_note,
    narrowest_permission_request,
    narrowest_place_to_allow,
)

HOME = "/home/me"
BOX = SandboxPolicy(
    kind="work",
    writable=("/home/me/p", "/tmp", "/home/me/.cache"),
    guarded=("/home/me/p/.git/config", "/home/me/p/.git/hooks"),
    hidden_folders=("/home/me/.ssh",),
    network="own",
)


def found(output: str, box: SandboxPolicy = BOX, *, has_failed: bool = True) -> tuple[SandboxRefusal, ...]:
    return find_sandbox_refusals(
        output, box, cwd="/home/me/p", has_failed=has_failed, real_path=posixpath.normpath
    )


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("touch: cannot touch '/home/me/x': Read-only file system", "/home/me/x"),
        ("mkdir: cannot create directory ‘/opt/thing’: Permission denied", "/opt/thing"),
        ("bash: line 1: ../out.txt: Read-only file system", "/home/me/out.txt"),
        ("OSError: [Errno 30] Read-only file system: '/home/me/.config/x.toml'", "/home/me/.config/x.toml"),
        ("npm error EROFS: read-only file system, mkdir '/home/me/.npm'", "/home/me/.npm"),
        ("open /home/me/.terraform.d/x: read-only file system", "/home/me/.terraform.d/x"),
        ("error: could not lock config file .git/config: Device or resource busy", "/home/me/p/.git/config"),
        ("/bin/sh: 1: cannot create .git/hooks/x: Read-only file system", "/home/me/p/.git/hooks/x"),
        (
            "mv: cannot move 'a' to '.git/hooks/pre-commit': Read-only file system",
            "/home/me/p/.git/hooks/pre-commit",
        ),
    ],
)
def test_places_that_could_not_be_written(line: str, place: str) -> None:
    assert found(f"before\n{line}\nafter") == (SandboxRefusal("write", place),)


@pytest.mark.parametrize(
    "line",
    [
        "cat: /home/me/p/secret: Permission denied",
        "touch: cannot touch '/tmp/x/y': Permission denied",
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        "I met a Read-only file system today",
        "ls: cannot access '/nowhere': No such file or directory",
        "chmod: changing permissions of '/home/me/p/a': Operation not permitted",
    ],
)
def test_what_the_box_has_nothing_to_do_with(line: str) -> None:
    assert found(line) == ()


def test_hidden_places_network_rights_and_daemons() -> None:
    assert found("cat: /home/me/.ssh/id_rsa: No such file or directory") == (
        SandboxRefusal("read", "/home/me/.ssh/id_rsa"),
    )
    assert found("curl: (6) Could not resolve host: example.org") == (SandboxRefusal("network"),)
    assert found("curl: (6) Could not resolve host: example.org", has_failed=False) == ()
    assert found('sudo: The "no new privileges" flag is set') == (SandboxRefusal("rights"),)
    assert found("Cannot connect to the Docker daemon at unix:///var/run/docker.sock.") == (
        SandboxRefusal("daemon"),
    )


def test_it_is_reported_with_the_way_to_ask() -> None:
    words = format_refusal_note((SandboxRefusal("write", "/home/me/.npm"),), BOX, HOME, lambda path: True)
    assert words.startswith("Sandbox: writing ~/.npm was refused.")
    assert 'allow: ["write ~/.npm"] and a reason' in words


@pytest.mark.parametrize(
    ("refusal", "asks"),
    [
        (SandboxRefusal("write", "/home/me/notes/x"), "write ~/notes"),
        (SandboxRefusal("read", "/home/me/.ssh/id_rsa"), "read ~/.ssh"),
        (SandboxRefusal("network", "one.example:443"), "reach one.example:443"),
        (SandboxRefusal("daemon"), "use /run/docker.sock"),
        (SandboxRefusal("network"), None),
        (SandboxRefusal("rights"), None),
        (SandboxRefusal("write", "/home/me/new"), None),
    ],
)
def test_the_narrowest_leave_is_named(refusal: SandboxRefusal, asks: str | None) -> None:
    box = msgspec.structs.replace(BOX, hidden_files=("/run/docker.sock",))
    there = {"/home/me", "/home/me/notes"}
    found = narrowest_permission_request(refusal, box, HOME, there.__contains__)
    assert (found.text if found is not None else None) == asks
    words = format_refusal_note((refusal,), box, HOME, there.__contains__)
    assert ("outside: true" in words) is (asks is None)


def test_the_narrow_place_is_what_is_there() -> None:
    there = {"/home/me", "/home/me/.npm", "/opt", "/home/me/x"}
    assert narrowest_place_to_allow("/home/me/.npm/_cacache/tmp", HOME, there.__contains__) == "/home/me/.npm"
    assert narrowest_place_to_allow("/home/me/new/file", HOME, there.__contains__) is None
    assert narrowest_place_to_allow("/opt/a", HOME, there.__contains__) is None
    assert narrowest_place_to_allow("/home/me/x", HOME, there.__contains__) == "/home/me/x"


def test_many_refusals_are_not_many_words() -> None:
    lines = "\n".join(
        f"touch: cannot touch '/opt/{number}/x': Read-only file system" for number in range(10_000)
    )
    assert len(found(lines)) <= 4
