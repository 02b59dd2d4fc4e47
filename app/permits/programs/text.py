"""Programs that make one text of another: sed and awk, which are languages, and those that may write a file."""

import re

from app.permits.calls import SAYS_WHAT_IT_IS, Call, Table, Usual, judge_options, judge_usual, table, written
from app.permits.letters import Finding
from app.permits.options import row, take
from app.permits.words import UNKNOWN, Word, literal

_SED = "e= f=:X expression= file=:X i:E in-place:E l= line-length= s E n r z u"


def _sed(call: Call) -> list[Finding]:
    if len(call.words) == 1 and call.words[0].text in ("--version", "--help"):
        return [SAYS_WHAT_IT_IS]
    words = _apart(call.words)
    taken = take(words, row(_SED))
    found = [Finding("R", "only prints")]
    found += [one for one in judge_options(call, taken) if one.letter != "E"]
    scripts = taken.values("e", "expression")
    operands = taken.operands
    has_script = bool(scripts) or taken.has("f", "file")
    if not has_script and operands:
        scripts, operands = operands[:1], operands[1:]
    for script in scripts:
        found += _judge_sed(call, script)
    found += taken.doubt
    for word in operands:
        found.append(call.ground.read(word))
        if taken.has("i", "in-place"):
            found.append(written(call, word))
    return found


def _apart(words: "tuple[Word, ...]") -> list[Word]:
    """`-i.bak` has its value with it, and so has `-i ''` of other systems."""
    kept: list[Word] = []
    for place, word in enumerate(words):
        bundle = re.fullmatch(r"-([nErsuz]*i)(.*)", word.text)
        if bundle and not word.text.startswith("--"):
            kept.append(literal("-" + bundle[1]))
            continue
        if word.text == "" and place and re.fullmatch(r"-\w*i", words[place - 1].text):
            continue
        kept.append(word)
    return kept


def _judge_sed(call: Call, script: Word) -> list[Finding]:
    if not script.is_literal or script.may_split:
        return [Finding("U", "what this sed does, only the run will tell")]
    return sed_effects(call, script.text)


_ADDRESS = re.compile(
    r"\s*(?:\d+(?:~\d+)?|\$|/(?:\\.|\[\^?\]?[^\]]*\]|[^/\\\[])*/[IM]*|\\(.)(?:\\.|(?!\1)[^\\])*\1[IM]*)?"
    r"(?:\s*,\s*(?:[+~]?\d+|\$|/(?:\\.|\[\^?\]?[^\]]*\]|[^/\\\[])*/[IM]*))?\s*!?\s*",
    re.DOTALL,
)


def sed_effects(call: Call, text: str) -> list[Finding]:
    """Walks its commands: `e` runs, `w` writes, `r` reads; one that is not understood is not known."""
    found: list[Finding] = []
    at, steps = 0, 0
    while at < len(text) and steps < 500:
        steps += 1
        skipped = re.compile(r"[\s;{}]+").match(text, at)
        if skipped:
            at = skipped.end()
            continue
        address = _ADDRESS.match(text, at)
        at = address.end() if address else at
        if at >= len(text):
            break
        command = text[at]
        at += 1
        if command in "{}":
            continue
        if command == "#":
            at = _line_end(text, at)
        elif command in "=dDgGhHlnNpPxzF":
            continue
        elif command in "aicbtTq:QvL0123456789":
            at = _line_end(text, at) if command in "aic:" else _part_end(text, at)
        elif command in "sy":
            at, more = _substitution(call, text, at, command)
            found += more
        elif command in "wW":
            end = _line_end(text, at)
            found.append(written(call, literal(text[at:end].strip())))
            at = end
        elif command in "rR":
            end = _line_end(text, at)
            found.append(call.ground.read(literal(text[at:end].strip())))
            at = end
        elif command == "e":
            return [*found, Finding("X", "sed's e runs a command")]
        else:
            return [*found, Finding("U", "what this sed does cannot be told")]
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _part_end(text: str, at: int) -> int:
    found = re.compile(r"[;\n}]").search(text, at)
    return found.start() if found else len(text)


def _substitution(call: Call, text: str, at: int, command: str) -> tuple[int, list[Finding]]:
    delimiter = text[at : at + 1]
    at += 1
    for _ in range(2):
        while at < len(text) and text[at] != delimiter:
            at += 2 if text[at] == "\\" else 1
        at += 1
    if not delimiter or at > len(text):
        return len(text), [Finding("U", "what this sed does cannot be told")]
    if command == "y":
        return at, []
    flags = re.compile(r"[gpiIMm0-9e]*").match(text, at)
    end = flags.end() if flags else at
    if "e" in text[at:end]:
        return end, [Finding("X", "sed's e runs a command")]
    if text[end : end + 1] == "w":
        stop = _line_end(text, end)
        return stop, [written(call, literal(text[end + 1 : stop].strip()))]
    return end, []


