# SPDX-License-Identifier: Apache-2.0
"""A small client of an API server for tests: requests, watches, and the fake server as a child process."""
import http.client
import json
import socket
import ssl
import subprocess
import urllib.parse


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.text = status, headers, body
        try:
            self.json = json.loads(body)
        except ValueError:
            self.json = None


class Client:
    """Talks to one server; token None: no credentials."""

    def __init__(self, url, token=None, agent="rules/1", context=None):
        self.parts, self.token, self.agent, self.context = urllib.parse.urlsplit(url), token, agent, context
        self.connection = None

    def with_token(self, token, agent=None):
        return Client(self.parts.geturl(), token, agent or self.agent, self.context)

    def connect(self):
        if self.parts.scheme == "https":
            return http.client.HTTPSConnection(self.parts.hostname, self.parts.port, context=self.context, timeout=120)
        return http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=120)

    def send(self, connection, method, path, body, headers):
        out = {"User-Agent": self.agent, **headers}
        if self.token:
            out["Authorization"] = "Bearer " + self.token
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        connection.request(method, path, body=body, headers=out)
        return connection.getresponse()

    def ask(self, method, path, body=None, content_type=None, **headers):
        if content_type is None and body is not None:
            content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        if content_type:
            headers["Content-Type"] = content_type
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        for last in (False, True):  # a connection that was kept may have ended meanwhile
            try:
                self.connection = self.connection or self.connect()
                response = self.send(self.connection, method, path, body, headers)
                return Answer(response.status, dict(response.getheaders()), response.read().decode())
            except (http.client.HTTPException, OSError) as error:
                self.connection.close()
                self.connection = None
                if last or isinstance(error, ConnectionRefusedError):
                    raise

    def watch(self, path):
        """A generator of the lines of a watch, parsed; ends with the answer."""
        connection = self.connect()
        response = self.send(connection, "GET", path, None, {})
        if response.status != 200:
            yield {"type": "HTTP", "object": json.loads(response.read())}
            return
        try:
            for line in response:
                yield json.loads(line)
        except (http.client.IncompleteRead, ConnectionResetError, socket.timeout) as error:
            yield {"type": "BROKEN", "object": {"error": str(error)}}
        finally:
            connection.close()


class FakeServer:
    """The program api_server as a child; `with FakeServer(...) as url`."""

    def __init__(self, program, *arguments):
        self.child = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"{program} did not begin: {line}")
        self.url = line.split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        status = self.child.wait(60)
        if status != 0:
            raise RuntimeError(f"the fake server ended with {status}")


def account_token(admin, namespace, name):
    """A token of a service account, by the server's TokenRequest."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}
    answer = admin.ask("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", request)
    if answer.status != 201:
        raise RuntimeError(f"there is no token for {namespace}/{name}: {answer.status} {answer.text}")
    return answer.json["status"]["token"]


def insecure_context(certificate=None, key=None):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context
