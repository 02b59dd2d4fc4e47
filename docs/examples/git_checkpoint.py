"""Notes the state of the working tree before each run, and goes back to it with `/undo-run`.

`git stash create` makes a commit of what is changed without touching branch, index or files.
"""

from bayou import BeforeAgentStart, CommandContext, Context, CustomEntry, ExtensionApi

ENTRY = "git-checkpoint"


def extension(api: ExtensionApi) -> None:
    @api.on("before_agent_start")
    async def note(event: BeforeAgentStart, context: Context) -> None:
        head = await api.exec("git", ["rev-parse", "--verify", "HEAD"])
        if head.code != 0:
            return  # no repository, or nothing committed yet
        made = await api.exec("git", ["stash", "create", f"before: {event.prompt[:60]}"], timeout=5)
        state = made.stdout.strip() or head.stdout.strip()
        await api.append_entry(ENTRY, {"state": state, "prompt": event.prompt[:200]})

    @api.command("undo-run", description="Puts the files back to how they were before the last run")
    async def undo(arguments: str, context: CommandContext) -> None:
        states = [
            entry.data
            for entry in context.session.branch()
            if isinstance(entry, CustomEntry) and entry.custom_type == ENTRY
        ]
        if not states:
            context.ui.notify("There is no checkpoint in this session.", "warning")
            return
        last = states[-1]
        if not await context.ui.confirm("Put all tracked files back?", f"To before: {last['prompt']}"):
            return
        await context.wait_until_idle()
        done = await api.exec("git", ["checkout", last["state"], "--", "."])
        level = "info" if done.code == 0 else "error"
        context.ui.notify(done.stderr.strip() or f"Back at {last['state'][:12]}.", level)
