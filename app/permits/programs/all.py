"""All programs that are known, one table from the tables of the subjects."""

from app.permits.calls import Table
from app.permits.programs.administration import ADMINISTRATION
from app.permits.programs.clients import CLIENTS
from app.permits.programs.files import FILES
from app.permits.programs.finders import FINDERS
from app.permits.programs.git import GIT
from app.permits.programs.go_and_rust import GO_AND_RUST
from app.permits.programs.jvm import JVM
from app.permits.programs.languages import LANGUAGES
from app.permits.programs.looking import LOOKING
from app.permits.programs.machine import MACHINE
from app.permits.programs.network import NETWORK
from app.permits.programs.packages import PACKAGES
from app.permits.programs.platforms import PLATFORMS
from app.permits.programs.reading import READING
from app.permits.programs.runners import RUNNERS
from app.permits.programs.services import SERVICES
from app.permits.programs.text import TEXT
from app.permits.programs.toolchains import TOOLCHAINS
from app.permits.programs.tools import TOOLS
from app.permits.programs.versions import VERSIONS
from app.permits.programs.wrapping import BUILT_IN, SHELLS, WRAPPERS
from app.permits.words import names

PROGRAMS: Table = {
    **TOOLS,
    **LOOKING,
    **CLIENTS,
    **PLATFORMS,
    **TOOLCHAINS,
    **ADMINISTRATION,
    **RUNNERS,
    **READING,
    **TEXT,
    **FILES,
    **FINDERS,
    **LANGUAGES,
    **PACKAGES,
    **GO_AND_RUST,
    **JVM,
    **VERSIONS,
    **NETWORK,
    **SERVICES,
    **MACHINE,
    **GIT,
    **WRAPPERS,
    **SHELLS,
    **BUILT_IN,
}

LESS_KNOWN = frozenset({*TOOLS, *CLIENTS, *PLATFORMS, *TOOLCHAINS, *ADMINISTRATION})
"""Whose words may be a command that they run, for all that is known of them."""

MAY_FETCH = frozenset({*PACKAGES, *GO_AND_RUST, *JVM, *VERSIONS, *RUNNERS, "task", "just"})
"""Which ask an address that they are given."""

BUILTINS: dict[str, frozenset[str]] = {
    "declarations": frozenset({"export", "declare", "typeset", "local", "readonly"}),
    "all": names(
        "echo printf true false : test [ [[ (( read mapfile readarray getopts type command builtin "
        "ulimit umask set shopt wait jobs help history hash times dirs shift break continue caller bind "
        "pwd"
    )
    | frozenset(BUILT_IN),
}
"""What the shell does itself, so that no other program can come in its place."""
