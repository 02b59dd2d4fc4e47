"""Runs lists of the harness and says what came of them: `python -m tests.permits.by_doing.measure [LIST …]`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.permits.by_doing.machine import COMMAND
from tests.permits.lists import commands

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
Row = Mapping[str, Any]


def listed(name: str) -> list[Row]:
    """The setup that the rows of a project share stands once, in `projects.json`."""
    shared: dict[str, str] = json.loads((HERE / "projects.json").read_text())
    rows = [json.loads(line) for line in (HERE / name).read_text().splitlines() if line.strip()]
    for row in rows:
        if row.get("project") in shared:
            row["setup"] = [shared[row["project"]], *row.get("setup", ())]
    return rows


def evasions() -> list[Row]:
    """Each evasion of `evasions.txt` as a row."""
    lines = (HERE.parent / "evasions.txt").read_text().splitlines()
    return [
        {"id": f"evasion-{number}", "command": line.replace("¶", "\n")}
        for number, line in enumerate(lines, 1)
    ]


def day() -> list[Row]:
    """Each command of `day.txt`, an ordinary day of many kinds of projects, as a row in one bare project."""
    return [
        {"id": f"day-{number}", "project": "day", "command": command}
        for number, command in enumerate(commands("day.txt"), 1)
    ]


def everything() -> list[Row]:
    """Every command that the lists have, evasions aside."""
    names = ("harmful", "harmful_sample", "everyday", "everyday_sample")
    return [*(row for name in names for row in listed(f"{name}.jsonl")), *day()]


def without_sandbox(rows: Iterable[Row], home: Path) -> list[dict[str, Any]]:
    """What the real program would do with each in `auto-edit` on a system that has neither namespaces nor Landlock.
    Nothing is run."""
    settings = home / ".bayou" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"permissions": {"mode": "auto-edit"}}')
    project = home / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    own = {name: value for name, value in os.environ.items() if name != "BAYOU_AGENT_DIR"}
    crippled = ("-m", "tests.permits.by_doing.crippled", sys.executable)
    done = subprocess.run(
        [sys.executable, *crippled, "-P", "-m", "app", "permissions", "check", "--json"],
        input="".join(json.dumps({"command": row["command"]}) + "\n" for row in rows),
        stdout=subprocess.PIPE,
        text=True,
        cwd=project,
        env={**own, "HOME": str(home), "PYTHONPATH": str(ROOT)},
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def ran(rows: Iterable[Row], *options: str, timeout: float = 7_200) -> list[dict[str, Any]]:
    """What happened to each, in a machine of their own."""
    done = subprocess.run(
        [*COMMAND, sys.executable, "-m", "tests.permits.by_doing.inside", *options],
        input="".join(json.dumps(row) + "\n" for row in rows),
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        timeout=timeout,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def left_the_sandbox(told: Mapping[str, Any]) -> bool:
    """A shell of the call ran where bayou itself does."""
    return told["own"] in told["shells"]


def main() -> None:
    for name in sys.argv[1:] or ("harmful", "everyday", "evasions", "without"):
        if name == "harmful":
            rows = [*listed("harmful_sample.jsonl"), *listed("harmful.jsonl")]
            told = ran(rows, "--control")
            proved = [one for one in told if one["is_proved"] and one["is_harmless_before"]]
            print(f"harmful: {len(told)}, of which {len(proved)} do their harm outside of a session")
            print(f"  harmed: {[one['id'] for one in told if one['is_harmed']]}")
            print(f"  asked about: {sum(1 for one in told if one['asked'])}")
            print(f"  probes that are wrong: {[one['id'] for one in told if one not in proved]}")
        elif name == "everyday":
            ends = {
                row["id"]: row.get("exit", 0) for row in listed(name + ".jsonl") if not row.get("network")
            }
            rows = [*listed("everyday_sample.jsonl"), *listed("everyday.jsonl"), *day()]
            told = ran(rows, "--answer", "yes")
            asked = [one for one in told if one["asked"]]
            print(
                f"everyday: {len(told)}, of which {len(asked)} asked ({100 * len(asked) / len(told):.1f} %)"
            )
            for one in asked:
                print(f"  {one['id']}: {[each['title'] for each in one['asked']]}")
            other = [one["id"] for one in told if one["code"] != ends.get(one["id"], one["code"])]
            print(f"  end otherwise in the sandbox: {other}")
        elif name == "evasions":
            told = ran(evasions(), "--shell")
            print(
                f"evasions: {len(told)}, outside the sandbox: {[one['id'] for one in told if left_the_sandbox(one)]}"
            )
            print(f"  ran in it: {sum(1 for one in told if one['shells'])}")
            print(f"  asked about: {sum(1 for one in told if one['asked'])}")
        else:
            with tempfile.TemporaryDirectory() as home:
                told = without_sandbox(everything(), Path(home))
            for risk in ("contained", "forbidden", "safe"):
                these = [one["outcome"] for one in told if one["letter"] == risk]
                print(f"without a sandbox, {risk}: {len(these)}, of which {these.count('ask')} ask")


if __name__ == "__main__":
    main()
