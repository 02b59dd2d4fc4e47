"""Known values are found where a line break or the border of two pieces falls within them, however they are written."""

import base64
import html
import itertools
import json
import re
import textwrap
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.masking.examples import random_text
from tools.masking.encoded_secret_forms import KnownSecret
from tools.masking.masked_stream import MaskedStream
from tools.masking.secret_marks import SecretMarker
from tools.masking.secret_mask import SecretMask

MARKER = SecretMarker(b"a key of a test")
VALUES = (
    random_text(8, 5),
    random_text(12, 5),
    random_text(20, 3),
    random_text(40, 3),
    random_text(64, 3),
    random_text(300, 3),
    random_text(20, 3) + "&" + random_text(20, 4),
)
MARK = re.compile(r"\[secret:S:[^\]]*\]")


def mask_of(value: str) -> SecretMask:
    return SecretMask(MARKER, known=[KnownSecret("S", value)], as_bytes=True)


def streamed(mask: SecretMask, *pieces: str) -> str:
    stream = MaskedStream(lambda: mask)
    return (
        b"".join(map(stream.mask_next_piece, map(str.encode, pieces))) + stream.mask_remaining_bytes()
    ).decode()


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def capital_hexadecimal(data: bytes) -> str:
    return data.hex().upper()


ENCODERS: dict[str, Callable[[bytes], str]] = {
    "base64": in_base64,
    "hexadecimal": bytes.hex,
    "capital hexadecimal": capital_hexadecimal,
}


@pytest.mark.parametrize("width", [60, 64, 72, 76])
@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("value", VALUES, ids=len)
def test_an_encoded_value_is_masked_wherever_its_line_breaks(value: str, encoder: str, width: int):
    mask = mask_of(value)
    encode = ENCODERS[encoder]
    step = 1 if len(value) < 100 else 11
    for before in range(0, 120, step):
        encoded = encode(b"x" * before + value.encode() + b"y" * 50)
        lines = textwrap.wrap(encoded, width)
        for gap in ("\n", "\r\n", "\n    "):
            text = gap.join(lines) + "\n"
            masked = mask.mask_text(text).text
            assert masked.count("\n") == text.count("\n")
            shown = MARK.sub("", masked).replace(gap, "").strip()
            # The characters at both ends have bits of what is around the value.
            assert len(shown) <= len(encoded) - len(encode(value.encode()).rstrip("=")) + 6, (before, masked)
            whole = streamed(mask, text)
            assert whole == masked
            assert streamed(mask, *text.splitlines(keepends=True)) == masked, before


def test_an_encoded_value_in_a_long_file_is_masked_whatever_arrives_together():
    value = VALUES[3]
    mask = mask_of(value)
    data = b"".join(random_text(90, number).encode() + value.encode() for number in range(60))
    text = "\n".join(textwrap.wrap(in_base64(data), 76)) + "\n"
    masked = mask.mask_text(text).text
    assert len(MARK.findall(masked)) >= 60
    for size in (1, 7, 77, 150, 1000):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert streamed(mask, *pieces) == masked, size


WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "an address": lambda value: quote(value, safe=""),
    "HTML": html.escape,
    "a shell": lambda value: re.sub(r"(\W)", r"\\\1", value),
    "doubled": lambda value: re.sub(r"([^\w\\])", r"\1\1", value),
}
SIGNED = (
    "a7TjzhgB0Neei$mvd10ezp1RI2tmV212uQbbXX",
    "$$x7'TjzhgB0''Neei",
    'q9""Tjz&hg"B0Ne"$$$x',
    "пароль-99-$длинный",
)


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("value", SIGNED)
def test_a_value_whose_lines_arrive_one_by_one_is_masked_as_one(value: str, form: str):
    mask = mask_of(value)
    written = WRITTEN[form](value)
    for at in range(1, len(written)):
        for gap, end in itertools.product(("\n", "\r\n", "\n  "), ("", "\n", " end\n")):
            if (at > 1 and written[at - 1] == "\\") or re.search(r"[%&\\][\w#]{0,5}\Z", written[:at]):
                continue
            pieces = (f"one\nkey {written[:at]}{gap}", f"{written[at:]}{end}", "two\n")
            together = streamed(mask, "".join(pieces))
            assert streamed(mask, *pieces) == together, pieces
            left = MARK.sub("", together)
            if value == SIGNED[0] and form == "plain":
                assert re.sub(r"\W", "", left) in ("onekeytwo", "onekeyendtwo"), together


