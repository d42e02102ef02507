#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page as Debian's chromium shows it: views.py BIN_DIR PICTURE_DIR. Every view with what a real dispatcher says, at two
widths and in both themes; by keyboard; as a screen reader is told; a fleet of 1,000 workers; names that are attacks.
Pictures are for people to look at. Run by tests/run.sh --all (tests/web/test_views.sh)."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import wave

from browser import Browser
from made_up_fleet import Server, look_at_one

binaries, pictures = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
root = pathlib.Path(__file__).resolve().parents[2]
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
VIEWS = {"jobs": ("#/", "document.querySelectorAll('tbody tr').length >= 2"),
         "job": ("#/job/slow", "document.querySelector('.graph li.most') && document.querySelector('.chart .line').getAttribute('d')"),
         "consumers": ("#/job/pair", "document.querySelectorAll('.chart svg > .part[d*=L]').length === 2 && document.querySelector('.chart .area').getAttribute('d')"),
         "elements": ("#/job/rich", "document.querySelectorAll('.elements canvas').length >= 8 && document.querySelector('.elements .text') && document.querySelector('.signal')"),
         "workers": ("#/workers", "document.querySelector('.hosts li') && document.querySelector('tbody tr')"),
         "caches": ("#/caches", "document.querySelectorAll('tbody tr').length >= 2"),
         "decisions": ("#/decisions", "document.querySelector('tbody tr')")}


class Service:
    def __init__(self, work):
        self.running, self.work = [], work
        (work / "slow.json").write_text('{"pipeline": [{"op": "range", "name": "numbers", "stop": 100000}, {"op": "shuffle"}, {"op": "sleep", "ms": 5},'
                                        ' {"op": "batch", "size": 4}]}')
        (work / "kept.json").write_text('{"pipeline": [{"op": "range", "stop": 2000}, {"op": "burn", "ms": 1}, {"op": "cache"}, {"op": "batch", "size": 8}]}')
        subprocess.run([sys.executable, root / "tests/support/make_photos.py", work / "photos", "12"], check=True, stdout=subprocess.DEVNULL)
        self.write_sounds()
        words = [f"A photograph and a sound, number {i}: <b onclick=alert(1)>déjà vu</b> \u65e5\u672c\u8a9e." for i in range(12)]
        nodes = [{"op": "files", "name": "photos", "pattern": f"{work}/photos/**/*.jpg", "field": "image"}, {"op": "read_file", "name": "encoded"},
                 {"op": "rename", "names": {"bytes": "image"}}, {"op": "decode_image", "channels": 3}, {"op": "resize", "size": [160, 200], "name": "photo"},
                 {"op": "rename", "inputs": ["encoded"], "names": {"bytes": "file"}, "name": "file"},
                 {"op": "from_values", "field": "caption", "values": words, "name": "text"},
                 {"op": "files", "pattern": f"{work}/*.wav"}, {"op": "read_file"}, {"op": "decode_audio"}, {"op": "to_mono", "name": "sound"},
                 {"op": "spectrogram"}, {"op": "mel", "n_mels": 40, "log": "db"}, {"op": "rename", "names": {"audio": "mel"}, "name": "mel"},
                 {"op": "zip", "inputs": ["photo", "file", "text", "sound", "mel"]}, {"op": "sleep", "ms": 100}, {"op": "batch", "size": 4, "ragged": True}]
        (work / "rich.json").write_text(json.dumps({"pipeline": nodes}))
        (work / "tokens").write_text("team tenant team-0123456789abcdef\nhosts worker worker-0123456789abcdef\nroot operator root-0123456789abcdef\n")
        (work / "worker").write_text("worker-0123456789abcdef\n")

    def write_sounds(self):
        for i in range(12):
            with wave.open(str(self.work / f"{i:02}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(16000)
                file.writeframes(b"".join(int(12000 * math.sin(0.02 * k + 4e-6 * (i + 1) * k * k)).to_bytes(2, "little", signed=True)
                                          for k in range(8000 + 500 * i)))

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
                if name == "elements":
                    browser.wait("that elements may be seen", "document.querySelector('[aria-label=\"Elements as they come\"]:not([hidden]) button')")
                    browser.run("document.querySelector('[aria-label=\"Elements as they come\"] button').click()")
                browser.wait(name, is_there)
                if name == "elements":
                    check_elements(browser)
                if name == "consumers":
                    check_consumers(browser)
                check_view(browser, name)
                if theme == "light":
                    check_reader(browser, name)
                browser.picture(pictures / f"{name}_{size}_{theme}.png")
            back = browser.run("getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", back)[:3])) > 384
            assert light == (theme == "light"), (theme, back)
    assert not (found := browser.complaints()), found


def check_elements(browser):
    """Pictures have what the data have, and text of the data is text."""
    colours = browser.run("new Set([...document.querySelectorAll('.elements canvas')].map((c) => { const d = c.getContext('2d')"
                          ".getImageData(0, 0, c.width, c.height).data; return new Set(d).size > 8; })).size")
    assert colours == 1, "a picture is empty"
    says = browser.run("document.querySelector('.elements').innerText")
    assert "<b onclick=alert(1)>déjà vu</b> \u65e5\u672c\u8a9e" in says and "u8[160, 200, 3]" in says, says
    assert browser.run("!document.querySelector('.elements b[onclick]')"), "text became markup"
    browser.run("document.querySelector('[aria-label=\"Elements as they come\"]').scrollIntoView()")


def check_consumers(browser):
    """Each of the two trainers has a line and says in words how long it waits; the one with the short step waits longer."""
    says = browser.run("[...document.querySelectorAll('.legend li:not([hidden])')].map((item) => item.innerText.trim())")
    assert len(says) == 2 and all(re.fullmatch(rf"Consumer {i}: (-|\d+ %)", text) for i, text in enumerate(says)), says


