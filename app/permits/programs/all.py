"""All programs that are known: the safe list with what is told apart, the floor, and the network commands."""

from typing import Final

from app.permits.calls import Table
from app.permits.programs.files import FILE_PROGRAMS
from app.permits.programs.finders import FINDERS
from app.permits.programs.floor import FLOOR
from app.permits.programs.git import GIT
from app.permits.programs.network import NETWORK_PROGRAMS
from app.permits.programs.safe import ANSWERS_VERSION, SAFE_PROGRAMS
from app.permits.programs.texts import TEXT_PROGRAMS
from app.permits.programs.wrapping import WRAPPERS

PROGRAMS: Final[Table] = {**SAFE_PROGRAMS, **TEXT_PROGRAMS, **FINDERS, **GIT, **FILE_PROGRAMS, **WRAPPERS}
FORBIDDEN: Final = FLOOR
NETWORK: Final = NETWORK_PROGRAMS

__all__ = ["ANSWERS_VERSION", "FORBIDDEN", "NETWORK", "PROGRAMS"]
