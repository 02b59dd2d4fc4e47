"""The safe list: programs that only read, each with the options that are known to be harmless.

A program or option that is not listed is contained. What only *may* write, run or send something is not listed."""

import re
from typing import Final

from app.permits.command_findings import Finding, contained, safe
from app.permits.environment_variables import is_harmless
from app.permits.programs.calls import (
    UNKNOWN_OPTION,
    PipedInput,
    ProgramCall,
    ProgramTable,
    ReadingProgram,
    program_table,
    read_options,
)
from app.permits.programs.options import option_row, parse_options
from app.permits.shell_words import UNKNOWN, WILDCARD, Word, word_set

_ANY = ReadingProgram()
_TEXT = ReadingProgram(operands="text")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _echo(call: ProgramCall) -> list[Finding]:
    words = list(call.words)
    while words and words[0].text in ("-n", "-e", "-E", "-ne", "-en"):
        words.pop(0)
    if all(word.is_literal and not word.may_split for word in words):
        call.output = PipedInput(text=" ".join(word.text for word in words) + "\n")
    return [safe("prints text")]


_HARMLESS_PRINTF_FORMAT: Final = re.compile(
    r"(?:[^%\\]|\\.|%%|%[-+ #0]*\d*(?:\.\d+)?[sdiuxXofeEgGcqb])*", re.DOTALL
)


def _printf(call: ProgramCall) -> list[Finding]:
    """Judges `printf`: `-v`, `%n` and unlisted conversions may set a variable."""
    form = call.words[0] if call.words else Word("")
    is_certain = (
        not form.may_split and not form.text.startswith("-") and _HARMLESS_PRINTF_FORMAT.fullmatch(form.text)
    )
    if all(word.is_literal for word in call.words):
        call.output = PipedInput(text=_printed([word.text for word in call.words]))
    return [safe("prints text") if is_certain and form.is_literal else UNKNOWN_OPTION]


def _printed(words: list[str]) -> str | None:
    """The output of `printf`; None if its format has more than `%s` and line feeds."""
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


_UNARY_TESTS: Final = re.compile("-[bcdefghknprstuwxzLNOSG]")
_BINARY_TESTS: Final = re.compile("==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)")


def _test(call: ProgramCall) -> list[Finding]:
    """Judges `test`: `-v` and `-R` evaluate a subscript, so only listed operators are safe."""
    texts = [word.text for word in call.words]
    if texts[:1] == ["!"]:
        texts.pop(0)
    is_plain = (
        len(texts) < 2
        or (len(texts) == 2 and _UNARY_TESTS.fullmatch(texts[0]))
        or (len(texts) == 3 and _BINARY_TESTS.fullmatch(texts[1]))
    )
    if not is_plain or any(word.may_be_several for word in call.words):
        return [contained("the test expression may run code")]
    return [safe("only reads")]


def _variables(call: ProgramCall, words: list[Word]) -> list[Finding]:
    """Marks these variables as unknown until run time."""
    is_exported = call.name == "export"
    found = [safe("only sets a variable")]
    for word in words:
        if not (_IDENTIFIER.fullmatch(word.text) and is_harmless(word.text, is_exported=is_exported)):
            found.append(contained("sets a variable that may change how programs behave"))
        call.scope.set_variable(word.text, UNKNOWN)
    return found


def _read(call: ProgramCall) -> list[Finding]:
    taken = parse_options(call.words, option_row("r s d= n= N= p= t= a="))
    return [
        *([] if taken.is_certain else [UNKNOWN_OPTION]),
        *_variables(call, [*taken.operands, *taken.values("a")]),
    ]


def _declare(call: ProgramCall) -> list[Finding]:
    """Judges `export`, `declare` and similar builtins; assignments among their words are judged separately."""
    taken = parse_options(call.words, option_row("" if call.name == "export" else "r g"))
    found = [] if taken.is_certain else [UNKNOWN_OPTION]
    if not taken.operands and not call.has_assignments:
        return [*found, *_environment(call)]
    return [*found, *_variables(call, taken.operands)]


