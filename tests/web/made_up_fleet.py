# SPDX-License-Identifier: Apache-2.0
"""A made-up dispatcher for the page: 1,000 workers on 500 hosts and 100 jobs, all of which change with each event, or one of them, and
names as an attacker would choose them."""
import http.server
import json
import pathlib
import threading
import time

EVIL = "<img src=x onerror=\"window.evil=1\">'\"&amp;<script>window.evil=1</script>"


def window(i, n):
    uses = {"threads_" + use: 0.1 for use in ("computing", "cpu", "limit", "source", "store", "inside", "network", "trainer", "lease")}
    return {"at_s": n, "seconds": 1, "batches": 10 + (i + n) % 50, "batch_s": 0.1, "wait_share": (i * 7 + n) % 100 / 100, "queue": 3, "step_s": 0.01,
            "worker_rate": 10, "cpu": 0.5, "remote": 2, "local": 0, **uses}


def job(i, n):
    zero = dict.fromkeys(("waits_ms", "elements", "bytes", "clients", "consumers", "local", "hits", "hit_share", "skipped", "items_s", "cpu_seconds",
                          "worker_seconds", "cost", "epoch", "wanted", "granted"), 0)
    texts = dict.fromkeys(("error", "other_files", "plan_error", "waits_for", "cached_node", "autoscale", "autocache"), "")
    row = {**zero, **texts, "id": f"j{i:016x}", "name": EVIL if i == 0 else f"training-{i}", "state": "running", "tenant": f"team-{i % 7}", "cache": "default",
           "epochs": 10, "items": 1000, "consumed": n, "assigned": 10, "wait_share": 0.5, "epoch_done": (n % 100) / 100, "window": window(i, n)}
    row["consumer_waits"] = [(c + n) % 10 / 10 if c != n % 7 else None for c in range(12)] if i == 1 else []
    if i == 0:
        row.update(waits_for=f"worker {EVIL} computes item 3", waits_ms=5000)
    return row


def worker(i, n):
    return {"id": f"{i:016x}", "address": f"10.0.{i // 250}.{i % 250}:7171", "host": EVIL if i < 2 else f"host{i // 2}", "state": "ready", "pod": "", "node": "",
            "other_files_job": "", "other_files": "", "unreachable_job": "", "unreachable": EVIL if i == 5 else "", "threads": 16, "leased": 5, "done": n * 10 + i,
            "budget_bytes": 10**9, "budget_used": (i * 1000003 + n * 1000) % 10**9, "silent_ms": 0, "cpu_share": (i + n) % 100 / 100, "cpu_cores": 4.5,
            "host_cpus": 32, "host_cpu_share": (i * 3 + n) % 100 / 100, "host_load": 0.7, "jobs": [f"j{i % 100:016x}"]}


def look(n):
    return {"version": "0.0", "generation": 1, "uptime_ms": n * 1000,
            "fleet": {"provisioner": "none", "ready": 1000, "starting": 0, "draining": 0, "wanted": 0, "threads": 16000, "cpu_cores": 4500.0, "budget_used": 1,
                      "budget_bytes": 10**12},
            "jobs": [job(i, n) for i in range(100)], "workers": [worker(i, n) for i in range(1000)], "caches": [], "gone": [],
            "decisions": [{"id": n * 10 + i + 1, "time_ms": 1700000000000 + n * 1000, "epoch": 0, "job": f"j{i:016x}", "name": EVIL, "kind": "autoscale",
                           "policy": "auto", "choice": EVIL, "reason": EVIL, "candidates": [], "inputs": None} for i in range(10)]}


def look_at_one(n):
    """The first event has all; the next ones have what a dispatcher sends of a fleet in which only the job training-3 moves."""
    whole = look(1) | {"uptime_ms": n * 1000}
    return whole if n == 1 else whole | {"jobs": [job(3, n)], "workers": [], "decisions": []}


class Server:
    def __init__(self, dist, look=look):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/api/events":
                    self.send_response(200)
                    self.send_header("Content-Type", "text/event-stream")
                    self.end_headers()
                    n = 0
                    while True:
                        n += 1
                        try:
                            self.wfile.write(b"event: top\ndata: " + json.dumps(look(n)).encode() + b"\n\n")
                            self.wfile.flush()
                        except OSError:
                            return
                        time.sleep(1)  # as a dispatcher does
                name = "index.html" if self.path == "/" else self.path[1:]
                file = pathlib.Path(dist) / name
                self.send_response(200 if file.is_file() else 404)
                kinds = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
                self.send_header("Content-Type", kinds.get(file.suffix, "application/json"))
                self.end_headers()
                self.wfile.write(file.read_bytes() if file.is_file() else b'{"error": "made up"}')

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def close(self):
        self.http.shutdown()
