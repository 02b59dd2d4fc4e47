"""Colours of theme files: parses their notations, mixes them, and computes the contrast between two."""

import math

from tools.lazy_patterns import lazy_regex

_HEX_COLOR_PATTERN = lazy_regex(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_OKLCH_COLOR_PATTERN = lazy_regex(r"oklch\(\s*([\d.]+)%?\s+([\d.]+)\s+([\d.]+)(?:deg)?\s*\)")
_OKHSL_COLOR_PATTERN = lazy_regex(r"okhsl\(\s*([\d.]+)(?:deg)?\s+([\d.]+)%?\s+([\d.]+)%?\s*\)")
_COLOR_CUBE_LEVELS = (0, 95, 135, 175, 215, 255)
_ANSI_16_COLORS = (
    *("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"),
    *("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"),
)


class ColorParseError(ValueError):
    """The error for a colour that cannot be parsed; the message lists the accepted forms."""


def parse_color(value: str | int) -> str:
    """Parses a theme file's colour and returns it as `#rrggbb`; empty text (the terminal's own colour) and `ansi_…`
    names are unchanged. Raises `ColorParseError`."""
    if isinstance(value, int):
        return _palette_color(value)
    value = value.strip()
    if value == "" or value.startswith("ansi_"):
        return value
    if _HEX_COLOR_PATTERN.fullmatch(value):
        return value.lower() if len(value) == 7 else "#" + "".join(char * 2 for char in value[1:].lower())
    if match := _OKLCH_COLOR_PATTERN.fullmatch(value):
        lightness, chroma, hue = map(float, match.groups())
        return _oklch_to_hex(lightness / 100 if "%" in value else lightness, chroma, hue)
    if match := _OKHSL_COLOR_PATTERN.fullmatch(value):
        hue, saturation, lightness = map(float, match.groups())
        return _okhsl_to_hex(hue, saturation / 100, lightness / 100)
    raise ColorParseError(
        f"{value!r} is not a colour: use #rgb, #rrggbb, oklch(L% C H), okhsl(H S% L%), a number from 0 to 255, "
        "the name of one of the theme's vars, or an empty text"
    )


def color_luminance(color: str) -> float:
    red, green, blue = (_to_linear(part) for part in _rgb_parts(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def is_dark_color(color: str) -> bool:
    return color_luminance(color) < 0.18


def mix_colors(first: str, second: str, share: float) -> str:
    """Mixes two colours; `share`, from 0 to 1, is the weight of the second."""
    parts = zip(_rgb_parts(first), _rgb_parts(second), strict=True)
    return _to_hex(*(below + (above - below) * share for below, above in parts))


def contrast_ratio(first: str, second: str) -> float:
    """Returns the contrast ratio of two colours, from 1 to 21."""
    high, low = sorted((color_luminance(first), color_luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def mix_text_color_for_contrast(ground: str, ink: str, ratio: float) -> str:
    """Mixes a text colour into the background just far enough for the given contrast with it; returns at most the pure
    text colour."""
    low, high = 0.0, 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (
            (low, middle)
            if contrast_ratio(mix_colors(ground, ink, middle), ground) >= ratio
            else (middle, high)
        )
    return mix_colors(ground, ink, high)


def make_text_color_readable(ink: str, ground: str, ratio: float = 4.5) -> str:
    """Returns a text colour unchanged if it is readable on the background, else a version of it closer to black or
    white."""
    if contrast_ratio(ink, ground) >= ratio:
        return ink
    end = "#ffffff" if is_dark_color(ground) else "#000000"
    for step in range(1, 21):
        if contrast_ratio(nearer := mix_colors(ink, end, step / 20), ground) >= ratio:
            return nearer
    return end


def _rgb_parts(color: str) -> tuple[float, float, float]:
    return int(color[1:3], 16) / 255, int(color[3:5], 16) / 255, int(color[5:7], 16) / 255


def _to_hex(red: float, green: float, blue: float) -> str:
    return "#" + "".join(f"{round(min(1.0, max(0.0, part)) * 255):02x}" for part in (red, green, blue))


def _palette_color(number: int) -> str:
    if not 0 <= number <= 255:
        raise ColorParseError(f"{number} is not one of the 256 colours")
    if number < 16:
        return _ANSI_16_COLORS[number]
    if number >= 232:
        grey = 8 + (number - 232) * 10
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    number -= 16
    red, green, blue = (
        _COLOR_CUBE_LEVELS[number // 36],
        _COLOR_CUBE_LEVELS[number // 6 % 6],
        _COLOR_CUBE_LEVELS[number % 6],
    )
    return f"#{red:02x}{green:02x}{blue:02x}"


def _to_linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _to_gamma(part: float) -> float:
    return 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _oklab_to_linear(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def _oklch_to_hex(lightness: float, chroma: float, hue: float) -> str:
    angle = math.radians(hue)
    linear = _oklab_to_linear(lightness, chroma * math.cos(angle), chroma * math.sin(angle))
    return _to_hex(*(_to_gamma(max(0.0, part)) for part in linear))


def _is_in_srgb(lightness: float, chroma: float, hue: float) -> bool:
    angle = math.radians(hue)
    linear = _oklab_to_linear(lightness, chroma * math.cos(angle), chroma * math.sin(angle))
    return all(-1e-6 <= part <= 1 + 1e-6 for part in linear)


def _okhsl_to_hex(hue: float, saturation: float, lightness: float) -> str:
    """Converts an OKHSL colour to `#rrggbb`. As an approximation, the saturation is a share of the largest chroma that
    sRGB shows at this hue and lightness."""
    k1, k2 = 0.206, 0.03
    k3 = (1 + k1) / (1 + k2)
    light = (lightness**2 + k1 * lightness) / (k3 * (lightness + k2))
    low, high = 0.0, 0.4
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if _is_in_srgb(light, middle, hue) else (low, middle)
    return _oklch_to_hex(light, low * saturation, hue)
