"""`bayou batch report`: rates, comparisons and reasons of results that are known, in each of its forms."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from app.batch.report.report_statistics import compute_pass_rate, compute_quantiles, sign_test
from app.batch.results import BatchFolder
from app.cli.commands.batch_report_command import run
from app.resources.paths import BayouPaths
from bayou.batch import BatchResult, Outcome
from tests.hostile.setups import run as run_program
from tests.support.warm_bayou import BAYOU


@pytest.mark.parametrize(
    ("passed", "of", "low", "high"),
    [
        (8, 10, 0.4902, 0.9433),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilsons_interval(passed: int, of: int, low: float, high: float) -> None:
    rate = compute_pass_rate(passed, of)
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("better", "worse", "p"), [(5, 0, 0.0625), (8, 2, 0.109375), (3, 3, 1.0), (0, 0, 1.0)]
)
def test_the_sign_test(better: int, worse: int, p: float) -> None:
    assert sign_test(better, worse) == sign_test(worse, better) == pytest.approx(p)


def test_quantiles_lie_between_values() -> None:
    found = compute_quantiles([4, 1, 3, 2])
    assert (found.median, found.ninety, found.most, found.total) == pytest.approx((2.5, 3.7, 4, 10))


def test_a_distribution_counts_each_value_up_to_the_largest_of_all_groups() -> None:
    found = compute_quantiles([0, 1, 1, 4], 8.0)
    assert found.bins == (1, 2, 0, 0, 1, 0, 0, 0) and compute_quantiles([8.0], 8.0).bins[-1] == 1
    assert compute_quantiles([0.0], 0.0).bins == ()


def filled(out: Path, *outcomes: tuple[str, str, Outcome]) -> Path:
    """A batch with these results: task, model, outcome."""
    folder = BatchFolder(out)
    folder.open_for_tasks(out.parent / "t.jsonl", BayouPaths.from_env({"HOME": str(out.parent)}, out.parent))
    for id, model, outcome in outcomes:
        reason = "" if outcome == "passed" else "check ended with 1 <b>"
        known: dict[str, Any] = {
            "id": id,
            "key": f"{id} {model} #1",
            "hash": id,
            "model": model,
            "reason": reason,
        }
        folder.append_result(BatchResult(**known, outcome=outcome, cost=0.25, seconds=10, tokens=1_000))
    folder.close()
    return out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    rows: list[tuple[str, str, Outcome]] = [("a", "m", "failed")]  # run again, and passed
    for id in "abcdef":
        rows.append((id, "m", "passed"))
        rows.append((id, "n", "passed" if id == "a" else "failed"))
    return filled(tmp_path / "out", *rows, ("g", "n", "cancelled"))


async def test_the_latest_results_are_rated_compared_and_explained(out: Path, tmp_path: Path) -> None:
    words = ("batch", "report", "out", "--html", "r.html", "--csv", "r.csv", "--json-report")
    code, told, errors = await run_program(*BAYOU, *words, cwd=tmp_path)
    assert (code, errors) == (0, "")
    report: dict[str, Any] = json.loads(told)
    (models,) = report["groupings"]
    rates = [(group["name"], group["rate"]["passed"], group["rate"]["of"]) for group in models["groups"]]
    assert (models["by"], rates) == ("model", [("m", 6, 6), ("n", 1, 6)])
    (compared,) = report["comparisons"]
    assert [compared[name] for name in ("tasks", "first_better", "second_better", "p")] == [6, 5, 0, 0.0625]
    assert [(one["outcome"], one["count"]) for one in report["failures"]] == [("failed", 5), ("cancelled", 1)]
    rows = list(csv.DictReader((tmp_path / "r.csv").open()))
    assert len(rows) == 13 and {row["model"] for row in rows} == {"m", "n"}
    page = (tmp_path / "r.html").read_text()
    assert "check ended with 1 &lt;b&gt;" in page and "<b>" not in page.split("</style>")[1].replace(
        "<b style", ""
    )
    assert "http" not in page


@pytest.mark.parametrize("columns", [80, 200])
def test_the_terminal_shows_it_in_its_width(
    out: Path, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run([str(out)]) == 0
    told = capsys.readouterr().out
    assert "13 runs: 7 passed, 5 failed, 1 cancelled.\n58 % passed (32–81 %), $3.25" in told
    assert "m and n on 6 tasks: m is better on 5, n on 0, p = 0.0625" in told
    assert max(map(len, told.splitlines())) <= columns
    assert ("█" in told) == (columns == 200)


def test_two_batches_are_compared_and_another_folder_is_refused(
    out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[tuple[str, str, Outcome]] = [(id, "n", "passed") for id in "abcdef"]
    other = filled(tmp_path / "other", *rows)
    assert run([str(out), str(other)]) == 0
    assert f"{other} and {out} on 6 tasks: {other} is better on 5" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    with pytest.raises(Exception, match="is not a batch folder"):
        run([str(tmp_path / "empty")])
