"""Programs that change files: what they delete, and whether they touch secrets or files that run later."""

import re
from typing import Final

from app.permits.command_findings import Finding, contained, forbidden
from app.permits.path_effects import file_name
from app.permits.programs.calls import PipedInput, ProgramCall, ProgramTable, program_table
from app.permits.programs.options import option_row, parse_options
from app.permits.shell_words import UNKNOWN, Word

_COPY_OPTIONS: Final = option_row(
    "t= target-directory= S= suffix= m= mode= o= g= owner= group= r R a recursive archive T d directory s symbolic"
)


def _remove(call: ProgramCall) -> list[Finding]:
    call.is_read_whole = True
    taken = parse_options(
        call.words, option_row("interactive recursive force dir verbose r R f d v i I n= s= u z")
    )
    deeply = taken.has("r", "R", "recursive") or call.name == "rimraf"
    for word in taken.operands:
        call.removals += call.ground.removed_files(word.text)
    return [*(call.ground.remove(word, deeply=deeply) for word in taken.operands), contained("removes files")]


def _copy_or_move(call: ProgramCall) -> list[Finding]:
    """Judges `cp`, `mv`, `ln`, `install`: sources, and a target that is the last operand or the named folder."""
    call.is_read_whole = True
    taken = parse_options(call.words, _COPY_OPTIONS)
    named, operands = taken.values("t", "target-directory"), taken.operands
    targets = named or operands[-1:]
    sources = operands if named or any(word.may_be_several for word in targets) else operands[:-1]
    if call.name == "install" and taken.has("d", "directory"):
        sources, targets = [], operands
    found: list[Finding] = []
    moves = call.name in ("mv", "gmv")
    deeply = moves or taken.has("r", "R", "a", "recursive", "archive")
    for word in sources:
        found += [call.ground.remove(word, moves=True)] if moves else []
        found.append(call.ground.judge_secret(word, deeply=deeply))
        if call.name in ("ln", "link") and not taken.has("s", "symbolic") and call.ground.is_outside(word):
            found.append(forbidden("creates a link to a file outside the workspace"))
    for target in targets:
        names = [file_name(word.text) for word in sources]
        found.append(call.ground.write(target))
        found += [call.ground.write(Word(f"{target.text.rstrip('/')}/{name}")) for name in names if name]
    return [*found, contained("changes files")]


def _write(call: ProgramCall) -> list[Finding]:
    call.is_read_whole = True
    taken = parse_options(
        call.words, option_row("s= size= r= reference= d= t= date= time= m= mode= l= o= length= a p v")
    )
    return [*(call.ground.write(word) for word in taken.operands), contained("changes files")]


def _mktemp(call: ProgramCall) -> list[Finding]:
    """Judges `mktemp`: an unpredictable name below the folder of temporary files."""
    taken = parse_options(call.words, option_row("d q t u directory quiet"))
    if taken.is_certain and not taken.operands:
        call.output = PipedInput(text=f"{call.place.temporary[0]}/tmp.mktemp\n")
    return [contained("makes a temporary file")]


def _change_mode(call: ProgramCall) -> list[Finding]:
    call.is_read_whole = True
    words = [word for word in call.words if not re.fullmatch(r"--?(?:[A-Zcfvh]|[a-z-]{4,}).*", word.text)]
    mode = words[0].text if words else UNKNOWN
    found = [contained("changes file permissions"), *(call.ground.write(word) for word in words[1:])]
    if call.name == "chmod" and (
        re.search(r"[ugoa]*[+=][rwxXt]*s", mode) or re.fullmatch(r"0?[2-7][0-7]{3}", mode)
    ):
        found.append(forbidden("lets a program run as another user"))
    return found


def _dd(call: ProgramCall) -> list[Finding]:
    found = [contained("copies bytes")]
    for word in call.words:
        name, _, value = word.text.partition("=")
        if name == "of":
            found.append(call.ground.write(Word(value)))
            if value.startswith("/dev/"):
                found.append(call.ground.judge_secret(Word(value)))
    return found


FILE_PROGRAMS: ProgramTable = program_table(
    ("rm grm unlink rmdir shred rimraf", _remove),
    ("cp gcp mv gmv ln link install", _copy_or_move),
    ("tee touch mkdir mkfifo truncate fallocate", _write),
    ("chmod chown chgrp chattr setfacl", _change_mode),
    ("mktemp", _mktemp),
    ("dd", _dd),
)
