"""Links that were chosen in the transcript."""

from app.tui.stage import Stage


def open_link(app: Stage, address: str) -> None:
    """In the person's browser; where that would be on another machine, or not a page, the address is copied."""
    is_remote = app.env.get("SSH_CONNECTION") or app.env.get("SSH_TTY")
    if is_remote or not address.startswith(("http://", "https://")):
        app.copy(address, "address")
    else:
        app.open_url(address)
