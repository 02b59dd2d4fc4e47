"""Lists so short that each row has a number, which chooses it: they need no line to filter them."""

from collections.abc import Sequence

import msgspec

from widgets.lists.filtering import Shown
from widgets.lists.rows import ListRow

MOST = 9


class FewRows:
    def __init__(self, *, may_be: bool) -> None:
        self.may_be = may_be
        """Whether a list shows numbers when it is short; not once something was typed to filter it."""

    def are(self, rows: Sequence[ListRow]) -> bool:
        return self.may_be and 0 < sum(not row.is_heading for row in rows) <= MOST

    @staticmethod
    def called(number: str, rows: Sequence[ListRow]) -> ListRow | None:
        """The row with a number, if it can be chosen."""
        choices = [row for row in rows if not row.is_heading]
        at = int(number) - 1
        return choices[at] if 0 <= at < len(choices) and not choices[at].is_disabled else None


def numbered(shown: Sequence[Shown]) -> list[Shown]:
    out: list[Shown] = []
    number = 0
    for item in shown:
        if not item.row.is_heading:
            number += 1
            prefix = f"{number} {item.row.prefix}"
            item = item._replace(row=msgspec.structs.replace(item.row, prefix=prefix))
        out.append(item)
    return out
