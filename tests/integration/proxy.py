#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A bad network between two processes: a proxy that cuts connections in the middle of messages, refuses some, holds bytes back, and alters some.

Prints `ready HOST:PORT`. The target is HOST:PORT or unix:PATH. All is drawn from --seed, connection by connection.

With --log it knows where messages of HTTP end: it may send the last bytes of an answer a second time, and for a while answer 503 itself, in
every second such while with Retry-After. What it did is written there, a line each.
"""
import argparse
import asyncio
import random


async def connect(target):
    if target.startswith("unix:"):
        return await asyncio.open_unix_connection(target[5:])
    return await asyncio.open_connection(*target.rsplit(":", 1))


def fields(head):
    """The fields of a message's head, by their names in lower case."""
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in lines}


class Proxy:
    def __init__(self, options):
        self.options, self.rng, self.requests = options, random.Random(options.seed), 0

    async def carry(self, data, writer, fate):
        rng, options = fate["rng"], self.options
        if options.delay_ms and rng.random() < 0.1:
            await asyncio.sleep(rng.uniform(0, options.delay_ms) / 1000)
        if len(data) >= fate["left"]:
            writer.write(data[:fate["left"]])
            raise ConnectionAbortedError
        fate["left"] -= len(data)
        if options.alter and rng.random() < options.alter:
            data = bytearray(data)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        writer.write(data)
        await writer.drain()

    async def pump(self, reader, writer, fate):
        while data := await reader.read(fate["rng"].choice([100, 4096, 65536])):
            await self.carry(data, writer, fate)

    # ---- HTTP, message by message ----
    def log(self, line):
        with open(self.options.log, "a") as log:
            log.write(line + "\n")

    async def body(self, head, reader, writer, fate):
        """Carries the body that a head tells of. Returns its last bytes."""
        left, last = int(fields(head).get("content-length", 0)), b""
        while left > 0:
            data = await reader.read(min(left, fate["rng"].choice([100, 4096, 65536])))
            if not data:
                raise ConnectionAbortedError
            await self.carry(data, writer, fate)
            left, last = left - len(data), data[-200:]
        return last

    def refusal(self):
        """What is answered to the next request; None: what the server says."""
        every, n = self.options.unavailable
        self.requests += 1
        if not every or self.requests % every >= n:
            return None
        again = self.requests // every % 2
        self.log("503, again in 1 s" if again else "503")
        return b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n%s\r\nwait" % (b"Retry-After: 1\r\n" if again else b"")

    async def answer(self, near, far, request, fate):
        """Carries a request and its answer. Returns whether the connection may be used again."""
        await self.carry(request, far[1], fate)
        await self.body(request, near[0], far[1], fate)
        head = await far[0].readuntil(b"\r\n\r\n")
        await self.carry(head, near[1], fate)
        if "transfer-encoding" in fields(head) or (b" 200 " in head[:16] and "content-length" not in fields(head)):
            await self.pump(far[0], near[1], fate)
            return False
        last = b"" if request.startswith(b"HEAD ") else await self.body(head, far[0], near[1], fate)
        if last and fate["rng"].random() < self.options.repeat:
            self.log("repeated")
            await self.carry(last, near[1], fate)
        return True

    async def exchange(self, near, far, fate):
        goes_on = True
        while goes_on:
            request = await near[0].readuntil(b"\r\n\r\n")
            refusal = self.refusal()
            if not refusal:
                goes_on = await self.answer(near, far, request, fate)
                continue
            await near[0].readexactly(int(fields(request).get("content-length", 0)))
            await self.carry(refusal, near[1], fate)

    # ---- connections ----

    async def serve(self, reader, writer):
        rng = random.Random(self.rng.random())
        near, far = writer.transport, None
        try:
            if rng.random() < self.options.refuse:
                return
            there_reader, there = await connect(self.options.target)
            far = there.transport
            mean = self.options.cut_bytes
            fate = {"rng": rng, "left": int(rng.expovariate(1 / mean)) + 1 if mean else 1 << 62}
            if self.options.log:
                await self.exchange((reader, writer), (there_reader, there), fate)
                return
            pumps = [asyncio.create_task(self.pump(reader, there, fate)), asyncio.create_task(self.pump(there_reader, writer, fate))]
            done, rest = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in rest:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            near.abort()
            if far:
                far.abort()

    async def run(self):
        host, port = self.options.listen.rsplit(":", 1)
        server = await asyncio.start_server(self.serve, host, int(port))
        print("ready %s:%d" % server.sockets[0].getsockname()[:2], flush=True)
        async with server:
            await server.serve_forever()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cut-bytes", type=float, default=0, help="a connection is cut after so many bytes, in the mean (default: never)")
    parser.add_argument("--delay-ms", type=float, default=0, help="one piece in ten is held back up to so long")
    parser.add_argument("--refuse", type=float, default=0, help="share of connections that are closed at once")
    parser.add_argument("--alter", type=float, default=0, help="share of pieces of which one bit is another")
    parser.add_argument("--log", help="a file; messages are those of HTTP")
    parser.add_argument("--repeat", type=float, default=0, help="share of answers whose last bytes come twice")
    parser.add_argument("--unavailable", type=int, nargs=2, default=(0, 0), metavar=("EVERY", "N"), help="N of so many requests are answered by 503")
    asyncio.run(Proxy(parser.parse_args()).run())


main()
