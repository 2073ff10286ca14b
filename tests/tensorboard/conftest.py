# SPDX-License-Identifier: Apache-2.0
"""The released TensorBoard over one log directory of all kinds, asked over HTTP."""
import json
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

import browser
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture(scope="session")
def logs(tmp_path_factory):
    """The log directory: tensorflow's names and the plug-ins' own summaries in a program beside what thalweg writes itself."""
    import log_directory
    folder = str(tmp_path_factory.mktemp("logs"))
    log_directory.write(folder)
    subprocess.run([sys.executable, "-m", "thalweg.as_tensorflow", os.path.join(HERE, "plugin_programs.py"), folder], check=True, timeout=600)
    return folder


class Board:
    """A TensorBoard process."""

    def __init__(self, folder, loader):
        # Without the package on its path: it must not find what stands in for tensorflow.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self._process = subprocess.Popen([sys.executable, "-m", "tensorboard.main", "--logdir", folder, "--port", "0", "--host", "127.0.0.1",
                                          "--load_fast", loader, "--samples_per_plugin", "images=100", "--reload_interval", "1"],
                                         env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        said, self.url = [], None
        stop = threading.Timer(300, self._process.kill)
        stop.start()
        for line in self._process.stderr:
            said.append(line)
            found = re.search(r"at (http://\S+?)/ ", line)
            if found:
                self.url = found[1]
                break
        stop.cancel()
        assert self.url, "TensorBoard did not start:\n" + "".join(said)
        threading.Thread(target=self._process.stderr.read, daemon=True).start()

    def close(self):
        """Ends the process."""
        self._process.terminate()
        self._process.wait(120)

    def bytes(self, path, body=None, **query):
        """What it answers to /data/PATH."""
        url = f"{self.url}/data/{path}" + ("?" + urllib.parse.urlencode(query) if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{url}: {error.code} {error.read()[:300]}") from error

    def __call__(self, path, body=None, **query):
        return json.loads(self.bytes("plugin/" + path, body, **query))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """A browser for all tests."""
    if browser.PROGRAM is None:
        pytest.skip("no Chromium here: ./dev setup tensorboard installs it where it can be had")
    os.makedirs(browser.PICTURES, exist_ok=True)
    with browser.Browser(str(tmp_path_factory.mktemp("chromium"))) as made:
        yield made


@pytest.fixture
def start_board():
    """Starts TensorBoard over a folder; it ends with the test."""
    made = []

    def start(folder):
        made.append(Board(folder, "false"))
        return made[-1]
    yield start
    for each in made:
        each.close()


@pytest.fixture(scope="session", params=["false", "true"], ids=["loader of Python", "data server"])
def board(request, logs):
    """TensorBoard with all runs loaded, by either of its two readers of event files."""
    made = Board(logs, request.param)
    try:
        _wait_for_all(made)
        yield made
    finally:
        made.close()


def _wait_for_all(made):
    """Runs are loaded in the background: the last value of each writer must be there."""
    last = {"v1": ("model/loss", 2), "v2": ("model/loss", 2), "contrib": ("loss", 2), "operations": ("number/scalar_summary", 0),
            "newer": ("loss", 1), "hyperparameters/run0": ("accuracy", 1), "hyperparameters/run1": ("accuracy", 1)}
    for _ in range(300):
        tags = made("scalars/tags")
        if all(tag in tags.get(run, ()) and made("scalars/scalars", run=run, tag=tag)[-1][1] == step for run, (tag, step) in last.items()) \
                and len(made("graphs/info").get("v1", {}).get("tags", ())) == 3 and made("mesh/tags").get("newer") and "contrib" in made("graphs/info"):
            return
        threading.Event().wait(0.1)
    raise AssertionError(f"TensorBoard did not load all within 30 s: {made('scalars/tags')}, {made('graphs/info')}")
