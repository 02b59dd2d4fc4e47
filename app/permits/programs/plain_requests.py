"""Plain requests: network commands that only reach the hosts that they name, so that a `net:` rule can answer them.

Most network programs can also start programs, use another host or write files that run later. A request is plain if
each option is in its program's row, and if each address is read alike by bayou and the program."""

import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import unquote

from app.permits.programs.program_calls import ProgramCall
from app.permits.programs.program_options import (
    KnownCommandOptions,
    ParsedCommandOptions,
    parse_known_options,
    parse_program_options,
)
from app.permits.shell_words import ShellWord

_HOST_PATTERN: Final = r"(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])"
_URL_USER_PREFIX_PATTERN: Final = r"(?:[A-Za-z0-9._-]+@)?"
_URL_PATH_CHARACTER: Final = r"[A-Za-z0-9._~%!$&'()*+,;=:@/-]"
_HTTP_URL_PATTERN: Final = re.compile(
    rf"(?:https?://{_HOST_PATTERN}|localhost|127\.0\.0\.1)(?::\d+)?(?:/{_URL_PATH_CHARACTER}*)?(?:\?(?:{_URL_PATH_CHARACTER}|\?)*)?"
)
"""Matches URLs without user, fragment and curl's own patterns; without a scheme only names of this machine."""
_GIT_REPOSITORY_URL_PATTERN: Final = re.compile(
    rf"(?:https?|git|ssh)://{_URL_USER_PREFIX_PATTERN}{_HOST_PATTERN}(?::\d+)?/[A-Za-z0-9._~+/-]+|(?!\w+://){_URL_USER_PREFIX_PATTERN}[A-Za-z0-9][A-Za-z0-9._-]*:[A-Za-z0-9~/][A-Za-z0-9._~+/-]*"
)
_GIT_REFSPEC_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/*-]*(?::[A-Za-z0-9][A-Za-z0-9._/*-]*)?")
_SSH_DESTINATION_PATTERN: Final = re.compile(rf"{_URL_USER_PREFIX_PATTERN}[A-Za-z0-9][A-Za-z0-9._-]*")
_SCP_REMOTE_PATH_PATTERN: Final = re.compile(
    r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9._-]*:[A-Za-z0-9._~+,=@/-]*"
)
_SCP_LOCAL_PATH_PATTERN: Final = re.compile(r"[^:\[\]*?-][^:\[\]*?]*")
_GIT_CLONE_FOLDER_PATTERN: Final = re.compile(r"(?:/|\./)?(?!(?:.*/)?\.{1,2}(?:/|\Z))[A-Za-z0-9._/+@-]+")
"""Matches a plain folder name to clone a repository into; whether its content would run later is judged separately."""
_USER_NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9._-]+")
_PIP_PACKAGE_PATTERN: Final = re.compile(
    r"(?!.*\.(?:zip|whl|t?gz|tar|t?bz2?|t?xz|t?lz|lzma|z)$)[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9,._-]+\])?"
    r"(?:[=~!<>]=?[A-Za-z0-9.*]+(?:,[=~!<>]=?[A-Za-z0-9.*]+)*)?",
    re.IGNORECASE,
)
"""Matches the name of a package, and no file, folder, address or repository: these may contain code of this
machine, or lead to another host."""
_CURL_WRITE_OUT_FORMAT: Final = re.compile(r"(?:[^%@]|%\{[a-z_]+\})*")
"""Matches a format of curl's `-w` that reads no file (`@`) and writes none (`%output{…}`)."""

