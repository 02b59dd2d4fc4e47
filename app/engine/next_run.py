"""What begins anew with the next run of the agent. Who keeps something for one run says so when there is something to
keep, and is called once, when the next begins; who has nothing is not asked."""

from collections.abc import Callable


class NextRun:
    def __init__(self) -> None:
        self._deeds: dict[Callable[[], None], None] = {}

    def calls(self, deed: Callable[[], None]) -> None:
        """From any thread; the same one is called once."""
        self._deeds[deed] = None

    def begin(self) -> None:
        deeds, self._deeds = self._deeds, {}
        for deed in deeds:
            deed()
