"""The safe list: programs that only read, each with the options that are known to be harmless.

A program or option that is not listed is contained. What only *may* write, run or send something is not listed."""

import re
from typing import Final

from app.permits.command_findings import RiskFinding, contained_risk_finding, safe_risk_finding
from app.permits.environment_variables import is_harmless_variable_assignment
from app.permits.programs.program_calls import (
    UNKNOWN_OPTION_FINDING,
    PipedInput,
    ProgramCall,
    ProgramTable,
    ReadOnlyProgram,
    build_program_table,
    judge_read_only_call,
)
from app.permits.programs.program_options import parse_known_options, parse_program_options
from app.permits.shell_words import UNKNOWN_TEXT_MARK, WILDCARD_MARK_PATTERN, ShellWord, parse_word_set

_PROGRAM_WITH_ONLY_SAFE_CALLS = ReadOnlyProgram()
_PROGRAM_WITH_TEXT_OPERANDS = ReadOnlyProgram(operand_kind="text")
_VARIABLE_NAME_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _judge_echo(call: ProgramCall) -> list[RiskFinding]:
    words = list(call.words)
    while words and words[0].text in ("-n", "-e", "-E", "-ne", "-en"):
        words.pop(0)
    if all(word.is_literal and not word.may_split for word in words):
        call.output = PipedInput(text=" ".join(word.text for word in words) + "\n")
    return [safe_risk_finding("prints text")]


_HARMLESS_PRINTF_FORMAT: Final = re.compile(
    r"(?:[^%\\]|\\.|%%|%[-+ #0]*\d*(?:\.\d+)?[sdiuxXofeEgGcqb])*", re.DOTALL
)


def _judge_printf(call: ProgramCall) -> list[RiskFinding]:
    """Judges `printf`: `-v`, `%n` and unlisted conversions may set a variable."""
    form = call.words[0] if call.words else ShellWord("")
    is_certain = (
        not form.may_split and not form.text.startswith("-") and _HARMLESS_PRINTF_FORMAT.fullmatch(form.text)
    )
    if all(word.is_literal for word in call.words):
        call.output = PipedInput(text=_printf_output([word.text for word in call.words]))
    return [safe_risk_finding("prints text") if is_certain and form.is_literal else UNKNOWN_OPTION_FINDING]


