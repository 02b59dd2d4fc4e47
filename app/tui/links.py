"""Opens links chosen in the transcript."""

from collections.abc import Callable, Mapping

from app.tui.page_protocols import Copy


def open_link(address: str, open_page: Callable[[str], None], copy: Copy, env: Mapping[str, str]) -> None:
    """Opens a web page in the browser; over SSH, or for other addresses, copies the address."""
    is_remote = env.get("SSH_CONNECTION") or env.get("SSH_TTY")
    if is_remote or not address.startswith(("http://", "https://")):
        copy(address, "address")
    else:
        open_page(address)
