"""Programs that find files or pass found files to another program: find, xargs."""

import re
from typing import Final

from app.permits.command_findings import RiskFinding, contained_risk_finding, safe_risk_finding
from app.permits.programs.program_calls import (
    UNKNOWN_OPTION_FINDING,
    PipedInput,
    ProgramCall,
    ProgramTable,
    build_program_table,
)
from app.permits.programs.program_options import parse_known_options, parse_program_options
from app.permits.shell_words import (
    ANY_CHARACTER_MARK,
    ANY_DEPTH_MARK,
    ANY_FILE_NAME_MARK,
    UNKNOWN_TEXT_MARK,
    ShellWord,
    literal_shell_word,
    parse_word_set,
)

_FIND_FLAGS: Final = parse_word_set(
    "-print -print0 -ls -prune -empty -readable -writable -executable -not ! -o -or -a -and ( ) , -depth -mount "
    "-xdev -follow -true -false -quit -nouser -nogroup -daystart -noleaf -H -L -P"
)
_FIND_NAME_TESTS: Final = parse_word_set("-name -iname -path -ipath -wholename -iwholename")
_FIND_TESTS: Final = parse_word_set(
    "-regex -iregex -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -user "
    "-group -uid -gid -perm -maxdepth -mindepth -fstype -links -inum -samefile -lname -ilname -printf -regextype -used"
)
_FIND_EXEC_ACTIONS: Final = parse_word_set("-exec -execdir -ok -okdir")


def quoted_pattern_to_glob(text: str) -> str:
    """Converts a quoted pattern, which the program itself expands, to a word with wildcards."""
    return (
        re.sub(r"\[[^\]]*\]", ANY_CHARACTER_MARK, text)
        .replace("*", ANY_FILE_NAME_MARK)
        .replace("?", ANY_CHARACTER_MARK)
    )


def _judge_find(call: ProgramCall) -> list[RiskFinding]:
    words = list(call.words)
    roots: list[ShellWord] = []
    while words and not words[0].text.startswith(("-", "!", "(")):
        roots.append(words.pop(0))
    found = [safe_risk_finding("lists file names")]
    if any(word.may_be_option for word in roots):
        found.append(UNKNOWN_OPTION_FINDING)
    patterns: list[str] = []
    actions: list[tuple[list[ShellWord], bool]] = []
    is_negated = False
    while words:
        word = words.pop(0)
        if word.text in _FIND_FLAGS:
            is_negated = is_negated or word.text in ("!", "-not", "-o", "-or", ",")
        elif word.text in _FIND_NAME_TESTS or word.text in _FIND_TESTS:
            value = words.pop(0) if words else ShellWord("")
            if word.text in _FIND_NAME_TESTS:
                patterns.append(quoted_pattern_to_glob(value.text.rsplit("/", 1)[-1]))
            found += [] if value.is_literal and not value.may_split else [UNKNOWN_OPTION_FINDING]
        elif word.text in _FIND_EXEC_ACTIONS:
            end = next((at for at, one in enumerate(words) if one.text in (";", "+")), len(words))
            action = words[:end]
            is_ended = action and words[end:] and (words[end].text == ";" or action[-1].text == "{}")
            is_plain = all(one.is_literal and not one.may_split for one in action)
            found += [] if word.text == "-exec" and is_ended and is_plain else [UNKNOWN_OPTION_FINDING]
            actions.append((action, words[end:] != [] and words[end].text == "+"))
            words = words[end + 1 :]
        elif word.text == "-delete":
            actions.append(
                ([literal_shell_word("rm"), literal_shell_word("-r"), literal_shell_word("{}")], False)
            )
            found.append(contained_risk_finding("deletes the files that it finds"))
        else:
            found.append(UNKNOWN_OPTION_FINDING)
    name = next((one for one in patterns if re.search(r"\w", one) and UNKNOWN_TEXT_MARK not in one), "")
    below = f"{ANY_DEPTH_MARK}/{name}" if name and not is_negated else ANY_DEPTH_MARK
    places = [f"{root.text.rstrip('/')}/{below}" for root in roots or [literal_shell_word(".")]]
    call.output = PipedInput(words=tuple(map(literal_shell_word, places)))
    for action, takes_several in actions:
        call.judge_started_command(_replace_find_placeholder(action, places, takes_several))
    return found


def _replace_find_placeholder(
    words: list[ShellWord], places: list[str], takes_several: bool
) -> list[ShellWord]:
    """Replaces `{}` with the found paths; inside a longer word the result is unknown."""
    inner: list[ShellWord] = []
    for word in words:
        if word.text == "{}":
            inner += [ShellWord(place, takes_several, "{}") for place in places]
        elif "{}" in word.text:
            inner.append(ShellWord(word.text.replace("{}", UNKNOWN_TEXT_MARK), True, word.source_text))
        else:
            inner.append(word)
    return inner


_XARGS_OPTIONS: Final = (
    "0 r t n= L= P= d= I= null no-run-if-empty verbose max-args= max-procs= max-lines= delimiter="
)


def _judge_xargs(call: ProgramCall) -> list[RiskFinding]:
    """Judges xargs: its input becomes words of the command, options included; with a placeholder, the command's
    words are unknown."""
    taken = parse_program_options(call.words, parse_known_options(_XARGS_OPTIONS), stops_early=True)
    slot = next(reversed(taken.option_values("I")), None)
    fed = ShellWord(UNKNOWN_TEXT_MARK, may_split=slot is None, source_text="…")
    inner = taken.operands or [literal_shell_word("echo")]
    call.judge_started_command(_xargs_command(inner, slot, fed))
    named = call.feed.words if call.feed is not None else ()
    secrets = [word for word in named if call.ground.judge_secret_path(word).risk != "safe"]
    for word in secrets:
        call.judge_started_command(_xargs_command(inner, slot, word))
    return [] if taken.are_all_known and slot is None and not secrets else [UNKNOWN_OPTION_FINDING]


def _xargs_command(words: list[ShellWord], slot: ShellWord | None, fed: ShellWord) -> list[ShellWord]:
    """Returns the command that xargs runs for one word of its input."""
    if slot is None:
        return [*words, fed]
    return [
        ShellWord(word.text.replace(slot.text, fed.text), word.may_split, word.source_text)
        if slot.text and slot.text in word.text
        else word
        for word in words
    ]


FILE_FINDING_PROGRAMS: ProgramTable = build_program_table(
    ("find gfind", _judge_find), ("xargs gxargs", _judge_xargs)
)
