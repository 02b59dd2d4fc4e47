"""What a file of tasks means: rows, templates, defaults and the matrix; and what is refused, with the row."""

from pathlib import Path
from typing import Any

import pytest

from app.batch.pool import batch_progress
from app.batch.results import BatchFolder, read_batch_result_lines
from app.batch.task_files import read_task_rows
from app.batch.tasks import BatchDefaults, BatchError, BatchPlan, BatchTaskFields, plan_batch
from app.resources.paths import BayouPaths
from app.values.user_errors import UserError
from bayou.batch import BatchResult, Outcome


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path


def planned(
    place: Path, name: str, text: str, models: tuple[str, ...] = (), repeat: int = 1, **fields: Any
) -> BatchPlan:
    (place / name).write_text(text)
    defaults = BatchTaskFields(**{"folder": "project", **fields})
    return plan_batch(
        read_task_rows(place / name),
        BatchDefaults(fields=defaults, models=models, repeat=repeat, base_folder=place),
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "t.jsonl",
            '{"id": "a", "prompt": "fix", "max_turns": 3}\n\n{"id": "b", "prompt": "do", "check": "make"}\n',
        ),
        ("t.yaml", "- id: a\n  prompt: fix\n  max_turns: 3\n- {id: b, prompt: do, check: make}\n"),
        ("t.csv", "id,prompt,max_turns,check\na,fix,3,\nb,do,,make\n"),
    ],
)
def test_the_same_tasks_in_each_format(place: Path, name: str, text: str) -> None:
    first, second = (run.task for run in planned(place, name, text).runs)
    assert (first.id, first.prompt, first.max_turns, first.check) == ("a", "fix", 3, None)
    assert (second.id, second.prompt, second.max_turns, second.check) == ("b", "do", None, "make")
    assert first.folder == str(place / "project")


def test_a_template_takes_fields_of_the_row_and_leaves_other_braces(place: Path) -> None:
    batch = planned(place, "t.csv", "id,issue\na,41\n", prompt="Fix {{issue}} of {{ id }}.")
    assert batch.runs[0].task.prompt == "Fix 41 of a."
    batch = planned(place, "t.jsonl", '{"id": "a", "prompt": "Fill {{title}} in page.html"}\n')
    assert batch.runs[0].task.prompt == "Fill {{title}} in page.html"


