"""Every method of the API, in each mode: one extension that touches all of it."""

import pytest

from app.extensions.public import ExtensionApi, ProviderSpec
from app.extensions.ui import EventUi, SilentUi
from app.providers.offline.model import offline_model
from tests.extensions.fake_host import FakeHost, FakeUi


@pytest.mark.parametrize("mode", ["tui", "rpc", "print", "json"])
async def test_everything_an_extension_can_do(load, host: FakeHost, mode: str):
    host.mode = mode
    ui = {"tui": FakeUi(["a", True, "i", "e", "c"]), "rpc": EventUi(lambda event: answer(event))}
    host.ui = ui.get(mode) or SilentUi(mode=mode)
    entry_id = await host.append_entry("seed", None)
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
            result["receipt"] = await api.wait_for_delivery(message_id, 1)
            await api.send_message("note", "go", deliver_as="follow_up", trigger_turn=True)
            await api.send_user_message("do it", deliver_as="steer")
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
                context.has_pending_messages(), context.context_usage().percent, context.system_prompt(),
                context.model.key, len(context.models), context.session.label(entry_id),
                len(context.session.entries()), context.signal.is_set, api.name, api.version,
            )  # fmt: skip
            await context.compact("shorter")
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

    extensions = await load(mine)
    await extensions.start()
    assert extensions.problems == []
    cancelled = (False, None, False, None, None, None)
    answered = (True, "a", True, "i", "e", "c" if mode == "tui" else None)
    assert result["ui"] == (answered if mode in ("tui", "rpc") else cancelled)
    assert result["exec"] == str(host.cwd)
    assert result["commands"] == ["c"]
    assert result["receipt"] == "delivered"
    assert result["tools"] == (["t"], ["t"])
    assert result["level"] == ("high", "high")
    assert [(sent.deliver_as, sent.trigger, sent.call_id) for sent in host.sent] == [
        ("aside", False, "c"),
        ("follow_up", True, None),
    ]
    assert host.prompts == [("do it", "steer")]
    assert host.calls == [("edit_context", entry_id, None), ("compact", "shorter"), ("shutdown",)]
    assert host.session.name == "name"
    assert set(host.providers) == {"p"}


async def test_commands_may_change_the_conversation(load, host: FakeHost):
    from app.extensions.catalogue import Catalogue

    def mine(api: ExtensionApi):
        @api.command("all")
        async def everything(arguments, context):
            await context.wait_until_idle()
            assert await context.new_session()
            assert await context.fork("e", "at")
            assert await context.go_to("e", summarize=True)
            assert await context.switch_session(host.cwd)
            await context.reload()

    extensions = await load(mine)
    await Catalogue(extensions).run_command("all", "")
    assert extensions.problems == []
    assert [call[0] for call in host.calls] == ["new_session", "fork", "go_to", "switch_session", "reload"]
