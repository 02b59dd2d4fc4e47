"""The sandbox profile for macOS matches the policy. It is not executed here."""

from tools.box.sandbox_instructions import SandboxFeatures, make_sandbox_instructions
from tools.box.sandbox_policy import SandboxPolicy
from tools.box.seatbelt import make_seatbelt_profile, sandbox_exec_command_line

BOX = SandboxPolicy(
    kind="work",
    writable=("/Users/me/p", "/private/tmp"),
    guarded=("/Users/me/p/.git/hooks",),
    pinned=("/Users/me/p/.git",),
    hidden_folders=("/Users/me/.ssh",),
    hidden_files=("/Users/me/.docker/run/docker.sock",),
    network="own",
)


def test_what_can_be_written_and_what_not_stand_in_the_order_in_which_they_count() -> None:
    lines = make_seatbelt_profile(BOX).splitlines()
    assert lines[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    allowed = next(at for at, line in enumerate(lines) if '(subpath "/Users/me/p")' in line)
    guarded = lines.index('(deny file-write* (subpath "/Users/me/p/.git/hooks"))')
    assert 2 < allowed < guarded
    assert (
        '(deny file-read-data (subpath "/Users/me/.ssh") (subpath "/Users/me/.docker/run/docker.sock"))'
        in lines
    )


def test_the_network_is_closed_but_for_this_machine_s_own_address() -> None:
    lines = make_seatbelt_profile(BOX).splitlines()
    closed = lines.index("(deny network*)")
    assert lines.index('(allow network* (remote ip "localhost:*"))') > closed
    socket = '(deny network-outbound (remote unix-socket (path-literal "/Users/me/.docker/run/docker.sock")))'
    assert lines.index("(allow network* (remote unix-socket))") < len(lines) - lines[::-1].index(socket)
    opened = make_seatbelt_profile(SandboxPolicy(kind="work", writable=("/p",), network="open"))
    assert "network*" not in opened
    nothing = make_seatbelt_profile(SandboxPolicy(kind="read", writable=("/t",), network="off"))
    assert "localhost" not in nothing and "(deny network*)" in nothing


def test_parentheses_balance_for_any_path_names() -> None:
    odd = SandboxPolicy(kind="work", writable=('/Users/me/a "quoted" (place)\\\\',), hidden_folders=("/x)",))
    text = make_seatbelt_profile(odd)
    outside, is_quoted, depth, before = [], False, 0, ""
    for one in text:
        if one == '"' and before != "\\":
            is_quoted = not is_quoted
        before = "" if before == "\\" else one
        if not is_quoted:
            outside.append(one)
            depth += {"(": 1, ")": -1}.get(one, 0)
            assert depth >= 0
    assert depth == 0 and not is_quoted


def test_a_command_is_put_behind_it() -> None:
    words = sandbox_exec_command_line(BOX, ("/bin/sh", "-c", "true"))
    assert words[:2] == ("/usr/bin/sandbox-exec", "-p") and words[-3:] == ("/bin/sh", "-c", "true")
    assert make_sandbox_instructions(BOX, SandboxFeatures(has_seatbelt=True), lambda folder: ()) == ()
    assert SandboxFeatures(has_seatbelt=True).step == "seatbelt"
