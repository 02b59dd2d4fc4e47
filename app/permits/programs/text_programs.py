"""Judges sed, awk and jq scripts: only constructs that are fully understood are safe."""

import re
from typing import Final

from app.permits.command_findings import SAFE, Finding, contained
from app.permits.programs.calls import UNKNOWN_OPTION, ProgramCall, ProgramTable, program_table, read_options
from app.permits.programs.options import option_row, parse_options
from app.permits.shell_words import Word, literal_text

_SED: Final = "n E r s u z e= expression= quiet silent regexp-extended separate null-data posix debug"


def _sed(call: ProgramCall) -> list[Finding]:
    taken = parse_options(call.words, option_row(_SED))
    found = [SAFE, *read_options(call, taken)]
    scripts, operands = taken.values("e", "expression"), taken.operands
    if any(re.match(r"-[nErsuz]*i|--in-p", word.text) for word in call.words):
        found += [call.ground.write(word) for word in operands]
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    for script in scripts:
        if not script.is_literal or script.may_split or not reads_only(script.text):
            found.append(contained("this sed script cannot be analysed"))
            found += [call.ground.write(Word(name)) for name in _SED_WRITES.findall(script.text)]
    return [*found, *(call.ground.read(word) for word in operands)]


_SED_WRITES: Final = re.compile(r"[wW]\s+([^\s;}]+)")
"""Its command `w`, and that flag of `s`, with the file that they write."""
_PLACE: Final = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\\n])*/I?)"
_BODY: Final = r"(?:\\.|(?!(?P=d))[^\\\n])*"
_COMMAND: Final = (
    rf"\s*(?:{_PLACE}(?:,\s*(?:[+~]\d+|{_PLACE}))?)?\s*!?\s*"
    rf"(?:[=dDgGhHnNpPxFl]|[qQ]\d*|s(?P<d>[^\w\s\\]){_BODY}(?P=d){_BODY}(?P=d)[gpiIM0-9]*)\s*"
)
_STEP: Final = re.compile(rf"(?:{_COMMAND})?\s*(?:[;\n]|\Z)")


def reads_only(text: str) -> bool:
    """Whether a sed script only prints, deletes and substitutes."""
    if re.search(r"\[[^\]]*/[^\]]*\]", text):
        return False  # seds disagree on whether a slash in brackets ends an expression
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return False
        at = step.end()
    return True


_AWK_OUT: Final = re.compile(
    r"system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|SYMTAB|FUNCTAB|@|/inet|(?<!\|)\|(?!\|)|print.*>(?!=)|>(?!=).*print",
    re.DOTALL,
)


def _awk(call: ProgramCall) -> list[Finding]:
    taken = parse_options(call.words, option_row("F= v="), stops_early=True)
    found = [SAFE, *([] if taken.is_certain else [UNKNOWN_OPTION])]
    program, *operands = taken.operands or [Word("")]
    if not program.is_literal or program.may_split or _AWK_OUT.search(program.text):
        found.append(contained("this awk script cannot be analysed"))
    files = [word for word in operands if not re.match(r"[A-Za-z_]\w*=", word.text)]
    return [*found, *(call.ground.read(word) for word in files)]


_JQ: Final = (
    "r c n e s S M C a j R raw-output compact-output null-input exit-status slurp sort-keys monochrome-output "
    "color-output ascii-output join-output raw-input tab indent="
)


def _jq(call: ProgramCall) -> list[Finding]:
    taken = parse_options(call.words, option_row(_JQ))
    found = [SAFE, *([] if taken.is_certain else [UNKNOWN_OPTION])]
    program, *files = taken.operands or [literal_text(".")]
    if not program.is_literal or re.search(
        r"\b(?:import|include|env|input_filename|get_search_list)\b|\$ENV", program.text
    ):
        found.append(contained("this jq filter cannot be analysed"))
    return [*found, *(call.ground.read(word) for word in files)]


TEXT_PROGRAMS: ProgramTable = program_table(("sed gsed", _sed), ("awk gawk mawk", _awk), ("jq", _jq))
