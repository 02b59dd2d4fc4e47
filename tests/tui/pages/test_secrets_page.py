"""`/secrets` and `/unmask`: what was masked, one key that says it is no secret, a prompt as it is."""

from pathlib import Path

from app.providers.scripted import say
from app.tui.features.permissions.secrets import MaskedSecretsPage
from app.values.content import text_of
from tests.engine.scripted_session import ScriptedSession
from tests.masking.examples import SHAPED
from tests.tui.pages.person import at_the_keyboard

TOKEN = SHAPED["github-token"]


async def test_one_key_marks_a_false_alarm(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    async with at_the_keyboard() as person:
        page = MaskedSecretsPage(
            harness.session.secrets, harness.session.resend_unmasked, person.ask, person.say
        )
        await page.open()
        assert person.heard == ["No secrets were masked in this session."]
        await harness.prompt(f"Use {TOKEN}")
        async with person.asked(page.open()):
            assert "[secret:github-token:" in person.sees and "your prompt" in person.sees
            await person.press("enter")
        assert "is marked as not a secret" in person.heard[-1]
        await harness.prompt(f"Use {TOKEN}")
        assert TOKEN in text_of(harness.script.received_contexts[-1].messages[-1].content)  # type: ignore[union-attr]


async def test_a_masked_prompt_is_sent_again_unmasked(tmp_path: Path) -> None:
    harness = ScriptedSession(tmp_path, say("one"), say("two"))
    await harness.prompt(f"Use {TOKEN}")
    async with at_the_keyboard() as person:
        await MaskedSecretsPage(
            harness.session.secrets, harness.session.resend_unmasked, person.ask, person.say
        ).unmask()
        await harness.session.wait_until_idle()
    assert text_of(harness.script.received_contexts[-1].messages[-1].content) == f"Use {TOKEN}"  # type: ignore[union-attr]
