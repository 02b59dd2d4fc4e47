"""Settings that a running session goes by. Each look is taken twice of one session, the file changed in between."""

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from PIL import Image as Picture

from app.engine.context.branch_summary import NavigationOptions
from app.providers.model_stream import StreamOptions
from app.providers.scripted import call, fail, say
from app.resources.helper_kinds import HelperAgentKind
from app.sessions.file import session_file
from app.values.content import Image, text_of
from app.values.events import AutoRetryStart, ExtensionError
from app.values.messages import CustomMessage, ToolResultMessage, UserMessage
from app.values.todos import GoalCheck, TodoItem, TodoPhase
from tests.compaction.project_session import ProjectSession
from tests.settings.cases import Cases
from tests.support.sessions import parts_of
from tools.tool_definition import Tool, ToolContext
from tools.tool_result_values import text_result

LIVE = Cases()
LONG = "many words " * 400
SLOW_EXTENSION = """
import asyncio, time

def extension(api):
    @api.on("before_agent_start")
    async def slow(event, context):
        await asyncio.sleep(0.15)

    @api.on("agent_end")
    def blocks(event, context):
        time.sleep(0.15)
"""


async def asked_with(scene: ProjectSession) -> StreamOptions:
    """The options of one request."""
    seen: list[StreamOptions] = []

    async def adapter(model: Any, context: Any, options: StreamOptions, stream: Any) -> None:
        seen.append(options)
        await scene.script.adapter(model, context, options, stream)

    scene.assembled.registry.register_adapter("scripted", adapter, owner="test")
    scene.script.responses[:] = [say("ok")]
    await scene.prompt("go")
    return seen[0]


async def result_of(scene: ProjectSession, tool: str, **arguments: Any) -> ToolResultMessage:
    scene.script.responses[:] = [call(tool, **arguments), say("ok")]
    await scene.prompt("go")
    return next(one for one in reversed(scene.session.messages) if isinstance(one, ToolResultMessage))


async def said_by(scene: ProjectSession, command: str) -> str:
    return text_of((await result_of(scene, "bash", command=command)).content)


for level in ("minimal", "low", "medium", "high"):

    @LIVE.add(f"thinkingBudgets.{level}", 10, 20)
    async def budget(scene: ProjectSession, level: str = level) -> Any:
        return (await asked_with(scene)).thinking_budgets[level]


@LIVE.add("cacheRetention", "short", "long")
async def cache(scene: ProjectSession) -> Any:
    return (await asked_with(scene)).is_long_cache


@LIVE.add("httpProxy", None, "http://proxy.test")
async def proxy(scene: ProjectSession) -> Any:
    return (await asked_with(scene)).proxy


@LIVE.add("firstEventTimeoutMs", 1_000, 2_000)
async def first_event(scene: ProjectSession) -> Any:
    return (await asked_with(scene)).first_event_seconds


@LIVE.add("httpIdleTimeoutMs", 1_000, 2_000)
async def idle(scene: ProjectSession) -> Any:
    return (await asked_with(scene)).idle_seconds


@LIVE.add("modelThinkingLevels", {"one/m": "low"}, {"one/m": "high"})
async def level_of_a_model(scene: ProjectSession) -> Any:
    scene.assembled.model_choice.set_model(scene.script.model)
    await scene.session.models.use_model(scene.session.models.model_choice.find_model("one", "m"))
    return scene.session.state.thinking


@LIVE.add("compaction.model", "one/m", "two/m")
async def model_of_summaries(scene: ProjectSession) -> Any:
    return (
        await parts_of(scene.session).context.compactor.summariser.choose_summary_model("a few words")
    ).key


@LIVE.add("steeringMode", "one-at-a-time", "all")
async def steering(scene: ProjectSession) -> Any:
    return taken_at_once(scene, "steering")


@LIVE.add("followUpMode", "one-at-a-time", "all")
async def follow_ups(scene: ProjectSession) -> Any:
    return taken_at_once(scene, "follow_up")


