#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server of S3 for tests: directories are buckets, files are objects. It checks every signature by itself, written from the specification and
not from src/io/remote/sigv4.c, and refuses what is not signed right, too old, or asks for what it does not know.

Prints `ready HOST:PORT`. Each request is a line of the log: method, path, status, range.
"""
import argparse
import datetime
import hashlib
import hmac
import http.server
import os
import re
import urllib.parse
from xml.sax.saxutils import escape

EMPTY = hashlib.sha256(b"").hexdigest()


class Refused(Exception):
    def __init__(self, status, code, message=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


def encode(text, safe=""):
    return urllib.parse.quote(text, safe="-._~" + safe)


def etag_of(name, known={}):
    state = os.stat(name)
    key = (name, state.st_mtime_ns, state.st_size, state.st_ino)
    if key not in known:
        with open(name, "rb") as file:
            known[key] = hashlib.md5(file.read()).hexdigest()
    return known[key], state.st_size


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def check_signature(self, path, query):
        options, headers = self.server.options, self.headers
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})",
                             headers.get("Authorization", ""))
        if not match:
            raise Refused(403, "AccessDenied", "it is not signed")
        key, day, region, signed, signature = match.groups()
        if key != options.key:
            raise Refused(403, "InvalidAccessKeyId")
        if region != options.region:
            raise Refused(400, "AuthorizationHeaderMalformed", "the region is wrong")
        if headers.get("x-amz-security-token") != options.token:
            raise Refused(403, "InvalidToken")
        date = headers.get("x-amz-date", "")
        then = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ")
        if abs((datetime.datetime.utcnow() - then).total_seconds()) > 900 or date[:8] != day:
            raise Refused(403, "RequestTimeTooSkewed")
        names = signed.split(";")
        needed = {"host", "x-amz-content-sha256", "x-amz-date"} | {n.lower() for n in headers if n.lower().startswith("x-amz-")}
        if names != sorted(names) or not needed <= set(names):
            raise Refused(403, "AccessDenied", "headers are not signed")
        if headers["x-amz-content-sha256"] != EMPTY:
            raise Refused(400, "XAmzContentSHA256Mismatch")
        canonical_query = "&".join("%s=%s" % (encode(k), encode(v)) for k, v in sorted(query))
        lines = ["GET", encode(path, "/"), canonical_query]
        lines += ["%s:%s" % (n, " ".join(headers.get(n, "").split())) for n in names]
        lines += ["", signed, headers["x-amz-content-sha256"]]
        scope = "%s/%s/s3/aws4_request" % (day, region)
        text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (date, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest())
        step = ("AWS4" + options.secret).encode()
        for part in (day, region, "s3", "aws4_request", text):
            step = hmac.new(step, part.encode(), hashlib.sha256).digest()
        if step.hex() != signature:
            raise Refused(403, "SignatureDoesNotMatch", "signed over another text")

    def do_GET(self):
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        try:
            self.check_signature(path, pairs)
            bucket, _, key = path[1:].partition("/")
            if key:
                self.send_object(os.path.join(self.server.options.root, bucket, key))
            else:
                self.send_list(bucket, dict(pairs))
        except Refused as refused:
            body = "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>" % (refused.code, escape(refused.message))
            self.reply(refused.status, body.encode(), {"Content-Type": "application/xml"})

    def send_object(self, name):
        if not os.path.isfile(name):
            raise Refused(404, "NoSuchKey")
        tag, size = etag_of(name)
        etag = '"%s"' % tag
        if self.headers.get("If-Match", etag) != etag:
            raise Refused(412, "PreconditionFailed")
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        begin, end = (int(match[1]), min(int(match[2] or size), size - 1)) if match else (0, size - 1)
        if match and begin > end:
            raise Refused(416, "InvalidRange")
        with open(name, "rb") as file:
            file.seek(begin)
            body = file.read(end + 1 - begin)
        if match:
            self.reply(206, body, {"ETag": etag, "Content-Range": "bytes %d-%d/%d" % (begin, end, size)})
        else:
            self.reply(200, body, {"ETag": etag})

    def send_list(self, bucket, query):
        if query.get("list-type") != "2" or query.get("encoding-type") != "url":
            raise Refused(501, "NotImplemented")
        root = os.path.join(self.server.options.root, bucket)
        if not os.path.isdir(root):
            raise Refused(404, "NoSuchBucket")
        names = sorted(os.path.relpath(os.path.join(d, f), root) for d, _, files in os.walk(root, followlinks=True) for f in files)
        names = [n for n in names if n.startswith(query.get("prefix", ""))]
        begin = int(query.get("continuation-token", "page=0")[5:])
        end = begin + min(int(query.get("max-keys", 1000)), self.server.options.page)
        out = ["<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"]
        for name in names[begin:end]:
            tag, size = etag_of(os.path.join(root, name))
            out.append("<Contents><Key>%s</Key><ETag>&quot;%s&quot;</ETag><Size>%d</Size></Contents>" % (urllib.parse.quote_plus(name, safe="/"), tag, size))
        out.append("<EncodingType>url</EncodingType><IsTruncated>%s</IsTruncated>" % ("true" if end < len(names) else "false"))
        out.append("<NextContinuationToken>page=%d</NextContinuationToken></ListBucketResult>" % end)
        self.reply(200, "".join(out).encode(), {"Content-Type": "application/xml"})

    def reply(self, status, body, headers):
        with open(self.server.options.log, "a") as log:
            log.write("GET %s %d %s\n" % (self.path, status, self.headers.get("Range", "-")))
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--token")
    parser.add_argument("--region", default="test-1")
    parser.add_argument("--page", type=int, default=1000, help="the most objects of a page")
    options = parser.parse_args()
    host, port = options.listen.rsplit(":", 1)
    server = Server((host, int(port)), Handler)
    server.options = options
    print("ready %s:%d" % server.server_address[:2], flush=True)
    server.serve_forever()


main()