def check_acts(browser, url):
    """Who signed in as an operator drains a worker and removes a job, after a question; a tenant is not offered it."""
    for token, may in (("team-0123456789abcdef", False), ("root-0123456789abcdef", True)):
        browser.show(1280, 900, "light")
        browser.open("about:blank")
        browser.open(url)
        browser.wait("the question", "document.querySelector('#token')")
        browser.run(f"document.querySelector('#token').value = '{token}'; document.querySelector('form').requestSubmit()")
        browser.wait("that it is live", "document.querySelector('.state.live')")
        browser.wait("who looks", f"document.querySelector('header').innerText.includes({'`Operator root: all jobs`' if may else '`Tenant team: its own jobs`'})")
        browser.run("location.hash = '#/workers'")
        browser.wait("the worker", "document.querySelector('tbody button')")
        browser.run("document.querySelector('tbody button').click()")
        browser.wait("its facts", "document.querySelector('dialog[open] dl')")
        offered = "[...document.querySelectorAll('dialog[open] span:not([hidden]) > button')].find((b) => b.textContent === 'Drain')"
        if may:
            browser.wait("that it may be drained", offered)
            browser.picture(pictures / "worker.png")
            browser.run(offered + ".click()")
            browser.wait("the question", "document.querySelector('dialog dialog[open]')")
            browser.run("document.querySelector('dialog dialog[open] .tools button').click()")
            browser.wait("that it is drained", "!document.querySelector('dialog dialog[open]')")
            browser.run("document.querySelector('dialog[open]').close()")
            browser.wait("that the worker is gone", "!document.querySelector('tbody tr')")
        else:
            assert not browser.run("!!" + offered), "a tenant is offered it"
            browser.run("document.querySelector('dialog[open]').close()")
        browser.run("[...document.querySelectorAll('header button')].find((b) => b.textContent === 'Sign out').click()")
        browser.wait("the question again", "document.querySelector('#token')")
    assert not (found := browser.complaints()) or all("401" in text for text in found), found


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
    browser.open(server.url + "#/job/training-1")  # 12 consumers, of which the 8 that wait most have lines
    browser.wait("lines of consumers", "document.querySelectorAll('.chart svg > .part[d*=L]').length === 8")
    assert browser.run("document.querySelector('.legend li:last-child').innerText") == "and 4 more, with less"
    check_view(browser, "many consumers")
    browser.picture(pictures / "consumers_many.png")
    server.close()


# Where the document changes: the first cell of a row of a table, or what else it is.
CHANGES = """window.changes = []; new MutationObserver((list) => window.changes.push(...list.map((one) => {
    const element = one.target.nodeType === 1 ? one.target : one.target.parentElement, row = element.closest('tr');
    return row ? row.cells[0].innerText : element.outerHTML.slice(0, 80);
}))).observe(document, {subtree: true, childList: true, attributes: true, characterData: true})"""
DONE = "[...document.querySelectorAll('tbody tr')].find((row) => row.cells[0].innerText === 'training-3').cells[3].innerText"


def check_changes(browser):
    """Of 100 jobs one moves: nothing but its row changes in the document, and in it only the cells that say something else."""
    server = Server(root / "dispatcher/web/dist", look_at_one)
    browser.show(1280, 900, "light")
    browser.open("about:blank")
    browser.open(server.url)
    browser.wait("the second event", f"parseInt({DONE}) >= 2")
    browser.run(CHANGES)
    begin = int(browser.run(f"parseInt({DONE})"))
    browser.wait("five events more", f"parseInt({DONE}) >= {begin + 5}")
    events, changes = int(browser.run(f"parseInt({DONE})")) - begin, browser.run("window.changes")
    others = [one for one in changes if one != "training-3" and "cachew 0.0, up " not in one]  # the line that says since when it runs
    print(f"one of 100 jobs moves: {len(changes)} changes of the document in {events} events, {len(others)} of them neither in its row nor of the uptime")
    assert not others and 2 * events <= len(changes) <= 8 * events, (events, changes)
    server.close()


def main():
    pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        service, browser = Service(work), Browser()
        try:
            address, url = service.dispatcher("open", "--cache-store", f"dir:{work}/store", "--scale-window", "500ms", "--show-elements")
            service.start("worker", "cachew-worker", "--dispatcher", address, "--threads", "1").stdout.readline()
            service.start("slow", "cachew", "run", work / "slow.json", "--name", "slow", "--epochs", "0", "--dispatcher", address, "--step-ms", "10")
            for number, step in enumerate(("1", "40")):
                service.start(f"pair{number}", "cachew", "run", work / "slow.json", "--name", "pair", "--epochs", "0", "--dispatcher", address, "--step-ms", step,
                              "--consumers", "2", "--consumer", str(number))
            service.start("rich", "cachew", "run", work / "rich.json", "--name", "rich", "--epochs", "0", "--dispatcher", address, "--step-ms", "50")
            service.start("kept", "cachew", "run", work / "kept.json", "--name", "kept", "--epochs", "0", "--dispatcher", address, "--step-ms", "20")
            check_real(browser, url)
            check_keyboard(browser, url)
            closed, url = service.dispatcher("closed", "--token-file", work / "tokens")
            check_login(browser, url)
            service.start("theirs", "cachew-worker", "--dispatcher", closed, "--threads", "1", "--token-file", work / "worker").stdout.readline()
            check_acts(browser, url)
            check_fluent(browser)
            check_changes(browser)
        finally:
            browser.close()
            service.close()
    print(f"the page is well; {len(list(pictures.iterdir()))} pictures in {os.path.basename(pictures)}")


main()
