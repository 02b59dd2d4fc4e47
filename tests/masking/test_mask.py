"""What is masked in a text, and what is left alone."""

import base64
import html
import json
import re
import shlex
import textwrap
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.masking.examples import KEY_LINES, PRIVATE_KEY, SHAPED, SURROUNDINGS, random_text
from tools.masking.encoded_secret_forms import KnownSecret, is_distinctive_secret
from tools.masking.masked_stream import MaskedStream
from tools.masking.pem_private_keys import find_private_keys
from tools.masking.secret_marks import SecretMarker
from tools.masking.secret_mask import SecretMask, UserSecretPattern

MARKER = SecretMarker(b"a key of a test")
VALUE = random_text(40, 7)
MASK = SecretMask(MARKER, known=[KnownSecret("SERVICE_TOKEN", VALUE)])
BYTES = SecretMask(MARKER, known=[KnownSecret("SERVICE_TOKEN", VALUE)], as_bytes=True)


def streamed(text: str, size: int) -> str:
    stream = MaskedStream(lambda: BYTES)
    data = text.encode()
    pieces = [stream.mask_next_piece(data[at : at + size]) for at in range(0, len(data), size)]
    return b"".join((*pieces, stream.mask_remaining_bytes())).decode()


def core(secret: str) -> str:
    """The part of a secret that must not be seen."""
    return max(re.split(r"[:.]", secret), key=len)[-16:]


@pytest.mark.parametrize("where", SURROUNDINGS)
@pytest.mark.parametrize("kind", SHAPED)
def test_each_shape_is_masked_wherever_it_stands(kind: str, where: str):
    secret = SHAPED[kind]
    text = SURROUNDINGS[where](secret)
    masked = MASK.mask_text(text).text
    assert core(secret) not in masked and "[secret:" in masked
    assert masked.count("\n") == text.count("\n")
    assert streamed(text, 1 << 16) == masked


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 16, 33, 64, 100, 257, 1000])
def test_a_secret_cut_by_the_border_of_two_pieces_is_masked_as_one(size: int):
    lines = [
        f"{number} {write(secret)}"
        for number, write in enumerate(SURROUNDINGS.values())
        for secret in SHAPED.values()
    ]
    text = "\n".join((*lines, PRIVATE_KEY, "the end", VALUE, ""))
    masked = streamed(text, size)
    assert masked == streamed(text, 1 << 20)
    assert not [secret for secret in (*SHAPED.values(), VALUE, *KEY_LINES) if core(secret) in masked]


def test_a_line_without_end_is_held_back_no_longer_than_a_secret_is():
    filler = "lorem ipsum dolor " * 6_000
    text = "".join(filler + secret + " " for secret in (*SHAPED.values(), VALUE)) * 2
    stream = MaskedStream(lambda: BYTES)
    went = held = 0
    out: list[bytes] = []
    for at in range(0, len(text), 4096):
        piece = text[at : at + 4096].encode()
        went += len(piece)
        out.append(stream.mask_next_piece(piece))
        held = max(held, went - sum(map(len, out)))
    out.append(stream.mask_remaining_bytes())
    masked = b"".join(out).decode()
    assert masked == BYTES.mask_text(text).text
    assert held < 200_000 + len(text) // 10


def test_what_is_no_part_of_a_secret_does_not_wait_for_the_end_of_its_line():
    stream = MaskedStream(lambda: BYTES)
    assert stream.mask_next_piece(b"..........") + stream.flush_part_without_secrets() == b".........."
    assert (
        stream.mask_next_piece(b" Password for me: ") + stream.flush_part_without_secrets()
        == b" Password for me: "
    )
    assert stream.mask_next_piece(b"ghp_abc") + stream.flush_part_without_secrets() == b""
    assert stream.preview() == b"ghp_abc"


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        json.dumps({"a": VALUE}),
        base64.b64encode(VALUE.encode()).decode(),
        base64.b64encode(b"user:" + VALUE.encode()).decode(),
        base64.b64encode(b"xy" + VALUE.encode() + b"\n").decode(),
        base64.urlsafe_b64encode(b"?>" + VALUE.encode()).decode(),
        base64.b64encode(base64.b64encode(VALUE.encode() + b"\n")).decode(),
        base64.b64encode(b"a: " + base64.b64encode(VALUE.encode())).decode(),
        VALUE.encode().hex(),
        "\n".join(textwrap.wrap(VALUE, 20)),
        "\n    ".join((VALUE[:5], VALUE[5:])),
        VALUE[:30] + "\\\n" + VALUE[30:],
        f"\x1b[31m{VALUE[:3]}\x1b[0m{VALUE[3:20]}\x1b[1m{VALUE[20:]}",
        f"prefix{VALUE}suffix",
    ],
)
def test_a_known_value_is_masked_in_the_spellings_that_programs_print(written: str):
    masked = MASK.mask_text(written).text
    assert "[secret:SERVICE_TOKEN:" in masked
    left = re.sub(r"\[secret:[^]]*]|\s|\x1b\[\d*m|\\", "", masked)
    assert len(left) <= len(written) - 30 or "prefix" in left
    assert VALUE[12:24] not in left