def _unset(call: ProgramCall) -> list[Finding]:
    return _variables(call, list(call.words))


def _set(call: ProgramCall) -> list[Finding]:
    text = " ".join(word.text for word in call.words)
    if re.fullmatch(r"(?:[-+][eux]+|[-+][eux]*o (?:pipefail|errexit|nounset|xtrace)| )+", text):
        return [safe("sets shell options")]
    call.scope.arguments = None
    return [contained("sets shell options")]


def _environment(call: ProgramCall) -> list[Finding]:
    if any(word.text.startswith("-") or not word.is_literal for word in call.words):
        return [contained("may print any variable")]
    if call.place.hides_secrets or not call.place.secret_variables:
        return [safe("prints variables")]
    return [contained("prints all variables, which may contain secrets")]


def _change_folder(call: ProgramCall) -> list[Finding]:
    scope = call.scope
    words = [word for word in call.words if word.text not in ("-L", "-P", "-e", "--")]
    target = words[0] if words else Word(scope.known_value("HOME") or call.place.home)
    is_known = call.name == "cd" and target.text != "-" and not target.may_split and not target.is_unknown
    scope.change_folder(call.ground.folders_after_cd(target) if is_known else (UNKNOWN,))
    return [
        safe("changes only the folder of the commands after it")
        if call.name == "cd" and len(words) < 2
        else UNKNOWN_OPTION
    ]


def _judge_which(call: ProgramCall) -> list[Finding]:
    folders = call.scope.folders
    if len(folders) == 1 and not call.words and not WILDCARD.search(folders[0]):
        call.output = PipedInput(text=folders[0] + "\n")
    return [safe("prints the current folder")]


_PROCESSES: Final = re.compile(
    r"(?:-?auxf?|axf?|-ef|-e|-A)?(?: ?-o [a-z,%=]+| ?-p [\d,]+| --sort=-?%?[a-z]+| --forest)*"
)


def _processes(call: ProgramCall) -> list[Finding]:
    """Judges `ps`, except for the forms that print the variables of processes."""
    is_plain = _PROCESSES.fullmatch(" ".join(["", *(word.text for word in call.words)]).removeprefix(" "))
    return [safe("lists processes") if is_plain else contained("unclear options of ps")]


