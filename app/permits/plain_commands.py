"""Plain command lines: where no sandbox limits commands, only these keep the verdict `safe`.

In a plain line every character means itself to the shell, every option is listed as harmless, and every word that
names something names a file of the workspace without secrets. So bayou need not know how a program interprets its
words.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from app.permits.path_effects import PathEffectJudge
from app.permits.shell_words import UNKNOWN_TEXT_MARK, ShellWord
from tools.lazy_patterns import lazy_regex

_REDIRECTION_TO_DEV_NULL = r"(?:2>&1|[12&]?>[ \t]*/dev/null)(?=[\s|;&]|\Z)"
_PLAIN_SHELL_WORD = r"""(?:[A-Za-z0-9_./:,@%+=^-]|(?<=[A-Za-z0-9_^])~|'[^']*'|"[^"$`\\!]*")+"""
_PLAIN_COMMAND_LINE_TOKEN = lazy_regex(
    rf"[ \t]*(?:(?P<quiet>{_REDIRECTION_TO_DEV_NULL})|(?P<word>{_PLAIN_SHELL_WORD})|(?P<end>&&|\|\||[|;\n]|\Z))"
)
_SHELL_KEYWORD = lazy_regex(
    r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|time|coproc|[A-Za-z_]\w*\+?=.*)",
    re.ASCII | re.DOTALL,
)
"""Matches a word that starts no simple command: a reserved word or an assignment."""
_GIT_PATHSPEC_WITH_PATTERN = lazy_regex(r":|.*[*?\[\\]")
"""Matches a word that git reads as a pattern, which may name more files."""
_GIT_REVISION_FILE = lazy_regex(r"[\w./~^-]+:[\w./@+,=-]+", re.ASCII)
"""Matches what is certainly a file or folder of a commit (`REVISION:PATH`); `:/TEXT` and `HEAD@{10:00}`, which are
commits, do not match."""
_PARENT_FOLDER_STEP = lazy_regex(r"(?:^|[/:])\.\.(?:/|$)")


class _PlainProgram(NamedTuple):
    """A program, or a verb of git, with the options by which it reads no further file, writes nothing and runs
    nothing."""

    operand_kind: Literal["text", "names", "files"]
    """The use that the program makes of its operands: it never opens them, shows names below them, or shows their
    content."""
    harmless_options: str = "(?!)"
    first_operand_pattern: str | None = None
    """The pattern that the program's first operand must match, empty if it has none; None allows every one."""