def taken_at_once(scene: ProjectSession, queue: Any) -> int:
    queues = parts_of(scene.session).core.queues
    for text in ("a", "b"):
        queues.add_message(queue, UserMessage(content=text))
    count = len(queues.take_next(queue))
    queues.take_all_user_messages()
    return count


def own_tool(scene: ProjectSession, name: str, run: Any) -> None:
    scene.session.tools.register_tool(
        Tool(name=name, description="A test's.", schema={"type": "object", "properties": {}}, run=run),
        owner=f"test-{name}",
    )
    scene.session.tools.set_active_tools([*scene.session.tools.active_tools(), name])


@LIVE.add("interruptMode", "wait", "immediate")
async def interrupting(scene: ProjectSession) -> Any:
    async def steered(arguments: Any, context: ToolContext) -> Any:
        await scene.session.queue("steering", "stop that")
        await asyncio.sleep(0.3)
        return text_result("it went on to its end")

    own_tool(scene, "steered", steered)
    result = await result_of(scene, "steered")
    scene.session.queues.take_all_user_messages()
    return "to its end" in text_of(result.content)


@LIVE.add("background.resultDelivery", "steer", "followUp")
async def delivery(scene: ProjectSession) -> Any:
    waits: list[str] = []

    async def gate(arguments: Any, context: ToolContext) -> Any:
        async with asyncio.timeout(10):
            while not waits:
                waits.extend(
                    queue
                    for queue in ("steering", "follow_up")
                    if scene.session.queues.queued_messages(queue)
                )
                await asyncio.sleep(0.01)
        return text_result("done")

    own_tool(scene, "gate", gate)
    scene.script.responses[:] = [
        call("bash", command="true", background=True) + call("gate"),
        *[say("ok")] * 3,
    ]
    await scene.prompt("go")
    return waits[0]


@LIVE.add("bash.interceptor.enabled", False, True)
async def interceptor(scene: ProjectSession) -> Any:
    scene.write("a.txt", "hello")
    return await said_by(scene, "cat a.txt")


@LIVE.add(
    "bash.interceptor.rules", (), ({"pattern": "make ", "tool": "bash", "message": "Use just instead."},)
)
async def own_rules(scene: ProjectSession) -> Any:
    scene.assembled.effective_settings.set("bash.interceptor.enabled", True)
    return await said_by(scene, "make nothing")


