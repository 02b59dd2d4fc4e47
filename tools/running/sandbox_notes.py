"""Writes the notes on the sandbox behind a command's output: refusals, and changes that it could not prevent."""

import os
from collections.abc import Sequence
from typing import Any

from tools.box.git_backups import RestoredGitFiles
from tools.box.nested_repositories import can_changed_file_run
from tools.box.sandbox_refusals import (
    SandboxRefusal,
    find_hard_linked_files_in_output,
    find_hidden_files_in_output,
    find_sandbox_refusals,
    format_refusal_note,
    narrowest_permission_request,
    path_with_tilde,
)
from tools.box.unprotected_changes import MovedAutorunFile, UnpreventedChanges
from tools.files.paths import real_path
from tools.running.running_command import CommandOutcome, RunningCommand
from tools.text_sanitizing import escape_controls

_MAX_NAMED_PATHS = 5


def find_command_refusals(outcome: CommandOutcome, output: str) -> tuple[SandboxRefusal, ...]:
    command = outcome.command
    if command is None or command.box is None:
        return ()
    has_failed = outcome.exit_code != 0
    found = find_sandbox_refusals(
        output, command.box, cwd=command.cwd, has_failed=has_failed, real_path=real_path
    )
    hosts = tuple(SandboxRefusal("network", host) for host in outcome.refused_hosts)
    said = command.argv[-1] + "\n" + (output if has_failed else "")
    found = tuple(dict.fromkeys((*found, *find_hidden_files_in_output(said, command.box))))
    if not any(one.kind == "write" for one in found):
        found = (*found, *find_hard_linked_files_in_output(command.argv[-1], output, command.box))
    return (*hosts, *(one for one in found if not hosts or one.kind != "network"))


def format_sandbox_notes(outcome: CommandOutcome, output: str) -> list[str]:
    """Returns the notes on the sandbox for a command's outcome as lines, for model and user."""
    command = outcome.command
    if command is None or command.box is None:
        return []
    home = os.path.expanduser("~")  # noqa: PTH111  (a text is wanted)
    found = find_command_refusals(outcome, output)
    lines = [format_refusal_note(found, command.box, home, os.path.exists)] if found else []
    lines += _format_moved_file_notes("the same call", outcome.moved_autorun_files, home)
    if outcome.new_autorun_files:
        lines.append(format_new_autorun_files_note("command", outcome.new_autorun_files, home))
    if outcome.restored_git_files:
        lines.append(format_restored_git_note(outcome.restored_git_files, home))
    if outcome.files_written_by_links:
        lines.append(format_written_hard_links_note("command", outcome.files_written_by_links, home))
    return [*lines, *map(format_check_limits_note, filter(None, [outcome.check_limits]))]


def format_unprevented_change_notes(runner: str, changes: UnpreventedChanges) -> list[str]:
    """Returns notes on file changes that the sandbox could not prevent. `runner` names the cause, if not a command:
    "cell", "server" or "job"."""
    home = os.path.expanduser("~")  # noqa: PTH111  (a text is wanted)
    lines = _format_moved_file_notes("a command", changes.set_aside, home)
    if changes.planted:
        lines.append(format_new_autorun_files_note(runner, changes.planted, home))
    if changes.put_back:
        lines.append(format_restored_git_note(changes.put_back, home))
    if changes.written_through:
        lines.append(format_written_hard_links_note(runner, changes.written_through, home))
    return [*lines, *map(format_check_limits_note, filter(None, [changes.limits]))]


def format_lasting_process_notes(names: Sequence[str], changes: UnpreventedChanges) -> list[str]:
    """Returns notes on file changes by processes that last beyond calls; `names` are those that may have made them."""
    home = os.path.expanduser("~")  # noqa: PTH111  (a text is wanted)
    runners = " or ".join(names[:_MAX_NAMED_PATHS])
    lines = [
        f"Sandbox: {path_with_tilde(one.path, home)}, which runs later outside of the sandbox, "
        f"appeared while {runners} "
        f"was running beside the calls, so it was moved to {path_with_tilde(one.kept_path, home)}. "
        "If you made it yourself, move it back."
        for one in changes.set_aside[:_MAX_NAMED_PATHS]
    ]
    lines += _format_further_moved_files(changes.set_aside, home)
    if changes.planted:
        lines.append(
            f"Sandbox: {_name_changed_paths(changes.planted, home)}, which may run later or decide what runs, "
            f"changed while {runners} was running beside the calls. If you did not change it yourself, look at it, "
            "and undo or remove it."
        )
    if changes.put_back:
        lines.append(format_restored_git_note(changes.put_back, home))
    if changes.written_through:
        lines.append(format_written_hard_links_note("process", changes.written_through, home))
    return [*lines, *map(format_check_limits_note, filter(None, [changes.limits]))]


async def find_sandbox_notes_of_job(running: RunningCommand, title: str) -> list[str]:
    """Returns notes on what a running command did since the last check, and on key files that it could read because
    they appeared after its start."""
    notes = format_unprevented_change_notes("job", await running.find_unprevented_changes_so_far())
    hidden = await running.find_late_credential_files()
    return (
        [*notes, format_late_credentials_note(f"the job `{escape_controls(title)}`", hidden, "/jobs")]
        if hidden
        else notes
    )


def format_late_credentials_note(process: str, hidden: tuple[str, ...], where: str) -> str:
    """Returns a note on key files that a process could read because they appeared after its start. `where` is the
    command by which the user ends the process."""
    names = _name_paths(hidden, os.path.expanduser("~"))  # noqa: PTH111  (a text is wanted)
    return (
        f"Sandbox: {process} began before {names} was there and can read it: the sandbox of a running process cannot "
        f"be changed. If that matters, end it with {where}; what is started anew does not see it."
    )


