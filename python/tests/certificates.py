# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests: an authority and tasks that it signs, made by the openssl command."""
import subprocess


class Authority:
    """Files in `folder`."""

    def __init__(self, folder, name="authority"):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._run("req", "-x509", *self._key("ca"), "-days", "2", "-out", "ca.crt", "-subj", f"/CN={name}")

    @staticmethod
    def _key(name):
        return "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"

    def _run(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    def make(self, name, hosts="IP:127.0.0.1,DNS:localhost"):
        """(certificate, key, authority): the files of one task."""
        self._run("req", "-new", *self._key(name), "-out", f"{name}.csr", "-subj", f"/CN={name}", "-addext",
                  f"subjectAltName={hosts}")
        self._run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                  "-copy_extensions", "copy", "-out", f"{name}.crt")
        return self.folder / f"{name}.crt", self.folder / f"{name}.key", self.folder / "ca.crt"
