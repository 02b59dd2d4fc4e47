"""Formats figures for people the same way everywhere: durations, tokens, sizes, percentages, changed lines.

`app.values.usage.dollars` formats money."""

MINUS_SIGN = "\N{MINUS SIGN}"


def format_seconds(seconds: float) -> str:
    """Formats seconds as `0.3 s`, `12 s`, `1 m 12 s`, `2 h 5 m` or `3 d 4 h`; empty for a time too short to notice."""
    if seconds < 0.1:
        return ""
    if seconds < 0.95:
        return f"{seconds:.1f} s"
    return format_elapsed(round(seconds))


def format_elapsed(seconds: float) -> str:
    """Formats a running time in whole seconds, as `12 s`, `1 m 12 s` or `2 h 5 m`, for counters on the screen."""
    whole = int(seconds)
    for size, unit, part, below in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            count, rest = divmod(whole, size)
            return f"{count} {unit} {rest // part} {below}" if rest // part else f"{count} {unit}"
    return f"{whole} s"


def format_age(seconds: float) -> str:
    """Formats a time span in its largest unit only: `5 m`, `3 h`, `2 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"


def format_ago(seconds: float) -> str:
    """Formats a time span as `5 m ago`, or `now`."""
    told = format_age(seconds)
    return told if told == "now" else f"{told} ago"


def format_token_count(count: int) -> str:
    """Formats a token count as `950`, `1.2k`, `12k` or `1.5M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            tenths = count * 10 // size
            return (
                f"{tenths // 10}{unit}" if tenths >= 100 or tenths % 10 == 0 else f"{tenths / 10:.1f}{unit}"
            )
    return str(count)


def format_byte_count(count: int) -> str:
    """Formats a byte count as `12 B`, `48 kB` or `1.2 MB`."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def format_percentage(percent: float) -> str:
    """Formats a percentage as `0.4 %` or `12 %`."""
    return f"{percent:.1f} %" if 0.05 <= percent < 0.95 else f"{percent:.0f} %"


def count_with_noun(count: int, one: str, many: str = "") -> str:
    """Returns a count with its noun: `1 file`, `1,200 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def format_changed_lines(added: int, removed: int) -> str:
    """Formats the numbers of added and removed lines as `+12 −4`; a number of zero is omitted."""
    return " ".join([*([f"+{added:,}"] if added else []), *([f"{MINUS_SIGN}{removed:,}"] if removed else [])])


def format_changed_files(files: int, added: int, removed: int) -> str:
    """Formats the numbers of changed files and lines as `3 files +40 −12`."""
    return f"{count_with_noun(files, 'file')} {format_changed_lines(added, removed)}".rstrip()


def draw_thin_progress_bar(amount: float, most: float, width: int) -> str:
    """Draws a progress bar as a thin line (`━━━ `), which does not run into the bars of neighbouring rows; any share
    above zero is visible."""
    filled = max(1, round(width * min(1.0, amount / most))) if most and amount > 0 else 0
    return ("━" * filled).ljust(width)


def draw_block_progress_bar(amount: float, most: float, width: int) -> str:
    """Draws a progress bar in eighths of a cell (`███▌ `); any share above zero is visible."""
    if not most or amount <= 0:
        return " " * width
    whole, rest = divmod(max(1, round(8 * width * min(1.0, amount / most))), 8)
    return ("█" * whole + " ▏▎▍▌▋▊▉"[rest] * bool(rest)).ljust(width)
