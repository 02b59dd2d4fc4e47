"""The folder of a batch: its manifest, its results as lines that survive a crash, and the lock of its writer."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from app.batch.tasks import BatchError, BatchRun
from app.resources.paths import BayouPaths
from app.resources.text_files import write_text
from bayou.batch import BatchResult, CommitHash, Outcome
from tools.files.atomic_replacement import write_all

if TYPE_CHECKING:
    from filelock import BaseFileLock

BATCH_RUN_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
INTERRUPTED_RUN_REASON = "interrupted"
"""The reason of runs that were cancelled by the end of the batch; the same command runs them again."""


class BatchManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The content of `batch.json`, which identifies the batch."""

    tasks: str
    version: int = 1
    work: str = ""
    """The temporary folder of the last start of the batch."""
    commits: dict[str, CommitHash] = {}
    """The commit of each repository and revision at the first start; later starts use the same."""


class BatchFolder:
    """The folder of one batch, held by one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        self._lock: BaseFileLock | None = None
        self._results = -1

    @property
    def manifest_file(self) -> Path:
        return self.path / "batch.json"

    @property
    def results_file(self) -> Path:
        return self.path / "results.jsonl"

    def open_for_tasks(self, tasks: Path, paths: BayouPaths) -> BatchManifest:
        """Creates or continues the folder. Raises `BatchError` if it belongs to something else, or to another machine:
        what it says of places is not to be trusted, and links in it lead anywhere."""
        manifest = self._check_tasks(tasks)
        if manifest is not None and not is_batch_from_this_machine(self.path, paths):
            raise BatchError(
                f"--out {self.path}: the results in it were not made here. `bayou batch show` lists them; to run the "
                "tasks, name a new folder."
            )
        if (self.path / ".lock").is_symlink():
            raise BatchError(f"--out {self.path}: .lock in it is a link. Name a new folder.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise BatchError(
                f"--out {self.path}: {problem.strerror}. Name a folder that can be written."
            ) from None
        self._take_lock()
        if manifest is None:
            record_batch_as_local(self.path, paths)
            manifest = BatchManifest(tasks=str(tasks))
            self.save_manifest(manifest)
        return manifest

    def save_manifest(self, manifest: BatchManifest) -> None:
        write_text(self.manifest_file, msgspec.json.format(msgspec.json.encode(manifest)).decode() + "\n")

    def results(self) -> list[BatchResult]:
        """Returns all results in order. Raises `BatchError`."""
        return read_batch_result_lines(self.path)

    def append_result(self, result: BatchResult) -> None:
        """Appends a line, flushed to the disk. Raises `BatchError` with the file unchanged."""
        try:
            if self._results < 0:
                self._results = _open_for_lines(self.results_file)
            _append_line(self._results, msgspec.json.encode(result) + b"\n")
        except OSError as problem:
            raise BatchError(
                f"{self.results_file}: the result of {result.key} cannot be written: {problem.strerror}. "
                "Make room and run the same command again."
            ) from None

    def create_run_folder(self, run: BatchRun) -> Path:
        """Creates a new folder for a run; those of earlier attempts stay."""
        above = self.path / "runs"
        for attempt in range(1, 100_000):
            folder = above / (run.name if attempt == 1 else f"{run.name}-{attempt}")
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            return folder
        raise BatchError(f"{above}: there are too many attempts of {run.key}. Remove the old ones.")

    def close(self) -> None:
        if self._results >= 0:
            os.close(self._results)
            self._results = -1
        if self._lock is not None:
            self._lock.release()

    def _check_tasks(self, tasks: Path) -> BatchManifest | None:
        if not self.path.exists():
            return None
        try:
            manifest = msgspec.json.decode(self.manifest_file.read_bytes(), type=BatchManifest)
        except FileNotFoundError:
            others = [one for one in self.path.iterdir() if one != tasks and one.name != ".lock"]
            if others:
                raise BatchError(
                    f"--out {self.path}: there are other files in it, such as {others[0].name}. Name a new "
                    f"folder."
                ) from None
            return None
        except NotADirectoryError:
            raise BatchError(f"--out {self.path}: this is a file. Name a folder.") from None
        except (OSError, msgspec.MsgspecError) as problem:
            raise BatchError(f"{self.manifest_file}: {problem}. Name another folder with --out.") from None
        if manifest.tasks != str(tasks):
            raise BatchError(
                f"--out {self.path}: it has the results of another batch, {manifest.tasks}. Name another "
                f"folder."
            )
        return manifest

    def _take_lock(self) -> None:
        import filelock  # noqa: PLC0415  (a dry run takes none)

        lock = filelock.FileLock(self.path / ".lock", timeout=0)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise BatchError(
                f"--out {self.path}: another bayou runs this batch. Wait for its end, or interrupt it."
            ) from None
        except OSError as problem:
            raise BatchError(
                f"--out {self.path}: {problem.strerror}. Name a folder that can be written."
            ) from None
        self._lock = lock


def record_batch_as_local(out: Path, paths: BayouPaths) -> None:
    """Records that the folder's results are of this machine. Raises `BatchError`."""
    file = _folder_list_file(paths)
    if is_batch_from_this_machine(out, paths):
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb", buffering=0) as lines:
            lines.write(msgspec.json.encode(os.path.realpath(out)) + b"\n")
    except OSError as problem:
        raise BatchError(f"{file}: {problem.strerror}. Make room, or correct the folder's rights.") from None


def is_batch_from_this_machine(out: Path, paths: BayouPaths) -> bool:
    """Whether the results are of this machine: those of another person may name any folder and address."""
    try:
        lines = _folder_list_file(paths).read_bytes().splitlines()
    except OSError:
        return False
    return msgspec.json.encode(os.path.realpath(out)) in lines


def _folder_list_file(paths: BayouPaths) -> Path:
    return paths.agent_dir / "batch-folders.jsonl"


def resolve_file_in_batch(out: Path, name: str) -> Path:
    """Returns a file that a result names. Raises `BatchError` if the folder of the batch has no such file."""
    file = out / name
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(out)) or not file.is_file():
        raise BatchError(f"{file}: there is no such file in the folder of the batch.")
    return file


def read_batch_results(folder: Path) -> list[BatchResult]:
    """Returns the results of a finished or running batch. Raises `BatchError` for another folder."""
    if not (folder / "batch.json").is_file():
        raise BatchError(f"{folder} is not a batch folder. Name the folder given to `bayou batch` as --out.")
    return read_batch_result_lines(folder)


def read_batch_result_lines(folder: Path) -> list[BatchResult]:
    """Returns the results of a batch, without a last line that a crash cut off. Raises `BatchError`."""
    file = folder / "results.jsonl"
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise BatchError(f"{file} cannot be read: {problem.strerror}.") from None
    decoder, found = msgspec.json.Decoder(BatchResult), list[BatchResult]()
    *lines, _ = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(decoder.decode(line))
        except msgspec.DecodeError as problem:
            raise BatchError(f"{file}, line {number}: {problem}. Remove or correct this line.") from None
    return found


def _open_for_lines(file: Path) -> int:
    """Opens a file for appending lines, and removes a line that a crash has cut off."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    data = file.read_bytes()
    os.ftruncate(descriptor, data.rfind(b"\n") + 1)
    return descriptor


def _append_line(descriptor: int, line: bytes) -> None:
    before = os.fstat(descriptor).st_size
    try:
        write_all(descriptor, line)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