_GIT_QUIET_OPTIONS = (
    r"-\d+|-n\d*|-[bgiswz]|-M\d*|"
    r"--(?:stat|decorate|color|abbrev|max-count)(?:=[\w,]+)?|"
    r"--(?:since|after|until|before|author|grep|date|diff-filter)=.*|--(?:format|pretty)=(?!.*%[-+ ]?G).*|"
    r"--(?:oneline|no-patch|graph|all|no-decorate|no-color|shortstat|numstat|summary|name-only|name-status|"
    r"merges|no-merges|first-parent|reverse|follow|cached|staged|tags|branches|remotes|abbrev-commit|no-renames|"
    r"topo-order|date-order|minimal|histogram|patience|merge-base|quiet|exit-code)"
)
"""Matches options with which `git log` shows nothing of the content of files; all others count as showing some."""
_GIT_LOG_OPTIONS = (
    rf"{_GIT_QUIET_OPTIONS}|-[mpu]|-U\d*|-[SG].*|--(?:unified|word-diff)(?:=[\w,]+)?|--(?:patch|check)"
)
_GIT_STAGED_OPTION: Final = lazy_regex(r"--(?:cached|staged|merge-base)")
"""Options of `git diff` by which it compares the index with a commit."""
_GIT_SUMMARY_OPTION: Final = lazy_regex(
    r"-s|--(?:stat|no-patch|shortstat|numstat|summary|name-only|name-status)(?:=.*)?"
)
_GIT_HEAD_REVISION: Final = lazy_regex(r"HEAD[\^~\d]*")
"""Matches what is certainly a commit. A tag or a number may also be a file's content, which `git show` prints."""
_GIT_HEAD_RANGE: Final = lazy_regex(r"HEAD[\^~\d]*(?:\.\.\.?HEAD[\^~\d]*)?")
_SED_LINE_ADDRESS = r"(?:\d+|\$)"
_PLAIN_PROGRAM_OPTIONS: Final = {
    name: row
    for names, row in (
        ("echo", _PlainProgram("text", "-.*")),
        ("printf true false whoami sleep nproc uptime", _PlainProgram("text")),
        ("pwd", _PlainProgram("text", "-[LP]")),
        ("date", _PlainProgram("text", r"-[uRI]|--(?:utc|rfc-email|iso-8601(?:=\w+)?)", r"(?:\+.*)?")),
        ("uname id tr seq basename which type", _PlainProgram("text", "-[acdGgmnprstuw]+")),
        ("dirname realpath readlink", _PlainProgram("text", "-[efmnz]+")),
        ("test", _PlainProgram("text", "-(?:[bcdefghknprsuwxzLNOSG]|eq|ne|lt|le|gt|ge|nt|ot|ef)")),
        ("cd", _PlainProgram("names", first_operand_pattern=r"\.?/.*")),
        ("ls", _PlainProgram("names", r"-[1aABcCdFghiklmnopqrRsStuUvxX]+|--(?:all|color(?:=\w+)?)")),
        ("stat", _PlainProgram("names", "-[cft]|--(?:format|printf)=.*")),
        ("du", _PlainProgram("names", r"-[abchkmsx]*d?\d*|--max-depth=\d+")),
        ("tree", _PlainProgram("names", r"-[adfhnprtsCDILP]+\d*|--(?:dirsfirst|noreport|gitignore)")),
        (
            "find",
            _PlainProgram("names", "-(?:i?name|i?path|type|m(?:ax|in)depth|size|m(?:time|min)|empty|not|o)"),
        ),
        ("cat", _PlainProgram("files", "-[AbeEnstTuv]+")),
        ("tac comm cmp md5sum sha1sum sha256sum sha512sum cksum", _PlainProgram("files", "-[bls123]+")),
        ("head tail", _PlainProgram("files", r"-\d+|-[qv]+|-[nc][-+]?\d*|--(?:lines|bytes)=[-+]?\d+")),
        ("wc", _PlainProgram("files", "-[clmwL]+|--(?:lines|words|bytes|chars)")),
        ("nl", _PlainProgram("files", r"-b[atn]?|-n(?:ln|rn|rz)?|-[wvi]\d*|-s.*")),
        (
            "cut",
            _PlainProgram("files", "-[dfcb].*|-s|--(?:delimiter|fields|output-delimiter)=.*|--complement"),
        ),
        ("paste", _PlainProgram("files", "-s|-d.*")),
        ("sort", _PlainProgram("files", "-[bdfghiMnrRsuVcz]*(?:[kt].*)?|--(?:reverse|unique|numeric-sort)")),
        ("uniq", _PlainProgram("files", r"-[cdDui]+|-[fsw]\d*|--count")),
        ("diff", _PlainProgram("files", r"-[abBcEiqstuwyZ]+|-[uU]\d*|--(?:brief|unified(?:=\d+)?)")),
        ("file", _PlainProgram("files", "-[bhikL]+|--(?:brief|mime(?:-type|-encoding)?)")),
        (
            "grep egrep fgrep",
            _PlainProgram(
                "files",
                r"-\d+|-[abchHilLnoqsvwxEFGP]*(?:[ABCm]\d*|e.*)?|--(?:context|max-count|color)=\w+|"
                r"--(?:ignore-case|line-number|count|only-matching|invert-match|word-regexp|color|fixed-strings|"
                r"extended-regexp|files-with-matches|with-filename|no-filename)",
            ),
        ),
        (
            "sed",
            _PlainProgram(
                "files",
                "-n",
                rf"{_SED_LINE_ADDRESS}(?:,{_SED_LINE_ADDRESS})?[pdq](?:;{_SED_LINE_ADDRESS}(?:,{_SED_LINE_ADDRESS})?[pdq])*",
            ),
        ),
        ("git:log git:show", _PlainProgram("names", _GIT_LOG_OPTIONS)),
        ("git:diff", _PlainProgram("files", _GIT_LOG_OPTIONS)),
        (
            "git:status",
            _PlainProgram(
                "names",
                r"-[sbz]+|-u\w*|--(?:short|branch|long|ignored|(?:porcelain|untracked-files)(?:=\w+)?)",
            ),
        ),
        ("git:ls-files", _PlainProgram("names", "-[cdmostz]+|--(?:others|exclude-standard|cached|modified)")),
        ("git:ls-tree", _PlainProgram("names", "-[rltdz]+|--name-only")),
        (
            "git:branch git:tag",
            _PlainProgram("text", r"-[alrv]+|-n\d*|--(?:all|list|remotes|show-current|sort=[\w:-]+)", ""),
        ),
        ("git:remote", _PlainProgram("text", "-v", "(?:get-url)?")),
        ("git:stash", _PlainProgram("text", first_operand_pattern="list")),
        (
            "git:rev-parse git:describe",
            _PlainProgram(
                "text",
                r"--(?:show-toplevel|git-dir|is-inside-work-tree|abbrev-ref|verify|tags|always|dirty|long|"
                r"short(?:=\d+)?|abbrev=\d+)",
            ),
        ),
    )
    for name in names.split()
}


