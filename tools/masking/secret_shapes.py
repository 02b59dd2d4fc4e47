"""Defines the shapes by which secrets are recognised, such as keys of known services.

A shape is searched for only at its literal, which is cheap; its matches are secrets or examples of secrets. Random-
looking text and assignments are not guessed in source code (`assigned_secrets` handles `.env` files)."""

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache

import msgspec


class SecretShape(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    literals: tuple[str, ...]
    """The literals with one of which every match begins."""
    pattern: str
    """The pattern that is matched at a literal; its group, or else the whole match, is the secret."""
    is_secret: Callable[[str], bool] = lambda text: True
    """A check for matches that a pattern cannot express; returns whether the text is a secret."""
    needs_word_start: bool = True
    """Whether a match counts only if no character of a name precedes it."""
    may_wrap: bool = True
    """Whether the secret may continue on the next line, where a narrow terminal or `fold` broke it."""


_WORD_END_REGEX = r"(?![A-Za-z0-9_])"


def _is_random(text: str) -> bool:
    """Returns whether a text looks random: letters and digits that are no word and no list of words."""
    return any(one.isdigit() for one in text) and any(one.isalpha() for one in text)


_PLACEHOLDER_SECRET_WORDS = (
    "password",
    "passwd",
    "secret",
    "example",
    "changeme",
    "placeholder",
    "redacted",
    "your",
    "tiger",
)


def _is_password(text: str) -> bool:
    """Returns whether a text may be a real password: no word, no variable name and no placeholder from a manual."""
    text = compile_secret_shape("%[0-9A-Fa-f]{2}").sub("-", text)
    if any(one in text for one in "${}<>*%[]()|\\`,;#&?"):
        return False
    low = text.lower()
    return (
        _is_random(text) and len(set(text)) > 4 and not any(word in low for word in _PLACEHOLDER_SECRET_WORDS)
    )


def _is_basic_login(text: str) -> bool:
    try:
        name, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(name and colon) and name.isprintable() and _is_password(password) and len(password) > 5


def _is_jwt(text: str) -> bool:
    head = text.split(".", 1)[0]
    try:
        return b'"' in base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return False


SECRET_SHAPES: tuple[SecretShape, ...] = (
    SecretShape(kind="anthropic-key", literals=("sk-ant-",), pattern=r"sk-ant-[a-z]{2,8}\d\d-[\w-]{24,200}"),
    SecretShape(
        kind="openai-key",
        literals=("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        pattern=r"sk-[A-Za-z]+-[\w-]{32,200}",
        is_secret=_is_random,
    ),
    SecretShape(
        kind="api-key",
        literals=("sk-",),
        pattern=r"sk-(?:or-v1-|lf-|live-|test-)?[A-Za-z0-9]{32,128}(?![\w-])",
        is_secret=_is_random,
    ),
    SecretShape(
        kind="github-token",
        literals=("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        pattern=r"gh[pousr]_[A-Za-z0-9]{36,251}" + _WORD_END_REGEX,
    ),
    SecretShape(
        kind="github-token",
        literals=("github_pat_",),
        pattern=r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}" + _WORD_END_REGEX,
    ),
    SecretShape(
        kind="gitlab-token",
        literals=("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-"),
        pattern=r"gl(?:pat|dt|rt|ptt|cbt|soat)-[\w-]{20,64}(?:\.\w{2}\.\w{9})?",
        is_secret=_is_random,
    ),
    SecretShape(
        kind="aws-key-id",
        literals=("AKIA", "ASIA", "ABIA", "ACCA"),
        pattern=r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}" + _WORD_END_REGEX,
        may_wrap=False,
    ),
    SecretShape(
        kind="aws-secret",
        literals=("ccess_key", "CCESS_KEY", "ccessKey"),
        pattern=r"[A-Za-z_]{8,9}[\"']{0,2}\s{0,8}(?:=>|[:=])\s{0,8}[\"']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        is_secret=_is_random,
        needs_word_start=False,
        may_wrap=False,
    ),
    SecretShape(
        kind="google-key", literals=("AIza",), pattern=r"AIza[\w-]{35}(?![\w-])", is_secret=_is_random
    ),
    SecretShape(
        kind="google-secret",
        literals=("GOCSPX-", "ya29."),
        pattern=r"(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{40,2000})",
        is_secret=_is_random,
    ),
    SecretShape(
        kind="slack-token",
        literals=("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
        pattern=r"(?:xox[abeoprs][-.]|xapp-)[\w-]{20,250}",
        is_secret=_is_random,
    ),
    SecretShape(
        kind="slack-webhook",
        literals=("hooks.slack.com/",),
        pattern=r"hooks\.slack\.com/(?:services|workflows)/(T\w{6,}/[A-Z]\w{6,}/[\w/]{16,64})",
        needs_word_start=False,
    ),
    SecretShape(
        kind="stripe-key",
        literals=("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
        pattern=r"(?:[rs]k_(?:live|test)_[A-Za-z0-9]{20,250}|whsec_[A-Za-z0-9+/]{32,88}=*)",
        is_secret=_is_random,
    ),
    SecretShape(
        kind="npm-token",
        literals=("npm_",),
        pattern=r"npm_[A-Za-z0-9]{36}" + _WORD_END_REGEX,
        is_secret=_is_random,
    ),
    SecretShape(
        kind="pypi-token",
        literals=("pypi-AgE",),
        pattern=r"pypi-AgE(?:IcHlwaS5vcmc|NdGVzdC5weXBpLm9yZw)[\w-]{40,1000}",
    ),
    SecretShape(
        kind="huggingface-token", literals=("hf_",), pattern=r"hf_[A-Za-z0-9]{34,40}" + _WORD_END_REGEX
    ),
    SecretShape(kind="sendgrid-key", literals=("SG.",), pattern=r"SG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
    SecretShape(
        kind="jwt",
        literals=("eyJ",),
        pattern=r"eyJ[\w-]{14,1000}\.eyJ[\w-]{8,5000}\.[\w-]{20,1400}",
        is_secret=_is_jwt,
    ),
    SecretShape(
        kind="service-token",
        literals=(
            "dop_v1_",
            "dckr_pat_",
            "shpat_",
            "shpss_",
            "hvs.",
            "glsa_",
            "lin_api_",
            "gsk_",
            "r8_",
            "pplx-",
            "xai-",
            "dapi",
            "AGE-SECRET-KEY-1",
            "sntrys_",
            "ntn_",
            "tskey-",
        ),
        pattern=(
            r"(?:do[opr]_v1_[0-9a-f]{64}|dckr_pat_[\w-]{27}|shp(?:at|ss)_[0-9a-fA-F]{32}|hvs\.[\w-]{24,200}"
            r"|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|lin_api_[A-Za-z0-9]{40}|gsk_[A-Za-z0-9]{52}|r8_[A-Za-z0-9]{37}"
            r"|pplx-[A-Za-z0-9]{48}|xai-[A-Za-z0-9]{80}|dapi[0-9a-f]{32}(?:-\d)?|AGE-SECRET-KEY-1[0-9A-Z]{58}"
            r"|sntrys_[\w+/=]{60,250}|ntn_[A-Za-z0-9]{46}|tskey-[a-z]+-\w{12,}-\w{24,})" + _WORD_END_REGEX
        ),
        is_secret=_is_random,
    ),
    SecretShape(
        kind="azure-key",
        literals=("AccountKey=", "SharedAccessKey="),
        pattern=r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{42,86}={1,2})",
        needs_word_start=False,
        may_wrap=False,
    ),
    SecretShape(
        kind="telegram-token",
        literals=(":AA",),
        pattern=r":(AA[\w-]{33})(?![\w-])",
        is_secret=_is_random,
        needs_word_start=False,
        may_wrap=False,
    ),
    SecretShape(
        kind="url-password",
        literals=("://",),
        pattern=r"://[^\s/:@\"'<>\\`]{0,128}:([^\s/@\"'<>]{6,256})@[\w\[]",
        is_secret=_is_password,
        needs_word_start=False,
        may_wrap=False,
    ),
    SecretShape(
        kind="bearer-token",
        literals=("Bearer ", "bearer "),
        pattern=r"[Bb]earer {1,4}([\w.~+/-]{20,4000}={0,2})",
        is_secret=_is_random,
        may_wrap=False,
    ),
    SecretShape(
        kind="login",
        literals=("Basic ", "basic "),
        pattern=r"[Bb]asic {1,4}([A-Za-z0-9+/]{12,1000}={0,2})",
        is_secret=_is_basic_login,
        may_wrap=False,
    ),
)
"""Shapes of secrets on one line; `pem` handles private keys."""

SECRET_SHAPE_LITERALS: tuple[str, ...] = tuple(
    literal for shape in SECRET_SHAPES for literal in shape.literals
)


@cache
def compile_secret_shape(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern, re.ASCII)


def is_placeholder_secret(text: str) -> bool:
    """Returns whether a value is a placeholder in place of a secret: `ghp_xxxxxxxxxxxx`."""
    return len(set(text.rsplit("_", 1)[-1].rsplit("-", 1)[-1]) - set("xX*.0")) == 0
