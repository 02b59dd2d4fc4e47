"""What it takes to record and restore the files of one session that is open, put together."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.sessions.ids import sidecar
from app.sessions.log import SessionLog
from app.undo.blobs import BlobStore
from app.undo.differences import Differing
from app.undo.history import needed_by
from app.undo.holding import Holder
from app.undo.ledger import Ledger
from app.undo.needed import Needed
from app.undo.place import UndoPlace
from app.undo.plan import HeldContents
from app.undo.recording import Recorder
from app.undo.restores import Restores
from app.undo.scans import ScanWay
from app.undo.watching import Watch
from app.undo.ways import way_for


class OpenedUndo(msgspec.Struct, frozen=True, kw_only=True):
    log: SessionLog
    store: BlobStore
    recorder: Recorder
    restores: Restores
    differing: Differing
    watch: Watch
    close: Callable[[], None]


def opened(log: SessionLog, place: UndoPlace, cwd: Path, *, limit: Callable[[], int]) -> OpenedUndo:
    """Blocks. A store that cannot be written is told for each change."""
    store = BlobStore(place.store)
    needed = Needed(place.store, log.session_id)
    entries = list(log.entries)
    try:
        needed.open(lambda: needed_by(entries, store.get))
    except OSError:
        pass
    root = Path(os.path.realpath(cwd))
    ledger = Ledger(sidecar(log.path, "files") if log.path is not None else None)
    recorder = Recorder(HeldContents(store, limit), ledger, needed, root)
    holder = Holder(store, recorder.keep)

    def way() -> ScanWay | str:
        return way_for(
            root,
            holder,
            home=place.home,
            store=place.store,
            may_ask_git=place.may_ask_git,
            max_bytes=limit(),
        )

    return OpenedUndo(
        log=log,
        store=store,
        recorder=recorder,
        restores=Restores(log, recorder),
        differing=Differing(log, recorder),
        watch=Watch(way),
        close=needed.close,
    )
