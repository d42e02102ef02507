#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Says hello to a dispatcher and a worker with a protocol number of the future: each must end the stream with an error that says so,
or answer with one."""
import sys

import grpc

dispatcher, worker = sys.argv[1:3]
HELLO_PROTOCOL_99 = b"\x08\x63"


def ask(address, method, message):
    channel = grpc.insecure_channel(address)
    call = channel.stream_stream(method, request_serializer=lambda data: data, response_deserializer=lambda data: data)
    said = b""
    try:
        for reply in call(iter([message]), timeout=60, wait_for_ready=True):
            said += reply
    except grpc.RpcError as error:
        said += (error.details() or "").encode()
    assert b"protocol" in said, f"{method} at {address} says: {said}"


for method in ("/cachew.v1.Fleet/Attach", "/cachew.v1.Jobs/Attach"):
    ask(dispatcher, method, b"\x12\x02" + HELLO_PROTOCOL_99)
ask(worker, "/cachew.v1.Data/Fetch", b"\x0a\x02" + HELLO_PROTOCOL_99)
