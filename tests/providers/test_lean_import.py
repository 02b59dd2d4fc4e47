"""The sender's library is imported without the parsers of mail and archives, and nobody else notices."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from app.providers.senders.lean_import import version_unread

ROOT = Path(__file__).parents[2]
LOADS = """
import sys
sys.path.insert(0, sys.argv[1])
from app.providers.senders.choice import _load
from app.values.models import Model
_load(Model(id="x", name="x", api="anthropic-messages", provider="p", base_url="http://x"))
import httpcore2
print(*(name for name in ("importlib.metadata", "email.parser", "csv", "zipfile") if name in sys.modules))
from importlib.metadata import version
print(version("httpcore2"))
"""


def test_the_sender_brings_no_parsers_of_mail_and_the_real_module_comes_later(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADS, str(ROOT)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    loaded, version = done.stdout.split("\n")[:2]
    assert loaded == ""
    assert version.split(".")[0].isdigit()


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "importlib.metadata", raising=False)


@pytest.mark.usefixtures("unloaded")
def test_whoever_asks_meanwhile_is_answered_by_the_real_module():
    with version_unread():
        metadata = importlib.import_module("importlib.metadata")
        assert metadata.version("httpcore2") == ""
        assert metadata.version("pytest") == pytest.__version__
        assert metadata.distribution("pytest").metadata["Name"] == "pytest"
        assert "pytest" in {each.name for each in metadata.distributions()}
        with pytest.raises(metadata.PackageNotFoundError):
            metadata.version("no-such-package-at-all")
    assert importlib.import_module("importlib.metadata").version("httpcore2")


@pytest.mark.usefixtures("unloaded")
def test_nothing_stays_in_its_place_even_when_the_import_fails():
    with pytest.raises(ImportError), version_unread():
        raise ImportError("no such library")
    assert "importlib.metadata" not in sys.modules


def test_where_it_is_there_already_it_stays():
    real = importlib.import_module("importlib.metadata")
    with version_unread():
        assert sys.modules["importlib.metadata"] is real
