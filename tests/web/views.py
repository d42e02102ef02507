#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page as Debian's chromium shows it: views.py BIN_DIR PICTURE_DIR. Every view with what a real dispatcher says, at two
widths and in both themes; by keyboard; as a screen reader is told; a fleet of 1,000 workers; names that are attacks.
Pictures are for people to look at. Run by tests/run.sh --all (tests/web/test_views.sh)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from browser import Browser
from made_up_fleet import Server

binaries, pictures = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
root = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
VIEWS = {"jobs": ("#/", "document.querySelectorAll('tbody tr').length >= 2"),
         "job": ("#/job/slow", "document.querySelector('.graph li.most') && document.querySelector('.chart .line').getAttribute('d')"),
         "workers": ("#/workers", "document.querySelector('.hosts li') && document.querySelector('tbody tr')"),
         "caches": ("#/caches", "document.querySelectorAll('tbody tr').length >= 2"),
         "decisions": ("#/decisions", "document.querySelector('tbody tr')")}


class Service:
    def __init__(self, work):
        self.running, self.work = [], work
        (work / "slow.json").write_text('{"pipeline": [{"op": "range", "name": "numbers", "stop": 100000}, {"op": "shuffle"}, {"op": "sleep", "ms": 5},'
                                        ' {"op": "batch", "size": 4}]}')
        (work / "kept.json").write_text('{"pipeline": [{"op": "range", "stop": 2000}, {"op": "burn", "ms": 1}, {"op": "cache"}, {"op": "batch", "size": 8}]}')
        (work / "tokens").write_text("team tenant team-0123456789abcdef\nhosts worker worker-0123456789abcdef\n")
        (work / "worker").write_text("worker-0123456789abcdef\n")

    def start(self, name, *args):
        out = open(self.work / f"{name}.log", "ab")
        self.running.append(subprocess.Popen([str(binaries / args[0]), *map(str, args[1:])], stdout=subprocess.PIPE if "cachew-" in args[0] else out, stderr=out))
        return self.running[-1]

    def dispatcher(self, name, *args):
        process = self.start(name, "cachew-dispatcher", "--listen", "127.0.0.1:0", "--state-dir", self.work / name, "--metrics-listen", "127.0.0.1:0", *args)
        address = process.stdout.readline().decode().split()[1]
        port = re.search(r"metrics by HTTP.*port (\d+)", (self.work / f"{name}.log").read_text())[1]
        return address, f"http://127.0.0.1:{port}/"

    def close(self):
        for process in reversed(self.running):
            process.terminate()
            process.wait()


def check_view(browser, name):
    wide = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{name}: the page is {wide} pixels wider than the window"
    rows = browser.run("document.querySelectorAll('tbody tr, .hosts li').length")
    assert rows <= 60, (name, rows)
    assert browser.run("document.querySelectorAll('h1').length === 1 && !!document.querySelector('main') && document.documentElement.lang === 'en'"), name


def check_reader(browser, name):
    """What a screen reader is told: all that can be used has a name, tables have heads."""
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    for node in tree:
        role = node.get("role", {}).get("value")
        if role in ("button", "link", "searchbox", "textbox", "table", "img", "region", "navigation", "dialog") and not node.get("ignored"):
            assert node.get("name", {}).get("value"), (name, role, node)
    roles = {node.get("role", {}).get("value") for node in tree}
    assert {"navigation", "main", "heading", "status"} <= roles, (name, roles)


def check_real(browser, url):
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            browser.show(width, height, theme)
            for name, (address, is_there) in VIEWS.items():
                browser.open("about:blank")
                browser.open(url + address)
                browser.wait("that it is live", "document.querySelector('.state.live')")
                browser.wait(name, is_there)
                check_view(browser, name)
                if theme == "light":
                    check_reader(browser, name)
                browser.picture(pictures / f"{name}_{size}_{theme}.png")
            back = browser.run("getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", back)[:3])) > 384
            assert light == (theme == "light"), (theme, back)
    assert not (found := browser.complaints()), found


