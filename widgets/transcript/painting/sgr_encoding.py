"""Encodes a strip for the terminal, sending only the style changes between segments.

Textual's encoding resets the style after every segment and repeats the background."""

from functools import lru_cache

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console
from rich.style import Style
from textual.strip import SGR_STYLES, Strip

_STYLE_ATTRIBUTES = (
    *("bold", "dim", "italic", "underline", "blink", "blink2", "reverse"),
    *("conceal", "strike", "underline2", "frame", "encircle", "overline"),
)
"""Rich's attribute names, in the order of `SGR_STYLES`."""
_SHOWS_ON_BLANKS = frozenset(["4", "7", "9", "21", "53"])


def color_system(console: Console) -> ColorSystem:
    """Returns Rich's colour system (how many colours) for a console's terminal."""
    return COLOR_SYSTEMS[console.color_system or "truecolor"]


@lru_cache(8192)
def _sgr_codes(style: Style, system: ColorSystem) -> tuple[str, str, str]:
    """Returns a style's attributes, foreground and background as SGR parameters."""
    color, ground = style.color, style.bgcolor
    attributes = ";".join(
        SGR_STYLES[bit] for bit, name in enumerate(_STYLE_ATTRIBUTES) if getattr(style, name)
    )
    foreground = ";".join(color.downgrade(system).get_ansi_codes()) if color else ""
    background = ";".join(ground.downgrade(system).get_ansi_codes(foreground=False)) if ground else ""
    return attributes, foreground, background


def encode_strip(strip: Strip, system: ColorSystem) -> str:
    """Returns a strip as terminal output, which starts and ends with a reset of the style."""
    out: list[str] = []
    now = ("", "", "")
    link = None
    for index, (text, style, _) in enumerate(strip):
        codes = _sgr_codes(style, system) if style is not None else ("", "", "")
        is_invisible = not text.strip(" ") and _SHOWS_ON_BLANKS.isdisjoint(codes[0].split(";"))
        if is_invisible and index and codes[0] == now[0] and codes[2] == now[2]:
            codes = now  # a blank has no visible foreground
        if not index or _needs_reset(now, codes):
            out.append(f"\x1b[{';'.join(filter(None, ('0', *codes)))}m")
        elif codes != now:
            changed = (new for new, old in zip(codes[1:], now[1:], strict=True) if new != old)
            out.append(f"\x1b[{';'.join(changed)}m")
        now = codes
        address = style.link if style is not None else None
        if address != link:
            out.append(_link_sequence(style, address))
            link = address
        out.append(text)
    if link:
        out.append(_link_sequence(None, None))
    out.append("\x1b[0m")
    return "".join(out)


def _needs_reset(old: tuple[str, str, str], new: tuple[str, str, str]) -> bool:
    return old[0] != new[0] or bool(old[1] and not new[1]) or bool(old[2] and not new[2])


def _link_sequence(style: Style | None, address: str | None) -> str:
    return f"\x1b]8;id={style.link_id};{address}\x1b\\" if style is not None and address else "\x1b]8;;\x1b\\"
