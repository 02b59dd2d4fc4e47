"""The tour: a recorded conversation with one answer for each `tour` request. It is data; `answers` plays it."""

from typing import Final

from app.providers.scripted import ScriptedAnswer, call, say

TOUR_ANSWERS: Final[tuple[ScriptedAnswer, ...]] = (
    say(
        "**1 of 5: looking around.** An agent works through tools, and each call is a card here. This one lists the "
        "folder; Ctrl+O opens the cards and closes them."
    )
    + call("ls"),
    say("**2 of 5: searching.** Calls that only look are not asked about. This one looks for `main`.")
    + call("grep", pattern="main"),
    say(
        """**3 of 5: changing.** A change is shown as what goes and what comes, such as:

```diff
-def launch(boat):
+def launch(boat, harbour):
```

What may run without being asked is chosen with `/permissions`. The tour changes nothing; \
`change "one" to "two" in notes.txt` would."""
    ),
    say(
        "**4 of 5: going back.** `/undo` takes back the changes to files of the last turn, those of commands too; "
        "`/redo` brings them back."
    ),
    say(
        "**5 of 5: the tree.** Escape twice on an empty line opens the tree of this session. Go back to any message "
        "there and say something else: both ways are kept. `bayou -c` comes back to the session later.\n\n"
        "That was the tour. `/login` connects a language model."
    ),
)
TOUR_CONTINUE_KEY: Final = "1"
"""Goes on with the tour, as numbers choose on the first page."""
TOUR_CONTINUE_HINT: Final = f"Press `{TOUR_CONTINUE_KEY}` and Enter to go on."
