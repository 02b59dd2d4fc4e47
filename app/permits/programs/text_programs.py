"""Judges sed, awk and jq scripts: only constructs that are fully understood are safe."""

import re
from typing import Final

from app.permits.command_findings import READS_ONLY_FINDING, RiskFinding, contained_risk_finding
from app.permits.programs.program_calls import (
    UNKNOWN_OPTION_FINDING,
    ProgramCall,
    ProgramTable,
    build_program_table,
    judge_read_only_call,
)
from app.permits.programs.program_options import parse_known_options, parse_program_options
from app.permits.shell_words import ShellWord, literal_shell_word

_SED_OPTIONS: Final = "n E r s u z e= expression= quiet silent regexp-extended separate null-data posix debug"


def _judge_sed(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(call.words, parse_known_options(_SED_OPTIONS))
    found = [READS_ONLY_FINDING, *judge_read_only_call(call, taken)]
    scripts, operands = taken.option_values("e", "expression"), taken.operands
    if any(re.match(r"-[nErsuz]*i|--in-p", word.text) for word in call.words):
        found += [call.ground.judge_write(word) for word in operands]
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    for script in scripts:
        if not script.is_literal or script.may_split or not is_reading_sed_script(script.text):
            found.append(contained_risk_finding("this sed script cannot be analysed"))
            found += [
                call.ground.judge_write(ShellWord(name)) for name in _SED_WRITE_COMMAND.findall(script.text)
            ]
    return [*found, *(call.ground.judge_read(word) for word in operands)]


_SED_WRITE_COMMAND: Final = re.compile(r"[wW]\s+([^\s;}]+)")
"""Matches sed's command `w` and the flag `w` of `s`, with the file that they write."""
_SED_ADDRESS: Final = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\\n])*/I?)"
_SED_DELIMITED_TEXT: Final = r"(?:\\.|(?!(?P=d))[^\\\n])*"
_SED_READING_COMMAND: Final = (
    rf"\s*(?:{_SED_ADDRESS}(?:,\s*(?:[+~]\d+|{_SED_ADDRESS}))?)?\s*!?\s*"
    rf"(?:[=dDgGhHnNpPxFl]|[qQ]\d*|s(?P<d>[^\w\s\\]){_SED_DELIMITED_TEXT}(?P=d){_SED_DELIMITED_TEXT}(?P=d)[gpiIM0-9]*)\s*"
)
_SED_SCRIPT_STEP: Final = re.compile(rf"(?:{_SED_READING_COMMAND})?\s*(?:[;\n]|\Z)")


def is_reading_sed_script(text: str) -> bool:
    """Returns whether a sed script only prints, deletes and substitutes, as far as it is fully understood."""
    if re.search(r"\[[^\]]*/[^\]]*\]", text):
        return False  # seds disagree on whether a slash in brackets ends an expression
    at = 0
    while at < len(text):
        step = _SED_SCRIPT_STEP.match(text, at)
        if step is None:
            return False
        at = step.end()
    return True


_AWK_OUTPUT_OR_COMMAND: Final = re.compile(
    r"system|getline|close|fflush|ENVIRON|PROCINFO|ARGV|SYMTAB|FUNCTAB|@|/inet|(?<!\|)\|(?!\|)|print.*>(?!=)|>(?!=).*print",
    re.DOTALL,
)


def _judge_awk(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(call.words, parse_known_options("F= v="), stops_early=True)
    found = [READS_ONLY_FINDING, *([] if taken.are_all_known else [UNKNOWN_OPTION_FINDING])]
    program, *operands = taken.operands or [ShellWord("")]
    if not program.is_literal or program.may_split or _AWK_OUTPUT_OR_COMMAND.search(program.text):
        found.append(contained_risk_finding("this awk script cannot be analysed"))
    files = [word for word in operands if not re.match(r"[A-Za-z_]\w*=", word.text)]
    return [*found, *(call.ground.judge_read(word) for word in files)]


_JQ_OPTIONS: Final = (
    "r c n e s S M C a j R raw-output compact-output null-input exit-status slurp sort-keys monochrome-output "
    "color-output ascii-output join-output raw-input tab indent="
)


def _judge_jq(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(call.words, parse_known_options(_JQ_OPTIONS))
    found = [READS_ONLY_FINDING, *([] if taken.are_all_known else [UNKNOWN_OPTION_FINDING])]
    program, *files = taken.operands or [literal_shell_word(".")]
    if not program.is_literal or re.search(
        r"\b(?:import|include|env|input_filename|get_search_list)\b|\$ENV", program.text
    ):
        found.append(contained_risk_finding("this jq filter cannot be analysed"))
    return [*found, *(call.ground.judge_read(word) for word in files)]


TEXT_SCRIPT_PROGRAMS: ProgramTable = build_program_table(
    ("sed gsed", _judge_sed), ("awk gawk mawk", _judge_awk), ("jq", _judge_jq)
)
