#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Says to a daemon what no honest peer says: attack.py WHAT ADDRESS [N]. Ends with 0 when the daemon has let go of all that this held.

acks         a trainer acknowledges N intervals that do not touch, again and again
acks_dealt   one of two coordinated trainers acknowledges three intervals up to 2^40
back         one of two coordinated trainers acknowledges N items of its own, and says all of them again when it comes back
replaced     one of two coordinated trainers has consumed N items of its own; another process takes its place, and is told of them
silent       N calls that say nothing; each is ended
halves       N calls that announce 2 MiB and send all but the end; each is ended
connections  N connections that say nothing, until standard input ends
slow_http    N connections with half a request, from several addresses of 127/8; each is closed
objects      a pipeline with 8 objects of N keys as options; it is refused
ports        a worker and a trainer whose names are not text; both are refused
unread       a worker that holds N unknown jobs, and reads nothing of what it is told; it is ended
held         a worker that holds N unknown jobs: more than a hello may have; it is refused
pipelines    pipelines whose name, or all of which, is too long; all are refused
manifest     a worker that answers the first Prepare with a list of files that unpacks to N MB; prints `prepared`
dispatcher   serves a worker at ADDRESS: leases of N intervals, revoked one by one; prints `ready HOST:PORT`, then `done`
listed       a dispatcher that tells a trainer of N workers; prints `ready HOST:PORT`, then `done` when it cannot reach any of them
leaving      a dispatcher that tells trainers of N consumed items that do not touch, N / 2 that are left out, and 10^6 epochs of which
             something is; prints `ready HOST:PORT`, then `done` for each trainer that has taken all of it
told         a dispatcher that tells workers of N keys of the cache, of N consumers; each leaves; prints `ready HOST:PORT`, `done` each time
"""
import os
import socket
import struct
import subprocess
import sys
import threading

import grpc

# ---- messages ----


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, n):
    return varint(field << 3) + varint(n)


def fixed(field, n):
    return varint(field << 3 | 1) + struct.pack("<Q", n)


def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def graph(stop, size):
    def option(key, n):
        return part(8, part(7, part(1, key) + part(2, num(3, 2 * n))))

    first = part(2, part(3, "range") + option("stop", stop))
    return first + part(2, part(3, "batch") + part(4, varint(0)) + option("size", size))


def client_hello(name, consumers=1, consumer=0, stop=10**8, size=1, more=b"", who=77):
    options = part(1, name) + part(2, graph(stop, size)) + num(4, 1)
    if consumers > 1:
        options += num(9, 1) + num(10, consumers)
    return part(2, num(1, 1) + part(2, "attack") + fixed(3, who + consumer) + part(5, options) + num(6, consumer) + part(10, "attacker") + more)


def intervals(field, pairs):
    return b"".join(part(field, num(1, lo) + num(2, hi)) for lo, hi in pairs)


def ack(pairs):
    sets = intervals(2, pairs)
    return part(3, part(1, sets) + part(2, sets))


def fields(data):
    """The numbers of a message's fields, and the last value of each."""
    found, at = {}, 0

    def read():
        nonlocal at
        n, shift = 0, 0
        while True:
            at, byte = at + 1, data[at]
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        tag = read()
        n = read() if tag & 7 in (0, 2) else 0
        size = {0: 0, 1: 8, 2: n, 5: 4}[tag & 7]
        found[tag >> 3] = n if tag & 7 == 0 else data[at:at + size]
        at += size
    return found


# ---- streams ----


def raw(data):
    return data


class Stream:
    """A stream to a method: say() sends, hear() waits for a message."""

    def __init__(self, channel, method):
        self.items, self.lock, self.more, self.over = [], threading.Lock(), threading.Event(), False
        self.call = channel.stream_stream(method, request_serializer=raw, response_deserializer=raw)(self.requests())

    def requests(self):
        while True:
            self.more.wait()
            with self.lock:
                item = self.items.pop(0) if self.items else None
                if not self.items:
                    self.more.clear()
            if item is None:
                return
            yield item

    def say(self, data):
        with self.lock:
            self.items.append(data)
        self.more.set()

    def hear(self):
        return next(self.call)


