"""Rules that people write: what is allowed, asked about or denied, by parts of commands, paths, hosts and tools.

    bash: git push origin *     one word for *, the rest for **; matched against each part of a command
    edit: docs/**               also write:, read:; from the workspace, from ~ or absolute; edit and write are one
    net: *.example.org:443      a host that a part says it will reach
    net: python packages        the hosts of a group (`tools.box.host_groups`)
    tool: todo                  a tool by its name
    sandbox.write: ~/notes      a place outside the workspace that commands in the sandbox may change
    sandbox.read: ~/site/.env   a file with secrets in the workspace that they may see

A rule is never a regular expression over the text of a command.
"""

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

import msgspec

from app.permits.command_place import CommandPlace
from app.permits.host_names import (
    host_matches_pattern,
    host_pattern_problem,
    is_pattern_of_one_host,
    normalize_host,
)
from app.permits.risk_classes import ToolCallPart
from app.permits.secret_files import secret_likelihood_of_path
from app.permits.shell_words import parse_word_set
from tools.box.host_groups import (
    HOST_GROUPS,
    host_group_containing,
    host_group_contains,
    host_group_of_package_manager,
    hosts_in_host_group,
)
from tools.lazy_patterns import lazy_regex

RuleAction = Literal["allow", "ask", "deny"]
RuleOrigin = Literal["user", "folder", "project", "session"]
"""The place where a rule was written; `folder` is the user's own setting for one folder."""
RuleKind = Literal["bash", "edit", "write", "read", "net", "tool", "sandbox.write", "sandbox.read"]

PERMIT_RULE_KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
_MAX_PERMIT_RULE_CHARS = 2_000
_HOST_WITH_PORT = lazy_regex(r"(?:[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?):\d+")
_PROGRAMS_THAT_RUN_NO_CODE = parse_word_set(
    "touch mkdir rmdir echo cat head tail wc ls stat du df cut tr cmp comm diff grep egrep fgrep basename "
    "dirname realpath readlink seq md5sum sha1sum sha256sum sha512sum getent ping host nslookup"
)
"""Programs none of whose arguments can start another program, so that a rule may end in `**`."""
_GIT_VERBS_THAT_RUN_NO_CODE = parse_word_set("add commit status switch tag branch")
_REGEX_BY_WILDCARD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_PATH_WILDCARD_PATTERN = lazy_regex(r"(\*\*/|\*\*|\*|\?)")


class PermitRule(msgspec.Struct, frozen=True, kw_only=True):
    """One allow, ask or deny rule."""

    action: RuleAction
    kind: RuleKind
    pattern: str
    origin: RuleOrigin

    @property
    def text(self) -> str:
        """The rule as text, as it is written in a settings file."""
        return f"{self.kind}: {self.pattern}"

    @property
    def describe(self) -> str:
        """Returns the rule with its origin, as it is shown for a decision."""
        return f"{self.action} “{self.text}” ({self.origin})"


class PermitRuleProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that cannot be parsed, with the reason."""

    action: RuleAction
    rule_text: str
    origin: RuleOrigin
    reason: str

    def __str__(self) -> str:
        return f"permissions.{self.action} ({self.origin}): “{self.rule_text}” {self.reason}. It is left out."


class PermitRules(msgspec.Struct, frozen=True, kw_only=True):
    """All rules that apply, and the problems found while reading them."""

    rules: tuple[PermitRule, ...] = ()
    problems: tuple[PermitRuleProblem, ...] = ()
    ignored_origins: tuple[RuleOrigin, ...] = ()
    """The origins whose allow rules are ignored because their file has an error."""


class UnparsedPermitRules(msgspec.Struct, frozen=True, kw_only=True):
    """The unparsed rules of one origin."""

    origin: RuleOrigin
    allow_rules: Sequence[str] = ()
    ask_rules: Sequence[str] = ()
    deny_rules: Sequence[str] = ()
    is_file_invalid: bool = False
    """Whether a part of the file with these rules could not be read."""
    may_allow: bool = True
    """Whether the allow rules count; False for a project that the user has not trusted."""


def parse_permit_rule(text: str, deed: RuleAction, origin: RuleOrigin) -> PermitRule | PermitRuleProblem:
    """Parses a rule; returns the rule, or the problem if it is invalid."""
    kind, colon, pattern = text.partition(":")
    kind, pattern = kind.strip(), pattern.strip()
    known: RuleKind | None = next((one for one in PERMIT_RULE_KINDS if one == kind), None)

    def problem(why: str) -> PermitRuleProblem:
        return PermitRuleProblem(action=deed, rule_text=text[:200], origin=origin, reason=why)

    if not colon or known is None:
        return problem(f"does not begin with one of {', '.join(f'{one}:' for one in PERMIT_RULE_KINDS)}")
    if not pattern:
        return problem("says nothing behind its colon")
    if len(pattern) > _MAX_PERMIT_RULE_CHARS or "\n" in pattern:
        return problem("is too long, or has more than one line")
    if known == "bash" and deed == "allow" and set(pattern.split()) <= {"*", "**"}:
        return problem("would allow every command; choose the mode full for that")
    if known == "net" and pattern not in HOST_GROUPS:
        if not re.fullmatch(r"[\w.*\[\]:-]+", pattern):
            return problem(f"is no host, no host:port and none of the groups {', '.join(HOST_GROUPS)}")
        why = host_pattern_problem(pattern)
        if why is not None:
            return problem(why)
    if known.startswith("sandbox.") and (deed != "allow" or not pattern.startswith(("/", "~/"))):
        return problem("is a place, from ~ or absolute, and can only be allowed")
    return PermitRule(action=deed, kind=known, pattern=pattern, origin=origin)


def merge_permit_rules(written: Iterable[UnparsedPermitRules]) -> PermitRules:
    """Parses and merges the rules of all origins."""
    rules: list[PermitRule] = []
    problems: list[PermitRuleProblem] = []
    left_out: list[RuleOrigin] = []
    for one in written:
        mine: list[PermitRule] = []
        wrong: list[PermitRuleProblem] = []
        lists: tuple[tuple[RuleAction, Sequence[str]], ...] = (
            ("deny", one.deny_rules),
            ("ask", one.ask_rules),
            ("allow", one.allow_rules),
        )
        for deed, texts in lists:
            for text in texts:
                found = parse_permit_rule(text, deed, one.origin)
                mine.append(found) if isinstance(found, PermitRule) else wrong.append(found)
        is_left_out = bool(wrong) or one.is_file_invalid or not one.may_allow
        if is_left_out and any(rule.action == "allow" for rule in mine):
            left_out.append(one.origin)
            mine = [rule for rule in mine if rule.action != "allow"]
        rules += mine
        problems += wrong
    return PermitRules(rules=tuple(rules), problems=tuple(problems), ignored_origins=tuple(left_out))


def permit_rule_matches(rule: PermitRule, part: ToolCallPart, tool: str, place: CommandPlace) -> bool:
    """Returns whether a rule applies to this part of a call."""
    if rule.kind.startswith("sandbox."):
        return False  # a sandbox rule says what the sandbox may do, and allows no call
    if rule.kind == "tool":
        return _matches_tool(rule.pattern, tool)
    if rule.kind == "net":
        return _matches_hosts(rule, part)
    if rule.kind == "bash":
        return part.kind == "command" and _matches_command(rule, part)
    # Paths that may not be read may not be changed either, because an edit shows lines. The reverse does not hold.
    fits = (rule.action != "allow" or not part.changes_file) if rule.kind == "read" else part.changes_file
    return fits and part.path is not None and _matches_path(rule, part.path, place)


def _matches_tool(pattern: str, tool: str) -> bool:
    """Matches a tool name; `mcp__e__*` covers the tools of server `e` but not those of `e__evil`."""
    server = re.fullmatch(r"(mcp__.+__)\*", pattern)
    if server is not None and not set("*?[") & set(server[1]):
        return tool.startswith(server[1]) and "__" not in tool.removeprefix(server[1])
    return fnmatch.fnmatchcase(tool, pattern)


def _matches_command(rule: PermitRule, part: ToolCallPart) -> bool:
    if part.command_words is None:
        # A command that is only partly known still matches deny and ask rules.
        return rule.action != "allow" and _words_match(rule.pattern.split(), part.text.split())
    pattern = rule.pattern.split()
    if rule.action == "allow" and pattern[0] == "git":
        # An option in the place of a name may start a program: `git push origin --exec=./x`.
        pattern = ["[!-]*" if token == "*" else token for token in pattern]
    return _words_match(pattern, list(part.command_words))


def _words_match(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Matches words with a pattern: `*` is one word, `**` all remaining ones, other wildcards stay within a word."""
    if len(words) > 500:
        return False
    reached = {0}
    for token in pattern:
        if token == "**":
            first = min(reached, default=None)
            reached = set() if first is None else set(range(first, len(words) + 1))
            continue
        reached = {
            at + 1
            for at in reached
            if at < len(words) and (token == "*" or fnmatch.fnmatchcase(words[at], token))
        }
    return len(words) in reached


