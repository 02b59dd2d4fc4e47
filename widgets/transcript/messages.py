"""The messages that a transcript posts to the application, which it never calls."""

from textual.message import Message

from tools.tool_result_values import MapBlock


class CopyRequested(Message, namespace="transcript"):
    """Message: the application should copy `text`; `what` describes it for the confirmation."""

    def __init__(self, text: str, what: str = "selection") -> None:
        super().__init__()
        self.text = text
        self.what = what


class BlockMessage(Message, namespace="transcript"):
    """The base class of messages in which a transcript asks for something about one block."""

    def __init__(self, block_id: str) -> None:
        super().__init__()
        self.block_id = block_id


class BranchRequested(BlockMessage, namespace="transcript"):
    """Message: the user wants to edit this message, or continue from it, in a new branch."""


class FullScreenRequested(BlockMessage, namespace="transcript"):
    """Message: the user wants to see the whole block on a separate screen."""


class RetryRequested(BlockMessage, namespace="transcript"):
    """Message: the user wants to send the failed request to the model again."""


class ActionChosen(Message, namespace="transcript"):
    """Message: the user clicked an action of the page in the transcript."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action


class SuggestionChosen(Message, namespace="transcript"):
    """Message: the user clicked a request that the first page suggests."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class SymbolChosen(Message, namespace="transcript"):
    """Message: the user clicked a symbol in a file map."""

    def __init__(self, path: str, first_line: int, last_line: int) -> None:
        super().__init__()
        self.path = path
        self.first_line = first_line
        self.last_line = last_line


class SymbolsRequested(Message, namespace="transcript"):
    """Message: the user wants to choose among the symbols of a file map."""

    def __init__(self, block: MapBlock) -> None:
        super().__init__()
        self.block = block


class LinkChosen(Message, namespace="transcript"):
    """Message: the user clicked a link with this address."""

    def __init__(self, href: str) -> None:
        super().__init__()
        self.href = href


class NamesRequested(Message, namespace="transcript"):
    """Message: the user wants to know where the names in `text` are defined, or with `uses` where they are used."""

    def __init__(self, text: str, *, uses: bool) -> None:
        super().__init__()
        self.text = text
        self.uses = uses


class PromptsMoved(Message, namespace="transcript"):
    """Message: other prompts of the user than before begin in the visible rows."""

    def __init__(self, prompts: tuple[str, ...]) -> None:
        super().__init__()
        self.prompts = prompts


class FocusModeChanged(Message, namespace="transcript"):
    """Message: the keyboard focus moved to the transcript's blocks, or should return to where it was."""

    def __init__(self, *, is_on: bool) -> None:
        super().__init__()
        self.is_on = is_on


class SearchChanged(Message, namespace="transcript"):
    """Message: how many matches a search in the transcript has and which is shown, counted from one; `problem` says
    what is wrong with a pattern."""

    def __init__(self, count: int, current: int, problem: str = "", *, is_done: bool = True) -> None:
        super().__init__()
        self.count = count
        self.current = current
        self.problem = problem
        self.is_done = is_done
        """False if some blocks were not searched yet."""
