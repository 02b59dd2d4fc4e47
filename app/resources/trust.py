"""Whether a project's own settings, extensions and commands may be used, and remembering the answer.

A decision is kept per folder with a fingerprint of everything in the project that would run; when that changes,
the question comes back. Who asks the person, and how, is the faces' business: they show `Question.items`.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from app.resources.files import FileFault, read_text, write_text
from app.resources.paths import PROJECT_FOLDER, Paths
from app.values.json_comments import JsonFault, parse
from tools.files.presence import is_dir, is_file

Answer = Literal["yes", "no", "undecided"]

_FILES_LIMIT = 2000
_BYTES_LIMIT = 64 * 1024 * 1024


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that trusting the project lets run or count."""

    kind: Literal["extension", "settings", "command", "server", "prompt", "models"]
    path: str
    """Relative to the project."""
    detail: str = ""
    fingerprint: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked about a folder: exactly what would come into force."""

    folder: Path
    items: tuple[Item, ...]
    fingerprint: str
    changed_since: str | None = None
    """When an earlier yes was given, if what would run has changed since."""

    @property
    def is_empty(self) -> bool:
        """There is nothing to trust, so nobody has to be asked."""
        return not self.items


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    is_trusted: bool
    reason: Literal["flag", "extension", "saved", "setting", "answer", "nothing-to-trust", "not-asked"]
    question: Question
    """Still worth asking when `needs_answer`."""
    needs_answer: bool = False


class _Saved(msgspec.Struct, frozen=True, kw_only=True):
    trusted: bool
    fingerprint: str = ""
    at: str = ""


def question_for(cwd: Path) -> Question:
    """Lists what the project at `cwd` would bring into force. Reads files, runs nothing."""
    items = tuple(_items(cwd))
    whole = hashlib.sha256()
    for item in items:
        whole.update(f"{item.kind}\0{item.path}\0{item.fingerprint}\n".encode("utf-8", "surrogatepass"))
    return Question(folder=cwd, items=items, fingerprint=whole.hexdigest()[:32] if items else "")


def decide(
    paths: Paths,
    *,
    flag: bool | None = None,
    extension_answer: Answer = "undecided",
    default: Literal["ask", "always", "never"] = "ask",
    can_ask: bool = False,
) -> Decision:
    """Order: flag, an extension's answer, what was saved, the setting. Without anyone to ask, `ask` means no."""
    question = question_for(paths.cwd)

    def decided(is_trusted: bool, reason: Any, needs_answer: bool = False) -> Decision:
        return Decision(is_trusted=is_trusted, reason=reason, question=question, needs_answer=needs_answer)

    if flag is not None:
        return decided(flag, "flag")
    if extension_answer != "undecided":
        return decided(extension_answer == "yes", "extension")
    if question.is_empty:
        return decided(True, "nothing-to-trust")
    saved = _nearest(paths)
    if saved is not None:
        if not saved.trusted:
            return decided(False, "saved")
        if saved.fingerprint in ("", question.fingerprint):
            return decided(True, "saved")
        question = msgspec.structs.replace(question, changed_since=saved.at)
    elif default != "ask":
        return decided(default == "always", "setting")
    return decided(False, "not-asked", needs_answer=can_ask)


def remember(paths: Paths, question: Question, *, is_trusted: bool) -> None:
    """Keeps the answer for the folder. Raises `FileFault`."""
    import filelock  # noqa: PLC0415  (most starts only read)

    file = paths.trust_file
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(f"{file}.lock", timeout=5):
            table = _read(file)
            table[_key(question.folder)] = {
                "trusted": is_trusted,
                "fingerprint": question.fingerprint,
                "at": time.strftime("%Y-%m-%d", time.gmtime()),
            }
            write_text(file, json.dumps(table, indent=2, ensure_ascii=False) + "\n", mode=0o600)
    except (OSError, filelock.Timeout) as problem:
        raise FileFault(file, f"cannot be written: {problem}") from None


def forget(paths: Paths, folder: Path) -> bool:
    """Takes the folder's answer back; False when there was none. Raises `FileFault`."""
    table = _read(paths.trust_file)
    if _key(folder) not in table:
        return False
    del table[_key(folder)]
    write_text(paths.trust_file, json.dumps(table, indent=2, ensure_ascii=False) + "\n", mode=0o600)
    return True


