"""Programs that change files: what they delete, and whether they touch secrets or files that run later."""

import re
from typing import Final

from app.permits.command_findings import RiskFinding, contained_risk_finding, forbidden_risk_finding
from app.permits.path_effects import file_name_of_path
from app.permits.programs.program_calls import PipedInput, ProgramCall, ProgramTable, build_program_table
from app.permits.programs.program_options import parse_known_options, parse_program_options
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord, parse_word_set

_CP_AND_MV_OPTIONS: Final = parse_known_options(
    "t= target-directory= S= suffix= m= mode= o= g= owner= group= r R a recursive archive T d directory s symbolic"
)


def _judge_rm(call: ProgramCall) -> list[RiskFinding]:
    call.is_read_whole = True
    taken = parse_program_options(
        call.words, parse_known_options("interactive recursive force dir verbose r R f d v i I n= s= u z")
    )
    deeply = taken.has_option("r", "R", "recursive") or call.name == "rimraf"
    for word in taken.operands:
        call.removals += call.ground.removed_files(word.text)
    return [
        *(call.ground.judge_removal(word, deeply=deeply) for word in taken.operands),
        contained_risk_finding("removes files"),
    ]


def _judge_cp_and_mv(call: ProgramCall) -> list[RiskFinding]:
    """Judges `cp`, `mv`, `ln`, `install`: sources, and a target that is the last operand or the named folder."""
    call.is_read_whole = True
    taken = parse_program_options(call.words, _CP_AND_MV_OPTIONS)
    named, operands = taken.option_values("t", "target-directory"), taken.operands
    targets = named or operands[-1:]
    sources = operands if named or any(word.may_become_several_words for word in targets) else operands[:-1]
    if call.name == "install" and taken.has_option("d", "directory"):
        sources, targets = [], operands
    found: list[RiskFinding] = []
    moves = call.name in ("mv", "gmv")
    deeply = moves or taken.has_option("r", "R", "a", "recursive", "archive")
    for word in sources:
        found += [call.ground.judge_removal(word, moves=True)] if moves else []
        found.append(call.ground.judge_secret_path(word, deeply=deeply))
        if (
            call.name in ("ln", "link")
            and not taken.has_option("s", "symbolic")
            and call.ground.may_be_outside_workspace(word)
        ):
            found.append(forbidden_risk_finding("creates a link to a file outside the workspace"))
    for target in targets:
        names = [file_name_of_path(word.text) for word in sources]
        found.append(call.ground.judge_write(target))
        found += [
            call.ground.judge_write(ShellWord(f"{target.text.rstrip('/')}/{name}")) for name in names if name
        ]
    return [*found, contained_risk_finding("changes files")]


def _judge_file_writer(call: ProgramCall) -> list[RiskFinding]:
    call.is_read_whole = True
    taken = parse_program_options(
        call.words,
        parse_known_options("s= size= r= reference= d= t= date= time= m= mode= l= o= length= a p v"),
    )
    return [
        *(call.ground.judge_write(word) for word in taken.operands),
        contained_risk_finding("changes files"),
    ]


def _judge_mktemp(call: ProgramCall) -> list[RiskFinding]:
    """Judges `mktemp`: an unpredictable name below the folder of temporary files."""
    taken = parse_program_options(call.words, parse_known_options("d q t u directory quiet"))
    if taken.are_all_known and not taken.operands:
        call.output = PipedInput(text=f"{call.place.temporary_folders[0]}/tmp.mktemp\n")
    return [contained_risk_finding("makes a temporary file")]


def _judge_chmod(call: ProgramCall) -> list[RiskFinding]:
    call.is_read_whole = True
    words = [word for word in call.words if not re.fullmatch(r"--?(?:[A-Zcfvh]|[a-z-]{4,}).*", word.text)]
    mode = words[0].text if words else UNKNOWN_TEXT_MARK
    found = [
        contained_risk_finding("changes file permissions"),
        *(call.ground.judge_write(word) for word in words[1:]),
    ]
    if call.name == "chmod" and (
        re.search(r"[ugoa]*[+=][rwxXt]*s", mode) or re.fullmatch(r"0?[2-7][0-7]{3}", mode)
    ):
        found.append(forbidden_risk_finding("lets a program run as another user"))
    return found


def _judge_dd(call: ProgramCall) -> list[RiskFinding]:
    found = [contained_risk_finding("copies bytes")]
    for word in call.words:
        name, _, value = word.text.partition("=")
        if name == "of":
            found.append(call.ground.judge_write(ShellWord(value)))
            if value.startswith("/dev/"):
                found.append(call.ground.judge_secret_path(ShellWord(value)))
    return found


FILE_CHANGING_PROGRAMS: ProgramTable = build_program_table(
    ("rm grm unlink rmdir shred rimraf", _judge_rm),
    ("cp gcp mv gmv ln link install", _judge_cp_and_mv),
    ("tee touch mkdir mkfifo truncate fallocate", _judge_file_writer),
    ("chmod chown chgrp chattr setfacl", _judge_chmod),
    ("mktemp", _judge_mktemp),
    ("dd", _judge_dd),
)

FOLDER_COPYING_PROGRAMS: Final = parse_word_set(
    "tar bsdtar zip 7z 7za rsync scp restic borg cpio pax rclone aws gcloud gsutil s3cmd"
)
"""Programs without a judge in this module that read all files of a folder given to them."""
OPERAND_WRITING_PROGRAMS: Final = FOLDER_COPYING_PROGRAMS | parse_word_set("unzip split csplit patch")
"""Programs whose operands may be files that they write: `FOLDER_COPYING_PROGRAMS` and others."""
