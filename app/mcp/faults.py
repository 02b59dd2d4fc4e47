"""Defines what can go wrong between bayou and a server, with texts for the user and the model."""

from app.values.unable import Unable


class ServerFault(Unable):
    """The server cannot be reached, or does not follow the protocol."""


class SignInNeeded(ServerFault):
    """The server requires a sign-in. `str` says how to sign in."""


class ConnectionLost(ServerFault):
    """The connection was lost; the server may or may not have carried out the request."""


class CallRefused(Unable):
    """The server answered a request with an error: `str` is the server's own text."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class CallTimedOut(Unable):
    """The server did not answer in time, and sent no progress."""


class SessionEnded(ConnectionLost):
    """The server does not know the session any more, so the request was not carried out."""