@LIVE.add("bash.ownShell", False, True)
async def own_shell(scene: ProjectSession) -> Any:
    home = Path(os.environ["HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / ".bashrc").write_text("alias greet='echo hello'\n")
    scene.assembled.effective_settings.set("shellPath", "/bin/bash")
    return await said_by(scene, "greet")


@LIVE.add("bash.pty", False, True)
async def terminals(scene: ProjectSession) -> Any:
    told = scene.session.requests.prompt_and_tools_of_next_request()
    return (await result_of(scene, "bash", command="true", pty=True)).content, b'"pty"' in bytes(
        told.encoded_tools
    )


@LIVE.add("bash.defaultTimeoutSeconds", 0, 1)
async def time_limit(scene: ProjectSession) -> Any:
    return await said_by(scene, "sleep 1.4; echo done")


@LIVE.add("bash.persistentShell", False, True)
async def one_shell(scene: ProjectSession) -> Any:
    await said_by(scene, "export TIDE=low")
    return await said_by(scene, "echo [$TIDE]")


@LIVE.add("bash.autoBackground.thresholdMs", 0, 50)
async def to_the_background(scene: ProjectSession) -> Any:
    scene.script.responses[:] = [call("bash", command="sleep 0.4; echo $((40 + 2))"), *[say("ok")] * 3]
    await scene.prompt("go")
    result = next(one for one in reversed(scene.session.messages) if isinstance(one, ToolResultMessage))
    return "42" in text_of(result.content)


@LIVE.add("shellPath", "/bin/sh", "/bin/bash")
async def shell(scene: ProjectSession) -> Any:
    return await said_by(scene, "echo $0")


@LIVE.add("shellCommandPrefix", None, "echo before;")
async def prefix(scene: ProjectSession) -> Any:
    return await said_by(scene, "echo after")


@LIVE.add("shellPassEnvironment", [], ["HARBOUR_API_KEY"])
async def passed(scene: ProjectSession) -> Any:
    os.environ["HARBOUR_API_KEY"] = "open"
    try:
        return "[open]" in await said_by(scene, "echo [$HARBOUR_API_KEY]")
    finally:
        del os.environ["HARBOUR_API_KEY"]


@LIVE.add("images.autoResize", True, False)
async def resized(scene: ProjectSession) -> Any:
    path = scene.project / "large.png"
    Picture.effect_noise((2_600, 400), 60).save(path)
    result = await result_of(scene, "read", path=str(path))
    return [len(part.data) for part in result.content if isinstance(part, Image)]


def python_file(scene: ProjectSession, functions: int) -> Path:
    body = "\n".join(
        f"def function_{number}(a, b):\n    return a + b + {number}\n" for number in range(functions)
    )
    return scene.write(f"long{time.monotonic_ns()}.py", body)


@LIVE.add("sessionDir", None, "~/elsewhere")
async def folder(scene: ProjectSession) -> Any:
    return scene.assembled.session_paths.project_folder


@LIVE.add("sessionSync", "off", "entry")
async def synced(scene: ProjectSession) -> Any:
    forced: list[Any] = []
    real = session_file.os.fsync
    session_file.os.fsync = lambda descriptor: forced.append(descriptor)  # a disk that is slow to answer
    try:
        scene.script.responses[:] = [say("ok")]
        await scene.prompt("go")
    finally:
        session_file.os.fsync = real
    return bool(forced)


async def retries(scene: ProjectSession) -> list[AutoRetryStart]:
    begun: list[AutoRetryStart] = []
    leave = scene.session.subscribe(
        lambda event: begun.append(event) if isinstance(event, AutoRetryStart) else None
    )
    scene.script.responses[:] = [fail("overloaded", status=529)] * 3
    await scene.prompt("go")
    leave()
    return begun


QUICK = {"retry.baseDelayMs": 1, "retry.maxRetries": 2}


@LIVE.add("retry.enabled", True, False, QUICK)
async def tries(scene: ProjectSession) -> Any:
    return len(await retries(scene))


@LIVE.add("retry.maxRetries", 1, 2, QUICK)
async def most_tries(scene: ProjectSession) -> Any:
    return len(await retries(scene))


@LIVE.add("retry.baseDelayMs", 1, 30, QUICK)
async def first_delay(scene: ProjectSession) -> Any:
    return (await retries(scene))[0].delay_ms >= 30


@LIVE.add("retry.maxAgentDelayMs", 10, 60_000, {"retry.baseDelayMs": 40, "retry.maxRetries": 2})
async def longest_delay(scene: ProjectSession) -> Any:
    return (await retries(scene))[0].delay_ms >= 40


async def talked(scene: ProjectSession, answer: str = LONG) -> None:
    if len(scene.session.messages) < 5:
        for text in ("one", "two", "three"):
            scene.script.responses[:] = [say(answer)]
            await scene.prompt(text)


async def talked_much(scene: ProjectSession) -> None:
    """More than half of the window, of which no more is kept free."""
    await talked(scene, LONG * 35)


@LIVE.add("compaction.reserveTokens", 1_000, 199_000)
async def reserve(scene: ProjectSession) -> Any:
    await talked_much(scene)
    return scene.session.state.is_context_full


@LIVE.add("compaction.keepRecentTokens", 100, 1_500)
async def kept(scene: ProjectSession) -> Any:
    await talked(scene)
    return parts_of(scene.session).context.compactor.plan_compaction().first_kept_entry_id


@LIVE.add("compaction.modelOverrides", {}, {"scripted/script": {"reserveTokens": 199_000}})
async def reserve_of_a_model(scene: ProjectSession) -> Any:
    await talked_much(scene)
    return scene.session.state.is_context_full


@LIVE.add(
    "compaction.mode", "off", "auto", {"compaction.reserveTokens": 199_000, "compaction.keepRecentTokens": 50}
)
async def compacting(scene: ProjectSession) -> Any:
    scene.script.responses[:] = [say(LONG * 100)] * 6
    before = len(scene.session.log.entries)
    await scene.prompt("go on")
    return any(entry.__struct_config__.tag == "compaction" for entry in scene.session.log.entries[before:])


@LIVE.add("branchSummary.reserveTokens", 190_000, 197_000)
async def branch_room(scene: ProjectSession) -> Any:
    """Little room leaves the older half of a branch out of what is summarised."""
    start = scene.session.log.entries[-1].id if scene.session.log.entries else None
    for text in ("one", "two", "three"):
        scene.script.responses[:] = [say("word " * 1_600)]
        await scene.prompt(text)
    scene.script.responses[:] = [say("a summary")]
    await scene.session.branches.go_to_entry(start, NavigationOptions(should_summarise=True))
    return len(text_of(scene.asked[-1].messages[-1].content)) > 14_000  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]


@LIVE.add("enableSkillCommands", True, False)
async def skill_commands(scene: ProjectSession) -> Any:
    return [command["name"] for command in scene.session.commands() if command["name"].startswith("skill:")]


async def complaints(scene: ProjectSession) -> str:
    failed: list[ExtensionError] = []
    leave = scene.session.subscribe(
        lambda event: failed.append(event) if isinstance(event, ExtensionError) else None
    )
    scene.script.responses[:] = [say("ok")]
    await scene.prompt("go")
    leave()
    return " ".join(error.event for error in failed)


@LIVE.add("extensionLimits.hookTimeoutMs", 10_000, 50)
async def hook_limit(scene: ProjectSession) -> Any:
    return "before_agent_start" in await complaints(scene)


@LIVE.add("extensionLimits.blockTimeoutMs", 5_000, 30)
async def block_limit(scene: ProjectSession) -> Any:
    return "agent_end" in await complaints(scene)


async def rule_section(scene: ProjectSession) -> str:
    scene.script.responses[:] = [say("ok")]
    await scene.prompt("go")
    return scene.prompt_now()


@LIVE.add("rules.enabled", True, False)
async def rules(scene: ProjectSession) -> Any:
    return "Anchor twice." in await rule_section(scene)


@LIVE.add("rules.sources", ["native"], ["native", "cursor"])
async def rule_folders(scene: ProjectSession) -> Any:
    return "Cast off once." in await rule_section(scene)


async def interruptions(scene: ProjectSession, answers: int) -> int:
    before = len(scene.session.messages)
    for _ in range(answers):
        scene.script.responses[:] = [say("a FORBIDDEN word"), say("ok"), say("ok")]
        await scene.prompt("go")
    return sum(isinstance(one, CustomMessage) for one in scene.session.messages[before:])


@LIVE.add("rules.interrupt", True, False)
async def rule_stops(scene: ProjectSession) -> Any:
    return await interruptions(scene, 1)


@LIVE.add("rules.repeatGapTurns", 50, 1)
async def rule_stops_again(scene: ProjectSession) -> Any:
    return await interruptions(scene, 4)


@LIVE.add("todo.enabled", "auto", "off")
async def has_todos(scene: ProjectSession) -> Any:
    return "todo" in scene.session.tools.active_tools()


@LIVE.add("todo.reminders", True, False)
async def reminders(scene: ProjectSession) -> Any:
    left = TodoPhase(name="Work", tasks=(TodoItem(content="Tea"),))
    await scene.session.todos.replace_by_user([left])
    scene.script.responses[:] = [say("I stop."), say("I stop.")]
    await scene.prompt("go")
    return len(scene.script.responses)


async def goal_after(scene: ProjectSession, command: str) -> Any:
    scene.script.responses[:] = [say("Done.") for _ in range(5)]
    await scene.session.goal.set_goal("Tea.", [GoalCheck(command=command)])
    await scene.prompt("go")
    view = scene.session.goal.goal_view
    return view and (view.goal.failed, view.goal.proof and view.goal.proof.results[0].problem)


@LIVE.add("goal.maxChecks", 1, 2, {"permissions.mode": "full"})
async def failed_checks(scene: ProjectSession) -> Any:
    return await goal_after(scene, "false")


@LIVE.add("goal.checkSeconds", 1, 600, {"permissions.mode": "full", "goal.maxChecks": 1})
async def time_of_checks(scene: ProjectSession) -> Any:
    return await goal_after(scene, "sleep 1.5; false")


@LIVE.add("task.enabled", True, False)
async def has_helpers(scene: ProjectSession) -> Any:
    return "task" in scene.session.tools.active_tools()


@LIVE.add("task.width", 4, 1)
async def helpers_at_once(scene: ProjectSession) -> Any:
    waiting = [0, 0]

    async def work(context: Any, count: int) -> Any:
        waiting[0] += 1
        waiting[1] = max(waiting)
        await asyncio.sleep(0.1)
        waiting[0] -= 1
        return say("ok")

    scene.script.responses[:] = [call("task", prompt="a") + call("task", prompt="b"), work, work, say("ok")]
    await scene.prompt("go")
    return waiting[1]


@LIVE.add("task.maxPerPrompt", 16, 1)
async def helpers_of_a_prompt(scene: ProjectSession) -> Any:
    calls = call("task", prompt="a") + call("task", prompt="b")
    scene.script.responses[:] = [calls, say("ok"), say("ok"), say("ok")]
    await scene.prompt("go")
    return len(scene.script.responses)


@LIVE.add("task.maxTokens", 400_000, 1)
@LIVE.add("task.maxCost", 0.0, 0.5)
@LIVE.add("task.maxTurns", 60, 1)
@LIVE.add("task.maxMinutes", 30.0, 1.0)
async def limits_of_helpers(scene: ProjectSession) -> Any:
    return scene.session.helpers.limits_of_kind(HelperAgentKind(name="any", description=""))


async def evaluated(scene: ProjectSession, code: str) -> str:
    return text_of((await result_of(scene, "eval", code=code)).content)


@LIVE.add("eval.python", None, "/nowhere/python")
async def interpreter(scene: ProjectSession) -> Any:
    scene.assembled.workspace.end_kernel()
    return "Correct the setting eval.python" in await evaluated(scene, "1")


@LIVE.add("eval.defaultTimeoutSeconds", 0, 1)
async def limit_of_cells(scene: ProjectSession) -> Any:
    return "timed out" in await evaluated(scene, "import time; time.sleep(1.5)")


@LIVE.add("eval.idleMinutes", 0, 15)
async def idle_kernel(scene: ProjectSession) -> Any:
    kernel = scene.assembled.workspace.kernel()
    return kernel.idle_timeout


@LIVE.add("renderMermaid.enabled", False, True)
async def diagrams_of_the_agent(scene: ProjectSession) -> Any:
    return "render_mermaid" in scene.session.tools.active_tools()


@LIVE.add("web.fetch", True, False)
async def pages_of_the_web(scene: ProjectSession) -> Any:
    return "web_fetch" in scene.session.tools.active_tools()


@LIVE.add("web.allowHttp", True, False)
async def unencrypted_pages(scene: ProjectSession) -> Any:
    return await _refusal(scene, "http://host.invalid/")


@LIVE.add("web.privateHosts", ["127.0.0.1"], [])
async def pages_of_own_servers(scene: ProjectSession) -> Any:
    return await _refusal(scene, "https://127.0.0.1:9/")


@LIVE.add("web.search", "off", "brave")
async def searches(scene: ProjectSession) -> Any:
    await scene.session.models.model_choice.credentials.store_key("brave", "k")
    scene.session.tools.recompute_active_tools()
    return "web_search" in scene.session.tools.active_tools()


@LIVE.add("web.searchUrl", None, "https://127.0.0.1:9/", {"web.search": "brave"})
async def address_of_searches(scene: ProjectSession) -> Any:
    await searches(scene)
    effects = scene.session.tools.effects_of_call("web_search", {"query": "tea"})
    return effects and effects.hosts


async def _refusal(scene: ProjectSession, url: str) -> str:
    return text_of((await result_of(scene, "web_fetch", url=url)).content)
