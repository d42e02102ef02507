#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A collector of traces for tests: trace_collector.py FILE [STATUS]. It prints the port at which it listens, answers each request with
STATUS (200), and appends what was sent to FILE, a line each."""
import http.server
import sys


class Collector(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json"
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1], "ab") as file:
            file.write(body + b"\n")
        self.send_response(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print("ready", server.server_address[1], flush=True)
server.serve_forever()
