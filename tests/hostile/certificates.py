"""Valid and invalid server certificates of a private authority."""

import ssl
import subprocess
from pathlib import Path

_SETTINGS = """
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class CertificateAuthority:
    """Vouches for servers in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "authority.pem"
        (folder / "settings").write_text(_SETTINGS)
        (folder / "index.txt").write_text("")
        (folder / "serial").write_text("01\n")
        self._run("req", "-x509", *_KEY, "-days", "2", "-subj", "/CN=authority",
                  "-keyout", "authority.key", "-out", "authority.pem")  # fmt: skip

    def server(
        self, name: str, *, names: str = "IP:127.0.0.1", begins: str = "", ends: str = ""
    ) -> ssl.SSLContext:
        """What a server of these names is opened with. `begins`, `ends`: as `20200101000000Z`."""
        self._run("req", *_KEY, "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}",
                  "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        dates = [
            *(("-startdate", begins) if begins else ()),
            *(("-enddate", ends) if ends else ("-days", "2")),
        ]
        self._run("ca", "-batch", "-config", "settings", "-cert", "authority.pem", "-keyfile", "authority.key",
                  "-in", f"{name}.csr", "-out", f"{name}.pem", "-notext", *dates)  # fmt: skip
        return self._context(name)

    def self_signed(self) -> ssl.SSLContext:
        self._run("req", "-x509", *_KEY, "-days", "2", "-subj", "/CN=nobody", "-addext",
                  "subjectAltName=IP:127.0.0.1", "-keyout", "nobody.key", "-out", "nobody.pem")  # fmt: skip
        return self._context("nobody")

    def _context(self, name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        return context

    def _run(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True)