def test_a_line_waits_for_the_next_only_while_a_value_may_go_on():
    stream = MaskedStream(lambda: mask_of(SIGNED[0]))
    assert stream.mask_next_piece(b"no secret\n") == b"no secret\n"
    assert stream.mask_next_piece(b"data\n") == b"dat"
    assert stream.mask_next_piece(b"P") == b"a\n"
    assert stream.mask_next_piece(b"assword: ") + stream.flush_part_without_secrets() == b"Password: "


@pytest.mark.parametrize("sign", ["'", '"', "$", "&", "%"])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_signs_side_by_side_are_found_doubled(sign: str, count: int):
    for value in (
        f"a713ufP1lNW{sign * count}2Kj7hhQw",
        f"{sign * count}a713ufP1lNW2Kj7",
        f"a713ufP1lNW2{sign * count}",
    ):
        mask = mask_of(value)
        for text in (value, value.replace(sign, 2 * sign), value.replace(sign, "\\" + sign)):
            assert MARK.fullmatch(mask.mask_text(text).text), text
            for cut in range(len(text)):
                stream = MaskedStream(lambda mask=mask: mask)
                pieces = (b"= " + text[:cut].encode(), text[cut:].encode() + b" end\n")
                shown = b"".join(
                    stream.mask_next_piece(one) + stream.flush_part_without_secrets() for one in pieces
                )
                # Of a doubled sign at the end the second half, which may be text, may stay.
                rest = f"[{sign}]*" if value.endswith(sign) else ""
                masked = (shown + stream.mask_remaining_bytes()).decode()
                assert re.fullmatch(rf"= \[secret:S:\w+\]{rest} end\n", masked), masked
        other = value.replace(sign * count, sign * (2 * count + 1))
        assert "7hhQw" not in value or mask.mask_text(other).text == other


@pytest.mark.parametrize("width", [16, 60, 76])
def test_the_time_for_broken_lines_grows_only_with_their_number(width: int):
    mask = SecretMask(MARKER, known=[KnownSecret("S", one) for one in (*VALUES, *SIGNED)], as_bytes=True)

    def seconds(size: int) -> float:
        lines = [f"{random_text(width, number % 50)}\n" for number in range(size)]
        started = time.process_time()
        streamed(mask, "".join(lines))
        streamed(mask, *lines)
        return time.process_time() - started

    once, eight_times = (min(seconds(size) for _ in range(2)) for size in (200, 1600))
    assert eight_times < 24 * once, "in proportion it is 8, with the square of the length 64"


@pytest.mark.parametrize(
    "value", ["$$x7'TjzhgB0''Neei", "a7Tjz$gB0''Neei", "a7TjzhgB0Neei$mvd10ezp1R&8kP", "&7Tjzhg$0"]
)
@pytest.mark.parametrize("break_between_lines", ["\n", "\r\n  ", "\\\n"])
def test_a_value_with_signs_is_found_wherever_one_line_break_is(value: str, break_between_lines: str):
    mask = mask_of(value)
    writings = (
        [re.escape(one) if one in "$&'" else one for one in value],
        [f"%{ord(one):02x}" if one in "$&'" else one for one in value],
        [f"\\u{ord(one):04x}" if one in "$&'" else one for one in value],
        [2 * one if one in "$&'" else one for one in value],
    )
    for signs in (list(value), *writings):
        for at in range(1, len(signs)):
            text = f"= {''.join(signs[:at])}{break_between_lines}{''.join(signs[at:])} end"
            masked = mask.mask_text(text).text
            assert re.fullmatch(r"= \[secret:S:\w+\]\\?\r?\n *\[secret:S:\w+\] end", masked), (text, masked)


