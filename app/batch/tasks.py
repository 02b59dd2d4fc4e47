"""Plans a batch: reads rows as tasks, combines them with defaults and a matrix to runs, and gives each run a hash."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from app.batch.task_files import BatchTaskRow
from app.values.user_errors import UserError
from tools.lazy_patterns import lazy_regex

Permissions = Literal["read-only", "ask", "auto-edit", "full"]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
Count = Annotated[int, Meta(ge=1, le=999_999_999)]
Amount = Annotated[float, Meta(gt=0, le=999_999_999)]

_REPOSITORY_ADDRESS_PATTERN = lazy_regex(r"(?:https?|ssh|git|file)://\S+|[\w.-]+@[\w.-]+:\S+")
_TASK_ID_PATTERN = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PROMPT_PLACEHOLDER_PATTERN = lazy_regex(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")


class BatchError(UserError):
    """The batch cannot be run as requested; the text names the row and the remedy."""


class BatchTaskFields(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
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


class BatchTask(BatchTaskFields, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A task of a batch: one row of the file of tasks."""

    id: str
    repeat: Count | None = None


class BatchDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults that the command line gives for all rows."""

    fields: BatchTaskFields = BatchTaskFields()
    models: tuple[str, ...] = ()
    repeat: int = 1
    options: tuple[str, ...] = ()
    """Further options of bayou for each run."""
    base_folder: Path
    """The folder that relative paths of rows start at."""


class BatchRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run of a task, with its model and its repetition."""

    task: BatchTask
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


class BatchPlan(msgspec.Struct, frozen=True, kw_only=True):
    runs: tuple[BatchRun, ...]
    options: tuple[str, ...]


def is_repository_address(repo: str) -> bool:
    """Whether a task names its repository by an address instead of a folder: `https://…`, `ssh://…`, `file://…`,
    `git@host:path`."""
    return _REPOSITORY_ADDRESS_PATTERN.fullmatch(repo) is not None


def plan_batch(rows: Sequence[BatchTaskRow], defaults: BatchDefaults) -> BatchPlan:
    """Makes the runs of all rows, in order. Raises `BatchError` for the first row that cannot be run."""
    if not rows:
        raise BatchError("There are no tasks in the file. Write one row for each task.")
    seen: dict[str, BatchTaskRow] = {}
    runs: list[BatchRun] = []
    for row in rows:
        task = _make_task(row, defaults)
        if (other := seen.get(task.id)) is not None:
            raise BatchError(
                f"{row.location}: the id {task.id} is already used in {other.location}. Give each task a "
                f"different id."
            )
        seen[task.id] = row
        runs += _task_runs(task, defaults)
    return BatchPlan(runs=tuple(runs), options=defaults.options)


def _task_runs(task: BatchTask, defaults: BatchDefaults) -> Iterator[BatchRun]:
    models = (task.model,) if task.model is not None else defaults.models or (None,)
    for number in range(1, (task.repeat or defaults.repeat) + 1):
        for model in models:
            one = msgspec.structs.replace(task, model=model, repeat=None)
            identity = msgspec.json.encode((one, number, defaults.options), order="deterministic")
            yield BatchRun(task=one, number=number, hash=hashlib.sha256(identity).hexdigest()[:32])


def _make_task(row: BatchTaskRow, defaults: BatchDefaults) -> BatchTask:
    own = {name: value for name, value in row.fields.items() if value is not None}
    template = own.get("prompt", defaults.fields.prompt)
    words = set(_PROMPT_PLACEHOLDER_PATTERN.findall(template)) if isinstance(template, str) else set[str]()
    known = set(BatchTask.__struct_fields__)
    given = {name: value for name, value in own.items() if name in known or name not in words}
    try:
        task = msgspec.convert(given, BatchTask, strict=not row.is_text)
    except msgspec.ValidationError as problem:
        raise BatchError(f"{row.location}: {_validation_error_text(problem, words)}") from None
    if not _TASK_ID_PATTERN.fullmatch(task.id):
        raise BatchError(
            f"{row.location}: the id {task.id!r} is not valid: use up to 100 letters, digits, dots, dashes and "
            "underscores, beginning with a letter or digit."
        )
    task = _with_defaults(task, defaults.fields)
    if task.prompt is None or not task.prompt.strip():
        raise BatchError(
            f"{row.location}: there is no prompt. Add the field prompt, or --prompt for all rows."
        )
    prompt = _fill_template(task.prompt, own, row, must_be_there="prompt" not in own)
    return _resolve_paths(msgspec.structs.replace(task, prompt=prompt), row, defaults.base_folder)


def _with_defaults(task: BatchTask, defaults: BatchTaskFields) -> BatchTask:
    missing = {
        name: value
        for name in BatchTaskFields.__struct_fields__
        if getattr(task, name) is None and (value := getattr(defaults, name)) is not None
    }
    for one, other in (("folder", "repo"), ("repo", "folder")):
        if getattr(task, one) is not None:
            missing.pop(other, None)
    return msgspec.structs.replace(task, **missing)


def _fill_template(
    template: str, fields: Mapping[str, Any], row: BatchTaskRow, *, must_be_there: bool
) -> str:
    """Replaces `{{field}}`. In a row's own prompt unknown fields stay; in a template for all rows they are an
    error."""
    lacking = [name for name in _PROMPT_PLACEHOLDER_PATTERN.findall(template) if name not in fields]
    if lacking and must_be_there:
        raise BatchError(
            f"{row.location}: the prompt needs the field {lacking[0]}, which the row does not have."
        )
    return _PROMPT_PLACEHOLDER_PATTERN.sub(
        lambda found: str(fields[found[1]]) if found[1] in fields else found[0], template
    )


def _resolve_paths(task: BatchTask, row: BatchTaskRow, base: Path) -> BatchTask:
    """Makes paths absolute, and refuses contradictory ones."""
    if task.folder is not None and task.repo is not None:
        raise BatchError(f"{row.location}: folder and repo cannot be used together. Keep one of them.")
    if task.rev is not None and task.repo is None:
        raise BatchError(f"{row.location}: rev needs repo: it is a revision of a repository.")
    if task.folder is None and task.repo is None:
        raise BatchError(
            f"{row.location}: there is neither folder nor repo. Add one, or --folder or --repo for all."
        )
    for name in ("folder", "repo"):
        value = getattr(task, name)
        if value is None or (name == "repo" and is_repository_address(value)):
            continue
        place = base / Path(value).expanduser()
        if not place.is_dir():
            raise BatchError(f"{row.location}: {name} {value}: there is no such folder.")
        task = msgspec.structs.replace(task, **{name: str(place.resolve())})
    return task


def _validation_error_text(problem: msgspec.ValidationError, words: set[str]) -> str:
    text = str(problem)
    if "unknown field" in text:
        fields = ", ".join(name for name in BatchTask.__struct_fields__)
        return f"{text}. Fields of a task are {fields}; others must be used in the prompt as {{{{field}}}}."
    return f"{text}."
