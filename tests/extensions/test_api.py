"""Every method of the API, in each mode: one extension that touches all of it."""

import pytest

from app.extensions.extension_catalogue import ExtensionCatalogue
from app.extensions.headless_ui import EventPublishingUi, HeadlessUi
from app.extensions.time_limits import HookLimits
from app.providers.offline.model import offline_model
from app.values.content import text_of
from app.values.entries import ContextEditEntry, MessageEntry
from app.values.events import SessionReplaced
from app.values.messages import UserMessage, user_message
from bayou import ExtensionApi, ProviderSpec
from tests.extensions.extension_host import AnsweringUi, ExtensionHost


@pytest.mark.parametrize("mode", ["tui", "rpc", "print", "json"])
async def test_everything_an_extension_can_do(load, scene: ExtensionHost, mode: str):
    scene.bound.mode = mode  # pyright: ignore[reportAttributeAccessIssue]  (a parameter of the test)
    ui = {
        "tui": AnsweringUi(["a", True, "i", "e", "c"]),
        "rpc": EventPublishingUi(lambda event: answer(event)),
    }
    scene.ui = ui.get(mode) or HeadlessUi(mode=mode)
    entry_id = (await scene.session.notes.append_custom_entry("seed", None)).id
    result: dict[str, object] = {}

    def answer(event) -> None:
        if getattr(event, "answer", None) is not None:
            event.answer.set_result(
                {"select": "a", "confirm": True, "input": "i", "editor": "e"}[event.method]
            )

    def mine(api: ExtensionApi):
        api.register_provider(ProviderSpec(name="p", models=(offline_model(),)))
        api.register_provider(ProviderSpec(name="gone"))
        api.unregister_provider("gone")
        api.command("c")(print)
        api.tool("t", "x")(lambda arguments, context: "x")
        api.tool("u", "x")(lambda arguments, context: "x")
        api.unregister_tool("u")

        @api.on("session_start")
        async def begin(event, context):
            message_id = await api.send_message(
                "note", "hi", deliver_as="aside", details={"a": 1}, call_id="c"
            )
            await api.send_message("note", "go", deliver_as="follow_up", trigger_turn=True)
            result["running"] = (context.is_idle(), context.signal.is_set)
            result["receipt"] = (await api.wait_for_delivery(message_id, 10)).outcome
            await scene.session.wait_until_idle()
            await api.send_user_message("do it", deliver_as="steer")
            await scene.session.wait_until_idle()
            await api.append_entry("state", {"n": 1})
            await api.edit_context(entry_id, None)
            await api.set_label(entry_id, "here")
            await api.set_session_name("name")
            result["commands"] = [command.name for command in api.commands()]
            result["name"] = api.session_name()
            api.set_active_tools(["t"])
            result["tools"] = (list(api.active_tools()), [tool.name for tool in api.all_tools()])
            result["model"] = await api.set_model(offline_model())
            await api.set_thinking_level("high")
            result["level"] = (api.thinking_level(), context.thinking_level)
            result["settings"] = dict(api.settings())
            result["jobs"] = list(api.jobs.all())
            result["exec"] = (await api.exec("pwd")).stdout.strip()
            result["context"] = (
                context.mode, context.cwd, context.is_idle(), context.is_project_trusted(),
                context.has_pending_messages(), context.context_usage().tokens, context.system_prompt(),
                context.model.key, len(context.models), context.session.label(entry_id),
                len(context.session.entries()), context.signal, api.name, api.version,
            )  # fmt: skip
            result["compacted"] = await context.compact("shorter")
            await context.abort()
            context.shutdown()
            asked = context.ui
            result["ui"] = (
                context.has_ui, await asked.select("?", ["a"]), await asked.confirm("?"), await asked.input("?"),
                await asked.editor("?"), await asked.custom(lambda: None),
            )  # fmt: skip
            asked.notify("n", "warning")
            asked.set_status("k", "v")
            asked.set_widget("w", ["l"])
            asked.set_title("T")
            asked.set_header(None)
            asked.set_footer(None)
            asked.set_working("busy", frames=["."])
            asked.set_editor_text("x")
            asked.paste("y")
            asked.set_tools_expanded(True)
            result["texts"] = (asked.editor_text(), asked.theme(), list(asked.themes()))
            result["switches"] = (asked.tools_expanded(), asked.set_theme("x"))

    extensions = await load(mine, limits=HookLimits())  # one handler does all of this
    await extensions.start()
    assert extensions.hooks.problems == []
    cancelled = (False, None, False, None, None, None)
    answered = (True, "a", True, "i", "e", "c" if mode == "tui" else None)
    assert result["ui"] == (answered if mode in ("tui", "rpc") else cancelled)
    assert result["exec"] == str(scene.cwd)
    assert result["commands"] == ["c"]
    assert (result["running"], result["receipt"]) == ((False, False), "delivered")
    assert result["tools"] == (["t"], ["t"])
    assert result["level"] == ("high", "high")
    assert [(sent.deliver_as, sent.trigger, sent.call_id) for sent in scene.sent] == [
        ("aside", False, "c"),
        ("follow_up", True, None),
    ]
    assert [text_of(one.content) for one in scene.session.messages if isinstance(one, UserMessage)] == [
        "do it"
    ]
    assert [entry.target_id for entry in scene.entries if isinstance(entry, ContextEditEntry)] == [entry_id]
    assert result["compacted"] is False, "there is too little to compact"
    assert scene.done == ["shutdown"]
    assert scene.session.state.name == "name"
    assert scene.choice.catalogue.find_model("p", offline_model().id) is not None


async def test_commands_may_change_the_conversation(load, scene: ExtensionHost):
    done: list[bool] = []
    other = scene.harness.places.create_session()
    other.append(MessageEntry(parent_id=None, message=user_message("elsewhere")))
    other.close()

    def mine(api: ExtensionApi):
        @api.command("all")
        async def everything(arguments, context):
            await context.wait_until_idle()
            prompt = context.session.entries()[-2].id
            done.append(await context.go_to(prompt))
            done.append(await context.fork(prompt, "at"))
            done.append(await context.new_session())
            done.append(await context.switch_session(other.path))
            done.append(await context.switch_session(scene.cwd / "none.jsonl"))
            await context.reload()

    extensions = await load(mine)
    await scene.harness.prompt("hello")
    await ExtensionCatalogue(extensions.hooks).run_command("all", "")
    assert extensions.hooks.problems == []
    assert done == [True, True, True, True, False]
    assert [event.reason for event in scene.harness.all(SessionReplaced)] == ["tree", "fork", "new", "resume"]
    assert scene.session.state.file == other.path
    assert scene.done == ["reload"]
