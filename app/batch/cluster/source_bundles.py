"""Packs repositories and folders for the workers of a cluster: a repository as a git bundle with one commit and
what led to it, a folder as an archive."""

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from app.batch.cluster.messages import pack_folder, unpack_folder
from app.copies.repository_copies import RepositoryCopies, RepositoryGit
from tools.files.path_existence import is_dir

_GIT_BUNDLE_REF = "refs/heads/run"
_GIT_ALLOW_FILE_PROTOCOL_OPTIONS = ("-c", "protocol.file.allow=always")


def source_bundle_name(source: Path, commit: str | None) -> str:
    return hashlib.sha256(os.fsencode(source) + (commit or "").encode()).hexdigest()[:24]


class SourceBundles:
    """Packs each parcel once, when a worker first asks for it."""

    def __init__(self, git: RepositoryGit, folder: Path, copied: Callable[[Path, Path], None]) -> None:
        """`copied` copies a folder of a task without what does not belong to it."""
        self._git = git
        self._folder = folder
        self._copied = copied
        self._made: dict[str, asyncio.Task[Path]] = {}

    async def source_bundle_bytes(self, name: str, source: Path, commit: str | None) -> bytes:
        """Returns the bytes of a packed repository or folder. Raises `UserError` and `OSError`."""
        if name not in self._made:
            self._made[name] = asyncio.ensure_future(
                self._make_parcel_file(self._folder / name, source, commit)
            )
        file = await asyncio.shield(self._made[name])
        return await asyncio.to_thread(file.read_bytes)

    async def _make_parcel_file(self, place: Path, source: Path, commit: str | None) -> Path:
        await asyncio.to_thread(place.mkdir, parents=True)
        file = place / "parcel"
        if commit is None:
            await asyncio.to_thread(self._copied, source, place / source.name)
            file.write_bytes(await asyncio.to_thread(pack_folder, place / source.name))
            await asyncio.to_thread(shutil.rmtree, place / source.name)
            return file
        store = await RepositoryCopies(self._git, place / "store", shares_objects=True).clone_store_for(
            source
        )
        of_store = f"--git-dir={store}"
        await self._git.run_and_read_text(place, of_store, "update-ref", _GIT_BUNDLE_REF, commit)
        await self._git.run_and_read_text(
            place, of_store, "bundle", "create", "--quiet", str(file), _GIT_BUNDLE_REF
        )
        return file


async def unpack_source_bundle(git: RepositoryGit, data: bytes, place: Path, *, is_repository: bool) -> None:
    """Unpacks a parcel to a repository or a folder, which appears complete at once, even if another worker of this
    machine unpacks it too. Raises `UserError` and `OSError`."""
    if is_dir(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".opening-", dir=place.parent))
    try:
        made = scratch / "made"
        if is_repository:
            bundle = scratch / "bundle"
            await asyncio.to_thread(bundle.write_bytes, data)
            words = ("clone", "--quiet", "--no-checkout", "--template=", "--", str(bundle), str(made))
            await git.run_and_read_text(
                scratch, *_GIT_ALLOW_FILE_PROTOCOL_OPTIONS, *words, env={"GIT_ALLOW_PROTOCOL": "file"}
            )
        else:
            made.mkdir()
            await asyncio.to_thread(unpack_folder, data, made)
        try:
            made.rename(place)
        except OSError:
            if not is_dir(place):
                raise
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, True)
