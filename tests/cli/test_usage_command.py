"""`bayou usage` in a separate process."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from app.sessions.session_library import session_folder_of_project
from app.sessions.session_log import SessionLog
from tests.sessions.make_entries import user_entry
from tests.sessions.test_usage import TUESDAY, answered
from tests.support import warm_bayou


def bayou(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm_bayou.run("usage", *words, cwd=cwd)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.environ["BAYOU_AGENT_DIR"]) / "sessions"
    log = SessionLog.create(session_folder_of_project(root, tmp_path), tmp_path)
    log.append(user_entry("paint \x1b[31mit"))
    log.append(answered(100, cost=1.5, cached=300))
    log.append(answered(7, model="small", at=TUESDAY))
    log.close()
    return root


def test_tables_for_people(root: Path, tmp_path: Path) -> None:
    done = bayou(cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("$1.50 · 409 tokens · 74 % cached · 2 answers\n\nday")
    assert "2026-11-17" in done.stdout and "p/small" in done.stdout and "█" in done.stdout
    assert "\x1b" not in done.stdout
    only = bayou("--by", "model", cwd=tmp_path).stdout
    assert "p/m " in only and "2026-11-17" not in only
    assert bayou("--days", "1", cwd=tmp_path).stdout == "No usage recorded yet.\n"


def test_json_for_scripts(root: Path, tmp_path: Path) -> None:
    (root / "no.jsonl").write_text("no session\n")
    done = bayou("--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["total"] == {
        "answers": 2,
        "input": 107,
        "output": 2,
        "cacheRead": 300,
        "cacheWrite": 0,
        "tokens": 409,
        "cachedPercent": 73.7,
        "cost": 1.5,
    }
    assert [day["day"] for day in data["days"]] == ["2026-11-17", "2026-11-16"]
    assert [model["model"] for model in data["models"]] == ["p/m", "p/small"]
    assert [session["project"] for session in data["sessions"]] == [str(tmp_path)]
    assert data["projects"][0]["cost"] == 1.5
    (left,) = data["leftOut"]
    assert left["file"].endswith("no.jsonl") and left["line"] is None
    assert "no.jsonl" in bayou(cwd=tmp_path).stderr


@pytest.mark.parametrize("words", [("--by",), ("--by", "week"), ("--days", "0"), ("--days",), ("often",)])
def test_what_it_does_not_know_is_reported(words: tuple[str, ...], tmp_path: Path) -> None:
    done = bayou(*words, cwd=tmp_path)
    assert done.returncode == 2 and "bayou" in done.stderr and "Traceback" not in done.stderr


def test_a_page_for_people(root: Path, tmp_path: Path) -> None:
    page = bayou("--html", "--by", "model", cwd=tmp_path).stdout
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert "<h2>By model</h2>" in page and page.count("<h2>") == 1
    assert 'class="bar"><i style="width:100%">' in page
    assert "http" not in page, "it needs no network"
    both = bayou("--html", "--json", cwd=tmp_path)
    assert "exclude each other" in both.stderr
