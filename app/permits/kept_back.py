"""Files whose lines no search shows: those that a rule keeps from `read`, and those with secrets.

Whoever means one of them names it, and is judged by that; a search through a folder passes them over.
"""

import re
from collections.abc import Callable, Iterable

from app.permits.place import CommandPlace
from app.permits.rules import PermitRule, path_form
from app.permits.secrets import secrecy


def kept_back(rules: Iterable[PermitRule], place: CommandPlace) -> Callable[[str], bool]:
    """Whether a file, by its path without links, is one of them."""
    homes = tuple(dict.fromkeys(filter(None, (place.home, place.real_home))))
    forms = dict.fromkeys(
        path_form(rule.pattern, place.workspace, home)
        for rule in rules
        if rule.kind == "read" and rule.deed != "allow"
        for home in homes
    )
    whole = re.compile("|".join(f"(?:{form})" for form in forms), re.DOTALL) if forms else None

    def is_kept_back(path: str) -> bool:
        if whole is not None and whole.fullmatch(path) is not None:
            return True
        return any(secrecy(path, home, place.own) == "likely" for home in homes)

    return is_kept_back
