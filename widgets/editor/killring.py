"""What was killed, newest first, to be yanked again."""

SIZE = 60


class KillRing:
    def __init__(self) -> None:
        self.entries: list[str] = []

    def kill(self, text: str, *, is_forward: bool, joins: bool) -> None:
        """Keep a killed text. Kills in a row join: forward ones append, backward ones prepend."""
        if not text:
            return
        if joins and self.entries:
            self.entries[0] = self.entries[0] + text if is_forward else text + self.entries[0]
        else:
            self.entries.insert(0, text)
            del self.entries[SIZE:]

    @property
    def newest(self) -> str:
        return self.entries[0] if self.entries else ""

    def rotate(self) -> str:
        """Bring the next older entry to the front."""
        if self.entries:
            self.entries.append(self.entries.pop(0))
        return self.newest