def _nearest(paths: Paths) -> _Saved | None:
    """The folder's own answer, with its fingerprint; else that of the nearest folder above, which covers all below."""
    table = _read(paths.trust_file)
    own = _key(paths.cwd)
    for folder in (paths.cwd, *paths.cwd.parents):
        entry = table.get(_key(folder))
        if isinstance(entry, bool):
            entry = {"trusted": entry}
        if not isinstance(entry, dict) or not isinstance(entry.get("trusted"), bool):
            continue
        is_own = _key(folder) == own
        fingerprint = str(entry.get("fingerprint", "")) if is_own else ""
        return _Saved(trusted=entry["trusted"], fingerprint=fingerprint, at=str(entry.get("at", "")))
    return None


def _read(file: Path) -> dict[str, Any]:
    """A broken file trusts nobody; it is not repaired here, so that nothing is lost."""
    try:
        table = parse(read_text(file) or "{}")
    except (FileFault, JsonFault):
        return {}
    return table if isinstance(table, dict) else {}


def _key(folder: Path) -> str:
    return str(folder.resolve())


def _items(cwd: Path) -> Iterator[Item]:
    project = cwd / PROJECT_FOLDER
    yield from _extensions(cwd, project / "extensions")
    yield from _settings_items(cwd, project / "settings.json")
    for name in ("SYSTEM.md", "APPEND_SYSTEM.md"):
        if is_file(project / name):
            yield _item(cwd, "prompt", project / name, "replaces or extends the system prompt")
    for name, kind in (("models.json", "models"), ("mcp.json", "server")):
        if is_file(project / name):
            yield _item(cwd, kind, project / name, _commands_in(project / name))
    for name in ("skills", "prompts", "rules", "themes"):
        if is_dir(project / name):
            yield _item(cwd, "prompt", project / name, f"the project's own {name}")


def _extensions(cwd: Path, folder: Path) -> Iterator[Item]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for path in entries:
        if path.name.startswith((".", "__")):
            continue
        if path.suffix == ".py" or (is_dir(path) and any(path.rglob("*.py"))):
            yield _item(cwd, "extension", path, "Python code")


def _settings_items(cwd: Path, file: Path) -> Iterator[Item]:
    try:
        text = read_text(file)
    except FileFault:
        return
    if text is None:
        return
    yield _item(cwd, "settings", file, "the project's settings")
    try:
        data = parse(text)
    except JsonFault:
        return
    from app.resources.settings import keys  # noqa: PLC0415  (only a project with settings pays for the table)

    for key in keys():
        value = _at(data, key.path)
        if value is None or not key.runs:
            continue
        shown = json.dumps(value, ensure_ascii=False)
        yield Item(
            kind="command", path=_relative(cwd, file), detail=f"{key.name} = {shown[:400]}", fingerprint=shown
        )


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _commands_in(file: Path) -> str:
    """The `!command` values and server commands of a JSON file, as they would run."""
    try:
        data = parse(read_text(file) or "{}")
    except (FileFault, JsonFault):
        return "cannot be read"
    found = sorted(set(_commands(data)))
    return "; ".join(found)[:1000]


def _commands(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        command = data.get("command")
        if isinstance(command, str):
            arguments = data.get("args")
            words = [command, *map(str, arguments)] if isinstance(arguments, list) else [command]
            yield " ".join(words)
        for value in data.values():
            yield from _commands(value)
    elif isinstance(data, list):
        for value in data:
            yield from _commands(value)
    elif isinstance(data, str) and data.startswith("!"):
        yield data


def _item(cwd: Path, kind: Any, path: Path, detail: str) -> Item:
    return Item(kind=kind, path=_relative(cwd, path), detail=detail, fingerprint=fingerprint(path))


def _relative(cwd: Path, path: Path) -> str:
    return path.relative_to(cwd).as_posix()


def fingerprint(path: Path) -> str:
    """A hash of a file, or of every file below a folder with its name."""
    whole = hashlib.sha256()
    files = [path] if is_file(path) else sorted(_files_below(path))
    left = _BYTES_LIMIT
    for file in files[:_FILES_LIMIT]:
        name = file.name if file == path else file.relative_to(path).as_posix()
        whole.update(name.encode("utf-8", "surrogatepass") + b"\0")
        try:
            data = file.read_bytes()
        except OSError as problem:
            data = str(problem.errno).encode()
        left -= len(data)
        whole.update(hashlib.sha256(data).digest() if left > 0 else str(len(data)).encode())
    whole.update(str(len(files)).encode())
    return whole.hexdigest()[:32]


def _files_below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if "__pycache__" not in path.parts and is_file(path):
            yield path
