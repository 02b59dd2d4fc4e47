"""A call that changes files while its arguments arrive: the diff that it would make by what has come, and whether what
has come can still work.

Pure but for the files that it is handed. The places of complete edits are found once, by what will carry them out; of
the one that is arriving only where it stands beyond doubt.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from tools.edits.anchored import AnchoredEdit, Stale, anchored, anchored_edit
from tools.edits.arriving_file import ArrivingDiff, ArrivingFile, NoSuchFile, Sight
from tools.edits.arriving_patch import ArrivingPatch
from tools.edits.card import file_told
from tools.edits.named import parts_of
from tools.edits.replacing import Edit, NoPlace, replaced
from tools.results import Json
from tools.streamed import StreamedObject

Look = Callable[[str], Sight]
"""What may be known of a file, by its path as it was sent, before the call runs."""
Prepare = Callable[[dict[str, Any]], dict[str, Any]]
_MOST_ARGUED: Final = 20_000
_MOST_FILES: Final = 20


class Hopeless(msgspec.Struct, frozen=True, kw_only=True):
    """It cannot work any more, whatever else comes."""

    why: str
    arguments: Mapping[str, Any]
    """As far as they were complete."""
    path: str
    """The file in which there is no place, as it was sent."""
    rows: tuple[int, ...] = ()
    """Lines of it that the words show."""
    text: str = ""
    key: str = ""
    """Under which it is known what the model saw of the file."""


class ArrivingEdit:
    """One call of a tool that edits or writes."""

    def __init__(self, prepare: Prepare | None, look: Look, *, kind: Literal["edit", "write"]) -> None:
        self._prepare: Prepare = prepare or (lambda raw: raw)
        self._look = look
        self._kind = kind
        self._streamed = StreamedObject()
        self._files: dict[str, ArrivingFile] = {}
        self._patch = ArrivingPatch(self._file)
        self.refusal: Hopeless | None = None

    def feed(self, text: str) -> None:
        self._streamed.feed(text)

    @property
    def real_paths(self) -> tuple[str, ...]:
        """Of the files that were looked at."""
        return tuple(file.sight.real for file in self._files.values() if file.sight.real)

    def diffs(self) -> tuple[ArrivingDiff, ...]:
        """What is to be shown of each file; nothing where the arguments alone can be. For a thread."""
        so_far, whole = self._read()
        if self._kind == "write":
            self._written(so_far, whole)
        elif isinstance(text := so_far.get("input"), str) and text.strip():
            self._patch.take(text, is_over="input" in whole and self._is_whole("input"))
        elif parts_of(so_far, "changes"):
            self._anchored(so_far, whole)
        else:
            self._replaced(so_far, whole)
        if self.refusal is None:
            self._judge(whole)
        found = [file.diff() for file in list(self._files.values())[:_MOST_FILES]]
        if any(diff is None for diff in found):
            return ()
        return tuple(diff for diff in found if diff is not None)

    def arguments(self) -> dict[str, Any]:
        """What has come, cut to what is worth drawing."""
        room = _MOST_ARGUED

        def cut(value: Json) -> Any:
            nonlocal room
            if isinstance(value, str):
                kept = value[: max(0, room)]
                room -= len(kept)
                return kept
            if isinstance(value, dict):
                return {name: cut(one) for name, one in value.items()}
            if isinstance(value, list):
                kept_parts: list[Any] = []
                for one in value:
                    if room <= 0:
                        break
                    kept_parts.append(cut(one))
                return kept_parts
            return value

        return cut(dict(self._streamed.so_far()))

    def lines(self, name: str) -> int:
        """How many the text of that member has by now."""
        text = self._prepared(dict(self._streamed.so_far())).get(name)
        return text.count("\n") + (not text.endswith("\n")) if isinstance(text, str) and text else 0

    # What has come

    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self._prepared(dict(self._streamed.so_far())), self._prepared(self._streamed.whole())

    def _prepared(self, raw: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._prepare(raw)
        except Exception:  # noqa: BLE001  (a tool's own preparation, of arguments that are a model's nonsense so far)
            return {}

    def _is_whole(self, name: str) -> bool:
        arriving = self._streamed.arriving
        return arriving is None or name not in self._prepared({arriving: "x"})

    def _file(self, path: str) -> ArrivingFile:
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = ArrivingFile(path, self._look(path))
        return known

    # By old and new texts

    def _replaced(self, so_far: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
        complete = parts_of(whole, "edits")
        by_path: dict[str, list[Edit]] = {}
        for part in complete:
            path, old, new = part.get("path") or whole.get("path"), part.get("oldText"), part.get("newText")
            if not isinstance(path, str) or not isinstance(old, str) or not isinstance(new, str):
                return
            edit = Edit(old_text=old, new_text=new, replaces_all=bool(part.get("all")))
            by_path.setdefault(path, []).append(edit)
        for path, edits in by_path.items():
            file = self._file(path)
            file.place(
                len(edits),
                lambda seen, edits=edits, path=path: replaced(seen.target, edits, path, seen.shown),
            )
        for file in self._files.values():
            file.rest()
        arriving = parts_of(so_far, "edits")[len(complete) :]
        if not arriving:
            return
        part = arriving[0]
        path, old, new = part.get("path") or whole.get("path"), part.get("oldText"), part.get("newText")
        if not isinstance(path, str) or not isinstance(old, str) or not self._is_whole("path"):
            return
        if isinstance(new, str) and self._is_whole("oldText"):
            self._file(path).grow(len(complete), old, new)
        elif not isinstance(new, str):
            self._file(path).point_at(old)

    # By anchors

    def _anchored(self, so_far: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
        complete = parts_of(whole, "changes")
        by_path: dict[str, list[AnchoredEdit]] = {}
        for part in complete:
            path, edit = part.get("path"), anchored_edit(part)
            if not isinstance(path, str) or edit is None:
                return
            by_path.setdefault(path, []).append(edit)
        for path, edits in by_path.items():
            self._file(path).place(
                len(edits),
                lambda seen, edits=edits, path=path: anchored(seen.target, edits, path, seen.versions),
            )
        for file in self._files.values():
            file.rest()
        arriving = parts_of(so_far, "changes")[len(complete) :]
        path = arriving[0].get("path") if arriving else None
        if (
            not isinstance(path, str)
            or "lines" not in arriving[0]
            or not isinstance(arriving[0]["lines"], list)
        ):
            return
        edit = anchored_edit(arriving[0])
        if edit is None:
            return
        lines = edit.lines[:-1] if self._streamed.arriving == "lines" else edit.lines
        wanted = msgspec.structs.replace(edit, lines=("\0",))
        self._file(path).grow_at(
            len(complete),
            lambda seen: anchored(seen.target, (wanted,), path, seen.versions),
            lines,
        )

    # As a whole

    def _written(self, so_far: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
        path, content = whole.get("path"), so_far.get("content")
        if isinstance(path, str) and path.strip() and isinstance(content, str):
            self._file(path).write(content, is_over="content" in whole)

    # Whether it can work

    def _judge(self, whole: Mapping[str, Any]) -> None:
        """Only of a plain call, and only what no later part of it can change."""
        if self._kind == "write" or not self._streamed.is_plain or self._streamed.is_lost:
            return
        if (
            not any(isinstance(one, list) for one in self._streamed.whole().values())
            and not self._patch.is_read
        ):
            return  # one edit without a list, before which others may still come
        for path, file in self._files.items():
            problem = file.problem
            if not isinstance(problem, NoPlace | Stale | NoSuchFile):
                continue
            arguments = dict(self._streamed.whole())
            if self._patch.is_read and not self._is_whole("input"):
                name = self._streamed.arriving or "input"
                arguments[name] = self._patch.complete
            self.refusal = Hopeless(
                why=str(problem),
                arguments=arguments,
                path=path,
                rows=problem.rows if isinstance(problem, Stale) else (),
                text=file.seen.text if file.seen is not None else "",
                key=file.sight.key,
            )
            return


def details_of(diffs: Sequence[ArrivingDiff]) -> dict[str, Any]:
    """As a result has them."""
    told: list[dict[str, Any]] = [
        {
            **file_told(diff.path, diff.diff.patch, diff.diff.added, diff.diff.removed),
            "more": diff.diff.more,
        }
        for diff in diffs
    ]
    totals = {name: sum(file[name] for file in told) for name in ("added", "removed", "more")}
    details = {"patch": "".join(file["patch"] for file in told), **totals}
    return {**details, "files": told} if len(told) > 1 else details
