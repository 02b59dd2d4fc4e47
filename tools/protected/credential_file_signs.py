"""Marks of files in which programs keep keys, where no row names the program: a file that only its owner may read, or a
name that says so. Plain data; `app.engine.sandbox.private_files` finds such files."""

from typing import Final

from tools.lazy_patterns import lazy_regex
from tools.protected.credential_file_names import is_credential_file_name

HOME_FOLDERS_WITH_PROGRAM_FOLDERS: Final = (
    ".config",
    ".local/share",
    ".local/state",
    ".var/app",
    "snap",
    "Library/Application Support",
)
"""Folders of the home that contain a folder for each program; programs that use none of them have a dot folder in
the home itself."""

FOLDERS_WITHOUT_CREDENTIALS: Final = (
    # caches and programs: much is read there in builds, and archives keep any mode
    *(
        ".cache",
        ".npm",
        ".cargo",
        ".rustup",
        ".nvm",
        ".pyenv",
        ".rbenv",
        ".nodenv",
        ".goenv",
        ".jenv",
        ".asdf",
    ),
    *(".sdkman", ".rvm", ".opam", ".ghcup", ".stack", ".cabal", ".volta", ".bun", ".deno", ".yarn", ".pnpm"),
    *(
        ".gradle",
        ".m2",
        ".ivy2",
        ".sbt",
        ".nuget",
        ".dotnet",
        ".julia",
        ".elan",
        ".juliaup",
        ".gem",
        ".bundle",
    ),
    *(
        ".conda",
        ".mamba",
        ".pixi",
        ".pub-cache",
        ".hex",
        ".mix",
        ".ccache",
        ".node-gyp",
        ".composer",
        ".krew",
    ),
    *(".platformio", ".espressif", ".docker/buildx", ".docker/contexts", ".android/avd", ".android/cache"),
    *(".local/share/uv", ".local/share/mise", ".local/share/pnpm", ".local/share/pipx", ".local/share/fnm"),
    *(".local/share/virtualenv", ".local/share/virtualenvs", ".local/share/hatch", ".local/share/containers"),
    *(
        ".local/share/NuGet",
        ".local/share/Trash",
        ".local/share/direnv",
        ".local/state/mise",
        ".config/matplotlib",
    ),
    # bayou has special rules for its folder
    *(".bayou", ".git"),
)
"""Folders in which the mode or name of a file does not mean that it contains keys."""

_CREDENTIAL_WORDS: Final = frozenset(
    (
        *(
            "token",
            "tokens",
            "credential",
            "credentials",
            "secret",
            "secrets",
            "password",
            "passwords",
            "passwd",
        ),
        *("auth", "oauth", "cookies", "apikey", "apikeys", "keyring", "creds", "cred", "wallet", "jwt"),
    )
)
_WORDS_BEFORE_KEY: Final = frozenset(
    ("api", "access", "private", "secret", "service", "signing", "master", "encryption")
)
_ENDINGS_OF_CREDENTIAL_FILES: Final = frozenset(
    (
        *(
            "",
            "json",
            "jsonc",
            "toml",
            "yaml",
            "yml",
            "ini",
            "conf",
            "cfg",
            "config",
            "txt",
            "xml",
            "properties",
        ),
        *("env", "db", "sqlite", "sqlite3", "dat", "data", "plist", "bin", "enc", "age", "gpg", "bak", "old"),
    )
)
_FILES_NAMED_LIKE_CREDENTIALS: Final = frozenset((".streamlit/credentials.toml", ".android/debug.keystore"))
"""Files that look like key files and that builds need: an e-mail address, and the key of every debug build, whose
password is public."""
_FILE_NAME_WORD_PATTERN: Final = lazy_regex(r"[a-z0-9]+")
_CAMEL_CASE_BOUNDARY_PATTERN: Final = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")


def has_credential_name(path: str) -> bool:
    """Whether the name of a file in a program's folder says that it has keys. `path` is relative to the home."""
    if path.casefold() in _FILES_NAMED_LIKE_CREDENTIALS:
        return False
    name = path.rpartition("/")[2]
    # Certificates of authorities are `.pem` too, and builds read them.
    if "/" in path and is_credential_file_name(name) and not name.casefold().endswith(".pem"):
        return True
    stem, dot, ending = _CAMEL_CASE_BOUNDARY_PATTERN.sub("-", name.lstrip(".")).casefold().rpartition(".")
    if not dot:
        stem, ending = ending, ""
    if ending not in _ENDINGS_OF_CREDENTIAL_FILES:
        return ending in _CREDENTIAL_WORDS
    words = _FILE_NAME_WORD_PATTERN.findall(stem)
    is_key = "key" in words or "keys" in words
    return not _CREDENTIAL_WORDS.isdisjoint(words) or (is_key and not _WORDS_BEFORE_KEY.isdisjoint(words))
