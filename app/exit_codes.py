"""Defines the exit codes of a run; the table of docs/command-line.md is made from them."""

DONE = 0
FAILED = 1
USAGE_ERROR = 2
LIMIT_REACHED = 3
PERMISSION_REFUSED = 4
SCHEMA_MISMATCH = 5
PROVIDER_FAILED = 6
BLOCKED = 7
CRASHED = 70
INTERRUPTED = 130

EXIT_CODE_MEANINGS = {
    DONE: "done; with `--goal-check`: the check passed",
    FAILED: "failed: the answer was stopped or cut off, or something could not be read or written",
    USAGE_ERROR: "bad input or usage: an option, a file or a session that is not there, no prompt",
    LIMIT_REACHED: "a limit was reached: `--max-turns`, `--max-cost`, `--max-tokens`, `--time-limit`, "
    "or that of a goal's checks",
    PERMISSION_REFUSED: "the agent stopped behind a call that no permission was given for",
    SCHEMA_MISMATCH: "the answer does not fit `--output-schema`, after two more requests for one that does",
    PROVIDER_FAILED: "the request failed: the provider's error, or no key for it",
    BLOCKED: "the agent says that it is blocked: its answer ends with a line that begins with `BLOCKED:`",
    CRASHED: "an internal error",
    INTERRUPTED: "interrupted; 128 and the signal's number when another signal ended it",
}
