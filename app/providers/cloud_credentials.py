"""Detects whether credentials of a cloud are available on this machine, without reading a secret."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tools.files.path_existence import is_file


def has_aws_credentials(env: Mapping[str, str]) -> bool:
    """Says whether the environment has AWS credentials: a profile, a key pair, a bearer token, or the identity of
    a container or a pod."""
    return bool(
        env.get("AWS_PROFILE")
        or (env.get("AWS_ACCESS_KEY_ID") and env.get("AWS_SECRET_ACCESS_KEY"))
        or env.get("AWS_BEARER_TOKEN_BEDROCK")
        or env.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        or env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        or (env.get("AWS_WEB_IDENTITY_TOKEN_FILE") and env.get("AWS_ROLE_ARN"))
    )


def google_credentials_file(env: Mapping[str, str]) -> Path | None:
    """Returns the path of Google's application default credentials, if the file exists."""
    named = env.get("GOOGLE_APPLICATION_CREDENTIALS")
    if named:
        path = Path(named).expanduser()
    elif env.get("CLOUDSDK_CONFIG"):
        path = Path(env["CLOUDSDK_CONFIG"]) / "application_default_credentials.json"
    elif env.get("APPDATA"):
        path = Path(env["APPDATA"]) / "gcloud" / "application_default_credentials.json"
    else:
        home = Path(env.get("HOME") or Path.home())
        path = home / ".config" / "gcloud" / "application_default_credentials.json"
    try:
        return path if is_file(path) else None
    except OSError:
        return None


def has_vertex_credentials(env: Mapping[str, str]) -> bool:
    project = env.get("GOOGLE_CLOUD_PROJECT") or env.get("GCLOUD_PROJECT")
    return bool(project and env.get("GOOGLE_CLOUD_LOCATION") and google_credentials_file(env))


CLOUD_CREDENTIAL_CHECKS: Mapping[str, Callable[[Mapping[str, str]], bool]] = {
    "amazon-bedrock": has_aws_credentials,
    "google-vertex": has_vertex_credentials,
}
