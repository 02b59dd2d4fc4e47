"""Compares hosts: every spelling of a host has one normal form, in rules, in commands and in settings."""

import fnmatch
import ipaddress
import re
import stringprep
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

from tools.lazy_patterns import lazy_regex

_IPV4_NUMBERS_PATTERN = lazy_regex(r"(?:0x[0-9a-f]+|\d+)(?:\.(?:0x[0-9a-f]+|\d+)){0,3}", re.ASCII)
_HOST_WILDCARDS_PATTERN = lazy_regex(r"[*?\[]")
_BRACKETED_IPV6_PATTERN = lazy_regex(r"\[([^\]]*:[^\]]*)\](?::(\d+|\*))?")
_HOST_AND_PORT_PATTERN = lazy_regex(r"([^:]*):(\d+|\*)")
_IPV4_ADDRESS_PATTERN = lazy_regex(r"(?=.*\d)[\d.*?\[\]-]+", re.ASCII)


@lru_cache(4096)
def normalize_host(text: str) -> str:
    """Returns the normal form of a host: of a name in lower case and in ASCII, of an address as the system writes
    it, without brackets and zone. An IPv4 address that IPv6 maps is the IPv4 address."""
    bare = text.strip("[]")
    address = _normal_ipv6(bare.partition("%")[0]) if ":" in bare else None
    if address is not None:
        return address
    kept = "".join(char for char in unquote(bare) if not stringprep.in_table_b1(char))
    name = unicodedata.normalize("NFKC", kept.lower()).replace("\u3002", ".").rstrip(".")
    return _normal_ipv4(name) or ".".join(map(_label_in_ascii, name.split(".")))


def _normal_ipv4(text: str) -> str | None:
    """Returns an IPv4 address with four decimal numbers; it may have fewer, also octal and hexadecimal ones, of which
    the last fills the rest (inet_aton(3))."""
    if not _IPV4_NUMBERS_PATTERN.fullmatch(text):
        return None
    try:
        *first, last = (int(one, 16 if "x" in one else 8 if one[0] == "0" else 10) for one in text.split("."))
        rest = last.to_bytes(4 - len(first))
        return str(ipaddress.IPv4Address(bytes([*first, *rest])))
    except (ValueError, OverflowError):
        return None


def _normal_ipv6(text: str) -> str | None:
    try:
        found = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    return str(found.ipv4_mapped or found)


def _label_in_ascii(label: str) -> str:
    try:
        return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
    except UnicodeError:
        return label


def is_ip_address(text: str) -> bool:
    """Returns whether a host is an address in any spelling; a small number is rather a port."""
    try:
        ipaddress.ip_address(normalize_host(text))
    except ValueError:
        return False
    return not text.isdecimal() or int(text) > 65_535


def split_host_pattern(pattern: str) -> tuple[str, str]:
    """Returns the host and the port of a pattern, the port `*` if it names none."""
    found = _BRACKETED_IPV6_PATTERN.fullmatch(pattern) or _HOST_AND_PORT_PATTERN.fullmatch(pattern)
    return (found[1], found[2] or "*") if found else (pattern, "*")


def is_pattern_of_one_host(pattern: str) -> bool:
    """Returns whether the pattern names one host, without a wildcard; its port may be one."""
    return not _HOST_WILDCARDS_PATTERN.search(split_host_pattern(pattern)[0])


def host_pattern_problem(pattern: str) -> str | None:
    """Returns why a pattern can match no host, or could mean two things; None if it is fine."""
    wanted, _ = split_host_pattern(pattern)
    is_wild = _HOST_WILDCARDS_PATTERN.search(wanted) is not None
    if ":" in wanted:
        if wanted == pattern and is_wild:
            return f"does not say where its address ends; write [{wanted}], with :PORT behind it for one port"
        if not is_wild and _normal_ipv6(wanted) is None:
            return "is no address of IPv6"
    if is_wild and any(
        not label.isascii() and _HOST_WILDCARDS_PATTERN.search(label) for label in wanted.split(".")
    ):
        return "has a * beside letters that are not ASCII; write this part of the name with xn--"
    return None


def host_matches_pattern(pattern: str, host: str) -> bool:
    """Returns whether a pattern, with or without a port, matches this `host:port`."""
    wanted, wanted_port = split_host_pattern(pattern)
    name, _, port = host.rpartition(":")
    if wanted_port not in ("*", port):
        return False
    name = normalize_host(name)
    if not _HOST_WILDCARDS_PATTERN.search(wanted):
        return normalize_host(wanted) == name
    if ":" in wanted:
        form = re.sub(r"\b0+(?=[0-9a-f])", "", wanted.lower())
        return any(fnmatch.fnmatchcase(one, form) for one in _forms_of_ipv6(name))
    if _IPV4_ADDRESS_PATTERN.fullmatch(wanted) and not is_ip_address(name):
        return False
    form = ".".join(map(_label_in_ascii, wanted.lower().rstrip(".").split(".")))
    return fnmatch.fnmatchcase(name, form)


def _forms_of_ipv6(name: str) -> tuple[str, ...]:
    """Returns an IPv6 address with its groups of zeros left out and written; nothing for another host."""
    try:
        groups = ipaddress.IPv6Address(name).exploded.split(":")
    except ValueError:
        return ()
    return name, ":".join(f"{int(group, 16):x}" for group in groups)
