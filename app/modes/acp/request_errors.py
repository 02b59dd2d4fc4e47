"""Errors of requests, with the reason where clients look for it: `data.reason` and `data.details`."""

from collections.abc import Mapping
from typing import Any

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603
AUTH_REQUIRED, RESOURCE_NOT_FOUND, CANCELLED = -32000, -32002, -32800


class AcpRequestError(Exception):
    """A request was refused, by bayou or by the client."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def as_json_rpc_error(self) -> dict[str, Any]:
        """Returns the error as the JSON-RPC object that is sent to the client."""
        error = {"code": self.code, "message": str(self)}
        return error if self.data is None else {**error, "data": self.data}

    @classmethod
    def from_error_object(cls, error: Mapping[str, Any]) -> "AcpRequestError":
        """Returns the error that the client has sent."""
        code = error.get("code")
        text = str(error.get("message", "Error"))
        return cls(code if isinstance(code, int) else INTERNAL_ERROR, text, error.get("data"))


def make_request_error(code: int, message: str, details: str = "") -> AcpRequestError:
    return AcpRequestError(code, message, {"reason": message, "details": details or message})


def make_invalid_params_error(reason: str) -> AcpRequestError:
    return make_request_error(INVALID_PARAMS, reason)


def make_internal_error(reason: str, details: str = "") -> AcpRequestError:
    return make_request_error(INTERNAL_ERROR, reason, details)