_PLAIN_CURL_OPTIONS: Final = parse_known_options(
    "s S f i I v G N g 4 6 O o= d= H= X= A= m= w= silent show-error fail fail-with-body include head verbose get "
    "no-buffer ipv4 ipv6 http1.1 http2 compressed remote-name output= output-dir= create-dirs data= data-raw= "
    "data-binary= data-urlencode= json= header= request= user-agent= max-time= connect-timeout= retry= retry-delay= "
    "write-out="
)
_PLAIN_WGET_OPTIONS: Final = parse_known_options(
    "q v S 4 6 O= P= U= T= t= quiet verbose server-response spider inet4-only inet6-only no-verbose output-document= "
    "directory-prefix= user-agent= header= timeout= tries= post-data= method= max-redirect="
)
_PLAIN_SSH_OPTIONS: Final = parse_known_options("T q v n C 4 6 p= l=")
_PLAIN_SCP_OPTIONS: Final = parse_known_options("p q v C 4 6 P= l=")
_PLAIN_PIP_OPTIONS: Final = parse_known_options(
    "U q v upgrade quiet verbose user no-deps pre no-cache-dir force-reinstall only-binary="
)
_PLAIN_GIT_OPTIONS_BY_VERB: Final[dict[str, KnownCommandOptions]] = {
    "clone": parse_known_options(
        "q v n b= quiet verbose progress no-checkout branch= depth= single-branch no-tags"
    ),
    "ls-remote": parse_known_options("q h t quiet heads branches tags refs symref exit-code"),
}


def is_plain_network_request(call: ProgramCall) -> bool:
    """Returns whether the call reaches only the hosts that it names; which files it writes is judged separately."""
    judge = _PLAIN_REQUEST_TEST_BY_PROGRAM.get(call.name)
    return (
        judge is not None
        and all(word.is_literal and not word.may_split for word in call.words)
        and judge(call)
    )


def downloaded_file_names(call: ProgramCall, taken: ParsedCommandOptions) -> list[str]:
    """Returns the files that `curl -O` and `wget` write, which are named after the addresses that they fetch."""
    is_curl = call.name == "curl"
    if is_curl and not taken.has_option("O", "remote-name", "remote-name-all"):
        return []
    if not is_curl and taken.has_option("O", "output-document", "spider"):
        return []
    folders = [value.text for value in taken.option_values("output-dir", "P", "directory-prefix")] or ["."]
    names: dict[str, None] = {}
    for word in [*taken.operands, *taken.option_values("url")]:
        path = re.sub(r"^[a-z][a-z0-9+.-]*://", "", word.text, flags=re.IGNORECASE)
        path, _, query = path.partition("?")
        name = posixpath.basename(path.partition("#")[0]) if "/" in path else ""
        if not is_curl:
            name = (name or "index.html") + ("?" + query.replace("/", "%2F") if query else "")
        names |= dict.fromkeys((name, posixpath.basename(unquote(name))))
    return [posixpath.join(folder, name) for folder in folders for name in names if name]


def _operands_if_all_options_known(
    call: ProgramCall, known: KnownCommandOptions, *, stops_early: bool = False
) -> tuple[ParsedCommandOptions, list[str]] | None:
    taken = parse_program_options(call.words, known, stops_early=stops_early)
    return (taken, [word.text for word in taken.operands]) if taken.are_all_known else None


def _sends_outside_files(call: ProgramCall, files: Sequence[str]) -> bool:
    """Returns whether a file that is sent to a host may be outside of the workspace, or standard input may be."""
    return any(
        not call.is_input_of_workspace
        if file == "-"
        else call.ground.may_be_outside_workspace_roots(ShellWord(file))
        for file in files
    )


def _has_plain_login(taken: ParsedCommandOptions) -> bool:
    """Returns whether the login that `ssh` or `scp` gets is only a name."""
    return all(_USER_NAME_PATTERN.fullmatch(value.text) for value in taken.option_values("l"))


def _do_all_match(form: re.Pattern[str], texts: Sequence[str]) -> bool:
    return bool(texts) and all(form.fullmatch(text) for text in texts)


def _is_plain_curl(call: ProgramCall) -> bool:
    """Returns whether a `curl` call is a plain request: without `-L`, because a redirect leads to a host that the
    server chooses."""
    found = _operands_if_all_options_known(call, _PLAIN_CURL_OPTIONS)
    if found is None:
        return False
    taken, addresses = found
    sent: list[str] = []
    for name, value, _ in taken.options:
        before, at, file = value.text.partition("@") if value is not None else ("", "", "")
        if at and (not before or (name == "data-urlencode" and "=" not in before)):
            sent.append(file)
    return (
        _do_all_match(_HTTP_URL_PATTERN, addresses)
        and all(
            _CURL_WRITE_OUT_FORMAT.fullmatch(value.text) for value in taken.option_values("w", "write-out")
        )
        and not _sends_outside_files(call, sent)
    )


