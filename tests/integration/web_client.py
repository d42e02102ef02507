# SPDX-License-Identifier: Apache-2.0
"""Asks the dispatcher's page for browsers as a browser would, and as strangers would: web_client.py HOST:PORT CASE."""
import http.client
import json
import sys
import time

address, case, *rest = sys.argv[1:]


def ask(path, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, answer.headers, text


def expect(status, path, says="", **more):
    got, headers, text = ask(path, **more)
    assert got == status and says.encode() in text, (path, more, got, text[:500])
    return headers, text


class Events:
    """A stream of events; each look is what has changed."""

    def __init__(self, **headers):
        self.connection = http.client.HTTPConnection(address, timeout=60)
        self.connection.request("GET", "/api/events", headers=headers)
        self.answer = self.connection.getresponse()
        self.jobs, self.workers, self.caches, self.decisions = {}, {}, {}, []
        if self.answer.status == 200:
            assert self.answer.headers["Content-Type"].startswith("text/event-stream"), self.answer.headers

    def next(self):
        """The name and data of the next event."""
        name = self.answer.readline().decode().strip()
        assert name.startswith("event: "), name
        data = self.answer.readline().decode()
        assert data.startswith("data: ") and self.answer.readline() == b"\n", data
        name, look = name[7:], json.loads(data[6:])
        if name == "top":
            for rows, into in ((look["jobs"], self.jobs), (look["workers"], self.workers), (look["caches"], self.caches)):
                assert all(into.get(row["id"]) != row for row in rows), "a row came again, and nothing of it has changed"
                into.update((row["id"], row) for row in rows)
            for key in look["gone"]:
                del {"j": self.jobs, "w": self.workers, "c": self.caches}[key[0]][key[1:]]
            self.decisions += look["decisions"]
        return name, look

    def until(self, what, is_so):
        for _ in range(600):
            name, look = self.next()
            assert name == "top", (name, look)
            if is_so(look):
                return look
        raise AssertionError(what)

    def close(self):
        self.connection.close()


def check_headers(headers):
    assert "script-src 'self'" in headers["Content-Security-Policy"] and "unsafe" not in headers["Content-Security-Policy"], headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"] and "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store", headers
    assert "Access-Control-Allow-Origin" not in headers, headers


def page():
    """On the loopback address, without tokens: everything of the page, and who is refused."""
    headers, text = expect(200, "/", "<script type=\"module\"")
    check_headers(headers)
    assert b"<script>" not in text and b"onclick" not in text and b"http://" not in text and b"https://" not in text, text
    for path, kind in (("/app.js", "text/javascript"), ("/app.css", "text/css"), ("/icon.svg", "image/svg+xml")):
        headers, _ = expect(200, path)
        assert headers["Content-Type"].startswith(kind), (path, headers)
        check_headers(headers)
    job = rest[0]
    events = Events()
    look = events.until("a job", lambda _: any(j["name"] == job and j["window"] for j in events.jobs.values()))
    assert look["fleet"]["ready"] == 1 and look["version"] and len(events.workers) == 1, look
    seen = next(j for j in events.jobs.values() if j["name"] == job)
    assert seen["state"] == "running" and {"waits_for", "wait_share", "epoch_done", "assigned"} <= set(seen), seen
    assert [c["name"] for c in events.caches.values()] == ["default"], events.caches
    # The job, which goes on, comes again; Events.next looks that no row does of which nothing has changed.
    events.until("the job has moved", lambda look: any(j["id"] == seen["id"] and j["consumed"] > seen["consumed"] for j in look["jobs"]))
    assert json.loads(expect(200, "/api/who")[1]) == {"kind": "operator", "name": "", "may_act": False, "elements": False}
    assert json.loads(expect(200, f"/api/elements?job={job}")[1]) == {"allowed": False, "shown": False, "elements": []}
    expect(403, f"/api/act?do=remove&job={job}", "only who has signed in", method="POST", body="x")
    explained = json.loads(expect(200, f"/api/explain?job={job}")[1])
    assert [o["op"] for o in explained["operators"]] == ["range", "sleep", "batch"] and explained["windows"], explained
    graph = json.loads(expect(200, f"/api/graph?job={seen['id']}")[1])
    assert [n["op"] for n in graph["pipeline"]] == ["range", "sleep", "batch"], graph
    catalogue = json.loads(expect(200, "/api/catalogue")[1])
    assert catalogue["url"].startswith("dir:") and catalogue["rows"] == [], catalogue
    events.until("a decision", lambda _: events.decisions)
    first = events.decisions[0]
    assert first["inputs"] is None and first["candidates"] == [], first
    whole = json.loads(expect(200, f"/api/decision?id={first['id']}")[1])
    assert whole["id"] == first["id"] and whole["inputs"] and whole["reason"] == first["reason"], whole
    expect(404, "/api/explain?job=nothing", "there is no job")
    expect(400, "/api/decision?id=x", "which decision")
    expect(400, "/api/decision", "which decision")
    expect(405, "/api/login", "only POST")
    expect(405, "/api/explain?job=x", "", method="POST", body="x")
    events.close()
    # Other names than this host's may be an attacker's, and other pages may not ask.
    host, port = address.split(":")
    for name in (address, f"localhost:{port}", host, "known.example", "KNOWN.example:1", f"[::1]:{port}"):
        expect(200, "/api/catalogue", Host=name)
    for name in ("attacker.example", f"{host}.attacker.example:{port}", "localhost.attacker.example", "", "[::1", "known.example.com"):
        for path in ("/", "/app.js", "/api/catalogue", "/api/events", "/api/login"):
            expect(403, path, "not known to be the dispatcher's", Host=name)
    for origin in ("http://attacker.example", "null", f"http://{address}.attacker.example", f"ftp://{address}", address, "http://localhost"):
        expect(403, "/api/catalogue", "another page", Origin=origin)
        expect(403, "/api/login", "another page", method="POST", body="x" * 20, Origin=origin)
    expect(200, "/api/catalogue", Origin=f"http://{address}")
    expect(403, "/api/logout", "another page", method="POST", Sec_Fetch_Site="cross-site")
    # Scrapers and probes are not asked for anything.
    for path in ("/metrics", "/healthz", "/livez", "/readyz"):
        expect(200, path, Host="attacker.example")


def cookie_of(headers):
    cookie = headers["Set-Cookie"]
    assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and "; Path=/" in cookie and "Domain" not in cookie, cookie
    return cookie.split(";")[0]


def login(token):
    headers, _ = expect(200, "/api/login", method="POST", body=token)
    check_headers(headers)
    return cookie_of(headers)


PAGES = ("/api/explain?job=seen", "/api/graph?job=seen", "/api/decision?id=1", "/api/catalogue", "/api/events")


def tokens():
    """With tokens: who has none reads nothing, a tenant its own, an operator all."""
    vision, audio, worker, root, go = rest
    expect(200, "/")  # it asks for the token
    for path in PAGES:
        expect(401, path, "a token is needed")
        expect(401, path, "", Cookie="cachew_session=" + "0" * 32)
        expect(401, path, "", Cookie="cachew_session=")
        expect(401, path, "", Authorization="Bearer wrong-0123456789abcdef") if path != "/api/events" else None
    for wrong in ("wrong-0123456789abcdef", "", "short", "x" * 2048, "a b", worker):
        expect(401, "/api/login", method="POST", body=wrong)
    expect(413, "/api/login", method="POST", body="x" * 2049)
    own, other, operator = login(vision), login(audio), login(root)
    assert len({own, other, operator}) == 3 and vision not in own
    expect(200, "/api/explain?job=seen", '"name":"seen"', Cookie=own)
    expect(200, "/api/explain?job=seen", '"name":"seen"', Cookie="other=1; " + operator + "; more=2")
    expect(200, "/api/explain?job=seen", Authorization="Bearer " + vision)
    for path in PAGES[:2]:
        expect(404, path, "there is no job", Cookie=other)
    for cookie, names in ((own, {"seen"}), (other, set()), (operator, {"seen"})):
        events = Events(Cookie=cookie)
        events.next()
        assert {j["name"] for j in events.jobs.values()} == names, (cookie, events.jobs)
        events.close()
    headers, _ = expect(200, "/api/logout", method="POST", Cookie=other)
    assert "Max-Age=0" in headers["Set-Cookie"]
    expect(401, "/api/catalogue", Cookie=other)
    expect(200, "/api/catalogue", Cookie=own)
    # The token is taken away while somebody looks: nothing more is told.
    events = Events(Cookie=own)
    assert events.next()[0] == "top"
    print("cookie", own, flush=True)
    with open(go) as file:
        file.readline()
    while True:
        name, said = events.next()
        if name == "denied":
            break
        assert name == "top", (name, said)
    assert "not known" in said, said
    expect(401, "/api/explain?job=seen", Cookie=own)
    expect(200, "/api/explain?job=seen", Cookie=operator)


def until(what, path, is_so, **more):
    for _ in range(3000):
        found = json.loads(expect(200, path, **more)[1])
        if is_so(found):
            return found
        time.sleep(0.02)
    raise AssertionError((what, found))


def elements():
    """Elements are shown to who may see the job; only an operator may act."""
    vision, audio, root = rest
    own, other, operator = login(vision), login(audio), login(root)
    who = {name: json.loads(expect(200, "/api/who", Cookie=cookie)[1]) for name, cookie in (("own", own), ("operator", operator))}
    assert who == {"own": {"kind": "tenant", "name": "vision", "may_act": False, "elements": True},
                   "operator": {"kind": "operator", "name": "root", "may_act": True, "elements": True}}, who
    expect(401, "/api/who", "a token is needed")
    expect(401, "/api/elements?job=seen", "a token is needed")
    expect(404, "/api/elements?job=seen", "there is no job", Cookie=other)
    shown = until("an output", "/api/elements?job=seen", lambda s: s["shown"], Cookie=own)
    assert shown["rows"] == 2 and [f["name"] for f in shown["elements"][0]] == ["x"] and shown["elements"][1][0]["dtype"] == "i64", shown
    until("the next output", "/api/elements?job=seen", lambda s: (s["epoch"], s["item"]) != (shown["epoch"], shown["item"]), Cookie=operator)
    # Nobody acts but an operator, by POST, of the page itself.
    remove = "/api/act?do=remove&job=seen"
    expect(405, remove, "only POST", Cookie=operator)
    expect(401, remove, "a token is needed", method="POST")
    for cookie in (own, other):
        expect(403, remove, "only who has signed in with an operator's token", method="POST", Cookie=cookie)
    expect(403, remove, "another page", method="POST", Cookie=operator, Origin="http://attacker.example")
    expect(403, remove, "another page", method="POST", Cookie=operator, Sec_Fetch_Site="cross-site")
    expect(400, "/api/act?do=anything", "do=remove", method="POST", Cookie=operator)
    expect(404, "/api/act?do=drain&worker=nothing", "", method="POST", Cookie=operator)
    expect(200, "/api/act?do=drain&worker=" + worker_id(operator), method="POST", Cookie=operator)
    expect(200, remove, method="POST", Cookie=operator)
    expect(404, "/api/explain?job=seen", "there is no job", Cookie=operator)


def worker_id(cookie):
    events = Events(Cookie=cookie)
    events.next()
    events.close()
    return next(iter(events.workers))


def beyond():
    """Beyond the loopback address without tokens: nothing is read, and metrics are as they were."""
    for path in PAGES:
        expect(403, path, "beyond the loopback address a token is needed")
    expect(200, "/")
    expect(200, "/metrics")


{"page": page, "tokens": tokens, "elements": elements, "beyond": beyond}[case]()
