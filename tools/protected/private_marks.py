"""Marks of files in which programs keep keys, where no row names the program: a file that only its owner may read, or a
name that says so. Plain data; `app.engine.sandbox.private_files` finds such files."""

from typing import Final

from tools.patterns import late
from tools.protected.key_names import is_key_name

PROGRAM_FOLDERS: Final = (
    ".config",
    ".local/share",
    ".local/state",
    ".var/app",
    "snap",
    "Library/Application Support",
)
"""Folders of the home that contain a folder for each program; programs that use none of them have a dot folder in
the home itself."""

FOLDERS_WITHOUT_KEYS: Final = (
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

_KEY_WORDS: Final = frozenset(
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
_KEY_KIND_WORDS: Final = frozenset(
    ("api", "access", "private", "secret", "service", "signing", "master", "encryption")
)
_DATA_FILE_ENDINGS: Final = frozenset(
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
_HARMLESS_FILES: Final = frozenset((".streamlit/credentials.toml", ".android/debug.keystore"))
"""Files that look like key files and that builds need: an e-mail address, and the key of every debug build, whose
password is public."""
_WORD_PATTERN: Final = late(r"[a-z0-9]+")
_CAMEL_CASE_BOUNDARY_PATTERN: Final = late(r"(?<=[a-z0-9])(?=[A-Z])")


def has_key_name(path: str) -> bool:
    """Whether the name of a file in a program's folder says that it has keys. `path` is relative to the home."""
    if path.casefold() in _HARMLESS_FILES:
        return False
    name = path.rpartition("/")[2]
    # Certificates of authorities are `.pem` too, and builds read them.
    if "/" in path and is_key_name(name) and not name.casefold().endswith(".pem"):
        return True
    stem, dot, ending = _CAMEL_CASE_BOUNDARY_PATTERN.sub("-", name.lstrip(".")).casefold().rpartition(".")
    if not dot:
        stem, ending = ending, ""
    if ending not in _DATA_FILE_ENDINGS:
        return ending in _KEY_WORDS
    words = _WORD_PATTERN.findall(stem)
    is_key = "key" in words or "keys" in words
    return not _KEY_WORDS.isdisjoint(words) or (is_key and not _KEY_KIND_WORDS.isdisjoint(words))
