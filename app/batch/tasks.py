"""Plans a batch: reads rows as tasks, combines them with defaults and a matrix to runs, and gives each run a hash."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from app.batch.task_files import Row
from app.values.user_errors import UserError
from tools.patterns import late

Permissions = Literal["read-only", "ask", "auto-edit", "full"]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
Count = Annotated[int, Meta(ge=1, le=999_999_999)]
Amount = Annotated[float, Meta(gt=0, le=999_999_999)]

_ID = late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLACEHOLDER = late(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")


class BatchError(UserError):
    """The batch cannot be run as requested; the text names the row and the remedy."""


class TaskFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of a row, for which a flag may give a default."""

    prompt: str | None = None
    folder: str | None = None
    repo: str | None = None
    rev: str | None = None
    model: str | None = None
    thinking: Thinking | None = None
    tools: str | None = None
    permissions: Permissions | None = None
    setup: str | None = None
    check: str | None = None
    label: str | None = None
    """A word for the report, which compares runs with different labels."""
    max_turns: Count | None = None
    max_cost: Amount | None = None
    max_tokens: Count | None = None
    time_limit: Amount | None = None
    setup_limit: Amount | None = None
    check_limit: Amount | None = None


class Task(TaskFields, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One row of the file."""

    id: str
    repeat: Count | None = None


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults that the command line gives for all rows."""

    fields: TaskFields = TaskFields()
    models: tuple[str, ...] = ()
    repeat: int = 1
    options: tuple[str, ...] = ()
    """Further options of bayou for each run."""
    base: Path
    """The folder that relative paths of rows start at."""


class Run(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run of a task, with its model and its repetition."""

    task: Task
    number: int
    """The number of the repetition, from 1."""
    hash: str
    """A hash of everything that the run depends on, except the contents of folders and repositories."""

    @property
    def key(self) -> str:
        """Identifies the run in its batch, independent of the task's content."""
        model = f" {self.task.model}" if self.task.model else ""
        return f"{self.task.id}{model} #{self.number}"

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return f"{self.task.id}-{self.hash[:8]}"


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    runs: tuple[Run, ...]
    options: tuple[str, ...]


def plan_batch(rows: Sequence[Row], defaults: Defaults) -> Batch:
    """Makes the runs of all rows, in order. Raises `BatchError` for the first row that cannot be run."""
    if not rows:
        raise BatchError("There are no tasks in the file. Write one row for each task.")
    seen: dict[str, Row] = {}
    runs: list[Run] = []
    for row in rows:
        task = _task(row, defaults)
        if (other := seen.get(task.id)) is not None:
            raise BatchError(
                f"{row.place}: the id {task.id} is that of {other.place} too. Give each task its own id."
            )
        seen[task.id] = row
        runs += _runs(task, defaults)
    return Batch(runs=tuple(runs), options=defaults.options)


def _runs(task: Task, defaults: Defaults) -> Iterator[Run]:
    models = (task.model,) if task.model is not None else defaults.models or (None,)
    for number in range(1, (task.repeat or defaults.repeat) + 1):
        for model in models:
            one = msgspec.structs.replace(task, model=model, repeat=None)
            identity = msgspec.json.encode((one, number, defaults.options), order="deterministic")
            yield Run(task=one, number=number, hash=hashlib.sha256(identity).hexdigest()[:32])


def _task(row: Row, defaults: Defaults) -> Task:
    own = {name: value for name, value in row.fields.items() if value is not None}
    template = own.get("prompt", defaults.fields.prompt)
    words = set(_PLACEHOLDER.findall(template)) if isinstance(template, str) else set[str]()
    known = set(Task.__struct_fields__)
    given = {name: value for name, value in own.items() if name in known or name not in words}
    try:
        task = msgspec.convert(given, Task, strict=not row.is_text)
    except msgspec.ValidationError as problem:
        raise BatchError(f"{row.place}: {_validation_error_text(problem, words)}") from None
    if not _ID.fullmatch(task.id):
        raise BatchError(
            f"{row.place}: the id {task.id!r} names files: use up to 100 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit."
        )
    task = _with_defaults(task, defaults.fields)
    if task.prompt is None or not task.prompt.strip():
        raise BatchError(f"{row.place}: there is no prompt. Add the field prompt, or --prompt for all rows.")
    prompt = _filled(task.prompt, own, row, must_be_there="prompt" not in own)
    return _placed(msgspec.structs.replace(task, prompt=prompt), row, defaults.base)


def _with_defaults(task: Task, defaults: TaskFields) -> Task:
    missing = {
        name: value
        for name in TaskFields.__struct_fields__
        if getattr(task, name) is None and (value := getattr(defaults, name)) is not None
    }
    for one, other in (("folder", "repo"), ("repo", "folder")):
        if getattr(task, one) is not None:
            missing.pop(other, None)
    return msgspec.structs.replace(task, **missing)


def _filled(template: str, fields: Mapping[str, Any], row: Row, *, must_be_there: bool) -> str:
    """Replaces `{{field}}`. In a row's own prompt unknown fields stay; in a template for all rows they are an
    error."""
    lacking = [name for name in _PLACEHOLDER.findall(template) if name not in fields]
    if lacking and must_be_there:
        raise BatchError(
            f"{row.place}: the prompt needs the field {lacking[0]}, which the row does not have."
        )
    return _PLACEHOLDER.sub(lambda found: str(fields[found[1]]) if found[1] in fields else found[0], template)


def _placed(task: Task, row: Row, base: Path) -> Task:
    """Makes paths absolute, and refuses contradictory ones."""
    if task.folder is not None and task.repo is not None:
        raise BatchError(f"{row.place}: folder and repo cannot be used together. Keep one of them.")
    if task.rev is not None and task.repo is None:
        raise BatchError(f"{row.place}: rev needs repo: it is a revision of a repository.")
    if task.folder is None and task.repo is None:
        raise BatchError(
            f"{row.place}: there is neither folder nor repo. Add one, or --folder or --repo for all."
        )
    for name in ("folder", "repo"):
        value = getattr(task, name)
        if value is None:
            continue
        place = base / Path(value).expanduser()
        if not place.is_dir():
            raise BatchError(f"{row.place}: {name} {value}: there is no such folder.")
        task = msgspec.structs.replace(task, **{name: str(place.resolve())})
    return task


def _validation_error_text(problem: msgspec.ValidationError, words: set[str]) -> str:
    text = str(problem)
    if "unknown field" in text:
        fields = ", ".join(name for name in Task.__struct_fields__)
        return f"{text}. Fields of a task are {fields}; others must be used in the prompt as {{{{field}}}}."
    return f"{text}."
