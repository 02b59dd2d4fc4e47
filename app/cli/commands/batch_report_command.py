"""Implements `bayou batch report`: what the results of batches say about models, prompts and settings."""

import shutil
from pathlib import Path

import msgspec

from app.assembly.command_line_options import UsageError
from app.batch.report.batch_metrics import compute_batch_report, latest_batch_runs
from app.batch.report.report_formats import report_html_page, report_terminal_lines, runs_csv_text
from app.cli.change_folder import current_folder
from app.printing import print_json, print_line, print_text
from app.resources.text_files import write_text
from app.values.user_errors import UserError

_BATCH_REPORT_USAGE_TEXT = """\
bayou batch report DIR [DIR…] [--html FILE] [--csv FILE] [--json-report]

Compares the runs of batches by model, label, setting and prompt: pass rate with a 95 % confidence interval, cost and
time, differences on the same tasks, and the reasons why runs did not pass.

  --html FILE     write the report as one page
  --csv FILE      write a line for each run
  --json-report   print the report as JSON
"""


def run(words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words):
        print_text(_BATCH_REPORT_USAGE_TEXT)
        return 0
    base, rest = current_folder(), list(words)
    folders: list[Path] = []
    files: dict[str, Path] = {}
    is_json = False
    while rest:
        word = rest.pop(0)
        if word == "--json-report":
            is_json = True
        elif word in ("--html", "--csv"):
            if not rest:
                raise UsageError(f"{word} needs a value: FILE.")
            files[word] = base / Path(rest.pop(0)).expanduser()
        elif word.startswith("-"):
            raise UsageError(f"Unknown option: {word}. bayou batch report --help lists the options.")
        else:
            folders.append(Path(word).expanduser())
    if not folders:
        raise UsageError("bayou batch report needs the folder of a batch.")
    try:
        runs = latest_batch_runs(folders)
        report = compute_batch_report(folders, runs)
        if "--html" in files:
            write_text(files["--html"], report_html_page(report))
        if "--csv" in files:
            write_text(files["--csv"], runs_csv_text(runs))
    except UserError as problem:
        raise UsageError(str(problem)) from None
    if is_json:
        print_json(msgspec.to_builtins(report))
    elif not files:
        print_line("\n".join(report_terminal_lines(report, shutil.get_terminal_size().columns)))
    return 0