def format_check_limits_note(limits: tuple[str, ...]) -> str:
    """Returns a note that the check for new files was incomplete, because there are too many."""
    return (
        f"Sandbox: there is {' and '.join(limits[:_MAX_NAMED_PATHS])}, so not everything here could be looked through. "
        "Beyond that, files that run later and repositories which commands make are neither moved away nor named: look "
        "at what is new before git or an editor runs there."
    )


def _name_paths(paths: Sequence[str], home: str) -> str:
    names = ", ".join(path_with_tilde(path, home) for path in paths[:_MAX_NAMED_PATHS])
    return f"{names} and {len(paths) - _MAX_NAMED_PATHS} more" if len(paths) > _MAX_NAMED_PATHS else names


def _name_changed_paths(paths: Sequence[str], home: str) -> str:
    """Returns the paths like `_name_paths`, but first those that can run, so that none of them hides in "more"."""
    if len(paths) <= _MAX_NAMED_PATHS:
        return _name_paths(paths, home)
    ordered = sorted(paths, key=can_changed_file_run, reverse=True)
    unnamed = sum(map(can_changed_file_run, ordered[_MAX_NAMED_PATHS:]))
    return _name_paths(ordered, home) + (f", {unnamed} of which can run" if unnamed else "")


def _format_moved_file_notes(call: str, moved: Sequence[MovedAutorunFile], home: str) -> list[str]:
    return [
        *(format_moved_autorun_files_note(call, one, home) for one in moved[:_MAX_NAMED_PATHS]),
        *_format_further_moved_files(moved, home),
    ]


def _format_further_moved_files(moved: Sequence[MovedAutorunFile], home: str) -> list[str]:
    """Returns a note on further files that were moved away, by their paths alone."""
    rest = [one.path for one in moved[_MAX_NAMED_PATHS:]]
    return [f"Sandbox: moved to the same place: {_name_paths(rest, home)}."] if rest else []


def format_moved_autorun_files_note(call: str, one: MovedAutorunFile, home: str) -> str:
    """Returns a note on files that were moved away because they would run code later. `call` names how to request the
    place, "the same call" or "a command"."""
    place = path_with_tilde(one.path, home)
    return (
        f"Sandbox: {place} runs later outside of the sandbox, "
        f"so it was moved to {path_with_tilde(one.kept_path, home)}. "
        f'Do without, or ask the user to keep it: {call} with allow: ["write {place}"] and a reason.'
    )


def format_new_autorun_files_note(runner: str, planted: tuple[str, ...], home: str) -> str:
    """Returns a note on new files that run code later. `runner` names what created them, such as "command"."""
    return (
        f"Sandbox: this {runner} made or changed {_name_changed_paths(planted, home)}, which may run later or "
        "decide what runs, and which could not be prevented here. If that was not meant, remove it."
    )


def format_written_hard_links_note(runner: str, paths: tuple[str, ...], home: str) -> str:
    """Returns a note on files that changed elsewhere too, through their other names (hard links)."""
    return (
        f"Sandbox: this {runner} wrote {_name_changed_paths(paths, home)}, which has further names (hard links) "
        "outside of the workspace: the file changed there too, and that could not be prevented here. If that was not "
        "meant, restore it there, or install it anew."
    )


def format_restored_git_note(found: tuple[RestoredGitFiles, ...], home: str) -> str:
    """Returns a note on parts of git folders that a command destroyed and bayou restored."""
    names = [path_with_tilde(f"{one.folder}/{name}", home) for one in found for name in one.files]
    said = [f"{one.objects} objects of {path_with_tilde(one.folder, home)}" for one in found if one.objects]
    said += [
        *names[:_MAX_NAMED_PATHS],
        *([f"{len(names) - _MAX_NAMED_PATHS} more files"] if len(names) > _MAX_NAMED_PATHS else []),
    ]
    broken = [path_with_tilde(f"{one.folder}/{name}", home) for one in found for name in one.removed]
    notes: list[str] = []
    if said:
        notes.append(
            "of git, this removed or overwrote what nothing else brings back, so it was put back: "
            f"{', '.join(said)}. Branches, commits and stashes are removed by git itself."
        )
    if broken:
        notes.append(
            f"this broke what git keeps for speed and makes anew, so it was removed: {', '.join(broken)}."
        )
    return "Sandbox: " + " And ".join(notes)


def make_sandbox_details(outcome: CommandOutcome, output: str) -> dict[str, Any]:
    """Returns what the sandbox notes of a command say as data, for the details of its result."""
    found = find_command_refusals(outcome, output)
    details: dict[str, Any] = {}
    if found and outcome.command is not None and outcome.command.box is not None:
        box, home = outcome.command.box, os.path.expanduser("~")  # noqa: PTH111  (a text is wanted)
        wanted = [narrowest_permission_request(one, box, home, os.path.exists) for one in found]
        details["refused"] = [
            {"kind": one.kind, "place": one.place, **({"allow": asks.text} if asks is not None else {})}
            for one, asks in zip(found, wanted, strict=True)
        ]
    if outcome.moved_autorun_files:
        details["setAside"] = [
            {"path": one.path, "kept": one.kept_path} for one in outcome.moved_autorun_files
        ]
    if outcome.new_autorun_files:
        details["planted"] = list(outcome.new_autorun_files)
    if outcome.restored_git_files:
        details["putBack"] = [
            {
                "folder": one.folder,
                "objects": one.objects,
                "files": list(one.files),
                "removed": list(one.removed),
            }
            for one in outcome.restored_git_files
        ]
    if outcome.files_written_by_links:
        details["writtenThrough"] = list(outcome.files_written_by_links)
    if outcome.check_limits:
        details["notLookedThrough"] = list(outcome.check_limits)
    return {"sandbox": details} if details else {}