def _matches_hosts(rule: PermitRule, part: ToolCallPart) -> bool:
    """Returns whether a rule's host pattern matches a part's hosts: for an allow rule all of them, for ask and deny
    rules at least one."""
    hosts = hosts_reached_by_part(part)
    if not hosts:
        return False
    if rule.action == "allow" and not all(map(_is_read_alike, hosts)):
        return False  # the program may read this address in another way
    fits = [_matches_host(rule.pattern, host) for host in hosts]
    return all(fits) if rule.action == "allow" else any(fits)


def _is_read_alike(host: str) -> bool:
    """Returns whether every program reads this `host:port` as the same host."""
    name = host.rpartition(":")[0].casefold()
    return _HOST_WITH_PORT.fullmatch(host) is not None and (
        ":" in name or normalize_host(name) == name.rstrip(".")
    )


def hosts_reached_by_part(part: ToolCallPart) -> tuple[str, ...]:
    """Returns each `host:port` that the command names, or that its package manager uses by default."""
    group = _host_group_of(part)
    return part.named_hosts or (hosts_in_host_group(group) if group is not None else ())


_PROXY_BYPASSING_PROGRAMS = parse_word_set(
    "ssh scp sftp rsync mosh autossh ssh-copy-id ssh-keyscan ping dig nslookup host traceroute whois telnet ftp nc "
    "ncat netcat socat"
)
_PROXY_BYPASSING_PORTS = parse_word_set("0 21 22 23 873 9418")
"""The ports of ssh, rsync, git's protocol and similar, which are not reached through the HTTP proxy; 0 means no
port."""


def bypasses_sandbox_proxy(part: ToolCallPart) -> bool:
    """Returns whether the command of this part connects without the sandbox's proxy."""
    if not part.uses_network:
        return False
    words = part.command_words or tuple(part.text.split())
    program = words[0].rpartition("/")[2] if words else ""
    return program in _PROXY_BYPASSING_PROGRAMS or any(
        host.rpartition(":")[2] in _PROXY_BYPASSING_PORTS for host in part.named_hosts
    )


def _host_group_of(part: ToolCallPart) -> str | None:
    if not part.uses_network or part.named_hosts or not part.command_words:
        return None
    program, *rest = part.command_words
    if program.startswith("python") and rest[:1] == ["-m"] and len(rest) > 1:
        program = rest[1]
    return host_group_of_package_manager(program.rpartition("/")[2])


def _matches_host(pattern: str, host: str) -> bool:
    if pattern not in HOST_GROUPS:
        return host_matches_pattern(pattern, host)
    name, _, port = host.rpartition(":")
    return port.isdigit() and host_group_contains(pattern, normalize_host(name), int(port))


def rule_names_host(rule: PermitRule, host: str, port: int) -> bool:
    """Returns whether the rule names this host without a wildcard; then it also applies if the name resolves to a
    private address."""
    is_plain = rule.kind == "net" and rule.pattern not in HOST_GROUPS and is_pattern_of_one_host(rule.pattern)
    return is_plain and _matches_host(rule.pattern, f"{host}:{port}")


def _matches_path(rule: PermitRule, path: str, place: CommandPlace) -> bool:
    """Returns whether a path matches a rule's pattern; `**` crosses folders, `*` does not. Only allow rules
    distinguish upper and lower case, because some file systems do not."""
    flags = re.DOTALL if rule.action == "allow" else re.DOTALL | re.IGNORECASE
    form = re.compile(path_pattern_regex(rule.pattern, place.workspace, place.home_folder), flags)
    return form.fullmatch(place.resolve_links(path)) is not None


