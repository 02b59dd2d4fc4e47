"""What can go wrong between bayou and a server, in words for the person and the model."""

from app.values.unable import Unable


class ServerFault(Unable):
    """It cannot be reached, or does not follow the protocol."""


class SignInNeeded(ServerFault):
    """It wants to know who asks. `str` says how to sign in."""


class ConnectionLost(ServerFault):
    """It was there and is gone; what was asked may have been done or not."""


class CallRefused(Unable):
    """It answered a request with an error: `str` is its own words."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class CallTimedOut(Unable):
    """It did not answer in time, and gave no sign of life."""


class SessionEnded(ConnectionLost):
    """The server does not know our session any more, so it has done nothing of what it was asked."""
