"""Drives a headless Chromium through its DevTools protocol, over a pipe: no port, no package beyond Python's own.

Pages receive real key and pointer events. Network requests, console errors, and exceptions of a page are collected, so
that a test can check that there were none.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "Tab": (9, ""), " ": (32, " "), "ArrowLeft": (37, ""),
        "ArrowUp": (38, ""), "ArrowRight": (39, ""), "ArrowDown": (40, ""), "Home": (36, ""), "End": (35, "")}


def find_chromium():
    """The program's path, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One browser with one page."""

    def __init__(self, program, width=1280, height=800):
        self.profile = tempfile.mkdtemp(prefix="xf-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def pipes():
            """The browser reads descriptor 3 and writes descriptor 4."""
            high_in, high_out = os.dup(to_browser), os.dup(from_browser)
            while high_in < 5:
                high_in = os.dup(high_in)
            while high_out < 5:
                high_out = os.dup(high_out)
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--disable-extensions", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", f"--user-data-dir={self.profile}", f"--window-size={width},{height}",
             "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=pipes, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.requests, self.errors, self.loads = [], [], 0
        target = next(one for one in self.send("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.send(f"{domain}.enable")
        self.resize(width, height)

    def close(self):
        """Ends the browser and removes its profile."""
        try:
            self.session = None
            self.send("Browser.close")
        except (OSError, RuntimeError):
            self.process.kill()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self, seconds):
        """The next message, or None when none comes in time."""
        deadline = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                return None
            read = os.read(self.read_end, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self.buffer += read
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, message):
        """Keeps what an event says."""
        method, about = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.errors.append(f"{about['entry']['level']}: {about['entry']['text']}")
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(f"console.{about['type']}: {[one.get('value') for one in about['args']]}")
        elif method == "Page.javascriptDialogOpening":
            self.errors.append(f"dialog: {about['message']}")
            self._post("Page.handleJavaScriptDialog", {"accept": True})
        elif method == "Page.loadEventFired":
            self.loads += 1

    def _post(self, method, about):
        self.number += 1
        message = {"id": self.number, "method": method, "params": about}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        return self.number

    def send(self, method, **about):
        """Sends a command and returns its result."""
        number = self._post(method, about)
        while True:
            message = self._message(60)
            if message is None:
                raise RuntimeError(f"no answer to {method} in 60 s")
            if message.get("id") != number:
                self._note(message)
                continue
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            return message["result"]

    def settle(self):
        """Waits until the page has painted twice and its observers have run."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def open(self, path):
        """Loads a file or a URL and forgets what was collected before."""
        self.requests, self.errors, before = [], [], self.loads
        self.send("Page.navigate", url=path if "://" in path else "file://" + os.path.abspath(path))
        deadline = time.monotonic() + 60
        while self.loads == before:
            message = self._message(max(0.0, deadline - time.monotonic()))
            if message is None:
                raise RuntimeError(f"{path} was not loaded in 60 s")
            self._note(message)
        self.settle()

    def run(self, expression):
        """The value of a JavaScript expression in the page; a promise is waited for."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails'].get('exception', {}).get('description')}")
        return found["result"].get("value")

    def resize(self, width, height, scale=1):
        """Sets the size of the view."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)

    def media(self, scheme="light", medium=""):
        """Sets what the system prefers, "light" or "dark", and the medium, "print" or ""."""
        self.send("Emulation.setEmulatedMedia", media=medium,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def key(self, name, times=1):
        """Presses a key."""
        code, text = KEYS[name]
        for _ in range(times):
            down = {"type": "keyDown" if text else "rawKeyDown", "key": name, "windowsVirtualKeyCode": code}
            if text:
                down["text"] = text
            self.send("Input.dispatchKeyEvent", **down)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)
        self.settle()

    def _middle(self, selector):
        box = self.run(f"""(() => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center"}}); const box = element.getBoundingClientRect();
            return [box.left + box.width / 2, box.top + box.height / 2]; }})()""")
        self.settle()
        return box

    def hover(self, selector, share=None):
        """Moves the pointer over an element: its middle, or a share of its width."""
        x, y = self._middle(selector)
        if share is not None:
            left, width = self.run(f"""(() => {{ const box = document.querySelector({json.dumps(selector)})
                .getBoundingClientRect(); return [box.left, box.width]; }})()""")
            x = left + share * width
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, selector):
        """Clicks an element with the pointer."""
        x, y = self._middle(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settle()

    def screenshot(self, path, whole=False):
        """Writes what is in view, or the whole page, as PNG."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(found["data"]))
