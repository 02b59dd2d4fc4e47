"""Defines the errors between bayou and an MCP server, with texts for the user and the model."""

from app.values.user_errors import UserError


class McpServerUnavailable(UserError):
    """The error for an MCP server that cannot be reached, or does not follow the protocol."""


class McpSignInRequired(McpServerUnavailable):
    """The error for an MCP server that requires a sign-in. `str` says how to sign in."""


class McpConnectionLost(McpServerUnavailable):
    """The error for a lost connection to an MCP server, which may or may not have carried out the request."""


class McpRequestRefused(UserError):
    """The error for an MCP server that answered a request with an error: `str` is the server's own text."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class McpRequestTimedOut(UserError):
    """The error for an MCP server that did not answer in time, and sent no progress."""


class McpServerSessionEnded(McpConnectionLost):
    """The error for an MCP server that does not know the session any more, so the request was not carried
    out."""


def describe_pydantic_error(problem: BaseException) -> str:
    """Describes what is wrong in an MCP server's message that pydantic refused, and where."""
    first = problem.errors()[0]  # pyright: ignore[reportAttributeAccessIssue]  (pydantic's, whose type comes late)
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
