"""`web_fetch` connects to public https addresses only, and refuses the rest before a byte is sent."""

import pytest

from app.web.fetching import WebFetcher
from app.web.url_checks import ip_address_refusal_reason, is_listed_private_host, parse_web_address
from app.web.web_access import WebAccessSettings
from tests.providers.loopback import loopback
from tools.tool_definition import ToolError

PRIVATE = (
    *(
        "127.0.0.1",
        "127.1.2.3",
        "0.0.0.0",
        "10.0.0.1",
        "10.255.1.1",
        "172.16.0.1",
        "172.31.9.9",
        "192.168.1.1",
    ),
    *(
        "169.254.169.254",
        "169.254.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
    ),
    *("198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
    *("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "fd12:3456::1", "ff02::1", "2001:db8::1", "100::1"),
    *(
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
    ),
    *(
        "2002:7f00:1::",
        "2002:c0a8:101::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "fe80::1%eth0",
        "no address",
    ),
    *("168.63.129.16", "::ffff:168.63.129.16", "2002:a83f:8110::", "fd20:ce::254", "192.88.99.1"),
    *("fec0::1", "feff::1", "64:ff9b:1::7f00:1", "64:ff9b:1:7f00:0:100::", "3fff::1", "5f00::1", "::7f00:1"),
    *("2600::5efe:7f00:1", "2600::200:5efe:a00:1", "fe80::5efe:808:808", "2600::5efe:a83f:8110"),
    *("2002:808:808::5efe:c0a8:101", "2001:0:7f00:1::f7f7:f7f7", "::ffff:0:7f00:1"),
)
SPELLINGS_OF_LOOPBACK = (
    *("https://127.0.0.1/", "https://2130706433/", "https://0x7f000001/", "https://017700000001/"),
    *(
        "https://127.1/",
        "https://0/",
        "https://127.0.0.1.:443/",
        "https://[::1]/",
        "https://[::ffff:7f00:1]/",
    ),
    *(
        "https://localhost/",
        "https://LOCALHOST:8443/",
        "https://localhost./",
        "https://\uff11\uff12\uff17.0.0.1/",
    ),
    *("https://0x7f.1/", "https://[::]/", "https://127.0.0.1:80/"),
)
NO_PAGES = (
    *(
        "file:///etc/passwd",
        "ftp://example.org/x",
        "gopher://example.org/",
        "https://",
        "https:///etc/passwd",
    ),
    *("https://user:word@example.org/", "https://[::1", "https://exa mple.org/", "javascript:alert(1)"),
    *("http://example.org/", "https://" + "a" * 9000, "data:text/html,hi"),
)


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_has_a_reason(address: str):
    assert ip_address_refusal_reason(address)


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "8.8.8.8",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2600::5efe:808:808",
    ],
)
def test_a_public_address_is_allowed(address: str):
    assert ip_address_refusal_reason(address) == ""


@pytest.mark.parametrize("url", SPELLINGS_OF_LOOPBACK)
async def test_every_spelling_of_this_machine_is_refused(url: str):
    async with loopback() as server:
        port = server.url.rpartition(":")[2]
        with pytest.raises(ToolError, match=r"web\.privateHosts|was not found|not a valid URL"):
            await WebFetcher(WebAccessSettings).fetch(url if url.count(":") > 1 else url[:-1] + f":{port}/")
        assert server.connections == 0


@pytest.mark.parametrize("url", NO_PAGES)
async def test_addresses_without_https_are_refused(url: str):
    with pytest.raises(ToolError):
        await WebFetcher(WebAccessSettings, resolve=never).fetch(url)


async def never(host: str, port: int) -> list[str]:
    raise AssertionError("nothing may be looked up")


async def test_one_private_address_among_public_ones_refuses_the_host():
    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.215.14", "10.0.0.1"]

    with pytest.raises(ToolError, match=r"example\.org is 10\.0\.0\.1, which is a private address"):
        await WebFetcher(WebAccessSettings, resolve).fetch("https://example.org/")


def test_a_page_about_a_file_on_github_becomes_the_file():
    target = parse_web_address("https://github.com/o/r/blob/main/a%20b/c.py#L3")
    assert target.url == "https://raw.githubusercontent.com/o/r/main/a%20b/c.py"
    assert target.host_and_port == "raw.githubusercontent.com:443"


def test_the_host_is_named_as_rules_write_it():
    assert parse_web_address("example.org/x").host_and_port == "example.org:443"
    assert parse_web_address("https://EXAMPLE.org.:8443/").host_and_port == "example.org:8443"
    assert parse_web_address("https://[2606:4700::1111]/").host_and_port == "[2606:4700::1111]:443"


def test_an_invalid_international_host_name_is_refused():
    with pytest.raises(ToolError, match="not a valid URL"):
        parse_web_address("https://.xn--/")


def test_brackets_of_a_listed_host_belong_to_its_address():
    listed = ["[fd00::5]:8080", "[::1]"]
    assert is_listed_private_host(parse_web_address("http://[fd00::5]:8080/"), listed)
    assert not any(
        is_listed_private_host(parse_web_address(f"http://{host}:8080/"), listed) for host in "05f1d"
    )


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        *(
            ("[fd00::1]", "http://[fd00::1]:8080/"),
            ("FD00:0::1", "http://[fd00::1]/"),
            ("[fd00:*]", "http://[fd00::1]/"),
        ),
        *(
            ("bücher.intern", "http://bücher.intern/"),
            ("intern.", "http://INTERN/"),
            ("10.0.0.*", "http://10.0.0.5/"),
        ),
        *(("10.0.0.1:80", "http://0x0a000001/"), ("*.internal", "http://wiki.internal./")),
    ],
)
def test_a_private_host_is_meant_in_every_spelling(entry: str, url: str):
    assert is_listed_private_host(parse_web_address(url), [entry])


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        *(("10.0.0.*", "http://10.0.0.evil.com/"), ("127.0.0.1*", "http://127.0.0.1.evil.com/")),
        *(("[fd00::1]:81", "http://[fd00::1]/"), ("*.internal", "http://internal/")),
    ],
)
def test_a_private_host_is_no_other_host(entry: str, url: str):
    assert not is_listed_private_host(parse_web_address(url), [entry])