def path_pattern_regex(pattern: str, workspace: str, home: str) -> str:
    """Returns the regular expression of the absolute paths that a pattern matches."""
    if pattern.startswith("~/"):
        pattern = home + pattern[1:]
    elif not pattern.startswith("/"):
        pattern = f"{workspace}/{pattern}"
    pieces = _PATH_WILDCARD_PATTERN.split(pattern)
    return "".join(_REGEX_BY_WILDCARD.get(piece) or re.escape(piece) for piece in pieces)


def suggested_allow_rules(part: ToolCallPart, tool: str, place: CommandPlace) -> tuple[str, ...]:
    """Returns allow rules that would answer this part, from narrow to wide; empty if no rule can."""
    if not part.can_be_allowed:
        return ()
    if part.path is not None:
        return _suggested_path_rules("edit" if part.changes_file else "read", part.path, place)
    if part.kind == "host":
        return _suggested_host_rules(part)
    if part.program_family:
        return f"tool: {tool}", f"tool: {part.program_family}*"
    if part.kind != "command":
        return (f"tool: {tool}",)
    if (
        part.command_words is None
        or not part.command_words
        or any(re.search(r"[\s*?\[]", word) or not word for word in part.command_words)
    ):
        return ()
    words = part.command_words
    exact = "bash: " + " ".join(words)
    group = _host_group_of(part)
    found = [*((f"net: {group}",) if group else ()), exact]
    if part.named_hosts and part.uses_network and _is_read_alike(part.named_hosts[0]):
        found.append(f"net: {part.named_hosts[0]}")
    for size in (2, 1):
        if len(words) > size and _may_end_in_wildcard(words[:size]):
            found.append("bash: " + " ".join([*words[:size], "**"]))
    return tuple(dict.fromkeys(found))[:3]


def _may_end_in_wildcard(words: Sequence[str]) -> bool:
    """Returns whether a rule may end in `**` after these words: only if the remaining words cannot start another
    program."""
    if words[0] == "git":
        return len(words) == 2 and words[1] in _GIT_VERBS_THAT_RUN_NO_CODE
    return words[0] in _PROGRAMS_THAT_RUN_NO_CODE and (
        len(words) == 1 or re.fullmatch("[a-z][a-z-]*", words[1]) is not None
    )


def _suggested_host_rules(part: ToolCallPart) -> tuple[str, ...]:
    """Returns suggested rules for this host, for its group, and for hosts of the same domain."""
    host, _, port = part.named_hosts[0].rpartition(":") if part.named_hosts else ("", "", "")
    labels, group = host.split("."), host_group_containing(host)
    if group is not None:
        return (f"net: {host}:{port}", f"net: {group}")
    wide = (f"net: *.{'.'.join(labels[1:])}:{port}",) if len(labels) > 2 and not labels[-1].isdigit() else ()
    return (f"net: {host}:{port}", *wide) if host and ":" not in host else ()


def _suggested_path_rules(tool: str, path: str, place: CommandPlace) -> tuple[str, ...]:
    root = place.workspace + "/"
    if not path.startswith(root):
        return ()
    inside = path[len(root) :]
    if re.search(r"[*?]", inside):
        return ()
    folder = inside.rpartition("/")[0]
    wider = (f"{tool}: {folder}/**",) if folder else ()
    return (f"{tool}: {inside}", *wider, f"{tool}: **")


def hidden_path_test(rules: Iterable[PermitRule], place: CommandPlace) -> Callable[[str], bool]:
    """Returns a test for absolute paths (links resolved) of files that searches skip, because a rule denies `read`
    or because they have secrets.

    A call that names such a file is judged for that file; a search through its folder skips it. Another name (hard
    link) of such a file counts too.
    """
    homes = tuple(dict.fromkeys(filter(None, (place.home_folder, place.resolved_home_folder))))
    forms = dict.fromkeys(
        path_pattern_regex(rule.pattern, place.workspace, home)
        for rule in rules
        if rule.kind == "read" and rule.action != "allow"
        for home in homes
    )
    flags = re.DOTALL | re.IGNORECASE
    whole = re.compile("|".join(f"(?:{form})" for form in forms), flags) if forms else None

    def is_named(path: str) -> bool:
        if whole is not None and whole.fullmatch(path) is not None:
            return True
        if place.is_private_key_outside_project(path):
            return True
        return any(secret_likelihood_of_path(path, home, place.bayou_folders) == "likely" for home in homes)

    return lambda path: is_named(path) or any(map(is_named, place.hard_links_of(path)))