@pytest.mark.parametrize(
    "value",
    ['p"a\\ss w0rd & more stuff', "p@ss/w0rd+x=1'y", "пароль-секрет-99-длинный", "line one 1\nline two 2"],
)
def test_signs_that_are_escaped_do_not_hide_a_value(value: str):
    mask = SecretMask(MARKER, known=[KnownSecret("P", value)])
    for text in (
        value,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        quote(value, safe=""),
        html.escape(value),
    ):
        assert mask.mask_text(f"<{text}>").text.count("[secret:P:") == len(text.splitlines()), text


@pytest.mark.parametrize(
    "value",
    [
        "password",
        "postgres",
        "changeme",
        "development",
        "localhost",
        "my-secret-key",
        "12345678",
        "aaaaaaaa1",
    ],
)
def test_a_word_is_no_value_to_look_for_everywhere(value: str):
    assert not is_distinctive_secret(value)
    text = f"user = '{value}'\n"
    assert SecretMask(MARKER, known=[KnownSecret("P", value)]).mask_text(text).text == text


def test_private_keys_keep_their_lines():
    masked = MASK.mask_text(PRIVATE_KEY).text
    assert masked.count("\n") == PRIVATE_KEY.count("\n")
    assert masked.startswith("-----BEGIN RSA PRIVATE KEY-----\n[secret:private-key:")
    assert masked.endswith("]\n-----END RSA PRIVATE KEY-----\n")
    assert len(set(re.findall(r"\[secret[^]]*]", masked))) == len(KEY_LINES) + 1


@pytest.mark.parametrize(
    "written",
    [
        json.dumps({"private_key": PRIVATE_KEY}),
        "KEY='" + PRIVATE_KEY.replace("\n", "\\n") + "'",
        "".join(f'    "{line}\\n"\n' for line in PRIVATE_KEY.splitlines()),
        "".join(f"+{line}\n" for line in PRIVATE_KEY.splitlines()),
        "".join(f"{number:6}\t{line}\n" for number, line in enumerate(PRIVATE_KEY.splitlines(), 1)),
        "".join(f"id_rsa:{number}:{line}\n" for number, line in enumerate(PRIVATE_KEY.splitlines(), 1)),
        "    " + PRIVATE_KEY.replace("\n", "\n    "),
        PRIVATE_KEY.replace("\n", "\r\n"),
        "\n".join(PRIVATE_KEY.splitlines()[5:]) + "\n",
        "\n".join(PRIVATE_KEY.splitlines()[:9]) + "\n",
        "client-key-data: " + base64.b64encode(PRIVATE_KEY.encode()).decode(),
        "\n".join(textwrap.wrap(base64.b64encode(PRIVATE_KEY.encode()).decode(), 76)),
        PRIVATE_KEY.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n", 1),
    ],
)
def test_a_private_key_is_found_as_programs_write_it(written: str):
    masked = MASK.mask_text(written).text
    assert "[secret:private-key:" in masked
    assert not any(line in masked for line in KEY_LINES[5:7])
    assert masked.count("\n") == written.count("\n")


