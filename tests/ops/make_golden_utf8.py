#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes check_utf8.json beside itself: what Python's own decoder makes of bytes."""
import json
import pathlib
import random
import struct

RNG = random.Random(5)
SOUND = ["", "plain ascii text, longer than a word", "é", "aé", "中文字符", "😀", "x" * 7 + "é" + "y" * 9, "\0\x7f\u0080\u07ff\u0800\ue000\uffff\U00010000\U0010ffff"]
BAD = [b"\x80", b"a\xff", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98",
       b"\xf0\x9f\x98x", b"\xe4\xb8\xe4\xb8\xad", b"12345678\xe4\xb8", b"\xc3\xc3\xa9", b"abcdefgh12345678\x9f"]
BAD += [bytes(RNG.choice([RNG.randrange(256), 0xe4, 0xb8, 0xad, 0xf0, 0x9f, 0x41]) for _ in range(RNG.randrange(1, 30))) for _ in range(200)]


def text(raw):
    return {"dtype": "str", "hex": raw.hex()}


def texts(items):
    ends = [0]
    for item in items:
        ends.append(ends[-1] + len(item))
    return {"dtype": "str", "shape": [len(items)], "hex": (struct.pack("<%dq" % len(ends), *ends) + b"".join(items)).hex()}


def first_bad(raw):
    try:
        raw.decode()
        return None
    except UnicodeDecodeError as error:
        return error.start


def replaced(raw):
    return raw.decode(errors="replace").encode()


def main():
    sound = [s.encode() for s in SOUND]
    cases = [{"name": "sound texts", "options": {}, "input": [{"t": text(r)} for r in sound], "expect": {"spec": "t: str", "elements": [{"t": text(r)} for r in sound]}},
             {"name": "a sound list", "options": {}, "input": [{"t": texts(sound)}], "expect": {"elements": [{"t": texts(sound)}]}},
             {"name": "replaced", "options": {"invalid": "replace"}, "input": [{"t": text(r)} for r in BAD + sound],
              "expect": {"elements": [{"t": text(replaced(r))} for r in BAD + sound]}},
             {"name": "a list, replaced", "options": {"invalid": "replace"}, "input": [{"t": texts(sound + BAD)}], "expect": {"elements": [{"t": texts([replaced(r) for r in sound + BAD])}]}},
             {"name": "in a list", "options": {}, "input": [{"t": texts([b"a", b"", b"x\xffy"])}], "expect": {"error": "string 2: byte 1 of the text, 0xff, is no UTF-8"}}]
    for i, raw in enumerate(BAD[:60]):
        at = first_bad(raw)
        if at is not None:
            cases.append({"name": "bad bytes %d" % i, "options": {}, "input": [{"t": text(raw)}], "expect": {"error": "byte %d of the text, 0x%02x, is no UTF-8" % (at, raw[at])}})
    lines = ",\n".join("   " + json.dumps(c) for c in cases)
    path = pathlib.Path(__file__).resolve().parent / "check_utf8.json"
    path.write_text('{"op": "check_utf8",\n "cases": [\n%s]}\n' % lines)


if __name__ == "__main__":
    main()
