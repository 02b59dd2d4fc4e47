"""Defines the errors between bayou and an MCP server, with texts for the user and the model."""

from app.values.user_errors import UserError


class ServerUnavailable(UserError):
    """The server cannot be reached, or does not follow the protocol."""


class SignInRequired(ServerUnavailable):
    """The server requires a sign-in. `str` says how to sign in."""


class ConnectionLost(ServerUnavailable):
    """The connection was lost; the server may or may not have carried out the request."""


class CallRefused(UserError):
    """The server answered a request with an error: `str` is the server's own text."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class CallTimedOut(UserError):
    """The server did not answer in time, and sent no progress."""


class ServerSessionEnded(ConnectionLost):
    """The server does not know the session any more, so the request was not carried out."""


def describe_validation_error(problem: BaseException) -> str:
    """Describes the fault in a server's message that pydantic refused, and its place."""
    first = problem.errors()[0]  # pyright: ignore[reportAttributeAccessIssue]  (pydantic's, whose type comes late)
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
