"""Lists the entries of a directory as text, for `ls` and for `read` of a directory."""

import msgspec

from tools.file_and_process_operations import FileOperations
from tools.result_limits import TruncatedText, keep_first_lines
from tools.text_sanitizing import one_line

MAX_LISTED_ENTRIES = 500


class DirectoryListing(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    """The names of the entries as text, with a notice if some are omitted."""
    shown: int
    total: int
    limit_reached: int | None = None
    truncation: TruncatedText | None = None


def list_directory(files: FileOperations, path: str, limit: int = MAX_LISTED_ENTRIES) -> DirectoryListing:
    """Lists the names in a directory sorted case-insensitively, directories with a slash, dotfiles included."""
    entries = sorted(files.entries(path), key=lambda entry: (entry.name.casefold(), entry.name))
    shown = [one_line(entry.name) + ("/" if entry.is_directory else "") for entry in entries[:limit]]
    if not entries:
        return DirectoryListing(text="(empty directory)", shown=0, total=0)
    cut = keep_first_lines("\n".join(shown), max_lines=max(limit, 1))
    notices: list[str] = []
    is_limited = len(entries) > limit
    if is_limited:
        notices.append(
            f"{limit} entries limit reached. Showing {limit} of {len(entries)}. Use limit={limit * 2} for more"
        )
    if cut.truncated:
        notices.append(f"50.0KB limit reached after {cut.output_lines} of {len(entries)} entries")
    text = cut.content + (f"\n\n[{'. '.join(notices)}]" if notices else "")
    return DirectoryListing(
        text=text,
        shown=cut.output_lines,
        total=len(entries),
        limit_reached=limit if is_limited else None,
        truncation=cut if cut.truncated else None,
    )