_AWK = (
    "F= v= f=:X file=:X field-separator= assign= i=:X include=:X l=:X load=:X E=:X exec=:X e= source= o:E "
    "D:X p:E d:E"
)
_AWK_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_AWK_TEXT = re.compile(
    r'"(?:\\.|[^"\\])*"|#[^\n]*|(?<=[(,~!{;&|])\s*/(?:\\.|[^/\\\n])+/|^\s*/(?:\\.|[^/\\\n])+/'
)


def _awk(call: Call) -> list[Finding]:
    if call.words and call.words[0].text in ("--version", "-V", "--help", "-W"):
        return [SAYS_WHAT_IT_IS]
    taken = take(call.words, row(_AWK), stops_early=True)
    found = [Finding("R", "only prints"), *judge_options(call, taken)]
    operands = taken.operands
    programs = taken.values("e", "source")
    if not programs and not taken.has("f", "file", "E", "exec"):
        programs, operands = operands[:1], operands[1:]
    found += taken.doubt
    for program in programs:
        if not program.is_literal or program.may_split:
            found.append(Finding("U", "what this awk does, only the run will tell"))
        else:
            found += awk_effects(call, program.text)
    for word in operands:
        if re.match(r"[A-Za-z_]\w*=", word.text):
            continue
        found.append(call.ground.read(word))
    return found


def awk_effects(call: Call, text: str) -> list[Finding]:
    """By what stands outside of its strings and expressions: commands, files that are written or read."""
    found: list[Finding] = []
    bare = _AWK_TEXT.sub(lambda one: '""' if one[0].startswith('"') else " ", text)
    if re.search(r"\bsystem\b|@", bare) or re.search(r"\|(?!\|)", bare.replace("||", "")):
        found.append(Finding("X", "awk runs a command"))
    if "|&" in bare or "/inet" in text:
        found.append(Finding("N", "awk connects to the network"))
    if re.search(r"\bgetline\b", bare):
        found += _getline(call, text, bare)
    kept = re.sub(r"#[^\n\"]*$", "", text, flags=re.MULTILINE)
    for target in re.finditer(r"\b(?:print|printf)\b[^;}\n]*?>>?\s*([^;}\n]+)", kept):
        if _is_comparison(target[0]):
            continue
        plain = re.fullmatch(r'\s*"((?:\\.|[^"\\])*)"\s*', target[1])
        found.append(written(call, literal(plain[1]) if plain else Word(UNKNOWN)))
    return found


def _is_comparison(text: str) -> bool:
    """`print (a > b)`: in parentheses it compares."""
    before = text.split(">", 1)[0]
    before = _AWK_STRING.sub("", before)
    return before.count("(") > before.count(")")


def _getline(call: Call, text: str, bare: str) -> list[Finding]:
    if "<" not in bare:
        return []
    named = re.findall(r'getline\s*\w*\s*<\s*"((?:\\.|[^"\\])*)"', text)
    if len(named) != len(re.findall(r"getline\s*[\w$]*\s*<", bare)):
        return [call.ground.read(Word(UNKNOWN)), Finding("U", "awk reads a file that only the run will tell")]
    return [call.ground.read(literal(name)) for name in named]


def _tee(call: Call) -> list[Finding]:
    found = judge_usual(call, Usual(operands="write", options="a append i p"))
    if call.feed is not None:
        call.output = call.feed
    return found


TEXT: Table = table(
    ("sed gsed", _sed),
    ("awk gawk mawk nawk original-awk", _awk),
    (
        "sort gsort",
        Usual(
            options="o=:write output=:write compress-program=:X files0-from=:read "
            "random-source=:read k= t= S= T= "
            "key= field-separator= buffer-size= temporary-directory= parallel= batch-size="
        ),
    ),
    ("uniq", Usual(options="f= s= w= skip-fields= skip-chars= check-chars=", second="write")),
    ("xxd", Usual(options="c= l= s= o= g= cols= len= seek=", second="write")),
    (
        "split",
        Usual(
            options="l= b= n= a= C= t= filter=:X lines= bytes= number= suffix-length= additional-suffix= :E",
            letter="E",
            why="writes pieces of a file",
        ),
    ),
    (
        "csplit",
        Usual(
            letter="E",
            why="writes pieces of a file",
            options="f= b= n= prefix= suffix-format= digits=",
            first="read",
            operands="text",
        ),
    ),
    ("tee", _tee),
)
