"""Defines the messages between a batch and the workers of its cluster, and packs folders for them."""

import io
import os
import tarfile
from pathlib import Path

import msgspec

from app.batch.agent_process import AgentProgress
from app.batch.batch_run import StopReason
from app.batch.tasks import BatchRun
from app.resources.paths import bayou_state_folder
from bayou.batch import BatchResult, Outcome


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """One run that a worker is to carry out."""

    batch: str
    """The name of this start of the batch, which all its messages have."""
    run: BatchRun
    folder: str
    """The name of the folder of its result."""
    task: str
    """The key of its task in the engine."""
    parcel: str
    """The name of the parcel with its repository or folder."""
    source: str
    """The name of that repository or folder."""
    commit: str | None
    options: tuple[str, ...]
    max_cost: float | None


class CheckWorkerRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Asks whether a worker can carry out a batch's runs; answered by the reason if it cannot."""

    models: tuple[str, ...]


class SourceBundleDelivery(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Sends a worker the parcel that it has asked for: a repository or folder of a task."""

    batch: str
    parcel: str
    place: str
    is_repository: bool
    data: bytes
    """Empty if there is no such parcel."""


class StopRunRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    batch: str
    key: str
    reason: StopReason


class FetchSessionRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Asks a worker for the session file of a run, as far as it is written."""

    batch: str
    key: str


class PauseProvidersRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Tells a worker for how many seconds each rate-limited provider must not be asked."""

    batch: str
    seconds: dict[str, float]


class RemoveBatchFilesRequest(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Asks a worker to remove the files that a batch has left on its machine."""

    batch: str


Request = (
    CheckWorkerRequest
    | SourceBundleDelivery
    | StopRunRequest
    | FetchSessionRequest
    | PauseProvidersRequest
    | RemoveBatchFilesRequest
)


class RunBegunReport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    key: str
    worker: str


class RunProgressReport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    key: str
    state: AgentProgress


class SourceBundleNeededReport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Reports that a worker needs a parcel, a repository or folder of a task."""

    parcel: str
    place: str
    """Where the worker wants it."""
    is_repository: bool
    worker: str


class RateLimitedProvidersReport(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Reports the providers that have refused a run of this worker, with the seconds to wait."""

    seconds: dict[str, float]


Report = RunBegunReport | RunProgressReport | SourceBundleNeededReport | RateLimitedProvidersReport


class EndedRunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run on a worker, with the files of its folder."""

    result: BatchResult
    files: bytes


def dask_report_topic(batch: str) -> str:
    """Returns the name of the Dask topic on which the workers of a batch report."""
    return f"bayou-batch-{batch}"


def worker_batch_folder(batch: str, home: Path) -> Path:
    """Returns the folder of a start of a batch on this machine, which its workers share."""
    return bayou_state_folder(home, os.environ) / "batches" / dask_report_topic(batch)


def make_result_of_unfinished_run(run: BatchRun, folder: str, outcome: Outcome, reason: str) -> BatchResult:
    """Returns the result of a batch run that brought none itself: it could not start, was stopped, or was lost."""
    task = run.task
    return BatchResult(
        id=task.id,
        key=run.key,
        hash=run.hash,
        number=run.number,
        model=task.model,
        asked_model=task.model,
        thinking=task.thinking,
        permissions=task.permissions,
        label=task.label,
        outcome=outcome,
        reason=reason,
        folder=f"runs/{folder}",
    )


def pack_folder(folder: Path) -> bytes:
    """Returns the files of a folder as an archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
        archive.add(folder, ".")
    return data.getvalue()


def unpack_folder(data: bytes, folder: Path) -> None:
    """Writes the files of an archive into a folder; none outside of it."""
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        archive.extractall(folder, filter="data")
