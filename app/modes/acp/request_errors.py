"""Errors of requests, with the reason where clients look for it: `data.reason` and `data.details`."""

from collections.abc import Mapping
from typing import Any

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
AUTH_REQUIRED, RESOURCE_NOT_FOUND, CANCELLED = -32000, -32002, -32800


class RequestError(Exception):
    """A request was refused, by bayou or by the client."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def as_object(self) -> dict[str, Any]:
        """Returns the error as the JSON-RPC object that is sent to the client."""
        error = {"code": self.code, "message": str(self)}
        return error if self.data is None else {**error, "data": self.data}

    @classmethod
    def from_error_object(cls, error: Mapping[str, Any]) -> "RequestError":
        """Returns the error that the client has sent."""
        code = error.get("code")
        text = str(error.get("message", "Error"))
        return cls(code if isinstance(code, int) else INTERNAL_ERROR, text, error.get("data"))


def request_error(code: int, message: str, details: str = "") -> RequestError:
    return RequestError(code, message, {"reason": message, "details": details or message})


def invalid_params_error(reason: str) -> RequestError:
    return request_error(INVALID_PARAMS, reason)


def internal_error(reason: str, details: str = "") -> RequestError:
    return request_error(INTERNAL_ERROR, reason, details)