@cache
def _whole_word_pattern(form: str) -> re.Pattern[str]:
    return re.compile(form, re.ASCII | re.DOTALL)


def reason_line_is_not_plain(text: str) -> str | None:
    """Returns why a line is not plain: not every character means itself to the shell, or there are not only simple
    commands in sequence; None if it is plain."""
    text = text.rstrip()
    at, is_first = 0, True
    while at < len(text):
        found = _PLAIN_COMMAND_LINE_TOKEN.match(text, at)
        if found is None or (found["word"] and is_first and _SHELL_KEYWORD.fullmatch(found["word"])):
            return "has more than plain words, and there is no sandbox"
        at = found.end()
        is_first = found["end"] is not None or (is_first and found["word"] is None)
    return None


def reason_command_is_not_plain(words: Sequence[ShellWord], ground: PathEffectJudge) -> str | None:
    """Returns why a command of a plain line may reach other files than those that it names; None if it reaches no
    others."""
    if any(not word.is_literal or word.may_split for word in words):
        return "has more than plain words, and there is no sandbox"
    name, *rest = (word.text for word in words)
    shown = name
    if name == "git" and rest:
        shown = f"git {rest[0]}"
        name, *rest = (f"git:{rest[0]}", *rest[1:])
        if not _has_own_repository(ground):
            return "reads a repository that is not only in the workspace, and there is no sandbox"
    row = _PLAIN_PROGRAM_OPTIONS.get(name)
    if row is None:
        return f"{shown} runs unasked only in a sandbox"
    options = _whole_word_pattern(rf"(?:{row.harmless_options})|--?")
    strange = [one for one in rest if one.startswith("-") and not options.fullmatch(one)]
    if row.first_operand_pattern is not None:
        first = next((one for one in rest if not one.startswith("-")), "")
        if not _whole_word_pattern(row.first_operand_pattern).fullmatch(first):
            strange.append(first)
    if strange:
        return f"{shown} {strange[0]}".rstrip() + " runs unasked only in a sandbox"
    if _shows_unnamed_files(name, rest, ground):
        if _shows_committed_files(name, rest):
            return f"{shown} may show a file with secrets of an earlier commit, and there is no sandbox"
        if any(map(ground.place.repository_tracks_secrets, ground.possible_workspace_roots)):
            return f"{shown} may show a file with secrets that git tracks, and there is no sandbox"
    if row.operand_kind != "text":
        for word in ("", *rest):
            if not _is_plain_word(word, row, ground):
                return f"{word or 'the folder'} is not a plain file of the workspace, and there is no sandbox"
    return None


