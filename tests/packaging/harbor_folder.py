# pyright: reportMissingImports=false, reportUnknownMemberType=false
"""An environment of Harbor without containers: a folder holds the absolute paths that Harbor uses.

Harbor's own Python imports it, by `import_path`; the home and the programs are those of Harbor's process."""

import asyncio
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult

_PLACES = re.compile(
    r"(?<![\w./-])/(?=(?:app|logs|tests|installed-agent|opt/harbor-[a-z-]+|tmp/harbor-[a-z-]+)\b)"
)
_FOLDERS = ("app", "logs/agent", "logs/verifier", "logs/artifacts", "tests", "installed-agent", "opt")


class FolderEnvironment(BaseEnvironment):
    """Runs commands on this machine, in `app` of a folder of the trial."""

    @staticmethod
    def type() -> str:
        return "folder"

    def _validate_definition(self) -> None:
        """Needs no definition: there is no image."""

    @property
    def _root(self) -> Path:
        return Path(self.trial_paths.trial_dir).absolute() / "container"

    def _placed(self, text: object) -> str:
        return _PLACES.sub(f"{self._root}/", str(text))

    async def start(self, force_build: bool) -> None:
        for folder in _FOLDERS:
            (self._root / folder).mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.environment_dir, self._root / "app", dirs_exist_ok=True)
        (self._root / "opt" / "harbor-acp-venv").symlink_to(sys.prefix)

    async def stop(self, delete: bool) -> None:
        """Leaves the folder to the test."""

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: Any = None,
    ) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", self._placed(command), cwd=self._placed(cwd or "/app"),
            env={**os.environ, **(self._merge_env(env) or {})},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode or 0)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        _copy(Path(source_path), Path(self._placed(target_path)))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        _copy(Path(source_dir), Path(self._placed(target_dir)))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        _copy(Path(self._placed(source_path)), Path(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        _copy(Path(self._placed(source_dir)), Path(target_dir))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)
