import msgspec


class V(msgspec.Struct):
    is_retryable: bool = False
    retry_after_ms: int | None = None
    is_overflow: bool = False


def classify(message, model):
    return V(is_retryable="overloaded" in (message.error_message or ""))
