"""Finds the settings of a repository that make git start programs or look elsewhere."""

from collections.abc import Iterator

from tools.git.git_config import GitConfigEntry, GitConfiguration
from tools.lazy_patterns import lazy_regex

_GIT_BOOLEAN_VALUES = frozenset(("true", "false", "yes", "no", "on", "off", "0", "1", ""))
_GIT_SETTINGS_THAT_START_PROGRAMS = frozenset(
    {
        *("core.hookspath", "core.sshcommand", "core.editor", "core.pager", "core.askpass", "core.gitproxy"),
        *("core.alternaterefscommand", "sequence.editor", "diff.external", "interactive.difffilter"),
        *("sendemail.smtpserver", "sendemail.tocmd", "sendemail.cccmd", "sendemail.headercmd", "imap.tunnel"),
        *("web.browser", "help.browser", "instaweb.browser", "instaweb.httpd", "init.templatedir"),
        *("remote.uploadpack", "remote.receivepack", "remote.vcs", "uploadpack.packobjectshook"),
        *("trailer.command", "trailer.cmd", "tar.command", "browser.path", "man.path", "difftool.path"),
        *("mergetool.path", "lfs.standalonetransferagent", "lfs.path", "lfs.args"),
    }
)
"""Git settings that start programs, as pairs of section and key; a subsection may be anything."""
_GIT_PROGRAM_KEY_PATTERN = lazy_regex(
    r"(?:cmd|command|hook|program|helper|driver|clean|smudge|process|textconv|editor|pager|askpass)\Z"
)
"""Key names that git and related tools use for programs, including future ones."""
_GIT_SETTINGS_THAT_REDIRECT = frozenset(
    {
        *("include.path", "includeif.path", "core.attributesfile", "core.excludesfile", "commit.template"),
        *("url.insteadof", "url.pushinsteadof", "http.proxy", "remote.proxy", "http.cookiefile"),
        *("http.sslcainfo", "http.sslcapath", "lfs.url", "lfs.pushurl", "remote.lfsurl"),
    }
)
_GIT_URL_SETTINGS = frozenset(("remote.url", "remote.pushurl", "submodule.url"))


def find_risky_git_settings(configuration: GitConfiguration) -> Iterator[GitConfigEntry]:
    """Yields the git settings that make git start a program, or read, write or fetch from an unexpected place."""
    for entry in configuration.entries:
        if git_setting_starts_program(entry) or _redirects_git(entry):
            yield entry


def find_git_filter_names(configuration: GitConfiguration) -> set[str]:
    """Returns the names of all filters that git settings define."""
    return {
        entry.subsection for entry in configuration.entries if entry.section == "filter" and entry.subsection
    }


def git_setting_starts_program(entry: GitConfigEntry) -> bool:
    """Returns whether a git setting makes git start a program."""
    name, value = f"{entry.section}.{entry.key}", entry.value or ""
    if value.lstrip().startswith("!"):
        return True
    is_switch = value.lower() in _GIT_BOOLEAN_VALUES
    if name == "core.fsmonitor" or entry.section == "pager":
        return not is_switch
    if entry.section == "alias":
        # Options before the subcommand: `-c` sets any setting, `--exec-path` the folder of git's programs.
        return value.lstrip(" \t\n\"'\\").startswith("-")
    if entry.section in ("color", "advice", "trace2"):
        return False
    if name in _GIT_URL_SETTINGS:
        return value.startswith("-") or "::" in value
    return bool(value) and (
        name in _GIT_SETTINGS_THAT_START_PROGRAMS
        or (_GIT_PROGRAM_KEY_PATTERN.search(entry.key) is not None and not is_switch)
    )


def _redirects_git(entry: GitConfigEntry) -> bool:
    name, value = f"{entry.section}.{entry.key}", entry.value or ""
    if name == "http.sslverify":
        return value.lower() in ("false", "no", "off", "0")
    return bool(value) and name in _GIT_SETTINGS_THAT_REDIRECT
