"""Which values of `.env` and its like are secrets, by their name or by what they are."""

from pathlib import Path

import pytest

from app.engine.secrets.known_secrets import KnownSecrets, SecretSources
from tools.masking.assigned_secrets import find_known_secrets_in_file, find_secret_variables


def secret_values(text: str) -> list[str]:
    return [one.value for one in find_secret_variables(text)]


@pytest.mark.parametrize(
    "value",
    [
        "hunter2hunter2hunter2",
        "aB3-xY9_kLm2QpZ7aa1Q",
        "3f7a9c2e81d04b6f9a2c",
        "q8Zt4Lw0Vb2Nn7Rx",
        "dGhpc2lzYXNlY3JldA==",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "xkcdAbQzRtPlMnVsWwQq",
        "n7!fK2#vQ9$wL4^x",
    ],
)
def test_a_random_value_is_a_secret_under_any_name(value: str):
    assert secret_values(f"GREETING_WORD={value}\nexport greeting='{value}'\n") == [value, value]


@pytest.mark.parametrize(
    "value",
    [
        *("true", "DENY", "@daily", "10000000000000000", "0.0.0.0:8080", "1920x1080x24", "2024-01-01T00:00:00.000Z"),
        *("claude-sonnet-4-20250514", "gpt-4o-2024-08-06", "Llama-3.2-11B-Vision-Instruct", "bge-small-en-v1.5"),
        *("us-east-1", "ap-southeast-2a", "America/Argentina/Buenos_Aires", "en-US,en;q=0.9", "HS256", "argon2id"),
        *("/usr/local/share/a1b2c3d4e5f6", "./data/a1b2c3d4e5f6", "~/a1b2c3d4e5f6g7", "sqlite+aiosqlite:///./db3.sqlite3"),
        *("https://api.example.com/v1/a1b2c3d4e5f6a1", "redis://localhost:6379/0", "localhost:3000,localhost:3001"),
        *("smtp1.mailgun2.org", "no-reply@mail1.example2.com", "postgres:16.2-alpine3.19", "x86_64-unknown-linux-gnu"),
        *("arn:aws:iam::123456789012:role/MyRole1", "550e8400-e29b-41d4-a716-446655440000", "info,tower_http=debug"),
        *("my_app_session_cookie_v2", "mycompanyproductionbucket2", "application/vnd.api+json", "node20-bookworm-slim"),
        "correct horse battery staple",
        "0x1F98431c8aD98523631AE4a59f267346ea31F984",
    ],
)  # fmt: skip
def test_words_numbers_places_and_identifiers_are_none(value: str):
    assert secret_values(f"GREETING_WORD={value}\n") == []


@pytest.mark.parametrize(
    "name",
    ["GIT_COMMIT", "IMAGE_DIGEST", "GOOGLE_CLIENT_ID", "STRIPE_PUBLISHABLE_KEY", "SENTRY_DSN", "APP_VERSION"],
)
def test_identifiers_that_look_random_are_not_masked(name: str):
    assert secret_values(f"{name}=3f7a9c2e81d04b6f9a2c\n") == []


@pytest.mark.parametrize("sign", ['"', "$", "`", "\\"])
def test_a_quoted_value_is_known_as_written_and_as_meant(sign: str):
    known = [
        one.value for one in find_known_secrets_in_file(".env", f'A_TOKEN="a7Zx61Tm\\{sign}tv9sQ2Lw0Vb2"\n')
    ]
    assert {f"a7Zx61Tm\\{sign}tv9sQ2Lw0Vb2", f"a7Zx61Tm{sign}tv9sQ2Lw0Vb2"} <= set(known)


PASSWORD = "Zx9qLm3vT8wB"
SPELLINGS_OF_SHELLS = (
    "export API_TOKEN=$'V'",
    'API_TOKEN=$"V"',
    'export API_TOKEN="${API_TOKEN:-V}"',
    "API_TOKEN=${API_TOKEN-V}",
    'API_TOKEN="${OTHER:=${ANOTHER:-V}}"',
    "API_TOKEN=${OTHER:-'V'}",
    ': "${API_TOKEN:=V}"',
    "read -r API_TOKEN <<< V",
    'read -r API_TOKEN <<<"V"',
    "API_TOKEN[0]=V",
    "API_TOKEN+=V",
    "# API_TOKEN: V",
)


