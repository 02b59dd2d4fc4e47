"""Secret places, and places whose files run later: by the path alone.

A path may have marks (`words`), for what a glob or a variable leaves open. Then "likely" means that it is meant to name
such a place, "maybe" that it can reach one among much else.
"""

from functools import lru_cache
from typing import Literal

from app.permits.words import DEEP, ONE, STAR, UNKNOWN, WILD, names, pattern_of
from tools.patterns import late

Likelihood = Literal["no", "maybe", "likely"]

FOLDERS = (
    ".ssh",
    ".aws",
    ".gnupg",
    ".azure",
    ".password-store",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".config/bravesoftware",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    "library/keychains",
    "library/application support/google/chrome",
    "library/application support/firefox",
)
"""In the home folder: what is below them."""
HOME_FILES = (
    ".kube/config",
    ".docker/config.json",
    ".config/git/credentials",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".bayou/agent/auth.json",
    ".pi/agent/auth.json",
)
OTHERS_FILES = (
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".config/github-copilot/apps.json",
    ".config/github-copilot/hosts.json",
)
"""In the home folder: what other agents sign in with."""
NAMES = frozenset(
    {
        ".netrc",
        "_netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".my.cnf",
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_ecdsa_sk",
        "id_ed25519_sk",
        ".env",
        "logins.json",
        "key4.db",
        "cookies.sqlite",
        "login data",
        ".vault-token",
        ".terraformrc",
        ".tofurc",
        "credentials.tfrc.json",
        ".boto",
        ".s3cfg",
        ".databrickscfg",
        ".htpasswd",
    }
)
SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".ppk")
SAMPLES = ("example", "sample", "template", "dist")
FILES = frozenset({"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/dev/mem", "/dev/kmem", "/proc/kcore"})
_PROCESS = late(r"/proc/[^/]+/(environ|mem)|/proc/[^/]+/task/[^/]+/environ")
_DISK = late(r"/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md|loop)")

PLANTED_FOLDERS = names(".git .hg .svn .jj .husky .bayou .vscode .idea")
"""Files below them start programs later, or decide which."""
VCS = frozenset({".git", ".hg", ".svn", ".jj"})
PLANTED_NAMES = frozenset({".envrc"})
START_UP = names(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile "
    ".zlogin .zlogout .cshrc .tcshrc .login .kshrc .inputrc .gitconfig .xprofile .xinitrc .xsession "
    ".pam_environment .vimrc .exrc .tmux.conf .pythonrc"
)
"""In the home folder."""
START_UP_FOLDERS = (
    ".config/fish",
    ".config/autostart",
    ".config/systemd",
    ".config/git",
    ".config/nvim",
    ".local/bin",
    "library/launchagents",
)

_OF_DATA = frozenset({".json", ".db", ".sqlite"})
_SAMPLE_NAMES = tuple(f"server{suffix}" for suffix in SUFFIXES)


@lru_cache(4096)
def secrecy(path: str, home: str, own: tuple[str, ...] = ()) -> Likelihood:
    """Of the content of an absolute path, its case aside."""
    path, home = path.casefold(), home.casefold()
    if WILD.search(path):
        return _secrecy_of_pattern(path, home)
    if path in FILES or _PROCESS.fullmatch(path) or _DISK.match(path):
        return "likely"
    if any(path == f"{folder.casefold()}/auth.json" for folder in own):
        return "likely"
    name = path.rsplit("/", 1)[-1]
    if name in NAMES or name.endswith(SUFFIXES) or _is_env(name):
        return "likely"
    if path.startswith(home + "/"):
        rest = path[len(home) + 1 :]
        if rest in HOME_FILES or any(rest == folder or rest.startswith(folder + "/") for folder in FOLDERS):
            return "likely"
    return "no"


def _is_env(name: str) -> bool:
    return name.startswith(".env.") and not name.endswith(SAMPLES)


def _secrecy_of_pattern(path: str, home: str) -> Likelihood:
    if path.startswith((home + "/", "/")) and _reaches_folder(path, home):
        return "likely"
    if path.startswith("/proc/") and path.endswith(("environ", "mem")):
        return "likely"
    name = path.rsplit("/", 1)[-1]
    if not WILD.search(name):
        return "likely" if name in NAMES or name.endswith(SUFFIXES) or _is_env(name) else "no"
    if name[0] == STAR and name[1:] in _OF_DATA:
        return "maybe"  # a browser's file can be among them, but who writes this means a project's data
    form = pattern_of(name)
    plain = WILD.sub("", name)
    if plain:
        meant = name.startswith(".") or len(plain) > 1 or name.startswith(ONE)
        if meant and any(form.fullmatch(one) and _hides_dot(name, one) for one in (*NAMES, ".env.local")):
            return "likely"
        if name[-1] not in (STAR, UNKNOWN, DEEP) and any(form.fullmatch(one) for one in _SAMPLE_NAMES):
            return "likely"
    return "maybe" if _is_open(name, plain) else "no"


def _hides_dot(pattern: str, name: str) -> bool:
    """A wildcard at the beginning does not match a dot, unless somebody set `dotglob`."""
    return not name.startswith(".") or pattern[0] in (".", ONE, UNKNOWN, DEEP)


def _is_open(name: str, plain: str) -> bool:
    """Whether it could be any name: at its end there is anything."""
    return name[-1] in (STAR, UNKNOWN, DEEP, ONE) or not plain


def _reaches_folder(path: str, home: str) -> bool:
    """Whether its folders are, or can be by a pattern that says something, one of the secret ones."""
    parts = path.split("/")
    base = home.split("/")
    if len(parts) <= len(base):
        return False
    if not all(_can_be(part, name) for part, name in zip(parts, base, strict=False)):
        return False
    rest = parts[len(base) :]
    for folder in (*FOLDERS, *HOME_FILES):
        names = folder.split("/")
        if len(rest) >= len(names) and all(
            _can_be(part, name) and WILD.sub("", part) for part, name in zip(rest, names, strict=False)
        ):
            return True
    return False


def _can_be(part: str, name: str) -> bool:
    if part == name:
        return True
    return bool(WILD.search(part)) and pattern_of(part).fullmatch(name) is not None


@lru_cache(4096)
def plants(path: str, home: str, own: tuple[str, ...] = ()) -> str | None:
    """Why writing there is writing what runs later."""
    path, home = path.casefold(), home.casefold()
    for folder in own:
        folder = folder.casefold()
        if path == folder or path.startswith(folder + "/"):
            return "bayou's own settings decide what may run"
    for part in path.split("/"):
        if part in PLANTED_FOLDERS or part in PLANTED_NAMES:
            return f"{part} holds what runs later"
        if part.startswith(".") and WILD.search(part):
            form = pattern_of(part)
            for name in (*PLANTED_FOLDERS, *PLANTED_NAMES):
                if form.fullmatch(name):
                    return f"{name} can be among these, and it holds what runs later"
    folder, _, name = path.rpartition("/")
    if name in START_UP and UNKNOWN in folder:
        return f"~/{name} is read by every shell that starts, and this can be it"
    if path.startswith(home + "/"):
        rest = path[len(home) + 1 :]
        if rest in START_UP:
            return f"~/{rest} is read by every shell that starts"
        for folder in START_UP_FOLDERS:
            if rest == folder or rest.startswith(folder + "/"):
                return f"~/{folder} holds what runs later"
    return None
