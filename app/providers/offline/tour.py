"""The tour: a recorded conversation with one answer for each `tour` request. It is data; `answers` plays it."""

from typing import Final

from app.providers.scripted import ScriptedAnswer, call, say

OFFLINE_TOUR_ANSWERS: Final[tuple[ScriptedAnswer, ...]] = (
    say(
        "**1 of 5: looking.** An agent works with tools, and each call is a row here. This one lists the folder; "
        "`ctrl+o` opens the rows and closes them."
    )
    + call("ls"),
    say(
        "**2 of 5: searching.** Calls that only look need no permission. This one finds files by their names; `grep` "
        "finds text in them."
    )
    + call("find", pattern="**/*"),
    say(
        "**3 of 5: changing.** A change is shown before it is made, and asked about: `n` leaves your files as they are "
        "and `y` writes a small file, which you can undo in the next step. `/permissions` chooses "
        "what is done without asking."
    )
    + call("write", path="bayou-tour.txt", content="A boat needs oars.\nFour are better than two.\n"),
    say(
        "**4 of 5: undoing.** `/undo` restores the files that a turn changed, by edits or by commands: also the file "
        "of the tour, if you said yes. `/redo` changes them again."
    ),
    say(
        "**5 of 5: branching.** `esc` twice in an empty prompt opens the tree: go back to any message, say something "
        "else, and keep both branches. `bayou -c` continues the session another day.\n\n"
        "That was the tour. Next: `/login` connects a language model."
    ),
)
TOUR_CONTINUE_KEY: Final = "1"
"""The prompt that continues the tour, a number like those by which the first page offers its requests."""
TOUR_CONTINUE_HINT: Final = f"Press `{TOUR_CONTINUE_KEY}` and `enter` for the next page."
