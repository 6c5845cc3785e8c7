"""Headless Chromium over its debugging pipe (NUL-ended JSON messages on descriptors 3 and 4): standard library only."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DEADLINE = 60  # seconds; starting is slow on busy machines
KEYS = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "Tab": 9, "Enter": 13,
        " ": 32, "*": 106}


class Chromium:
    """One browser with one page at a time."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def descriptors():  # 3 and 4 may be taken by the ends themselves
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
             "--hide-scrollbars", f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder})
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.target, self.told = b"", 0, None, None, []

    def close(self):
        os.close(self.to)
        os.close(self.back)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            ready = select.select([self.back], [], [], max(left, 0))[0]
            assert ready, "Chromium does not answer"
            some = os.read(self.back, 1 << 16)
            assert some, "Chromium has ended"
            self.buffer += some
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message and message.get("sessionId", self.session) == self.session:  # not of a page before
            self.told.append(message)
        return message

    def call(self, method, **params):
        """One command, of the page when there is one; its result."""
        self.number += 1
        number, message = self.number, {"id": self.number, "method": method, "params": params}
        if self.session and not method.startswith("Target."):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + DEADLINE
        while True:
            answer = self._read(until)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def open(self, url, width, height, dark=False):
        """A new page of that size, loaded."""
        self.session, self.told = None, []
        if self.target:
            self.call("Target.closeTarget", targetId=self.target)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session, self.target = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"], target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        if phone:
            self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        until = time.monotonic() + DEADLINE
        while not any(m["method"] == "Page.loadEventFired" for m in self.told):
            self._read(until)
        while not self.run("document.readyState === 'complete' && location.href !== 'about:blank'"):  # that event was the blank page's
            assert time.monotonic() < until, "the page is not loaded"

    def run(self, script):
        """Value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key):
        code = {"key": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r" if key == "Enter" else key} if key in ("Enter", " ", "*") else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **code)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, x, y, to_x, to_y):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for i in (1, 2, 3):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + (to_x - x) * i / 3, y=y + (to_y - y) * i / 3,
                      button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)

    def complaints(self):
        """Console errors, uncaught exceptions, what the page's policy stopped, and requests beyond the page itself."""
        self.run("1")  # all events of before have been read then
        found = []
        for m in self.told:
            p = m.get("params", {})
            if m["method"] == "Runtime.exceptionThrown":
                found.append(p["exceptionDetails"]["text"] + str(p["exceptionDetails"].get("exception")))
            elif m["method"] == "Runtime.consoleAPICalled" and p["type"] in ("error", "assert", "warning"):
                found.append(str(p["args"]))
            elif m["method"] == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append(p["entry"]["text"])
            elif m["method"] == "Network.requestWillBeSent" and not p["request"]["url"].startswith("file:"):
                found.append("request: " + p["request"]["url"])
        return found

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))
