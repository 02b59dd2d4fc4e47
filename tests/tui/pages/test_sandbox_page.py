"""`/sandbox` shows the current sandbox and changes the setting."""

from app.engine.sandbox.sandboxes import SandboxState
from app.tui.features.permissions.sandbox import SandboxPage
from tests.tui.pages.person import at_the_keyboard

STATE = SandboxState(
    setting="auto",
    step="landlock",
    why="making a namespace of mounts: Operation not permitted",
    is_in_force=True,
    network="open",
    writable=("/home/me/project",),
    hidden=("/home/me/.ssh",),
)


async def test_what_works_is_reported_and_the_setting_is_changed() -> None:
    kept: list[tuple[str, object]] = []
    async with at_the_keyboard() as person:
        page = SandboxPage(
            lambda: STATE, person.ask, person.say, lambda name, value: kept.append((name, value))
        )
        async with person.asked(page.open()):
            assert "Landlock only" in person.sees
            assert "/home/me/project" in person.sees and "/home/me/.ssh" in person.sees
            await person.press(*"required", "enter")
        await page.open("never")
        assert "Unknown sandbox.mode never" in person.warned[-1]
    assert kept == [("sandbox.mode", "required")]