def check_keyboard(browser, url):
    browser.show(1280, 900, "light")
    browser.open("about:blank")
    browser.open(url + "#/decisions")
    browser.wait("decisions", "document.querySelector('tbody button')")
    for _ in range(40):
        browser.key("Tab", 9)
        if browser.run("document.activeElement.matches('tbody button')"):
            break
    else:
        raise AssertionError("a decision cannot be reached by the Tab key")
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") != "none", "one does not see where one is"
    browser.key("Enter", 13, "\r")
    browser.wait("the decision", "document.querySelector('dialog[open] pre')")
    browser.picture(pictures / "decision.png")
    assert json.loads(browser.run("document.querySelector('dialog pre').textContent")), "what the policy saw"
    browser.key("Escape", 27)
    browser.wait("that it is closed", "!document.querySelector('dialog[open]')")


def check_login(browser, url):
    browser.show(390, 844, "dark")
    browser.open(url)
    browser.wait("the question", "document.querySelector('#token')")
    browser.picture(pictures / "login.png")
    browser.run("document.querySelector('#token').value = 'wrong-0123456789abcdef'; document.querySelector('form').requestSubmit()")
    browser.wait("that it is wrong", "!document.querySelector('.login .alert').hidden")
    browser.run("document.querySelector('#token').value = 'team-0123456789abcdef'; document.querySelector('form').requestSubmit()")
    browser.wait("that it is live", "document.querySelector('.state.live')")
    assert browser.run("document.cookie") == "", "scripts see the cookie"
    browser.open("about:blank")
    browser.open(url)
    browser.wait("that it is live again", "document.querySelector('.state.live')")
    browser.run("[...document.querySelectorAll('header button')].find((b) => b.textContent === 'Sign out').click()")
    browser.wait("the question again", "document.querySelector('#token')")
    browser.complaints()  # 401 is one


def check_fluent(browser):
    server = Server(root / "dispatcher/web/dist")
    browser.show(1280, 900, "light")
    for name in ("jobs", "workers", "decisions"):
        browser.open("about:blank")
        browser.open(server.url + VIEWS[name][0])
        browser.wait("that it is live", "document.querySelector('.state.live')")
        browser.run("window.long = []; new PerformanceObserver((l) => window.long.push(...l.getEntries().map((e) => e.duration)))"
                    ".observe({type: 'longtask'}); window.first = performance.now()")
        browser.wait("events of five seconds", "performance.now() - window.first > 5000")
        check_view(browser, name)
        longest = browser.run("Math.max(0, ...window.long)")
        print(f"{name}: 1,000 workers and 100 jobs: tasks above 50 ms of the main thread in 5 s: {browser.run('window.long.length')}, the longest {longest:.0f} ms; "
              f"{browser.run('document.getElementsByTagName(String.fromCharCode(42)).length')} elements in the document")
        assert browser.run("window.evil === undefined && !document.querySelector('main img, main script')"), "a name became markup"
        assert browser.run("document.body.innerText.includes('onerror')"), "the name is not shown"
        browser.picture(pictures / f"{name}_many.png")
    server.close()


def main():
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        service, browser = Service(work), Browser()
        try:
            address, url = service.dispatcher("open", "--cache-store", f"dir:{work}/store", "--scale-window", "500ms")
            service.start("worker", "cachew-worker", "--dispatcher", address, "--threads", "1").stdout.readline()
            service.start("slow", "cachew", "run", work / "slow.json", "--name", "slow", "--epochs", "0", "--dispatcher", address, "--step-ms", "10")
            service.start("kept", "cachew", "run", work / "kept.json", "--name", "kept", "--epochs", "0", "--dispatcher", address, "--step-ms", "20")
            check_real(browser, url)
            check_keyboard(browser, url)
            _, url = service.dispatcher("closed", "--token-file", work / "tokens")
            check_login(browser, url)
            check_fluent(browser)
        finally:
            browser.close()
            service.close()
    print(f"the page is well; {len(list(pictures.iterdir()))} pictures in {os.path.basename(pictures)}")


main()
