#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A bad network between two processes: a proxy that cuts connections in the middle of messages, refuses some, holds bytes back, and alters some.

Prints `ready HOST:PORT`. The target is HOST:PORT or unix:PATH. All is drawn from --seed, connection by connection.
"""
import argparse
import asyncio
import random


async def connect(target):
    if target.startswith("unix:"):
        return await asyncio.open_unix_connection(target[5:])
    return await asyncio.open_connection(*target.rsplit(":", 1))


class Proxy:
    def __init__(self, options):
        self.options, self.rng = options, random.Random(options.seed)

    async def pump(self, reader, writer, fate):
        rng, options = fate["rng"], self.options
        while True:
            data = await reader.read(rng.choice([100, 4096, 65536]))
            if not data:
                return
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
            pumps = [asyncio.create_task(self.pump(reader, there, fate)), asyncio.create_task(self.pump(there_reader, writer, fate))]
            done, rest = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in rest:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        except OSError:
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
    asyncio.run(Proxy(parser.parse_args()).run())


main()