def test_a_matrix_makes_a_run_of_each_model_and_repetition(place: Path) -> None:
    text = '{"id": "a", "prompt": "x"}\n{"id": "b", "prompt": "x", "model": "own", "repeat": 1}\n'
    batch = planned(place, "t.jsonl", text, models=("m", "n"), repeat=2)
    assert [run.key for run in batch.runs] == ["a m #1", "a n #1", "a m #2", "a n #2", "b own #1"]
    assert len({run.name for run in batch.runs}) == 5


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "There are no tasks"),
        ("{", "t.jsonl, line 1: this is not JSON"),
        ("3", "t.jsonl, line 1: a task is an object"),
        ('{"prompt": "x"}', "line 1: Object missing required field `id`"),
        ('{"id": "a"}', "line 1: there is no prompt"),
        ('{"id": "../a", "prompt": "x"}', "line 1: the id '../a' is not valid"),
        ('{"id": "a", "prompt": "x", "promt": 1}', "line 1: Object contains unknown field `promt`"),
        ('{"id": "a", "prompt": "x", "max_turns": 0}', "line 1: Expected `int` >= 1"),
        ('{"id": "a", "prompt": "x", "thinking": "much"}', "line 1: Invalid enum value 'much'"),
        (
            '{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}',
            "line 2: the id a is already used in t.jsonl, line 1",
        ),
        ('{"id": "a", "prompt": "x", "folder": "none"}', "line 1: folder none: there is no such folder"),
        ('{"id": "a", "prompt": "x", "rev": "main"}', "line 1: rev needs repo"),
        (
            '{"id": "a", "prompt": "x", "folder": ".", "repo": "."}',
            "line 1: folder and repo cannot be used together",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_row(place: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        planned(place, "t.jsonl", text)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("t.txt", "x", "files that end in .jsonl, .yaml or .csv"),
        ("t.yaml", "a: [", "t.yaml, line 1: this is not YAML"),
        ("t.yaml", "a: 1", "write a list of tasks"),
        ("t.yaml", "[" * 5_000, "this is not YAML"),
        ("t.csv", "id,prompt\na,b,c\n", "t.csv, line 2: there are more values than columns"),
        ("t.csv", "id,issue\na,\n", "t.csv, line 2: the prompt needs the field issue"),
    ],
)
def test_other_files_are_refused_in_words(place: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        planned(place, name, text, prompt="Fix {{issue}}." if "issue" in text else "x")
    assert told in str(refused.value)


def result(batch: BatchPlan, index: int, outcome: Outcome, reason: str = "", **more: Any) -> BatchResult:
    run = batch.runs[index]
    known = {"id": run.task.id, "key": run.key, "hash": run.hash, "cost": 0.5}
    return BatchResult(**{**known, **more}, outcome=outcome, reason=reason)


def test_what_is_left_are_new_changed_interrupted_and_retried_runs(place: Path) -> None:
    text = "".join(f'{{"id": "{id}", "prompt": "x"}}\n' for id in "abcdef")
    batch = planned(place, "t.jsonl", text)
    before = [
        result(batch, 0, "passed"),
        result(batch, 1, "failed"),
        result(batch, 2, "cancelled", "interrupted"),
        result(batch, 3, "limit", "the budget of the batch is spent"),
        result(batch, 4, "passed", hash="another"),
    ]
    progress = batch_progress(batch, before, frozenset())
    assert [run.task.id for run in progress.left] == ["c", "e", "f"]
    assert (progress.changed, progress.spent) == (1, 2.5)
    retried = batch_progress(batch, before, frozenset({"failed"}))
    assert [run.task.id for run in retried.left] == ["b", "c", "e", "f"]


def test_results_survive_a_line_that_a_crash_cut_off(place: Path) -> None:
    batch = planned(place, "t.jsonl", '{"id": "a", "prompt": "x"}\n')
    folder = BatchFolder(place / "out")
    folder.open_for_tasks(place / "t.jsonl", BayouPaths.from_env({"HOME": str(place)}, place))
    folder.append_result(result(batch, 0, "passed"))
    folder.close()
    with folder.results_file.open("ab") as file:
        file.write(b'{"id":"b","ke')
    again = BatchFolder(place / "out")
    again.open_for_tasks(place / "t.jsonl", BayouPaths.from_env({"HOME": str(place)}, place))
    assert [one.id for one in again.results()] == ["a"]
    again.append_result(result(batch, 0, "failed"))
    again.close()
    assert [one.outcome for one in read_batch_result_lines(place / "out")] == ["passed", "failed"]


def test_a_folder_of_another_batch_is_refused(place: Path) -> None:
    folder = BatchFolder(place / "out")
    folder.open_for_tasks(place / "t.jsonl", BayouPaths.from_env({"HOME": str(place)}, place))
    with pytest.raises(BatchError, match="another bayou runs this batch"):
        BatchFolder(place / "out").open_for_tasks(
            place / "t.jsonl", BayouPaths.from_env({"HOME": str(place)}, place)
        )
    folder.close()
    with pytest.raises(BatchError, match=r"the results of another batch, .*t\.jsonl"):
        BatchFolder(place / "out").open_for_tasks(
            place / "u.jsonl", BayouPaths.from_env({"HOME": str(place)}, place)
        )
    (place / "project" / "a.py").touch()
    with pytest.raises(BatchError, match=r"other files in it, such as a\.py"):
        BatchFolder(place / "project").open_for_tasks(
            place / "t.jsonl", BayouPaths.from_env({"HOME": str(place)}, place)
        )
