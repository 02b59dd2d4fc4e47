"""`/mcp list|test|enable|…` in words, the same in every face. What a page shows of servers is the page's."""

from typing import TYPE_CHECKING

from app.engine.mcp_verbs import McpVerbs
from app.values.servers import ServerView
from app.values.unable import Unable
from tools.amounts import counted
from tools.text import one_line

if TYPE_CHECKING:
    from app.providers.signin.interface import SignInUi

VERBS = ("list", "test", "enable", "disable", "restart", "login", "logout", "logs", "remove")
_SHOWN_NAMES = 10
_TIPS = (
    (("no such file", "not found", "enoent"), "Is the program installed, and does PATH name its folder?"),
    (("permission denied", "eacces"), "The program may not be run: look at its permissions."),
    (("cannot be reached", "refused"), "Is the server running, and is the address right?"),
    (
        ("did not answer", "does not answer", "timed out"),
        "It is slow to start? `startTimeout` gives it more time.",
    ),
    (("401", "login", "sign-in", "who asks"), "Sign in: /mcp login {name}"),
    (("403", "more rights"), "The sign-in has too few rights: /mcp login {name} asks for more."),
    (("is not set",), "Set the variable where bayou is started, or write a default: ${{NAME:-default}}"),
)


async def said_of_servers(verbs: McpVerbs, text: str, ui: "SignInUi | None" = None) -> str:
    """What `/mcp TEXT` does and tells. Raises `Unable`."""
    verb, _, name = text.strip().partition(" ")
    name = name.strip()
    if verb in ("", "list"):
        return listed(verbs)
    if verb not in VERBS:
        raise Unable(f"/mcp {one_line(verb)[:40]} is not known. There is: {', '.join(VERBS)}")
    if not name:
        raise Unable(f"Server name required. Usage: /mcp {verb} <name>")
    match verb:
        case "test":
            return await tested(verbs, name)
        case "enable" | "disable":
            return verbs.changes.enable(name, verb == "enable")
        case "restart":
            view = await verbs.restart(name)
            return f'Server "{view.name}" was restarted; it is connected when it is needed.'
        case "login":
            if ui is None:
                raise Unable(f"Nobody can sign in here. In a terminal: bayou mcp login {name}")
            told = await verbs.changes.sign_in(name, ui)
            return f"{told}\n{await tested(verbs, name)}"
        case "logout":
            return await verbs.changes.sign_out(name)
        case "remove":
            return verbs.changes.remove(name)
        case _:
            view = verbs.server(name)
            said = "\n".join(view.stderr) or "It has written nothing."
            return f"{said}\n({view.log})" if view.log else said


def listed(verbs: McpVerbs) -> str:
    """One line a server, and what is wrong with the files."""
    views = verbs.servers()
    if not views and not verbs.problems:
        return "No MCP servers. In a terminal: bayou mcp add NAME -- COMMAND, or bayou mcp import PROGRAM"
    wide = max((len(view.name) for view in views), default=0)
    lines = [line_of(view, wide) for view in views]
    return "\n".join([*lines, *verbs.problems])


def line_of(view: ServerView, wide: int = 0) -> str:
    reason = f"  {one_line(view.reason)}" if view.reason else ""
    offered = f"  {offers(view)}" if view.tools else ""
    return f"{view.name:{wide}}  {view.state:9}{offered}{reason}  ({view.origin})"


def offers(view: ServerView) -> str:
    parts = [counted(len(view.tools), "tool")] if view.tools else []
    parts += [counted(view.prompt_count, "prompt")] if view.prompt_count else []
    parts += [counted(view.resource_count, "resource")] if view.resource_count else []
    return ", ".join(parts)


async def tested(verbs: McpVerbs, name: str) -> str:
    """A success in words. Raises `Unable` with a failure in words, and what may help."""
    try:
        view = await verbs.test(name)
    except Unable as problem:
        text = str(problem)
        if text.startswith("Server "):
            raise
        raise Unable(failed(name, text)) from None
    lines = [f'✓ Successfully connected to "{view.name}"']
    lines += [f"  {view.version}"] if view.version else []
    lines.append(f"  {offers(view) or 'no tools'}")
    if 0 < len(view.tools) <= _SHOWN_NAMES:
        lines.append(f"  {', '.join(one_line(tool.name) for tool in view.tools)}")
    return "\n".join(lines)


def failed(name: str, why: str) -> str:
    text = why.lower()
    tip = next((tip for words, tip in _TIPS if any(word in text for word in words)), "")
    told = f'Failed to connect to "{name}": {why.removeprefix(f"{name} is not available: ")}'
    return f"{told}\nTip: {tip.format(name=name)}" if tip else told
