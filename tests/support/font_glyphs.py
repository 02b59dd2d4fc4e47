"""The characters that JetBrains Mono 2.242, Fira Code 6.2 and Liberation Mono 1.07 all have in their regular faces.

Other marks come from another font of the terminal, where there is one: of another shape, and maybe another width."""

_RANGES = """
20-7e a0-131 134-17e 192 1fc-1ff 218-21b 2c6-2c7 2c9 2d8-2dd 37e 384-38a 38c 38e-3a1 3a3-3ce 401-40c
40e-44f 451-45c 45e-45f 490-491 1e80-1e85 1ef2-1ef3 2013-2014 2018-201a 201c-201e 2020-2022 2026
2030 2039-203a 2044 20ac 2113 2116 2122 212e 2190-2195 2202 220f 2211-2212 2215 2219-221a 221e 2229
222b 2248 2260-2261 2264-2265 2302 2500 2502 250c 2510 2514 2518 251c 2524 252c 2534 253c 2550-256c
2580 2584 2588 258c 2590-2593 25a0-25a1 25aa-25ab 25b2 25ba 25bc 25c4 25ca 25cf
"""


def _characters() -> frozenset[str]:
    found: set[str] = set()
    for word in _RANGES.split():
        first, _, last = word.partition("-")
        found.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(found)


GLYPHS = _characters()
