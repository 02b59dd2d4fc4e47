"""Errors of requests, with the reason where clients look for it: `data.reason` and `data.details`."""

from acp import RequestError
from pydantic import ValidationError

AUTH_REQUIRED, RESOURCE_NOT_FOUND, CANCELLED = -32000, -32002, -32800
INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL_ERROR = -32602, -32601, -32603


def fault(code: int, message: str, details: str = "") -> RequestError:
    return RequestError(code, message, {"reason": message, "details": details or message})


def invalid(reason: str) -> RequestError:
    return fault(INVALID_PARAMS, reason)


def failed(reason: str, details: str = "") -> RequestError:
    return fault(INTERNAL_ERROR, reason, details)


def invalid_parameters(method: str, problem: ValidationError) -> RequestError:
    """Names the first wrong fields, without the values, which can be large or secret."""
    wrong = [f"{'.'.join(map(str, one['loc'])) or 'params'}: {one['msg']}" for one in problem.errors()[:3]]
    return fault(INVALID_PARAMS, f"Invalid parameters of {method}", "; ".join(wrong))
