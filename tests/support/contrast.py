"""How well two colours can be told apart."""

from widgets.colors import luminance


def contrast(first: str, second: str) -> float:
    """The ratio by which two colours differ in brightness, from 1 to 21."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
