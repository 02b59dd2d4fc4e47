"""A formula as one line that reads the same; what cannot be one stays as it was written."""

import random

import pytest

from widgets.transcript.markdown.latex_formula import formula_to_unicode


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("$x^2$", "x²"),
        ("$E = mc^2$", "E = mc²"),
        (r"\(O(n \log n)\)", "O(n log n)"),
        (r"$$\sum_{i=1}^{n} x_i$$", "∑ᵢ₌₁ⁿ xᵢ"),
        (r"$\frac{a+b}{2}$", "(a+b)/2"),
        (r"$a_{ij}^{k+1} \leq \alpha\beta$", "aᵢⱼᵏ⁺¹ ≤ αβ"),
        (r"$\sqrt{x^2+y^2}$", "√(x²+y²)"),
        (r"$e^{i\pi}+1=0$", "e^(iπ)+1=0"),
        (r"$x \in \mathbb{R}^n$", "x ∈ ℝⁿ"),
        (r"$\text{cost} = 5\%$", "cost = 5%"),
    ],
)
def test_a_formula_reads_as_it_is_spoken(source: str, read: str) -> None:
    assert formula_to_unicode(source) == read


@pytest.mark.parametrize(
    "source",
    [
        r"$\begin{matrix}a & b\end{matrix}$",
        "$x^{2$",
        "$x}$",
        r"$\unknown{x}$",
        f"${'^' * 1000}$",
        f"${'{' * 1000}$",
        "$^$",
    ],
)
def test_what_is_no_line_stays_as_it_was_written(source: str) -> None:
    assert formula_to_unicode(source) == source


def test_nothing_breaks_it() -> None:
    chance = random.Random(7)
    for _ in range(3_000):
        inner = "".join(chance.choice(r"\{}^_ab2+ $,") for _ in range(chance.randrange(1, 25)))
        assert isinstance(formula_to_unicode(f"${inner}$"), str)
