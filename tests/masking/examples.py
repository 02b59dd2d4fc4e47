"""Secrets of each shape, made up, and the surroundings in which they turn up. None of them opens anything."""

import base64
import json
import random
import string
from collections.abc import Callable

LETTERS = string.ascii_letters + string.digits


def random_text(length: int, seed: int = 1, of: str = LETTERS) -> str:
    """With a digit and a letter in it."""
    chance = random.Random(f"{length} {seed}")
    return "a7" + "".join(chance.choice(of) for _ in range(length - 2))


HEX = "0123456789abcdef"
SHAPED: dict[str, str] = {
    "anthropic-key": f"sk-ant-api03-{random_text(93)}AA",
    "openai-key": f"sk-proj-{random_text(48)}",
    "api-key": f"sk-{random_text(48)}",
    "github-token": f"ghp_{random_text(36)}",
    "github-token of one repository": f"github_pat_{random_text(22)}_{random_text(59)}",
    "gitlab-token": f"glpat-{random_text(20)}",
    "aws-key-id": "AKIA" + random_text(16, of="ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").upper(),
    "google-key": f"AIza{random_text(35)}",
    "slack-token": f"xoxb-{random_text(12, of=string.digits)[2:]}-{random_text(24)}",
    "stripe-key": f"sk_live_{random_text(24)}",
    "npm-token": f"npm_{random_text(36)}",
    "pypi-token": f"pypi-AgEIcHlwaS5vcmc{random_text(70)}",
    "huggingface-token": f"hf_{random_text(34)}",
    "sendgrid-key": f"SG.{random_text(22)}.{random_text(43)}",
    "jwt": ".".join(
        (
            base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("="),
            base64.urlsafe_b64encode(b'{"sub":"1234567890","name":"A"}').decode().rstrip("="),
            random_text(43),
        )
    ),
    "service-token": f"gsk_{random_text(52)}",
    "telegram-token": f"8123456789:AA{random_text(33)}",
    "google-secret": f"GOCSPX-{random_text(28)}",
}
KEY_LINES = tuple(random_text(64, seed) for seed in range(12))
PRIVATE_KEY = "\n".join(
    (
        "-----BEGIN RSA PRIVATE KEY-----",
        *KEY_LINES,
        random_text(20) + "==",
        "-----END RSA PRIVATE KEY-----",
        "",
    )
)
SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "alone": lambda secret: secret,
    "JSON": lambda secret: json.dumps({"key": secret, "next": 1}),
    "JSON within JSON": lambda secret: json.dumps({"body": json.dumps({"key": f"\n{secret}\n"})}),
    "YAML": lambda secret: f"config:\n  key: {secret}\n  other: 1\n",
    "TOML": lambda secret: f'key = "{secret}"\n',
    "shell": lambda secret: f"export KEY='{secret}'; echo done",
    "a command line": lambda secret: f"curl -H 'X-Key: {secret}' https://api.invalid/v1",
    "an address": lambda secret: f"https://api.invalid/v1?key={secret}&page=2",
    "an escaped address": lambda secret: f"redirect=https%3A%2F%2Fapi.invalid%3Fkey%3D{secret}%26page%3D2",
    "a log": lambda secret: f"2026-11-02 10:00:00 INFO sending key={secret} to server\n",
    "a trace": lambda secret: f"KeyError: '{secret}'\n",
    "a diff": lambda secret: f"-key: old\n+key: {secret}\n",
    "grep": lambda secret: f"config/app.yml:12:key: {secret}\n",
    "numbered lines": lambda secret: f"    12\tkey: {secret}\n",
    "a table": lambda secret: f"| name | {secret} | 3 |\n",
    "Markdown": lambda secret: f"Use `{secret}` as the key.\n",
    "colours around": lambda secret: f"\x1b[32mkey\x1b[0m=\x1b[1m{secret}\x1b[0m\n",
    "colours within": lambda secret: f"\x1b[01;31m\x1b[K{secret[:6]}\x1b[m\x1b[K{secret[6:]}\n",
    "CRLF": lambda secret: f"key={secret}\r\nnext=1\r\n",
    "between words": lambda secret: f"der Schlüssel „{secret}“ ist geheim 🗝\n",
}
