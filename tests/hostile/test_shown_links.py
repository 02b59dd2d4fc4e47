"""A link whose words look like another address shows where it really leads."""

import pytest

from tests.widgets.transcript.test_markdown import drawn

DECEIVING = {
    "[https://bank.example](https://evil.example)": "https://evil.example",
    "[https://bank.example/login](https://bank.example.evil.org/login)": "https://bank.example.evil.org/login",
    "[bank.com](https://evil.example/x)": "https://evil.example/x",
    "[see www.bank.com for more](https://evil.example)": "https://evil.example",
    "[https://bank.example](https://bank.example@evil.example/)": "https://evil.example/",
    "[**https://**bank.example](https://evil.example)": "https://evil.example",
    "[`https://bank.example`](https://evil.example)": "https://evil.example",
    "[https://code.example/us/tool](https://code.example/them/tool)": "https://code.example/them/tool",
    "[me@bank.com](mailto:me@evil.example)": "me@evil.example",
    "[раураl.com](https://раураl.com.evil.org)": "evil.org",
    "[192.168.0.1](https://192.168.0.2)": "https://192.168.0.2",
    "[https://ba\u200bnk.example](https://evil.example)": "https://evil.example",
    "[https://bank.example]\n\n[https://bank.example]: https://evil.example": "https://evil.example",
}
HONEST = [
    "[the bank](https://bank.example)",
    "[https://bank.example](https://bank.example/)",
    "[bank.com](https://www.bank.com/login)",
    "[README.md](https://code.example/us/tool/README.md)",
    "[main.py](https://code.example/main.py)",
    "[Node.js](https://nodejs.org)",
    "[https://code.example/us…](https://code.example/us/tool)",
    "<https://bank.example/a?b=c#d>",
    "https://bank.example/a?b=c#d",
    "[v1.2](https://code.example/tags/v1.2)",
]


@pytest.mark.parametrize("markdown", DECEIVING)
def test_words_that_look_like_another_address_are_followed_by_the_real_one(markdown: str) -> None:
    assert "(links to " in drawn(markdown, 200)
    assert DECEIVING[markdown] in drawn(markdown, 200)


@pytest.mark.parametrize("markdown", HONEST)
def test_honest_links_stay_as_they_are(markdown: str) -> None:
    assert "leads to" not in drawn(markdown, 200)
