# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, told what to do over a pair of pipes (Chromium's DevTools protocol, messages ended by a zero byte)."""
import base64
import json
import os
import select
import shutil
import subprocess
import time

PICTURES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "build", "tensorboard")
PROGRAM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
# All text that a page shows, also below shadow roots and in drawings.
_TEXT = """(() => { const seen = []; const walk = (n) => {
  if (n.nodeType === 3) { if (n.data.trim()) seen.push(n.data.trim()); return; }
  if (['STYLE', 'SCRIPT', 'TEMPLATE'].includes(n.nodeName)) return;
  if (n.shadowRoot) n.shadowRoot.childNodes.forEach(walk);
  if (n.nodeName === 'IFRAME' && n.contentDocument) walk(n.contentDocument);
  n.childNodes.forEach(walk); }; walk(document); return seen.join('\\n'); })()"""


class Browser:
    """with Browser(folder_for_its_files) as browser: browser.open(url); browser.wait_for_text("loss")

    With `has_gl` pages have WebGL, which the processor emulates: what is drawn then goes through that emulation as well, several times as slow.
    """

    def __init__(self, folder, size=(1280, 800), has_gl=True):
        to_read, self._writer = os.pipe()
        self._reader, to_write = os.pipe()
        gl = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"] if has_gl else ["--disable-gpu"]
        command = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu-sandbox", *gl, "--disable-dev-shm-usage", f"--user-data-dir={folder}", "--remote-debugging-pipe",
                   "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # pages reach nobody but the tests' own servers
                   f"--window-size={size[0]},{size[1]}", "--force-color-profile=srgb", "about:blank"]
        self._process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{to_write}', "browser", *command],
                                         pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._data, self._number, self._page = b"", 0, None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._page = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    @property
    def pid(self):
        """The first of its processes."""
        return self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.kill()
        self._process.wait(30)
        os.close(self._reader)
        os.close(self._writer)

    def ask(self, method, seconds=240, **parameters):
        """The answer to a message; what the browser tells meanwhile is passed over."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._page:
            message["sessionId"] = self._page
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            while b"\0" not in self._data:
                ready, _, _ = select.select([self._reader], [], [], max(0, end - time.monotonic()))
                assert ready, f"the browser did not answer {method} within {seconds} s"
                more = os.read(self._reader, 1 << 20)
                assert more, f"the browser ended at {method}: status {self._process.poll()}"
                self._data += more
            first, _, self._data = self._data.partition(b"\0")
            answer = json.loads(first)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def open(self, url):
        """Goes to a page."""
        self.ask("Page.navigate", url=url)

    def run(self, expression):
        """The value of an expression in the page."""
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait_for_text(self, *wanted, seconds=240):
        """Until the page shows all of these; what it shows."""
        end = time.monotonic() + seconds
        while True:
            text = self.run(_TEXT)
            missing = [w for w in wanted if w not in text]
            if not missing:
                return text
            assert time.monotonic() < end, f"the page does not show {missing} but:\n{text[:3000]}"
            select.select([], [], [], 0.1)

    def wait_for(self, expression, seconds=60):
        """Until an expression of the page is true."""
        end = time.monotonic() + seconds
        while not self.run(expression):
            assert time.monotonic() < end, f"this does not become true: {expression}"
            select.select([], [], [], 0.02)

    def key(self, key):
        """Presses a key."""
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def mouse(self, kind, x, y, **more):
        """Moved, Pressed, Released or Wheel, at a point of the page."""
        self.ask("Input.dispatchMouseEvent", type="mouse" + kind, x=x, y=y, **more)

    def click(self, x, y):
        """Presses the left button there."""
        for kind in ("Pressed", "Released"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def picture(self, path):
        """Writes what the page looks like, once it stands still, as a PNG file."""
        last, end = None, time.monotonic() + 20
        while True:
            data = self.ask("Page.captureScreenshot", format="png")["data"]
            if data == last or time.monotonic() > end:
                break
            last = data
            select.select([], [], [], 0.5)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