@pytest.mark.parametrize(
    "text",
    [
        'if "-----BEGIN RSA PRIVATE KEY-----" in text:\n    return parse(text)\n',
        'pem = f"-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----"\n',
        "url = 'postgres://user:password@localhost/db'\n",
        "amqp://guest:guest@localhost:5672//\n",
        "https://{user}:{password}@{host}/path\n",
        "https://$USER:$TOKEN@github.com/x/y\n",
        'headers = {"Authorization": "Bearer " + token}\n',
        "Authorization: Bearer YOUR_ACCESS_TOKEN_GOES_HERE\n",
        "Bearer authentication-is-required-for-this\n",
        "sk-learn, task-manager-with-a-long-name-indeed, risk-assessment-of-everything-there-is\n",
        "const sk_live_view = make_view(sk_live_view_options)\n",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b\n",
        "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n",
        "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==\n",
        "uuid 123e4567-e89b-12d3-a456-426614174000\n",
        "AKIA is a prefix; AIza another; eyJ begins many a token\n",
        "[secret:github-token:0123456789]\n",
    ],
)
def test_what_speaks_of_secrets_is_left_alone(text: str):
    assert MASK.mask_text(text).text == text
    assert streamed(text, 7) == text


def test_equal_secrets_look_equal_and_their_marks_are_known_again():
    secret = SHAPED["github-token"]
    masked = MASK.mask_text(f"{secret} {secret}").text
    one, other = masked.split()
    assert one == other and [found[0] for found in MARKER.find_own_marks(masked)] == [one, one]
    assert list(SecretMarker(b"another").find_own_marks(masked)) == []
    assert MASK.mask_text(masked).text == masked
    assert SecretMask(SecretMarker(b"another")).mask_text(secret).text != one


def test_what_is_said_to_be_no_secret_is_shown():
    secret = SHAPED["github-token"]
    mask = SecretMask(
        MARKER, known=[KnownSecret("K", VALUE)], ignored=[MARKER.digest(secret), MARKER.digest(VALUE)]
    )
    assert mask.mask_text(f"{secret} {VALUE}").text == f"{secret} {VALUE}"


def test_own_shapes():
    mask = SecretMask(MARKER, own=[UserSecretPattern("badge", re.compile(r"badge (\d{6})"))])
    assert re.fullmatch(
        r"my badge \[secret:badge:[0-9a-f]{10}\], not 123", mask.mask_text("my badge 123456, not 123").text
    )


def test_a_key_that_goes_on_is_reported():
    lines = PRIVATE_KEY.splitlines(keepends=True)
    assert find_private_keys("".join(lines[:4])).is_open
    assert not find_private_keys(PRIVATE_KEY).is_open
    assert len(find_private_keys("".join(lines[4:]), is_within=True).spans) == len(KEY_LINES) - 3 + 1


@pytest.mark.parametrize(
    "write",
    [
        lambda secret: f"\x1b]0;login {secret}\x07",
        lambda secret: f"\x1b]8;;https://a.example/?key={secret}\x1b\\page\x1b]8;;\x1b\\",
        lambda secret: f"\x1b]52;c;{base64.b64encode(secret.encode()).decode()}\x07",
        lambda secret: f"{secret[:9]}\x1b]0;{secret}\x07{secret[9:]}",
        lambda secret: secret.encode().hex().upper(),
    ],
)
def test_titles_links_and_capital_digits_show_no_known_value(write: Callable[[str], str]):
    text = f"before {write(VALUE)} after\n"
    for masked in (MASK.mask_text(text).text, streamed(text, 1 << 16), streamed(text, 7)):
        assert "before [secret:" in re.sub(r"\x1b\][^[\x07]*", "", masked) and "after" in masked
        plain = VALUE.encode()
        shown = (VALUE, plain.hex().upper(), base64.b64encode(plain).decode()[4:30])
        assert not [part for part in shown if part in masked]


