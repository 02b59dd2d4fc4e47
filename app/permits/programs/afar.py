"""What only reads, and by an option or an address reads from another machine."""

import re

from app.permits.calls import Call
from app.permits.letters import Finding
from app.permits.words import names

_OPTIONS = {
    program: names(options)
    for programs, options in (
        ("pip pip3", "-o --outdated -u --uptodate"),
        ("uv", "--outdated"),
        ("gem", "-r --remote -b --both"),
        ("poetry", "-l --latest -o --outdated"),
        ("composer", "-l --latest -o --outdated -a --all"),
        ("svn", "-u --show-updates"),
        ("xmllint", ""),
        ("docker podman nerdctl docker-compose", "-H --host -c --context --url --connection"),
        ("systemctl hostnamectl timedatectl localectl loginctl", "-H --host"),
    )
    for program in programs.split()
}
_ADDRESS = re.compile(r"(?:https?|ftp|svn(?:\+\w+)?|ssh|tcp)://")


def reads_afar(call: Call) -> list[Finding]:
    options = _OPTIONS.get(call.name)
    if options is None:
        return []
    for word in call.words:
        text = word.text.partition("=")[0]
        is_asked = text in options or (text[:2] in options and len(text) > 2 and text[1] != "-")
        if is_asked or _ADDRESS.match(word.text):
            return [Finding("N", f"{word.text} is on another machine")]
    return []