def info(channel):
    channel.unary_unary("/cachew.v1.Admin/Info", request_serializer=raw, response_deserializer=raw)(b"", timeout=120)


def attach(address, name, **more):
    channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])
    stream = Stream(channel, "/cachew.v1.Jobs/Attach")
    stream.say(client_hello(name, **more))
    while not stream.hear().startswith(b"\x08") or False:
        pass
    return channel, stream


def all_heard(stream):
    """Says no more, and fails if the daemon ended the stream for what was said on it. Who does not read to the end is not told of that."""
    stream.say(None)
    for _ in stream.call:
        pass


def acks(address, n):
    channel, stream = attach(address, "acks")
    for k in range(4):
        stream.say(ack([(4 * i + k, 4 * i + k + 1) for i in range(n)]))
        info(channel)
    all_heard(stream)
    channel.close()


def acks_dealt(address, n):
    pairs = [(0, 1 << 38), (1 << 39, 3 << 38), (7 << 37, 1 << 40)]
    # A job of its own: who comes back to one is told all that it has.
    channel, stream = attach(address, "dealt-%d" % os.getpid(), consumers=2, stop=1 << 40)
    for _ in range(n):
        stream.say(ack(pairs))
        info(channel)
    all_heard(stream)
    channel.close()


def back(address, n):
    own = [(2 * i, 2 * i + 1) for i in range(n)]
    channel, stream = attach(address, "back", consumers=2)
    for at in range(0, n, 100000):
        stream.say(part(3, part(1, intervals(2, own[at:at + 100000]))))
    all_heard(stream)
    channel.close()
    has = part(8, intervals(2, own))
    channel, stream = attach(address, "back", consumers=2, more=has)
    stream.say(ack([(0, 1)]))
    info(channel)
    all_heard(stream)
    channel.close()


def replaced(address, n):
    own = [(2 * i, 2 * i + 1) for i in range(n)]
    channel, stream = attach(address, "replaced", consumers=2)
    for at in range(0, n, 60000):
        stream.say(ack(own[at:at + 60000]))
    all_heard(stream)
    channel.close()
    channel = grpc.insecure_channel(address, options=[("grpc.max_receive_message_length", -1)])
    stream = Stream(channel, "/cachew.v1.Jobs/Attach")
    stream.say(client_hello("replaced", consumers=2, who=1000))
    welcome = None
    while not welcome:
        welcome = fields(stream.hear()).get(2)
    assert len(welcome) > 4 * n, len(welcome)
    info(channel)
    all_heard(stream)
    channel.close()


