"""Files that searches skip: those that a rule denies to `read`, and those with secrets.

A call that names such a file is judged for that file; a search through its folder passes over it."""

import re
from collections.abc import Callable, Iterable

from app.permits.place import CommandPlace
from app.permits.rules import PermitRule, path_form
from app.permits.secrets import secrecy


def kept_back(rules: Iterable[PermitRule], place: CommandPlace) -> Callable[[str], bool]:
    """Returns a test for absolute paths (links resolved): whether searches skip that file."""
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
