import pytest

from tests.support.warm_bayou import BAYOU


@pytest.fixture(autouse=True)
def warm_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """What clients start costs no imports. Those that kill it say `command=COLD_BAYOU`: a killed process is gone."""
    monkeypatch.setattr("bayou.client.own_command", lambda: tuple(BAYOU))
