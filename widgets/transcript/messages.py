"""The messages that a transcript posts. It never calls the application."""

from textual.message import Message

from tools.results import MapBlock


class CopyRequested(Message, namespace="transcript"):
    """Asks to copy the text; `what` describes it for the confirmation."""

    def __init__(self, text: str, what: str = "selection") -> None:
        super().__init__()
        self.text = text
        self.what = what


class BlockMessage(Message, namespace="transcript"):
    """Base class of requests about a block."""

    def __init__(self, block_id: str) -> None:
        super().__init__()
        self.block_id = block_id


class BranchRequested(BlockMessage, namespace="transcript"):
    """Asks to edit this message, or continue from it, in a new branch."""


class FullScreenRequested(BlockMessage, namespace="transcript"):
    """Asks to show the whole block on a separate screen."""


class RetryRequested(BlockMessage, namespace="transcript"):
    """Asks to retry the request to the model."""


class ActionChosen(Message, namespace="transcript"):
    """An action of the page was clicked."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class SuggestionChosen(Message, namespace="transcript"):
    """A suggested request was clicked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class SymbolChosen(Message, namespace="transcript"):
    """A line of a file map was clicked."""

    def __init__(self, path: str, first_line: int, last_line: int) -> None:
        super().__init__()
        self.path = path
        self.first_line = first_line
        self.last_line = last_line


class SymbolsRequested(Message, namespace="transcript"):
    """Asks for a choice among the symbols of a file map."""

    def __init__(self, block: MapBlock) -> None:
        super().__init__()
        self.block = block


class LinkChosen(Message, namespace="transcript"):
    """A link was clicked."""

    def __init__(self, href: str) -> None:
        super().__init__()
        self.href = href


class NamesRequested(Message, namespace="transcript"):
    """Asks where a name in this text is defined or used."""

    def __init__(self, text: str, *, uses: bool) -> None:
        super().__init__()
        self.text = text
        self.uses = uses


class PromptsMoved(Message, namespace="transcript"):
    """Other prompts of the user begin in the visible rows."""

    def __init__(self, prompts: tuple[str, ...]) -> None:
        super().__init__()
        self.prompts = prompts


class FocusModeChanged(Message, namespace="transcript"):
    """The keyboard focus moved to the blocks, or should return to where it was."""

    def __init__(self, *, is_on: bool) -> None:
        super().__init__()
        self.is_on = is_on


class SearchChanged(Message, namespace="transcript"):
    """Reports the number of matches and which is shown, counted from one; `problem` for a bad
    pattern."""

    def __init__(self, count: int, current: int, problem: str = "", *, is_done: bool = True) -> None:
        super().__init__()
        self.count = count
        self.current = current
        self.problem = problem
        self.is_done = is_done
        """False if some blocks were not searched yet."""
