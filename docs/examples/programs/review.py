"""Reviews the commits of a branch in CI, and fails when it finds a serious fault: `python review.py [BASE] [FLAG…]`.

bayou only reads, stops at its limits, and answers with JSON that fits `review.schema.json`. Flags such as
`--model NAME` go to bayou. The folder `review` keeps what the run leaves; keep it as an artifact of the job.
"""

import json
import subprocess
import sys
from pathlib import Path

SCHEMA = Path(__file__).with_name("review.schema.json")
LIMITS = ["--max-turns", "30", "--max-tokens", "500000", "--time-limit", "600"]
READS = ["--permissions", "read-only", "--tools", "read,grep,find,ls", "--no-session"]
PROMPT = "Review this change. Report only faults that you have checked in the files, with their line."


def main() -> int:
    base, flags = (sys.argv[1:2] or ["origin/main"])[0], sys.argv[2:]
    change = subprocess.run(
        ["git", "diff", f"{base}...HEAD"], capture_output=True, text=True, check=True
    ).stdout
    command = [
        "bayou",
        "-p",
        *READS,
        *LIMITS,
        "--output-schema",
        str(SCHEMA),
        "--result",
        "review",
        *flags,
        PROMPT,
    ]
    done = subprocess.run(command, input=change, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:  # 3: a limit was reached, 6: the provider failed, …: docs/command-line.md
        print(f"There is no review: bayou ended with {done.returncode}.", file=sys.stderr)
        return done.returncode
    faults = json.loads(done.stdout)["faults"]
    for fault in faults:
        print(f"{fault['file']}:{fault['line']}: {fault['severity']}: {fault['text']}")
    return 1 if any(fault["severity"] == "serious" for fault in faults) else 0


if __name__ == "__main__":
    sys.exit(main())
