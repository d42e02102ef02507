# SPDX-License-Identifier: Apache-2.0
"""Debian's chromium without a screen, driven by its DevTools protocol over a pipe: no driver is needed."""
import base64
import json
import os
import shutil
import subprocess
import tempfile


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="cw_browser_")
        to_us, their_out = os.pipe()
        their_in, to_them = os.pipe()

        def wire():  # the protocol wants descriptors 3 and 4
            keep_in, keep_out = os.dup(their_in), os.dup(their_out)
            os.dup2(keep_in, 3)
            os.dup2(keep_out, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--force-color-profile=srgb", "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(their_in)
        os.close(their_out)
        self.read, self.write = os.fdopen(to_us, "rb", buffering=0), os.fdopen(to_them, "wb", buffering=0)
        self.pending, self.n, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.pending:
            part = os.read(self.read.fileno(), 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.pending += part
        text, self.pending = self.pending.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        self.write.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def show(self, width, height, theme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, url):
        self.call("Page.navigate", url=url)

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    def wait(self, what, expression):
        """Waits until the page says so: it is asked at each of its frames, not after a time."""
        loop = ("new Promise((done) => { const began = performance.now(); const look = () => { let is = false; try { is = !!(%s); } catch { }"
                " if (is) done(true); else if (performance.now() - began > 60000) done(false); else requestAnimationFrame(look); }; look(); })")
        for _ in range(10):
            try:
                if self.run(loop % expression):
                    return
                break
            except RuntimeError as error:  # The page has loaded itself anew, or goes elsewhere: the new one is asked.
                if "navigated" not in str(error) and "context" not in str(error):
                    raise
        raise RuntimeError(f"the page does not show {what}: {self.run('document.body.innerText')[:2000]}")

    def key(self, key, code=None, text=""):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code or 0, **extra)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def complaints(self):
        """What the browser found wrong: exceptions, refusals of the policy, failed requests."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        self.events = []
        return found

    def close(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
