"""Converts LaTeX formulas to a line of Unicode text: `$x^2$` becomes x². Formulas that do not fit one line stay as
source."""

import re
import unicodedata
from collections.abc import Callable

from tools.lazy_patterns import lazy_regex

_CHARACTER_BY_TEX_COMMAND = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ"},
    **{"eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ"},
    **{"pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ"},
    **{"omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Pi": "Π", "Sigma": "Σ"},
    **{
        "Phi": "Φ",
        "Psi": "Ψ",
        "Omega": "Ω",
        "sum": "∑",
        "prod": "∏",
        "int": "∫",
        "partial": "∂",
        "nabla": "∇",
    },
    **{"infty": "∞", "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓", "circ": "∘", "ast": "∗"},
    **{"leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡"},
    **{
        "sim": "∼",
        "propto": "∝",
        "ll": "≪",
        "gg": "≫",
        "in": "∈",
        "notin": "∉",
        "subset": "⊂",
        "subseteq": "⊆",
    },
    **{
        "cup": "∪",
        "cap": "∩",
        "emptyset": "∅",
        "forall": "∀",
        "exists": "∃",
        "neg": "¬",
        "land": "∧",
        "lor": "∨",
    },
    **{"to": "→", "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "iff": "⇔", "mapsto": "↦"},
    **{"ldots": "…", "cdots": "⋯", "dots": "…", "prime": "′", "degree": "°", "ell": "ℓ", "hbar": "ℏ"},
    **{"log": "log", "ln": "ln", "exp": "exp", "sin": "sin", "cos": "cos", "tan": "tan", "max": "max"},
    **{"min": "min", "lim": "lim", "mod": "mod", "bmod": "mod", "lfloor": "⌊", "rfloor": "⌋"},
    **{"lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "left": "", "right": "", "quad": " "},
    **{"displaystyle": "", "limits": "", "mid": "|", "setminus": "∖", "oplus": "⊕", "otimes": "⊗"},
}
_SPACES = {
    ",": " ",
    ";": " ",
    ":": " ",
    " ": " ",
    "!": "",
    "{": "{",
    "}": "}",
    "%": "%",
    "_": "_",
    "$": "$",
    "&": "&",
}
_SUPERSCRIPTS = dict(
    zip("0123456789+-=()abcdefghijklmnoprstuvwxyzT", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ", strict=True)
)
_SUBSCRIPTS = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
_DOUBLE_STRUCK_LETTERS = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ"}
_TEXT_COMMANDS = frozenset(
    ("text", "mathrm", "mathbf", "mathit", "operatorname", "textbf", "mathsf", "boldsymbol")
)
_FORMULA_TOKEN = lazy_regex(r"\\([A-Za-z]+)\s*|\\(.)|(.)", re.DOTALL)
_SIGNS_WITHOUT_SPACES = "∑∏∫∂∇¬∀∃∞√"
"""Signs without a space before the next symbol."""
_MAX_CHARS, _MAX_DEPTH = 2_000, 20


def formula_to_unicode(source: str) -> str:
    """Converts a formula to Unicode; returns it unchanged, with its delimiters, if that is
    impossible."""
    inner = source[2:-2] if source.startswith(("$$", "\\(", "\\[")) else source[1:-1]
    if len(inner) > _MAX_CHARS:
        return source
    try:
        reader = _FormulaReader([(one[1], one[2], one[3]) for one in _FORMULA_TOKEN.finditer(inner.strip())])
        text = reader.read_until("")
    except _NotOneLine:
        return source
    return " ".join(text.split()) or source


class _NotOneLine(Exception):
    """The error for a formula that does not fit one line of text."""


class _FormulaReader:
    def __init__(self, pieces: list[tuple[str | None, str | None, str | None]]) -> None:
        self._pieces = pieces
        self._at = 0
        self._depth = 0

    def read_until(self, end: str) -> str:
        """Converts the formula up to a closing bracket, which is consumed, or up to its end. Raises `_NotOneLine` if
        the bracket is missing."""
        parts: list[str] = []
        while self._at < len(self._pieces):
            char = self._pieces[self._at][2]
            if char is not None and char == end:
                self._at += 1
                return "".join(parts)
            parts.append(self._read_piece())
        if end:
            raise _NotOneLine
        return "".join(parts)

    def _read_piece(self) -> str:
        if self._at >= len(self._pieces):
            raise _NotOneLine
        name, escaped, char = self._pieces[self._at]
        self._at += 1
        if name is not None:
            return self._read_command(name)
        if escaped is not None:
            if escaped not in _SPACES:
                raise _NotOneLine
            return _SPACES[escaped]
        match char:
            case "{":
                return self._read_group()
            case "^":
                return _script_text(self._read_argument(), _SUPERSCRIPTS, "^")
            case "_":
                return _script_text(self._read_argument(), _SUBSCRIPTS, "_")
            case "}" | "&" | "#":
                raise _NotOneLine
            case "~":
                return " "
            case _:
                return char or ""

    def _read_group(self) -> str:
        return self._read_nested(lambda: self.read_until("}"))

    def _read_argument(self) -> str:
        while self._at < len(self._pieces) and self._pieces[self._at][2] == " ":
            self._at += 1
        return self._read_nested(self._read_piece)

    def _read_nested(self, read: Callable[[], str]) -> str:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _NotOneLine
        text = read()
        self._depth -= 1
        return text

    def _read_command(self, name: str) -> str:
        if name in _CHARACTER_BY_TEX_COMMAND:
            return self._add_spaces(_CHARACTER_BY_TEX_COMMAND[name])
        if name in _TEXT_COMMANDS:
            return self._read_argument()
        if name == "mathbb":
            letter = self._read_argument()
            if letter not in _DOUBLE_STRUCK_LETTERS:
                raise _NotOneLine
            return _DOUBLE_STRUCK_LETTERS[letter]
        if name in ("frac", "dfrac", "tfrac"):
            return f"{_add_brackets(self._read_argument())}/{_add_brackets(self._read_argument())}"
        if name == "sqrt":
            return f"√{_add_brackets(self._read_argument())}"
        raise _NotOneLine

    def _add_spaces(self, sign: str) -> str:
        """Returns a sign of a formula with the spaces around it: around relations, and after function names."""
        if len(sign) == 1 and unicodedata.category(sign) == "Sm" and sign not in _SIGNS_WITHOUT_SPACES:
            return f" {sign} "
        is_name_of_next = len(sign) > 1 and self._at < len(self._pieces)
        char = self._pieces[self._at][2] if is_name_of_next else None
        return f"{sign} " if is_name_of_next and (char is None or char.isalnum()) else sign


def _add_brackets(text: str) -> str:
    """Returns a part of a formula in brackets, unless it is so simple that it cannot be read as joined to its
    neighbours."""
    text = text.strip()
    return text if len(text) == 1 or text.isalnum() else f"({text})"


def _script_text(text: str, signs: dict[str, str], mark: str) -> str:
    text = text.strip()
    if text and all(char in signs for char in text):
        return "".join(signs[char] for char in text)
    if text == "′":
        return text
    return f"{mark}{text}" if len(text) == 1 else f"{mark}({text})"