def objects(address, n):
    """8 objects of n keys of two bytes, in less than what is unpacked beside the loop's thread (CW_UNPACKED_HERE_MAX)."""
    letters = [chr(48 + i) for i in range(64)]
    keys = b"".join(part(1, letters[i // 64] + letters[i % 64]) for i in range(n))
    inner = part(7, keys + part(2, b"\x08\x01") * n)
    node = part(2, part(3, "range") + part(8, part(7, b"".join(part(1, "o%d" % i) + part(2, inner) for i in range(8)))))
    hello = part(2, num(1, 2) + part(2, "attack") + fixed(3, 77) + part(5, part(2, part(1, "objects") + node) + num(4, 1)))
    assert len(hello) <= 64 << 10, len(hello)
    for _ in range(4):
        refused(address, "/cachew.v1.Jobs/Attach", hello, "o0")


def ports(address, _n):
    for method, hello in (("/cachew.v1.Fleet/Attach", part(2, num(1, 1) + part(2, "1") + fixed(3, 5) + part(4, b"\x1b[2J:1"))),
                          ("/cachew.v1.Jobs/Attach", client_hello(b"\xff"))):
        channel = grpc.insecure_channel(address)
        stream = Stream(channel, method)
        stream.say(hello)
        try:
            while True:
                stream.hear()
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
            assert "UTF-8" in error.details(), error
        info(channel)
        channel.close()


def refused(address, method, hello, says):
    limit = [("grpc.max_send_message_length", -1)]
    channel = grpc.insecure_channel(address, options=limit)
    stream = Stream(channel, method)
    stream.say(hello)
    try:
        while True:
            stream.hear()
    except grpc.RpcError as error:
        assert says in error.details(), error
    info(channel)
    channel.close()


def pipelines(address, _n):
    def named(name, text):
        options = part(7, part(1, "path") + part(2, part(5, text)))
        node = part(2, part(3, "read_file") + part(8, options))
        return part(2, num(1, 2) + part(2, "attack") + fixed(3, 77) + part(5, part(2, part(1, name) + node) + num(4, 1)))

    refused(address, "/cachew.v1.Jobs/Attach", named("x" * 1025, "y"), "name has 1025 bytes")
    refused(address, "/cachew.v1.Jobs/Attach", named("x", "y" * (33 << 20)), "the limit is 33554432")
    refused(address, "/cachew.v1.Jobs/Attach", named("x" * (50 << 20), "y"), "the limit is 33554432")


# ---- a worker ----


def worker_hello(who, n=0):
    unknown = b"".join(part(10, part(2, "j%015x" % i)) for i in range(n))
    return part(2, num(1, 2) + part(2, "attack") + fixed(3, who) + part(4, "127.0.0.1:1") + num(6, 1) + unknown)


def held(address, n):
    refused(address, "/cachew.v1.Fleet/Attach", worker_hello(5, n), "more than")


def manifest(address, n):
    text = b"[" + b"0," * (n << 19) + b"0]"
    packed = subprocess.run(["zstd", "-q", "-c", f"--stream-size={len(text)}"], input=text, stdout=subprocess.PIPE, check=True).stdout
    channel = grpc.insecure_channel(address)
    stream = Stream(channel, "/cachew.v1.Fleet/Attach")
    stream.say(worker_hello(5))
    job = b""
    while not job: # a Prepare, behind the generation; the welcome comes first
        body = fields(fields(stream.hear()).get(3, b""))
        job = body.get(1, b"")
    out = part(6, part(1, part(1, "x")))
    facts = num(2, 1000) + num(3, 2000) + num(4, 2) + out + num(13, 16)
    stream.say(part(4, part(1, job) + part(4, facts) + part(5, packed)))
    print("prepared", len(packed), flush=True)
    sys.stdin.read()
    channel.close()


# ---- HTTP/2 by hand ----

DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, UPDATE = 0, 1, 3, 4, 6, 7, 8


def frame(kind, flags, stream, data=b""):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


def headers(path):
    pairs = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"), ("content-type", "application/grpc"), ("te", "trailers"))
    return b"".join(b"\0" + bytes([len(k)]) + k.encode() + bytes([len(v)]) + v.encode() for k, v in pairs)


class Calls:
    """Calls on one connection, of each of which as much is sent as the server takes. It ends when the server has ended all of them."""

    def __init__(self, address, path, n, size, announced):
        host, port = address.rsplit(":", 1)
        own = os.environ.get("ATTACK_FROM")  # an address of this host, so that the attacker is another peer than the others
        self.socket = socket.create_connection((host, int(port)), source_address=(own, 0) if own else None)
        self.left = {2 * i + 1: size for i in range(n)}
        self.window, self.windows, self.initial, self.buffer = 65535, {}, 65535, b""
        out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
        self.head = b"" if announced is None else b"\0" + struct.pack(">I", announced)
        for stream in self.left:
            out += frame(HEADERS, 4, stream, headers(path))
            self.windows[stream] = self.initial
        self.socket.sendall(out)

    def send(self):
        for stream, left in self.left.items():
            n = min(left, self.window, self.windows[stream], 16384)
            while n > 0:
                data = self.head if left == self.size and self.head else b""
                data += bytes(n - len(data))
                self.socket.sendall(frame(DATA, 0, stream, data))
                left -= n
                self.window -= n
                self.windows[stream] -= n
                n = min(left, self.window, self.windows[stream], 16384)
            self.left[stream] = left

    def ended(self, stream):
        self.left.pop(stream, None)
        self.windows.pop(stream, None)

    def take(self, kind, flags, stream, data):
        if kind == SETTINGS and not flags & 1:
            for i in range(0, len(data), 6):
                key, value = struct.unpack(">HI", data[i:i + 6])
                if key == 4:
                    for one in self.windows:
                        self.windows[one] += value - self.initial
                    self.initial = value
            self.socket.sendall(frame(SETTINGS, 1, 0))
        elif kind == PING and not flags & 1:
            self.socket.sendall(frame(PING, 1, 0, data))
        elif kind == UPDATE:
            n = struct.unpack(">I", data)[0]
            if stream == 0:
                self.window += n
            elif stream in self.windows:
                self.windows[stream] += n
        elif kind == RST or kind == HEADERS and flags & 1:
            self.ended(stream)
        elif kind == GOAWAY:
            self.left.clear()

    def run(self, size):
        self.size = size
        while self.left:
            self.send()
            data = self.socket.recv(1 << 16)
            if not data:
                return
            self.buffer += data
            while len(self.buffer) >= 9:
                n = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) < 9 + n:
                    break
                kind, flags = self.buffer[3], self.buffer[4]
                stream = int.from_bytes(self.buffer[5:9], "big") & 0x7fffffff
                body, self.buffer = self.buffer[9:9 + n], self.buffer[9 + n:]
                self.take(kind, flags, stream, body)


class Unread(Calls):
    """A call that says this, and makes no room for what it is told."""

    def __init__(self, address, path, data):
        self.data = b"\0" + struct.pack(">I", len(data)) + data
        super().__init__(address, path, 1, len(self.data), None)

    def send(self):
        for stream, left in self.left.items():
            n = min(left, self.window, self.windows[stream], 16384)
            while n > 0:
                at = len(self.data) - left
                self.socket.sendall(frame(DATA, 0, stream, self.data[at:at + n]))
                left -= n
                self.window -= n
                self.windows[stream] -= n
                n = min(left, self.window, self.windows[stream], 16384)
            self.left[stream] = left


def unread(address, n):
    call = Unread(address, "/cachew.v1.Fleet/Attach", worker_hello(77, n))
    print("connected", flush=True)
    call.run(len(call.data))


def silent(address, n, method="/cachew.v1.Jobs/Attach"):
    Calls(address, method, n, 0, None).run(0)


def halves(address, n):
    size = (2 << 20) - 4096
    Calls(address, "/cachew.v1.Admin/GetJob", n, size, 2 << 20).run(size)


# ---- connections ----


def connections(address, n):
    host, port = address.rsplit(":", 1)
    kept = []
    for _ in range(n):
        try:
            kept.append(socket.create_connection((host, int(port))))
        except OSError:
            pass
    print("connected", flush=True)
    sys.stdin.read()


def slow_http(address, n):
    host, port = address.rsplit(":", 1)
    kept = []
    for i in range(n):
        one = socket.create_connection((host, int(port)), source_address=(f"127.0.{i % 8}.{i % 200 + 2}", 0))
        one.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        kept.append(one)
    print("connected", flush=True)
    for one in kept:
        try:
            while one.recv(4096):
                pass
        except OSError:
            pass


# ---- a dispatcher ----


class Dispatcher(grpc.GenericRpcHandler):
    def __init__(self, n):
        self.n = n

    def service(self, details):
        if details.method == "/cachew.v1.Fleet/Attach":
            return grpc.stream_stream_rpc_method_handler(self.serve, request_deserializer=raw, response_serializer=raw)
        return None

    def serve(self, requests, _context):
        next(requests)
        head = num(1, 1)
        yield head + part(2, num(1, 3000) + num(2, 600000))
        job = part(1, "j") + part(2, graph(1 << 40, 1)) + num(6, 1)
        yield head + part(4, job)
        apart = [(4 * i, 4 * i + 1) for i in range(self.n)]
        lease = part(1, num(1, 1) + num(2, 1)) + part(2, "j") + intervals(4, apart)
        yield head + part(5, lease)
        for k in range(1000):
            middle = (k * 7919 % self.n) * 4
            yield head + part(6, part(1, "j") + intervals(3, [(middle, middle + 1)]))
        yield head + part(6, part(1, "j") + intervals(3, apart))
        print("done", flush=True)
        for _ in requests:
            pass


class Listing(Dispatcher):
    """Of a trainer."""

    def service(self, details):
        if details.method == "/cachew.v1.Admin/Info":
            reply = part(1, "attack") + num(2, 2) + num(3, 1)
            return grpc.unary_unary_rpc_method_handler(lambda _request, _context: reply, request_deserializer=raw, response_serializer=raw)
        if details.method == "/cachew.v1.Jobs/Attach":
            return grpc.stream_stream_rpc_method_handler(self.serve, request_deserializer=raw, response_serializer=raw)
        return None

    def serve(self, requests, _context):
        next(requests)
        rows = b"".join(part(1, fixed(1, i + 1) + part(2, "127.0.0.1:%d" % (i % 60000 + 1))) for i in range(self.n))
        out = part(6, part(1, part(1, "x")))
        facts = num(2, 1000) + num(3, 2000) + num(4, 2) + out + num(13, 16)
        yield num(1, 1) + part(2, part(1, "j") + num(3, 1) + part(4, facts) + num(10, 1 << 20) + part(11, b"") + num(12, 100))
        yield num(1, 1) + part(3, rows)
        unreachable = set()
        for request in requests:
            lost = fields(request).get(3 + 1)
            if lost and fields(lost).get(1):
                unreachable.add(fields(lost)[1])
            if len(unreachable) == self.n:
                print("done", flush=True)
                unreachable = set()


class Leaving(Listing):
    """Of trainers, to each the same."""

    def serve(self, requests, _context):
        next(requests)
        stop = 10 * self.n
        facts = num(2, stop) + num(3, 2 * stop) + num(4, 2) + part(6, part(1, part(1, "x"))) + num(13, 16)
        consumed = part(8, intervals(2, [(4 * i, 4 * i + 1) for i in range(self.n)]))
        yield num(1, 1) + part(2, part(1, "j") + part(4, facts) + consumed + num(10, 1 << 20) + part(11, b"") + num(12, 100))
        yield num(1, 1) + part(6, part(1, intervals(2, [(4 * i + 2, 4 * i + 3) for i in range(self.n // 2)])))
        for at in range(1, 10**6, 50000):
            yield num(1, 1) + part(6, b"".join(part(1, num(1, epoch) + intervals(2, [(0, 1)])) for epoch in range(at, at + 50000)))
        # It says that it cannot reach this worker when it has read all that came before.
        yield num(1, 1) + part(3, part(1, fixed(1, 1) + part(2, "127.0.0.1:1")))
        said = False
        for request in requests:
            if 4 in fields(request) and not said:
                said = True
                print("done", flush=True)


class Telling(Dispatcher):
    """Of workers, to one after the other: too many keys, and a job of too many consumers."""
    turn = 0

    def serve(self, requests, _context):
        next(requests)
        Telling.turn += 1
        head = num(1, 1)
        yield head + part(2, num(1, 3000) + num(2, 600000))
        if Telling.turn == 1:
            for i in range(self.n):
                yield head + part(10, part(1, struct.pack("<QQ", i, 0)) + part(2, "default") + num(3, 1))
        else:
            yield head + part(4, part(1, "j") + part(2, graph(1 << 40, 1)) + num(6, self.n))
        for _ in requests:
            pass
        print("done", flush=True)


def listed(address, n):
    serve(address, Listing(n))


def leaving(address, n):
    serve(address, Leaving(n))


def told(address, n):
    serve(address, Telling(n))


def dispatcher(address, n):
    serve(address, Dispatcher(n))


def serve(address, handler):
    from concurrent import futures
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[handler], options=[("grpc.max_receive_message_length", -1)])
    port = server.add_insecure_port(address)
    server.start()
    print("ready %s:%d" % (address.rsplit(":", 1)[0], port), flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    what = sys.argv[1]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    if what == "silent_worker":
        silent(sys.argv[2], count, "/cachew.v1.Data/Fetch")
    else:
        globals()[what](sys.argv[2], count)