BREAKS = ("\n", "\r", "\r\n", "\\\n", "\n    ", " \n")


@pytest.mark.parametrize("gap", BREAKS)
@pytest.mark.parametrize(
    "value",
    [*VALUES[:3], "p@ss!w0rd#99", "!!!aB3!!!xx", "p4-x9-k2-z7-q1", "пароль12345", "a1 pass of 5 words here!"],
)
def test_a_value_is_masked_wherever_a_long_line_breaks_it(value: str, gap: str):
    mask = mask_of(value)
    for at in range(1, len(value)):
        text = f"connecting with the password {value[:at]}{gap}{value[at:]} of user me failed\n"
        masked = mask.mask_text(text.encode().decode("latin-1")).text.encode("latin-1").decode()
        before, middle, after = MARK.split(masked)
        assert before == "connecting with the password ", masked
        assert middle.strip("\\ \r\n") == "", masked
        assert after.lstrip() == "of user me failed\n", masked
        cuts = {len(text) // 2, text.index(gap), text.index(gap) + len(gap)}
        for cut in cuts:
            assert streamed(mask, text[:cut], text[cut:]) == masked, cut


@pytest.mark.parametrize(
    "value", ["!Secret99!", "zCKRx0mqJz", "VehFXe3XiV", "#$9M=BaN&=,#", "3CaUvl92:3", "ab1-Kq7-xy2-ab1"]
)
@pytest.mark.parametrize(
    "text", ["{}\n", "password is {}\n", "key={}\r\n", "{}\n{}\n", "x {} ", "see {}\nnext\n"]
)
def test_a_stream_is_never_cut_within_a_value_whose_end_is_like_its_beginning(value: str, text: str):
    mask = mask_of(value)
    said = text.replace("{}", value)
    for pieces in ([said], said.splitlines(keepends=True), list(said)):
        stream = MaskedStream(lambda: mask)
        shown = b"".join(
            stream.mask_next_piece(one.encode()) + stream.flush_part_without_secrets() for one in pieces
        )
        assert (shown + stream.mask_remaining_bytes()).decode() == mask.mask_text(said).text, pieces
    for at in range(1, len(value)):
        said = f"see {value[:at]}\n{value[at:]}\n"
        assert streamed(mask, said) == mask.mask_text(said).text


def test_an_encoded_value_is_masked_if_a_piece_ends_between_the_signs_of_a_line_break():
    value = "j]4_Z]gV<gXx/^r!}@W3"
    mask = mask_of(value)
    for encode in ENCODERS.values():
        written = encode(value.encode())
        text = f"log {written[:30]}\r\n{written[30:]} done\r\n"
        cut = text.index("\n")
        stream = MaskedStream(lambda: mask)
        shown = stream.mask_next_piece(text[:cut].encode()) + stream.flush_part_without_secrets()
        shown += stream.mask_next_piece(text[cut:].encode()) + stream.mask_remaining_bytes()
        assert shown.decode() == mask.mask_text(text).text
        assert written[:20] not in shown.decode()


def test_a_step_of_a_progress_line_does_not_wait():
    stream = MaskedStream(lambda: mask_of(VALUES[3]))
    assert stream.mask_next_piece(b"loaded 12%\r") + stream.flush_part_without_secrets() == b"loaded 12%\r"


def test_lines_of_prose_are_no_value_unless_all_of_it_is_there():
    mask = mask_of("next-line-9-words")
    for text in (
        "The next\n-line-9",
        "next-line-9\nand words",
        "next-line-9-\nword",
        "next line 9 words\n" * 3,
    ):
        assert mask.mask_text(text).text == text