@pytest.mark.parametrize(
    ("name", "data", "secret"),
    [
        (".env", f"\ufeffDB_PASSWORD={PASSWORD}\nA=b\n".encode(), PASSWORD),
        (".env", f"DB_PASSWORD={PASSWORD}\n".encode("utf-16"), PASSWORD),
        (".env", f"A=1\rDB_PASSWORD={PASSWORD}\rB=2\r".encode(), PASSWORD),
        (".env", f"DB_PASSWORD='${PASSWORD}'\n".encode(), f"${PASSWORD}"),
        (".env", b"DB_PASSWORD='a${Zx9qLm3vT8wB'\n", "a${Zx9qLm3vT8wB"),
        (".envrc", b"export DB_PASSWORD='Zx9'\\''qLm3vT8w'\n", "Zx9'qLm3vT8w"),
        (".envrc", f"export A=b DB_PASSWORD={PASSWORD}\n".encode(), PASSWORD),
        (".envrc", f"export DB_PASSWORD={PASSWORD}; export C=d\n".encode(), PASSWORD),
        (".envrc", f"  export DB_PASSWORD={PASSWORD} && true\n".encode(), PASSWORD),
        *((".envrc", line.replace("V", PASSWORD).encode(), PASSWORD) for line in SPELLINGS_OF_SHELLS),
        (".env", f"GREETING=${{GREETING:-{PASSWORD}7h}}\n".encode(), f"{PASSWORD}7h"),
        (".envrc", b"API_TOKEN=$'Zx9\\'qLm\\x333vT8w'\n", "Zx9'qLm33vT8w"),
        (".env", b"DATABASE_URL=${URL:-postgres://u:Zx9%40qLm3vT8w@h/db}\n", "Zx9@qLm3vT8w"),
        (".env", b"DATABASE_URL=postgres://u:Zx9%40qLm3vT8w@h/db\n", "Zx9@qLm3vT8w"),
        (".git-credentials", b"https://u:Zx9%2FqLm3%21vT8w@github.com\n", "Zx9/qLm3!vT8w"),
        (".git-credentials", f"https://{PASSWORD}@github.com\n".encode(), PASSWORD),
        (".git-credentials", f"https://{PASSWORD}:x-oauth-basic@github.com\n".encode(), PASSWORD),
        (".pgpass", b"h:5432:db:u:Zx9\\:qLm3vT8w\n", "Zx9:qLm3vT8w"),
        (".pgpass", f"\\:\\:1:5432:db:u:{PASSWORD}\n".encode(), PASSWORD),
        (".pypirc", f"[pypi]\nusername: u\npassword: {PASSWORD}\n".encode(), PASSWORD),
        (".pypirc", f"[pypi]\nPassword = {PASSWORD}\n".encode(), PASSWORD),
        (".aws/credentials", f"[default]\nAWS_SECRET_ACCESS_KEY: {PASSWORD}\n".encode(), PASSWORD),
        (".netrc", f'machine h login u password "{PASSWORD}"\n'.encode(), PASSWORD),
        (".netrc", b'machine h login u password "Zx9\\"qLm3vT8w"\n', 'Zx9"qLm3vT8w'),
        (".npmrc", f"//r/:_authToken = '{PASSWORD}'\n".encode(), PASSWORD),
        (".npmrc", b'//r/:_password="Wng5cUxtM3ZUOHdC"\n', PASSWORD),
    ],
)
def test_a_file_is_read_as_its_program_reads_it(tmp_path: Path, name: str, data: bytes, secret: str):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    known = KnownSecrets(SecretSources(home=tmp_path))
    known.search_files(tmp_path)
    assert secret in [one.value for one in known.known_values()]


def test_what_a_shell_computes_and_words_of_comments_are_no_secrets():
    text = "API_TOKEN=${API_TOKEN:-$(pass show token)}\nA_TOKEN=${OTHER}\n# password: see the wiki\n"
    text += "B_TOKEN=${X:?is missing}\n"
    assert not {"see the wiki", "is missing", "${OTHER}", "OTHER"} & {
        one.value for one in find_known_secrets_in_file(".envrc", text)
    }


def test_a_password_in_an_address_of_the_environment_is_known_decoded():
    known = KnownSecrets(SecretSources(environment={"DATABASE_URL": "postgres://u:Zx9%40qLm3vT8w@h/db"}))
    assert [one.value for one in known.known_values()] == ["Zx9%40qLm3vT8w", "Zx9@qLm3vT8w"]


@pytest.mark.parametrize("text", ["it's a file = without sense\n", "[x\ny=1\n", 'machine h password "open\n'])
@pytest.mark.parametrize("name", [".env", ".pypirc", ".netrc", ".npmrc", ".pgpass", ".git-credentials"])
def test_a_damaged_file_is_no_error(name: str, text: str):
    assert not [one.value for one in find_known_secrets_in_file(name, text) if one.value != '"open']
