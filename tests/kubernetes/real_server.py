#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real API server (api_server.sh) where tests start the fake one: the same arguments and orders, as far as a real one has them.

  real_server.py [--namespace NAME]... [--load FILE]... [--token NAME=USER[,GROUP]]... [--log FILE] [--port N]

It prints "ready URL ORDERS CERTIFICATE TOKENS KUBECONFIG": ORDERS is the URL of its orders; CERTIFICATE is the file of the server's own; TOKENS is a
folder with a file for each token, since service accounts have what the server's TokenRequest gave them; KUBECONFIG is an administrator's, whose token is
"admin". Status 77, and why, where there is no real server.

Files are applied by an administrator, strictly. --log gets a line for each request, as the fake's does, from the server's audit: the token's name, the
method, the path, the status; probes and the cluster's own programs are left out. What stands beside it (keys, tokens) is used again when it begins anew.

  POST /fake/load     documents
  POST /fake/compact
  POST /fake/away     {"ms": 1000}     nobody listens for so long"""
import argparse
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import yaml

from api_client import Client, account_token, insecure_context
from apply import Applier

HERE = pathlib.Path(__file__).resolve().parent
METHODS = {"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}
CLUSTERS_OWN = ("kube-apiserver/", "kube-controller-manager/", "kube-scheduler/")


class Audit(threading.Thread):
    """Reads the server's audit from a pipe, and writes a line for each request that has an answer."""

    def __init__(self, pipe, log, names):
        super().__init__(daemon=True)
        self.log, self.names = log, names
        os.mkfifo(pipe)
        self.pipe = open(os.open(pipe, os.O_RDWR))  # so that it does not end when the server does

    def run(self):
        for line in self.pipe:
            event = json.loads(line)
            stage = "ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"
            if event["stage"] == stage and event["requestURI"].startswith("/api") and not event.get("userAgent", "").startswith(CLUSTERS_OWN):
                self.write(event)

    def write(self, event):
        name = self.names.get(event["user"].get("username"), "-")
        method = METHODS.get(event["verb"], event["verb"].upper())
        with open(self.log, "a") as log:
            log.write(f"{name} {method} {event['requestURI']} {event['responseStatus']['code']}\n")


class Server:
    def __init__(self, args):
        self.temporary = None if args.log else tempfile.TemporaryDirectory()
        self.folder = (pathlib.Path(args.log).parent if args.log else pathlib.Path(self.temporary.name)) / "kubernetes"
        self.tokens = self.folder / "tokens"
        self.tokens.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        users = [token.split("=", 1) for token in args.token]
        environment = {**os.environ, "CACHEW_KUBERNETES_KEYS": str(self.folder)}
        if args.port:
            wait_for_port(int(args.port))
            environment["CACHEW_KUBERNETES_PORT"] = args.port
        if args.log:
            pipe = self.folder / f"audit-{os.getpid()}"
            Audit(pipe, args.log, {user.split(",")[0]: name for name, user in users}).start()
            environment["CACHEW_KUBERNETES_AUDIT"] = str(pipe)
        self.child = subprocess.Popen([HERE / "api_server.sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.child.stdout.readline()
        if not line.startswith("ready "):
            sys.exit(self.child.wait() or 1)
        self.kubeconfig = line.split()[1]
        config = yaml.safe_load(pathlib.Path(self.kubeconfig).read_text())
        self.url = config["clusters"][0]["cluster"]["server"]
        self.admin = Client(self.url, "admin", context=insecure_context())
        self.applier = Applier(self.admin, "cachew-test")
        for name in args.namespace:
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for name, user in users:
            (self.tokens / name).write_text(self.token(name, user.split(",")[0]))
        for file in args.load:
            self.load(pathlib.Path(file).read_text())

    def token(self, name, user):
        """A service account is made, and its token asked for."""
        if name == "admin":
            return name
        account = re.fullmatch("system:serviceaccount:(.*):(.*)", user)
        if not account:
            raise RuntimeError(f"a real server has no token for {user}")
        self.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": account.group(1), "name": account.group(2)}})
        return account_token(self.admin, account.group(1), account.group(2))

    def apply(self, document):
        answer = self.applier.ask(document)
        if answer.status >= 300:
            raise RuntimeError(f"{document['kind']} {document['metadata'].get('name')}: {answer.status} {answer.text}")

    def load(self, text):
        documents = [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]
        for document in documents:
            self.apply(document)
        self.applier.wait_for_definitions(documents)
        self.applier.wait_for_rights(documents)

    def order(self, name):
        with self.lock:
            self.child.stdin.write(name + "\n")
            self.child.stdin.flush()
            if self.child.stdout.readline() != f"done {name}\n":
                raise RuntimeError(f"the server did not do what it was told: {name}")

    def away(self, ms):
        self.order("down")
        time.sleep(ms / 1000)
        self.order("up")

    def take(self, what, text):
        if what == "load":
            self.load(text)
        elif what == "compact":
            self.order("compact")
        elif what == "away":
            threading.Thread(target=self.away, args=(json.loads(text)["ms"],), daemon=True).start()
        else:
            raise RuntimeError(f"a real server knows no order {what}")


    def end(self):
        self.child.stdin.close()
        self.child.wait()
        if self.temporary:
            self.temporary.cleanup()


def wait_for_port(port):
    """The one before may not have ended yet."""
    while True:
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                return tried.bind(("127.0.0.1", port))
            except OSError:
                time.sleep(0.05)


def handler_of(server):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body, error = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode(), ""
            try:
                server.take(self.path.removeprefix("/fake/"), body)
            except Exception as problem:  # whatever it is, the test is told
                error = f"{type(problem).__name__}: {problem}\n"
                print(error, file=sys.stderr, flush=True)
            self.send_response(400 if error else 200)
            self.send_header("Content-Length", str(len(error.encode())))
            self.end_headers()
            self.wfile.write(error.encode())

        def log_message(self, *_):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser()
    for name in ("namespace", "load", "token"):
        parser.add_argument("--" + name, action="append", default=[])
    parser.add_argument("--log")
    parser.add_argument("--port")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = Server(args)
    orders = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_of(server))
    print(f"ready {server.url} http://127.0.0.1:{orders.server_port} {server.folder}/server.crt {server.tokens} {server.kubeconfig}", flush=True)
    try:
        orders.serve_forever()
    finally:
        server.end()


main()
