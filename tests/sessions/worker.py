"""A small program that uses a session as the engine does, and announces what it was told is safe.

worker.py turns FILE NAME ROUNDS    takes the lock, appends three entries, gives it back, again and again
worker.py work FOLDER SEED          streams, runs tools, compacts, moves about, until it is killed
"""

import os
import random
import sys
from pathlib import Path

import msgspec

from app.sessions.errors import SessionLocked
from app.sessions.file.partial_answer import PartialAnswerFile
from app.sessions.session_log import SessionLog
from app.values.content import Text
from app.values.entries import CompactionEntry, Entry
from app.values.messages import AssistantMessage
from tests.sessions.make_entries import assistant_entry, tool_result_entry, user_entry


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def turns(path: Path, name: str, rounds: int) -> None:
    done = 0
    while done < rounds:
        try:
            log = SessionLog.open(path)
        except SessionLocked:
            continue
        for number in range(3):
            tell(log.append(user_entry(f"{name} {done} {number} " + "x" * 5000)).id)
        log.close()
        done += 1


def work(folder: Path, chance: random.Random) -> None:
    log = SessionLog.create(folder, folder)
    partial = PartialAnswerFile(log, interval=0.0)

    def add(entry: Entry) -> Entry:
        stored = log.append(entry)
        tell(f"entry {stored.id}")
        return stored

    while True:
        add(user_entry("x" * chance.randrange(5000)))
        calls = [f"call{number}" for number in range(chance.randrange(4))]
        stream(log, partial)
        add(assistant_entry("an answer " * chance.randrange(500), *calls))
        partial.discard()
        chance.shuffle(calls)
        for call in calls:
            add(tool_result_entry(call, "y" * chance.randrange(20_000)))
        if chance.random() < 0.3:
            kept = chance.choice(log.path_to()).id
            add(CompactionEntry(parent_id=None, summary="what was " * 50, first_kept_entry_id=kept))
        if chance.random() < 0.1:
            log.move_leaf(chance.choice(log.path_to()).id)
            tell(f"entry {log.entries[-1].id}")
        log.end_turn()


def stream(log: SessionLog, partial: PartialAnswerFile) -> None:
    message = AssistantMessage(provider="p", model="m", stop_reason="pending")
    for length in range(100, 1000, 300):
        message = msgspec.structs.replace(message, content=(Text(text="z" * length),))
        partial.write_now(message, log.leaf_id)
        tell(f"streamed {log.leaf_id} {length}")


if __name__ == "__main__":
    if sys.argv[1] == "turns":
        turns(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        work(Path(sys.argv[2]), random.Random(int(sys.argv[3])))
