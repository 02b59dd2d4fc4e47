"""All programs that are known, one table from the tables of the subjects."""

from app.permits.calls import Table
from app.permits.programs.files import FILES
from app.permits.programs.finders import FINDERS
from app.permits.programs.git import GIT
from app.permits.programs.languages import LANGUAGES
from app.permits.programs.machine import MACHINE
from app.permits.programs.network import NETWORK
from app.permits.programs.packages import PACKAGES
from app.permits.programs.reading import READING
from app.permits.programs.services import SERVICES
from app.permits.programs.text import TEXT
from app.permits.programs.versions import VERSIONS
from app.permits.programs.wrapping import BUILT_IN, SHELLS, WRAPPERS
from app.permits.words import names

PROGRAMS: Table = {
    **READING,
    **TEXT,
    **FILES,
    **FINDERS,
    **LANGUAGES,
    **PACKAGES,
    **VERSIONS,
    **NETWORK,
    **SERVICES,
    **MACHINE,
    **GIT,
    **WRAPPERS,
    **SHELLS,
    **BUILT_IN,
}

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