def _printf_output(words: list[str]) -> str | None:
    """Returns the output of `printf`; None if its format has more than `%s` and line feeds."""
    form, *values = words or [""]
    first, *others = form.replace("\\n", "\n").split("%s")
    if "\\" in "".join((first, *others)) or "%" in "".join((first, *others)):
        return None
    if not others:
        return first
    values += [""] * (-len(values) % len(others) if values else len(others))
    printed = zip(values, others * (len(values) // len(others)), strict=True)
    return "".join(
        f"{'' if at % len(others) else first}{value}{other}" for at, (value, other) in enumerate(printed)
    )


_UNARY_SHELL_TEST_OPERATORS: Final = re.compile("-[bcdefghknprstuwxzLNOSG]")
_BINARY_SHELL_TEST_OPERATORS: Final = re.compile("==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")


def _judge_test(call: ProgramCall) -> list[RiskFinding]:
    """Judges `test`: `-v` and `-R` evaluate a subscript, so only listed operators are safe."""
    texts = [word.text for word in call.words]
    if texts[:1] == ["!"]:
        texts.pop(0)
    is_plain = (
        len(texts) < 2
        or (len(texts) == 2 and _UNARY_SHELL_TEST_OPERATORS.fullmatch(texts[0]))
        or (len(texts) == 3 and _BINARY_SHELL_TEST_OPERATORS.fullmatch(texts[1]))
    )
    if not is_plain or any(word.may_become_several_words for word in call.words):
        return [contained_risk_finding("the test expression may run code")]
    return [safe_risk_finding("only reads")]


def _mark_variables_unknown(call: ProgramCall, words: list[ShellWord]) -> list[RiskFinding]:
    """Marks these variables as unknown until run time."""
    is_exported = call.name == "export"
    found = [safe_risk_finding("only sets a variable")]
    for word in words:
        if not (
            _VARIABLE_NAME_PATTERN.fullmatch(word.text)
            and is_harmless_variable_assignment(word.text, is_exported=is_exported)
        ):
            found.append(contained_risk_finding("sets a variable that may change how programs behave"))
        call.scope.set_variable(word.text, UNKNOWN_TEXT_MARK)
    return found


def _judge_read_builtin(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(call.words, parse_known_options("r s d= n= N= p= t= a="))
    return [
        *([] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]),
        *_mark_variables_unknown(call, [*taken.operands, *taken.option_values("a")]),
    ]


def _judge_declare(call: ProgramCall) -> list[RiskFinding]:
    """Judges `export`, `declare` and similar builtins; assignments among their words are judged separately."""
    taken = parse_program_options(call.words, parse_known_options("" if call.name == "export" else "r g"))
    found = [] if taken.are_all_known else [UNKNOWN_OPTION_FINDING]
    if not taken.operands and not call.has_assignments:
        return [*found, *_judge_printenv(call)]
    return [*found, *_mark_variables_unknown(call, taken.operands)]


def _judge_unset(call: ProgramCall) -> list[RiskFinding]:
    return _mark_variables_unknown(call, list(call.words))


def _judge_set(call: ProgramCall) -> list[RiskFinding]:
    text = " ".join(word.text for word in call.words)
    if re.fullmatch(r"(?:[-+][eux]+|[-+][eux]*o (?:pipefail|errexit|nounset|xtrace)| )+", text):
        return [safe_risk_finding("sets shell options")]
    call.scope.script_arguments = None
    return [contained_risk_finding("sets shell options")]


def _judge_printenv(call: ProgramCall) -> list[RiskFinding]:
    if any(word.text.startswith("-") or not word.is_literal for word in call.words):
        return [contained_risk_finding("may print any variable")]
    if call.place.hides_secrets or not call.place.has_secret_variables:
        return [safe_risk_finding("prints variables")]
    return [contained_risk_finding("prints all variables, which may contain secrets")]


def _judge_cd(call: ProgramCall) -> list[RiskFinding]:
    scope = call.scope
    words = [word for word in call.words if word.text not in ("-L", "-P", "-e", "--")]
    target = words[0] if words else ShellWord(scope.known_value("HOME") or call.place.home_folder)
    is_known = call.name == "cd" and target.text != "-" and not target.may_split and not target.is_unknown
    scope.change_folder(call.ground.folders_after_cd(target) if is_known else (UNKNOWN_TEXT_MARK,))
    return [
        safe_risk_finding("changes only the folder of the commands after it")
        if call.name == "cd" and len(words) < 2
        else UNKNOWN_OPTION_FINDING
    ]


def _judge_which(call: ProgramCall) -> list[RiskFinding]:
    folders = call.scope.possible_folders
    if len(folders) == 1 and not call.words and not WILDCARD_MARK_PATTERN.search(folders[0]):
        call.output = PipedInput(text=folders[0] + "\n")
    return [safe_risk_finding("prints the current folder")]


_SAFE_PS_OPTIONS: Final = re.compile(
    r"(?:-?auxf?|axf?|-ef|-e|-A)?(?: ?-o [a-z,%=]+| ?-p [\d,]+| --sort=-?%?[a-z]+| --forest)*"
)


def _judge_ps(call: ProgramCall) -> list[RiskFinding]:
    """Judges `ps`, except for the forms that print the variables of processes."""
    is_plain = _SAFE_PS_OPTIONS.fullmatch(
        " ".join(["", *(word.text for word in call.words)]).removeprefix(" ")
    )
    return [
        safe_risk_finding("lists processes")
        if is_plain
        else contained_risk_finding("has options of ps that bayou does not know")
    ]


def _judge_date(call: ProgramCall) -> list[RiskFinding]:
    taken = parse_program_options(
        call.words,
        parse_known_options(
            "u R I d= r=:read date= reference=:read utc iso-8601 rfc-3339= universal rfc-email"
        ),
    )
    is_shown = all(word.text.startswith("+") and word.is_literal for word in taken.operands)
    return [
        *judge_read_only_call(call, taken),
        safe_risk_finding("prints the time")
        if is_shown
        else contained_risk_finding("may set the system clock"),
    ]


_RG_OPTIONS: Final = (
    "i n l L c v w x o s S F P U H N h q a 0 b p u A= B= C= e= g= t= T= m= j= r= M= f=:read "
    "files hidden no-ignore no-ignore-vcs glob= iglob= type= type-not= json stats count count-matches "
    "max-count= max-depth= sort= sortr= no-heading heading line-number no-line-number column vimgrep color= "
    "context= after-context= before-context= files-with-matches files-without-match fixed-strings ignore-case "
    "smart-case case-sensitive word-regexp line-regexp multiline multiline-dotall only-matching replace= trim "
    "pcre2 no-filename with-filename null type-list regexp= invert-match follow threads= max-columns= no-messages "
    "text quiet passthru max-filesize= one-file-system no-config"
)


def _judge_ripgrep(call: ProgramCall) -> list[RiskFinding]:
    lists = any(word.text in ("--files", "--type-list") for word in call.words)
    first = "" if lists else "text"
    operands = "text" if lists else "tree"
    if (
        not lists
        and call.feed is not None
        and len(parse_program_options(call.words, parse_known_options(_RG_OPTIONS)).operands) < 2
    ):
        operands = "read"
    return ReadOnlyProgram(
        harmless_options=_RG_OPTIONS,
        operand_kind=operands,
        first_operand_kind=first,
        options_without_first_operand="e f regexp",
        reads_hidden_files=any(re.match(r"-\w*[u.]|--hid|--unr", word.text) for word in call.words),
    )(call)


_GREP_OPTIONS: Final = (
    "* e= f=:read regexp= file=:read m= A= B= C= max-count= include= exclude= exclude-dir= context= after-context= "
    "before-context= color= colour= label= D= d= binary-files= exclude-from=:read r R recursive dereference-recursive"
)


def _judge_grep(call: ProgramCall) -> list[RiskFinding]:
    known = parse_program_options(call.words, parse_known_options(_GREP_OPTIONS))
    reads_input = call.feed is not None and len(known.operands) < 2
    deep = "" if reads_input else "r R recursive dereference-recursive"
    recurses = any(re.match(r"-\w*d|--d", word.text) for word in call.words)  # `-d recurse`, also shortened
    operands = "tree" if recurses and not reads_input else "read"
    return ReadOnlyProgram(
        harmless_options=_GREP_OPTIONS,
        operand_kind=operands,
        first_operand_kind="text",
        options_without_first_operand="e f regexp file",
        recursive_options=deep,
    )(call)


SAFE_PROGRAMS: ProgramTable = build_program_table(
    # Files: these programs never write, run or send anything
    ("cat tac rev comm cmp", _PROGRAM_WITH_ONLY_SAFE_CALLS),
    ("nl", ReadOnlyProgram(harmless_options="* b= d= f= h= i= l= n= s= v= w=")),
    ("head tail", ReadOnlyProgram(harmless_options="* c= n= s= lines= bytes= pid= sleep-interval=")),
    ("wc", ReadOnlyProgram(harmless_options="* files0-from=:read")),
    (
        "cut",
        ReadOnlyProgram(
            harmless_options="* d= f= c= b= delimiter= fields= bytes= characters= output-delimiter="
        ),
    ),
    ("paste", ReadOnlyProgram(harmless_options="* d= delimiters=")),
    (
        "od hexdump hd",
        ReadOnlyProgram(
            harmless_options="* A= j= N= S= t= e= n= s= f=:read address-radix= skip-bytes= read-bytes="
        ),
    ),
    ("column", ReadOnlyProgram(harmless_options="* s= o= N= c= separator= output-separator= table-columns=")),
    (
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum md5",
        ReadOnlyProgram(harmless_options="* a= algorithm="),
    ),
    ("tr expr seq", _PROGRAM_WITH_TEXT_OPERANDS),
    ("grep egrep fgrep", _judge_grep),
    ("ls dir vdir stat basename dirname realpath readlink", _PROGRAM_WITH_TEXT_OPERANDS),
    ("df", _PROGRAM_WITH_TEXT_OPERANDS),
    (
        "du",
        ReadOnlyProgram(
            harmless_options="* files0-from=:read X=:read exclude-from=:read d= B= t= max-depth=",
            operand_kind="text",
        ),
    ),
    # Files: only with known options
    ("zcat bzcat xzcat", ReadOnlyProgram(harmless_options="f")),
    ("base64", ReadOnlyProgram(harmless_options="d D w= decode wrap= ignore-garbage")),
    ("rg", _judge_ripgrep),
    (
        "file",
        ReadOnlyProgram(
            harmless_options="b i L h k r F= mime mime-type mime-encoding brief dereference",
            operand_kind="text",
        ),
    ),
    (
        "tree",
        ReadOnlyProgram(
            harmless_options="a d f L= I= P= s h p D t r C n F l i q N u g A S noreport dirsfirst prune gitignore "
            "filelimit= sort= du ignore-case matchdirs",
            operand_kind="text",
            allows_bundled_options=False,
        ),
    ),
    (
        "diff",
        ReadOnlyProgram(
            harmless_options="u U= c C= r q s i w b B N y W= E Z a t p x= X=:read I= L= brief recursive unified= "
            "color= side-by-side ignore-all-space ignore-space-change ignore-blank-lines new-file exclude= "
            "exclude-from=:read strip-trailing-cr label= width= suppress-common-lines from-file=:read to-file=:read "
            "text minimal no-dereference report-identical-files",
            operand_kind="tree",  # of two folders it compares the files in them
        ),
    ),
    (
        "sort",
        ReadOnlyProgram(
            harmless_options="b d f g i M h n R r V c C k= m s t= u z S= reverse numeric-sort unique key= "
            "field-separator= human-numeric-sort version-sort stable check ignore-case general-numeric-sort "
            "zero-terminated parallel="
        ),
    ),
    (
        "uniq",
        ReadOnlyProgram(
            harmless_options="c d D u i f= s= w= z count repeated unique ignore-case skip-fields= skip-chars= "
            "check-chars=",
            max_operands=1,
        ),
    ),
    ("xxd", ReadOnlyProgram(harmless_options="a b e E i p u", max_operands=1)),
    # The machine
    (
        "true false : exit sleep nproc uptime whoami id groups uname tty free lscpu lsblk cal",
        _PROGRAM_WITH_TEXT_OPERANDS,
    ),
    ("date", _judge_date),
    ("ps", _judge_ps),
    ("pgrep which whereis type", _PROGRAM_WITH_TEXT_OPERANDS),
    ("printenv", _judge_printenv),
    # Shell builtins
    ("echo", _judge_echo),
    ("printf", _judge_printf),
    ("test", _judge_test),
    ("read", _judge_read_builtin),
    ("export readonly local declare typeset", _judge_declare),
    ("unset", _judge_unset),
    ("set", _judge_set),
    ("cd pushd popd", _judge_cd),
    ("pwd", _judge_which),
)
PROGRAMS_WITH_SAFE_VERSION_OPTION: Final = parse_word_set(
    "python python2 python3 node ruby perl php gcc g++ cc clang clang++ java javac make cmake git docker bash"
)
"""Programs that are safe when asked for their version, because they then read no configuration of a project."""
