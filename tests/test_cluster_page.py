# SPDX-License-Identifier: Apache-2.0
"""docs/cluster.md: every command that it shows is run, in order. `sh`: a shell that goes on; `sh server`: a server each line;
`python`: the file that its first line names. Ports and /tmp are others here, so that nothing meets what is there already."""
import os
import re
import subprocess

import pytest
import serving
from serving import ROOT
from thalweg.cluster.local_cluster import free_ports

ENVIRONMENT_MARK = "--environment--"


class Reader:
    """One who does what the page says."""

    def __init__(self, folder):
        self._folder = str(folder)
        self._ports = dict(zip(("2222", "2223", "2224", "2225"), map(str, free_ports(4))))
        self._environment, self._cwd = dict(os.environ), ROOT
        self.servers, self.printed = [], []

    def _own(self, text):
        text = text.replace("/tmp", self._folder)
        return re.sub(r"\b222[2-5]\b", lambda port: self._ports[port[0]], text)

    def _shell(self, text):
        script = f"set -euo pipefail\n{text}\nprintf '\\0{ENVIRONMENT_MARK}\\0'; pwd; printf '\\0'; env -0"
        done = subprocess.run(["bash", "-c", script], env=self._environment, cwd=self._cwd, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=240, check=False)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        printed, state = done.stdout.decode().split(f"\0{ENVIRONMENT_MARK}\0")
        cwd, *variables = state.strip("\0").split("\0")
        self._cwd = cwd.strip()
        self._environment = dict(v.split("=", 1) for v in variables if "=" in v)
        self.printed.append(printed)

    def _serve(self, line):
        server = subprocess.Popen(["bash", "-c", "exec " + line], env=self._environment, cwd=self._cwd, stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        serving.ready(server)

    def follow(self, kind, text):
        text = self._own(text)
        if kind == "sh":
            self._shell(text)
        elif kind == "sh server":
            for line in text.splitlines():
                self._serve(line)
        else:
            assert kind == "python"
            name = re.match(r"# (\S+)\n", text)[1]
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)


@pytest.fixture(name="reader")
def one_who_reads(tmp_path):
    reader = Reader(tmp_path)
    yield reader
    for server in reader.servers:
        server.kill()
        server.wait(30)


def test_the_page_works_as_it_says(reader):
    with open(os.path.join(ROOT, "docs", "cluster.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```([a-z ]+)\n(.*?)^```$", f.read(), re.M | re.S)
    assert len(blocks) >= 9
    for kind, text in blocks:
        reader.follow(kind, text)
    printed = "".join(reader.printed)
    assert printed.count("/device:CPU:0") == 3 and "over TLS: 42.0" in printed and "in its own cluster: 2.0" in printed
    total = float(re.search(r"about 10000: (\S+)", printed)[1])
    assert 9000 < total < 11000
    for server in reader.servers:  # SIGTERM is a clean end
        server.terminate()
        assert server.wait(30) == 0
