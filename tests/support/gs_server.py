#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server of Google's storage for tests: directories are buckets, files are objects, the time of a file is its generation. A request must have
the token that a service account got here, whose claim openssl checks with the account's public key; after --tokens-for requests another one is
wanted.

Writes the file of the account and prints `ready HOST:PORT`. Each request is a line of the log: method, path, status, range.
"""
import argparse
import base64
import http.server
import json
import os
import re
import secrets
import subprocess
import tempfile
import threading
import urllib.parse

EMAIL = "reader@tests.example"


def openssl(*args, data=None):
    return subprocess.run(["openssl", *args], input=data, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Refused(Exception):
    def __init__(self, status, code):
        super().__init__(code)
        self.status, self.code = status, code


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        try:
            form = dict(urllib.parse.parse_qsl(body))
            if self.path != "/token" or form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
                raise Refused(400, "unsupported_grant_type")
            self.server.storage.check_claim(form["assertion"])
            token = self.server.storage.new_token()
            self.reply(200, json.dumps({"access_token": token, "expires_in": 3599, "token_type": "Bearer"}).encode())
        except Refused as refused:
            self.reply(refused.status, json.dumps({"error": refused.code}).encode())

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        parts = [urllib.parse.unquote(part) for part in url.path[1:].split("/")]
        try:
            self.server.storage.check_token(self.headers.get("Authorization", ""))
            if parts[:3] == ["storage", "v1", "b"] and parts[4:] == ["o"]:
                self.send_list(parts[3], dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
            else:
                self.send_object(os.path.join(self.server.storage.options.root, *parts))
        except Refused as refused:
            self.reply(refused.status, b"<?xml version='1.0'?><Error><Code>%s</Code></Error>" % refused.code.encode())

    def send_object(self, name):
        if not os.path.isfile(name):
            raise Refused(404, "NoSuchKey")
        state = os.stat(name)
        generation = str(state.st_mtime_ns)
        if self.headers.get("x-goog-if-generation-match", generation) != generation:
            raise Refused(412, "PreconditionFailed")
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        begin, end = (int(match[1]), min(int(match[2] or state.st_size), state.st_size - 1)) if match else (0, state.st_size - 1)
        if match and begin > end:
            raise Refused(416, "InvalidRange")
        with open(name, "rb") as file:
            file.seek(begin)
            body = file.read(end + 1 - begin)
        headers = {"x-goog-generation": generation}
        if match:
            headers["Content-Range"] = "bytes %d-%d/%d" % (begin, end, state.st_size)
        self.reply(206 if match else 200, body, headers)

    def send_list(self, bucket, query):
        root = os.path.join(self.server.storage.options.root, bucket)
        if not os.path.isdir(root):
            raise Refused(404, "NoSuchBucket")
        names = sorted(os.path.relpath(os.path.join(d, f), root) for d, _, files in os.walk(root, followlinks=True) for f in files)
        names = [n for n in names if n.startswith(query.get("prefix", ""))]
        begin = int(query.get("pageToken", "page=0")[5:])
        end = begin + min(int(query.get("maxResults", 1000)), self.server.storage.options.page)
        states = [(n, os.stat(os.path.join(root, n))) for n in names[begin:end]]
        answer = {"items": [{"name": n, "size": str(s.st_size), "generation": str(s.st_mtime_ns)} for n, s in states]}
        if end < len(names):
            answer["nextPageToken"] = "page=%d" % end
        self.reply(200, json.dumps(answer).encode())

    def reply(self, status, body, headers={}):
        with open(self.server.storage.options.log, "a") as log:
            log.write("%s %s %d %s\n" % (self.command, self.path, status, self.headers.get("Range", "-")))
        self.send_response(status)
        for header in headers.items():
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # connections that a bad network has cut


class Storage:
    """The account, the tokens that it got, and two servers: tokens are given by plain HTTP at 127.0.0.1 alone."""

    def __init__(self, options):
        self.options, self.lock, self.tokens = options, threading.Lock(), {}
        self.key = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        self.public = openssl("pkey", "-pubout", data=self.key)
        self.servers = [Server((host, int(port)), Handler) for host, port in (("127.0.0.1", options.token_port), options.listen.rsplit(":", 1))]
        for server in self.servers:
            server.storage = self
        self.uri = "http://127.0.0.1:%d/token" % self.servers[0].server_address[1]
        with open(options.account, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            json.dump({"type": "service_account", "client_email": EMAIL, "private_key": self.key.decode(), "token_uri": self.uri}, file)

    def check_claim(self, assertion):
        signed, _, signature = assertion.rpartition(".")
        head, claims = (json.loads(decode(part)) for part in signed.split("."))
        with tempfile.NamedTemporaryFile() as key, tempfile.NamedTemporaryFile() as sign:
            key.write(self.public)
            sign.write(decode(signature))
            key.flush()
            sign.flush()
            try:
                openssl("dgst", "-sha256", "-verify", key.name, "-signature", sign.name, data=signed.encode())
            except subprocess.CalledProcessError:
                raise Refused(400, "invalid_grant")
        if head["alg"] != "RS256" or claims["iss"] != EMAIL or claims["aud"] != self.uri or not claims["scope"].endswith("/devstorage.read_only"):
            raise Refused(400, "invalid_grant")

    def new_token(self):
        with self.lock:
            token = self.options.secret + secrets.token_hex(8)
            self.tokens["Bearer " + token] = self.options.tokens_for
            return token

    def check_token(self, authorization):
        with self.lock:
            if self.tokens.get(authorization, 0) == 0:
                raise Refused(401, "AuthenticationRequired")
            self.tokens[authorization] -= 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--account", required=True, help="where the file of the account is written")
    parser.add_argument("--token-port", type=int, default=0, help="where tokens are asked for, at 127.0.0.1")
    parser.add_argument("--secret", default="ya29.", help="how tokens begin")
    parser.add_argument("--page", type=int, default=1000, help="the most objects of a page")
    parser.add_argument("--tokens-for", type=int, default=1 << 60, help="requests after which a token is not good any more")
    storage = Storage(parser.parse_args())
    threading.Thread(target=storage.servers[0].serve_forever, daemon=True).start()
    print("ready %s:%d" % storage.servers[1].server_address[:2], flush=True)
    storage.servers[1].serve_forever()


main()
