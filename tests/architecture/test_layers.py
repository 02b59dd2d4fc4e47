"""Who may import whom is held by import-linter; the contracts are in `pyproject.toml`."""

import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT


def test_every_contract_is_kept():
    command = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([command, "--no-cache"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stdout
    assert "0 broken" in run.stdout