def _shows_unnamed_files(name: str, words: Sequence[str], ground: PathEffectJudge) -> bool:
    """Returns whether a verb of git shows changes or contents of files that it does not name."""
    named = [word for word in words if not word.startswith("-")]
    if name == "git:show":
        is_summary = any(map(_GIT_SUMMARY_OPTION.fullmatch, words)) and not _shows_content(words)
        if is_summary and all(map(_GIT_HEAD_REVISION.fullmatch, named)):
            return False
        return not named or not all(map(_GIT_REVISION_FILE.fullmatch, named))
    shows = name == "git:diff" or (name == "git:log" and _shows_content(words))
    if "--follow" in words or any(_GIT_PATHSPEC_WITH_PATTERN.match(word) for word in named):
        return shows
    place = ground.place
    files = words[words.index("--") + 1 :] if "--" in words else named
    if name == "git:diff" and not all(map(_GIT_HEAD_RANGE.fullmatch, _revisions_of(words, named, ground))):
        return True  # the id of a file's contents is compared as it is, and paths do not limit it
    paths = [path for word in files for path in ground.possible_absolute_paths(word)]
    others = [path for path in paths if not place.is_regular_file(path)]
    # Without `--` the others are revisions, unless they exist.
    is_limited = len(others) < len(paths) and not any(
        "--" in words or place.path_exists(path) for path in others
    )
    return shows and not is_limited


def _revisions_of(words: Sequence[str], named: Sequence[str], ground: PathEffectJudge) -> Sequence[str]:
    """Returns the operands of `git diff` that name no file of the workspace."""
    if "--" in words:
        return [word for word in words[: words.index("--")] if not word.startswith("-")]
    return [
        word for word in named if not any(map(ground.place.path_exists, ground.possible_absolute_paths(word)))
    ]


def _shows_content(options: Sequence[str]) -> bool:
    """Returns whether options of `git log` or `git show` may make it show lines of files."""
    quiet = _whole_word_pattern(rf"{_GIT_QUIET_OPTIONS}|--")
    return any(word.startswith("-") and not quiet.fullmatch(word) for word in options)


def _shows_committed_files(name: str, words: Sequence[str]) -> bool:
    """Returns whether a verb of git shows contents of files as they were committed, which git need not track any
    more."""
    return name != "git:diff" or any(
        not word.startswith("-") or _GIT_STAGED_OPTION.match(word) for word in words
    )


def _is_plain_word(word: str, row: _PlainProgram, ground: PathEffectJudge) -> bool:
    """Returns whether a word names nothing, or a file in the workspace that may be shown; without a word, the
    folder itself is meant."""
    place = ground.place
    for path in ground.possible_absolute_paths(word):
        if path == UNKNOWN_TEXT_MARK or _PARENT_FOLDER_STEP.search(word):
            return False
        if not place.path_exists(path):
            continue
        if place.root_containing(place.resolve_links(path)) is None:
            return False
        if word and row.operand_kind == "files" and not place.is_regular_file(path):
            return False
    return not word or row.operand_kind == "names" or ground.judge_read(ShellWord(word)).risk == "safe"


def _has_own_repository(ground: PathEffectJudge) -> bool:
    """Returns whether git takes the whole repository from the folder `.git` of the workspace."""
    place = ground.place
    return all(
        place.path_exists(f"{root}/.git/HEAD")
        and not place.path_exists(f"{root}/.git/commondir")
        and place.root_containing(place.resolve_links(f"{root}/.git/HEAD")) is not None
        for root in ground.possible_workspace_roots
    )