SIGNS = ["p@ss+W0rd/=&<x>'!#9", "aB3$xY7!kL9", 'x9Q"7\\t4&Zr8+Lm', "tok-9aB_c2.D~e7", "Pässwörd-9-grün-x7"]
WRITERS: dict[str, Callable[[str], str]] = {
    "shell words": lambda value: re.sub(r"(\W)", r"\\\1", value),
    "shlex": shlex.quote,
    "repr": repr,
    "json": json.dumps,
    "json of Go": lambda value: re.sub("[&<>]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value)),
    "json three times": lambda value: json.dumps(json.dumps(json.dumps(value))),
    "html": html.escape,
    "html in decimal": lambda value: re.sub(r"[^\w]", lambda found: f"&#{ord(found[0])};", value),
    "xml": lambda value: html.escape(value).replace("&#x27;", "&apos;"),
    "html twice": lambda value: html.escape(html.escape(value)),
    "encodeURIComponent": lambda value: quote(value, safe="!'()*"),
    "encodeURI": lambda value: quote(value, safe="!'()*;/?:@&=+$,#"),
    "small letters": lambda value: re.sub("%..", lambda found: found[0].lower(), quote(value, safe="")),
    "address in an address": lambda value: quote(quote(value, safe=""), safe=""),
    "every sign": lambda value: re.sub(
        "[-_.~]", lambda found: f"%{ord(found[0]):02x}", quote(value, safe="")
    ),
    "numbers": lambda value: "".join(one if one.isalnum() else f"\\x{ord(one):02x}" for one in value),
    "octal": lambda value: "".join(
        chr(one) if chr(one).isascii() and chr(one).isalnum() else f"\\{one:03o}" for one in value.encode()
    ),
    "sql": lambda value: value.replace("'", "''"),
    "csv": lambda value: value.replace('"', '""'),
}


@pytest.mark.parametrize("value", SIGNS)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_value_is_found_however_its_signs_are_written(writer: str, value: str):
    written = f"x {WRITERS[writer](value)} y\n"
    for as_bytes in (False, True):
        mask = SecretMask(MARKER, known=[KnownSecret("P", value)], as_bytes=as_bytes)
        text = written.encode().decode("latin-1") if as_bytes else written
        masked = mask.mask_text(text).text
        left = re.sub(r"\[secret:P:[^]]*]", "", masked)
        assert left != masked and not re.search("[0-9A-Za-wz]", left), masked


def test_a_value_with_escaped_signs_is_found_across_lines():
    mask = SecretMask(MARKER, known=[KnownSecret("P", SIGNS[0])])
    masked = mask.mask_text("p%40ss%2B\n  W0rd%2F%3D%26\n  %3Cx%3E%27%21%239\nend").text
    assert re.fullmatch(r"(?:\[secret:P:\w+\]\n +){2}\[secret:P:\w+\]\nend", masked), masked


def test_other_signs_make_another_value():
    mask = SecretMask(MARKER, known=[KnownSecret("P", "aB3$xY7!kL9")])
    for text in (
        "aB3%25xY7!kL9",
        "aB3xY7!kL9",
        "aB3$xY7\\x22kL9",
        "aB3$xY7&quot;kL9",
        "xY7",
        "aB3$$$xY7!kL9",
    ):
        assert mask.mask_text(text).text == text


def test_small_letters_in_the_escapes_of_an_address_are_read():
    mask = SecretMask(MARKER, known=[KnownSecret("SERVICE_TOKEN", "nQ0gSXCO+A+Cw/PvJROA33nhAw6b")])
    assert "PvJROA" not in mask.mask_text("https://a.example/?key=nQ0gSXCO%2bA%2bCw%2fPvJROA33nhAw6b&x").text


@pytest.mark.parametrize(
    "form", ["%{:02x}", "%{:02X}", "\\x{:02x}", "\\u{:04x}", "\\\\u{:04x}", "\\{:03o}", "&#{};", "&#x{:x};"]
)
@pytest.mark.parametrize("every", [1, 3])
def test_characters_written_as_numbers_are_read(form: str, every: int):
    units = [form.format(ord(one)) if at % every == 0 else one for at, one in enumerate(VALUE)]
    written, folded = "".join(units), "".join((*units[:20], "\n", *units[20:]))
    masked = [MASK.mask_text(text).text for text in (written, f"\x1b[31m{written}\x1b[0m", folded)]
    for text in (*masked, streamed(written, 7)):
        assert not re.sub(r"\[secret:SERVICE_TOKEN:[^]]*]|\x1b\[\d*m|\n", "", text), text


def test_a_text_of_numbers_is_read_in_time():
    text = "%73%6b" * 40_000
    started = time.process_time()
    assert MASK.mask_text(text).text == text
    assert time.process_time() - started < 2


def seconds_to_mask(text: str) -> float:
    started = time.process_time()
    assert MASK.mask_text(text).text == text
    return time.process_time() - started


@pytest.mark.parametrize("write", ["\\", "\\x", "\\0", "&#", "&#00", "%"])
def test_the_time_for_a_run_of_escapes_grows_only_with_its_length(write: str):
    text = "%41 " + write * ((1 << 17) // len(write))
    once, sixteen_times = (
        min(seconds_to_mask(one) for _ in range(3)) for one in (text, "%41 " + text[4:] * 16)
    )
    assert sixteen_times < 64 * once, "in proportion it is 16, with the square of the length 256"


@pytest.mark.parametrize("gap", ["\n", "\r\n", "\n  "])
@pytest.mark.parametrize("first", [16, 19, 24])
def test_a_value_broken_behind_sixteen_characters_is_masked_in_any_pieces(gap: str, first: int):
    value = random_text(28, 3)
    stream_mask = SecretMask(MARKER, known=[KnownSecret("TOKEN", value)], as_bytes=True)
    for size in (1, 7, 1 << 10):
        stream = MaskedStream(lambda: stream_mask)
        data = f"foo {value[:first]}{gap}{value[first:]} bar\n".encode()
        pieces = [stream.mask_next_piece(data[at : at + size]) for at in range(0, len(data), size)]
        masked = b"".join((*pieces, stream.mask_remaining_bytes())).decode()
        assert value[:first] not in masked and value[first:] not in masked, (size, masked)


SIGNED = (
    'p"a\\ss w0rd & more stuff',
    "p@ss/w0rd+x=1'y",
    "пароль-99-длинный",
    "line one 1\nline two 2",
    "aa''bb\\\\cc-12dd",
    "$(w0w) `b4ck` | end9",
)
WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": json.dumps,
    "JSON within JSON": lambda value: json.dumps(json.dumps(value)),
    "an address": lambda value: quote(value, safe=""),
    "HTML": html.escape,
    "a shell": shlex.quote,
    "Python": repr,
    "numbers": lambda value: "".join(
        one if one.isascii() and one.isalnum() else f"&#{ord(one)};" for one in value
    ),
}


def shown_at_once(mask: SecretMask, *pieces: bytes) -> bytes:
    """What a terminal shows that gets each piece, and what can be no part of a secret, at once."""
    stream = MaskedStream(lambda: mask)
    return (
        b"".join(stream.mask_next_piece(one) + stream.flush_part_without_secrets() for one in pieces)
        + stream.mask_remaining_bytes()
    )


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("value", SIGNED)
def test_half_of_a_value_with_signs_is_never_shown(value: str, form: str):
    mask = SecretMask(MARKER, known=[KnownSecret("P", value)], as_bytes=True)
    for before in ("", "the key is ", "Type p"):
        data = f"{before}{WRITTEN[form](value)} then\n".encode()
        masked = mask.mask_text(data.decode("latin-1")).text.encode("latin-1")
        assert b"[secret:P:" in masked
        for cut in range(len(data)):
            assert shown_at_once(mask, data[:cut], data[cut:]) == masked, data[:cut]
        assert shown_at_once(mask, *(data[at : at + 1] for at in range(len(data)))) == masked
        stream = MaskedStream(lambda: mask)
        pieces = [stream.mask_next_piece(data[at : at + 1]) for at in range(len(data))]
        assert b"".join((*pieces, stream.mask_remaining_bytes())) == masked


@pytest.mark.parametrize("kind", [*SHAPED, "private key", "address", "named"])
def test_half_of_a_secret_with_a_shape_or_a_name_is_never_shown(kind: str):
    more = {
        "private key": PRIVATE_KEY,
        "address": "postgres://bob:hunt3r-x!y@h/db",
        "named": "PGPASSWORD = 'postgres' x",
    }
    named = [KnownSecret("PGPASSWORD", "postgres")]
    mask = SecretMask(MARKER, named=named, as_bytes=True)
    for write in SURROUNDINGS.values():
        data = write(SHAPED.get(kind) or more[kind]).encode()
        masked = mask.mask_text(data.decode("latin-1")).text.encode("latin-1")
        for cut in range(0, len(data) if b"[secret:" in masked else 0, 3):
            assert shown_at_once(mask, data[:cut], data[cut:]) == masked, data[:cut]