def _date(call: ProgramCall) -> list[Finding]:
    taken = parse_options(
        call.words,
        option_row("u R I d= r=:read date= reference=:read utc iso-8601 rfc-3339= universal rfc-email"),
    )
    is_shown = all(word.text.startswith("+") and word.is_literal for word in taken.operands)
    return [
        *read_options(call, taken),
        safe("prints the time") if is_shown else contained("may set the system clock"),
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


def _rg(call: ProgramCall) -> list[Finding]:
    lists = any(word.text in ("--files", "--type-list") for word in call.words)
    first = "" if lists else "text"
    operands = "text" if lists else "tree"
    if (
        not lists
        and call.feed is not None
        and len(parse_options(call.words, option_row(_RG_OPTIONS)).operands) < 2
    ):
        operands = "read"
    return ReadingProgram(
        options=_RG_OPTIONS,
        operands=operands,
        first=first,
        unless="e f regexp",
        reads_hidden=any(re.match(r"-\w*[u.]|--hid|--unr", word.text) for word in call.words),
    )(call)


_GREP_OPTIONS: Final = (
    "* e= f=:read regexp= file=:read m= A= B= C= max-count= include= exclude= exclude-dir= context= after-context= "
    "before-context= color= colour= label= D= d= binary-files= exclude-from=:read r R recursive dereference-recursive"
)


def _grep(call: ProgramCall) -> list[Finding]:
    known = parse_options(call.words, option_row(_GREP_OPTIONS))
    reads_input = call.feed is not None and len(known.operands) < 2
    deep = "" if reads_input else "r R recursive dereference-recursive"
    recurses = any(re.match(r"-\w*d|--d", word.text) for word in call.words)  # `-d recurse`, also shortened
    operands = "tree" if recurses and not reads_input else "read"
    return ReadingProgram(
        options=_GREP_OPTIONS, operands=operands, first="text", unless="e f regexp file", deep=deep
    )(call)


SAFE_PROGRAMS: ProgramTable = program_table(
    # Files: these programs never write, run or send anything
    ("cat tac rev comm cmp", _ANY),
    ("nl", ReadingProgram(options="* b= d= f= h= i= l= n= s= v= w=")),
    ("head tail", ReadingProgram(options="* c= n= s= lines= bytes= pid= sleep-interval=")),
    ("wc", ReadingProgram(options="* files0-from=:read")),
    ("cut", ReadingProgram(options="* d= f= c= b= delimiter= fields= bytes= characters= output-delimiter=")),
    ("paste", ReadingProgram(options="* d= delimiters=")),
    (
        "od hexdump hd",
        ReadingProgram(options="* A= j= N= S= t= e= n= s= f=:read address-radix= skip-bytes= read-bytes="),
    ),
    ("column", ReadingProgram(options="* s= o= N= c= separator= output-separator= table-columns=")),
    (
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum md5",
        ReadingProgram(options="* a= algorithm="),
    ),
    ("tr expr seq", _TEXT),
    ("grep egrep fgrep", _grep),
    ("ls dir vdir stat basename dirname realpath readlink", _TEXT),
    ("df", _TEXT),
    (
        "du",
        ReadingProgram(
            options="* files0-from=:read X=:read exclude-from=:read d= B= t= max-depth=", operands="text"
        ),
    ),
    # Files: only with known options
    ("zcat bzcat xzcat", ReadingProgram(options="f")),
    ("base64", ReadingProgram(options="d D w= decode wrap= ignore-garbage")),
    ("rg", _rg),
    (
        "file",
        ReadingProgram(
            options="b i L h k r F= mime mime-type mime-encoding brief dereference", operands="text"
        ),
    ),
    (
        "tree",
        ReadingProgram(
            options="a d f L= I= P= s h p D t r C n F l i q N u g A S noreport dirsfirst prune gitignore filelimit= "
            "sort= du ignore-case matchdirs",
            operands="text",
            has_bundles=False,
        ),
    ),
    (
        "diff",
        ReadingProgram(
            options="u U= c C= r q s i w b B N y W= E Z a t p x= X=:read I= L= brief recursive unified= color= "
            "side-by-side ignore-all-space ignore-space-change ignore-blank-lines new-file exclude= "
            "exclude-from=:read strip-trailing-cr label= width= suppress-common-lines from-file=:read to-file=:read "
            "text minimal no-dereference report-identical-files",
            operands="tree",  # of two folders it compares the files in them
        ),
    ),
    (
        "sort",
        ReadingProgram(
            options="b d f g i M h n R r V c C k= m s t= u z S= reverse numeric-sort unique key= field-separator= "
            "human-numeric-sort version-sort stable check ignore-case general-numeric-sort zero-terminated parallel="
        ),
    ),
    (
        "uniq",
        ReadingProgram(
            options="c d D u i f= s= w= z count repeated unique ignore-case skip-fields= skip-chars= check-chars=",
            max_operands=1,
        ),
    ),
    ("xxd", ReadingProgram(options="a b e E i p u", max_operands=1)),
    # The machine
    ("true false : exit sleep nproc uptime whoami id groups uname tty free lscpu lsblk cal", _TEXT),
    ("date", _date),
    ("ps", _processes),
    ("pgrep which whereis type", _TEXT),
    ("printenv", _environment),
    # Shell builtins
    ("echo", _echo),
    ("printf", _printf),
    ("test", _test),
    ("read", _read),
    ("export readonly local declare typeset", _declare),
    ("unset", _unset),
    ("set", _set),
    ("cd pushd popd", _change_folder),
    ("pwd", _judge_which),
)
VERSION_SAFE_PROGRAMS: Final = word_set(
    "python python2 python3 node ruby perl php gcc g++ cc clang clang++ java javac make cmake git docker bash"
)
"""Programs that print their version without reading a project's configuration."""
