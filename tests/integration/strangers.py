#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What somebody without a token, or without the secret of a job, gets: nothing but health.
Usage: strangers.py DISPATCHER | strangers.py --fetch WORKER JOB PROTOCOL. python3-grpcio, messages made by hand."""
import os
import re
import sys
import threading

import grpc

raw = lambda data: data


def refused(call, code, what):
    try:
        for _ in call:
            raise SystemExit(f"{what}: it is answered")
    except grpc.RpcError as error:
        assert error.code() == code, (what, error)
        return
    raise SystemExit(f"{what}: it is not refused")


def nothing(never=threading.Event()):
    """A caller who never says anything."""
    never.wait()
    yield b""


def dispatcher(target):
    channel = grpc.insecure_channel(target)
    check = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=raw, response_deserializer=raw)
    assert check(b"", timeout=60, wait_for_ready=True) == b"\x08\x01", "not SERVING"
    proto = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto", "cachew", "v1", "admin.proto")
    with open(proto, encoding="utf-8") as file:
        methods = ["Admin/" + name for name in re.findall(r"^\s*rpc (\w+)", file.read(), re.MULTILINE)]
    if len(methods) < 26:
        raise SystemExit(f"only {len(methods)} methods in {proto}")
    methods.append("Admin/Other")
    for method in methods + ["Fleet/Attach", "Jobs/Attach", "Data/Fetch", "Other/Thing"]:
        call = channel.stream_stream("/cachew.v1." + method, request_serializer=raw, response_deserializer=raw)
        # Refused on the metadata: no message has been sent, and none will be.
        refused(call(nothing(), timeout=60), grpc.StatusCode.UNAUTHENTICATED, method)
        for value in ("", "Bearer", "Bearer ", "Bearer wrong-0123456789abcdef", "Basic abc", "Bearer " + "x" * 4000):
            refused(call(nothing(), timeout=60, metadata=(("authorization", value),)), grpc.StatusCode.UNAUTHENTICATED, (method, value[:40]))


def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def hello(job, secret, protocol):
    inner = b"\x08" + varint(protocol) + field(2, job.encode()) + b"\x19" + b"\x07" * 8 + b"\x38\xff\xff\xff\x7f"
    if secret is not None:
        inner += field(20, secret)
    return field(1, inner)


def fetch(target, job, protocol):
    channel = grpc.insecure_channel(target)
    for secret in (None, b"", b"0123456789abcdef", b"0" * 15, b"0" * 100):
        call = channel.stream_stream("/cachew.v1.Data/Fetch", request_serializer=raw, response_deserializer=raw)
        refused(call(iter([hello(job, secret, protocol)]), timeout=60), grpc.StatusCode.PERMISSION_DENIED, secret)


if sys.argv[1] == "--fetch":
    fetch(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    dispatcher(sys.argv[1])