def _is_plain_wget(call: ProgramCall) -> bool:
    """Returns whether a `wget` call is a plain request: only with `--max-redirect=0`, because it follows redirects
    by default."""
    found = _operands_if_all_options_known(call, _PLAIN_WGET_OPTIONS)
    if found is None:
        return False
    taken, addresses = found
    limits = [value.text for value in taken.option_values("max-redirect")]
    return limits == ["0"] and _do_all_match(_HTTP_URL_PATTERN, addresses)


def _is_plain_ssh(call: ProgramCall) -> bool:
    """Returns whether an `ssh` call is a plain request: a destination and a command that runs there; options may
    also follow the destination."""
    found = _operands_if_all_options_known(call, _PLAIN_SSH_OPTIONS, stops_early=True)
    if found is None:
        return False
    taken, words = found
    ports = [value.text for value in taken.option_values("p")]
    return (
        (call.is_input_of_workspace or taken.has_option("n"))
        and _has_plain_login(taken)
        and _do_all_match(_SSH_DESTINATION_PATTERN, words[:1])
        and not "".join(words[1:2]).startswith("-")
        and len(ports) < 2
        and all(port.isdecimal() for port in ports)
    )


def _is_plain_scp(call: ProgramCall) -> bool:
    """Returns whether an `scp` call is a plain request: it copies single files, so that the names that it writes
    are known."""
    found = _operands_if_all_options_known(call, _PLAIN_SCP_OPTIONS)
    if found is None or len(found[1]) < 2 or not _has_plain_login(found[0]):
        return False
    *sources, target = found[1]
    if _SCP_REMOTE_PATH_PATTERN.fullmatch(target):
        return _do_all_match(_SCP_LOCAL_PATH_PATTERN, sources) and not _sends_outside_files(call, sources)
    return (
        _do_all_match(_SCP_REMOTE_PATH_PATTERN, sources)
        and _SCP_LOCAL_PATH_PATTERN.fullmatch(target) is not None
    )


def _is_plain_git(call: ProgramCall) -> bool:
    """Returns whether a `git` call is a plain request: only verbs that run no hook of a repository, because a hook
    would see the credentials, and scripts that it calls may have been changed."""
    verb, words = (call.words[0].text, call.words[1:]) if call.words else ("", ())
    known = _PLAIN_GIT_OPTIONS_BY_VERB.get(verb)
    if known is None:
        return False
    taken = parse_program_options(words, known)
    address, *rest = [word.text for word in taken.operands] or [""]
    if not taken.are_all_known or not _GIT_REPOSITORY_URL_PATTERN.fullmatch(address):
        return False
    if any(map(call.place.is_git_redirected, call.ground.possible_workspace_roots)):
        return False
    if verb == "clone":
        folders = rest or [posixpath.basename(address.replace(":", "/").rstrip("/")).removesuffix(".git")]
        return len(folders) == 1 and _GIT_CLONE_FOLDER_PATTERN.fullmatch(folders[0]) is not None
    return all(_GIT_REFSPEC_PATTERN.fullmatch(one) for one in rest)


def _is_plain_pip(call: ProgramCall) -> bool:
    found = _operands_if_all_options_known(call, _PLAIN_PIP_OPTIONS)
    return (
        found is not None
        and found[1][:1] in (["install"], ["download"])
        and _do_all_match(_PIP_PACKAGE_PATTERN, found[1][1:])
    )


_PLAIN_REQUEST_TEST_BY_PROGRAM: Final[dict[str, Callable[[ProgramCall], bool]]] = {
    "curl": _is_plain_curl,
    "wget": _is_plain_wget,
    "ssh": _is_plain_ssh,
    "scp": _is_plain_scp,
    "git": _is_plain_git,
    "pip": _is_plain_pip,
    "pip3": _is_plain_pip,
}
