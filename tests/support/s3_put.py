#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Puts objects on a server of S3, signed as the specification says: s3_put.py HOST:PORT REGION KEY SECRET; each line of input is a bucket to be made, or
BUCKET/KEY and the file whose bytes it gets, separated by a tab.
"""
import datetime
import hashlib
import hmac
import http.client
import sys
import urllib.parse


def sign(host, region, key, secret, path, body):
    now = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(sorted(headers))
    lines = ["PUT", path, ""] + ["%s:%s" % (name, headers[name]) for name in sorted(headers)] + ["", names, digest]
    scope = "%s/%s/s3/aws4_request" % (now[:8], region)
    text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (now, scope, hashlib.sha256("\n".join(lines).encode()).hexdigest())
    step = ("AWS4" + secret).encode()
    for part in (now[:8], region, "s3", "aws4_request", text):
        step = hmac.new(step, part.encode(), hashlib.sha256).digest()
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (key, scope, names, step.hex())
    return headers


def main():
    host, region, key, secret = sys.argv[1:]
    for line in sys.stdin:
        name, _, file = line.rstrip("\n").partition("\t")
        body = open(file, "rb").read() if file else b""
        path = "/" + urllib.parse.quote(name, safe="/-._~")
        connection = http.client.HTTPConnection(host)
        connection.request("PUT", path, body, sign(host, region, key, secret, path, body))
        answer = connection.getresponse()
        said = answer.read()
        if answer.status // 100 != 2:
            sys.exit("%s: %d %s" % (name, answer.status, said.decode(errors="replace")))


main()
