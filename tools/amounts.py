"""How figures are written for people, everywhere the same: times, tokens, sizes, shares, changed lines.

Money is `dollars` in `app.values.usage`.
"""

MINUS = "\N{MINUS SIGN}"


def duration(seconds: float) -> str:
    """`0.3 s`, `12 s`, `1 m 12 s`, `2 h 5 m`, `3 d 4 h`; nothing for what was too quick to notice."""
    if seconds < 0.1:
        return ""
    if seconds < 0.95:
        return f"{seconds:.1f} s"
    return elapsed(round(seconds))


def elapsed(seconds: float) -> str:
    """In whole seconds, for what counts up."""
    whole = int(seconds)
    for size, unit, part, below in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            count, rest = divmod(whole, size)
            return f"{count} {unit} {rest // part} {below}" if rest // part else f"{count} {unit}"
    return f"{whole} s"


def age(seconds: float) -> str:
    """How long ago, in one unit: `5 m`, `3 h`, `2 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def ago(seconds: float) -> str:
    """`5 m ago`, or `now`."""
    told = age(seconds)
    return told if told == "now" else f"{told} ago"


def tokens(count: int) -> str:
    """`950`, `1.2k`, `12k`, `1.5M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            tenths = count * 10 // size
            return (
                f"{tenths // 10}{unit}" if tenths >= 100 or tenths % 10 == 0 else f"{tenths / 10:.1f}{unit}"
            )
    return str(count)


def size(count: int) -> str:
    """`12 B`, `48 kB`, `1.2 MB`."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def percentage(percent: float) -> str:
    """`0.4 %`, `12 %`."""
    return f"{percent:.1f} %" if 0.05 <= percent < 0.95 else f"{percent:.0f} %"


def pluralized(count: int, one: str, many: str = "") -> str:
    """`1 file`, `1,200 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def changed_lines(added: int, removed: int) -> str:
    """`+12 −4`; of what did not come or go nothing."""
    return " ".join([*([f"+{added:,}"] if added else []), *([f"{MINUS}{removed:,}"] if removed else [])])


def changed_files(files: int, added: int, removed: int) -> str:
    """`3 files +40 −12`."""
    return f"{pluralized(files, 'file')} {changed_lines(added, removed)}".rstrip()


def bar(amount: float, most: float, width: int) -> str:
    """`███▌    `, in eighths of a cell; whatever is there is seen."""
    if not most or amount <= 0:
        return " " * width
    whole, rest = divmod(max(1, round(8 * width * min(1.0, amount / most))), 8)
    return ("█" * whole + " ▏▎▍▌▋▊▉"[rest] * bool(rest)).ljust(width)
