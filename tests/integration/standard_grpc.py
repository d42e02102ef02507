#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a daemon for its health and its services as any standard gRPC tool would: python3-grpcio, messages made by hand."""
import sys

import grpc

target = sys.argv[1]
channel = grpc.insecure_channel(target)
raw = lambda data: data

check = channel.unary_unary("/grpc.health.v1.Health/Check", request_serializer=raw, response_deserializer=raw)
assert check(b"", timeout=60, wait_for_ready=True) == b"\x08\x01", "not SERVING"

watch = channel.unary_stream("/grpc.health.v1.Health/Watch", request_serializer=raw, response_deserializer=raw)
stream = watch(b"", timeout=60)
assert next(stream) == b"\x08\x01", "Watch: not SERVING"
stream.cancel()

assert check(b"\x0a\x08liveness", timeout=60) == b"\x08\x01", "not alive"
stream = watch(b"\x0a\x09readiness", timeout=60)
assert any(reply == b"\x08\x01" for reply in stream), "not ready"  # a worker: as soon as it is attached
stream.cancel()

for version in ("v1", "v1alpha"):
    info = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
                                 request_serializer=raw, response_deserializer=raw)
    reply = next(info(iter([b"\x3a\x01*"]), timeout=60))
    assert b"grpc.health.v1.Health" in reply and b"cachew.v1." in reply, reply
    symbol = b"grpc.health.v1.Health"
    reply = next(info(iter([b"\x22" + bytes([len(symbol)]) + symbol]), timeout=60))
    assert b"HealthCheckRequest" in reply, reply

unknown = channel.unary_unary("/cachew.v1.Nothing/There", request_serializer=raw, response_deserializer=raw)
try:
    unknown(b"", timeout=60)
    raise SystemExit("an unknown method was answered")
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.UNIMPLEMENTED, error
