# SPDX-License-Identifier: Apache-2.0
"""Makes certificates for the tests with openssl(1)."""
import subprocess

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """A certificate authority and the certificates that it issues. Its own certificate is NAME.pem in a folder."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.file = folder / f"{name}.pem"
        self._openssl("req", "-x509", *NEW_KEY, "-keyout", f"{name}.key", "-out", self.file.name,
                      "-days", "2", "-subj", f"/CN={name}")

    def issue(self, name, *alternatives):
        """Makes NAME.pem and NAME.key. `alternatives` has the syntax of subjectAltName, for example IP:127.0.0.1."""
        self._openssl("req", *NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self.folder / "extensions").write_text(f"subjectAltName={','.join(alternatives)}\n")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", self.file.name, "-CAkey",
                      f"{self.name}.key", "-CAcreateserial", "-days", "2", "-extfile", "extensions",
                      "-out", f"{name}.pem")

    def own(self, name):
        """Returns the options with which a program presents this certificate and accepts only peers that this
        authority has certified."""
        return ("--tls-cert", self.folder / f"{name}.pem", "--tls-key", self.folder / f"{name}.key",
                "--tls-ca", self.file)

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, timeout=60)
