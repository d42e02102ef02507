#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators on waveforms, by torchaudio (and NumPy where it has no such function): writes <operator>.json and
data/audio_* beside itself.

Run by hand, with Debian's python3-torch and python3-numpy and with torchaudio and soundfile of PyPI in PYTHONPATH (of torchaudio only
Python code is used: any 2.0 will do); the results are in the tree. Ogg files come out with other serial numbers each time, so their old
files in data are to be removed then.
"""
import io
import struct
import sys
import zlib

import numpy
import soundfile
import torch
import torchaudio

from make_golden_image import Stream, put, write
from make_golden_image import tensor as tensor_as

FUNCTIONAL = torchaudio.functional


def tensor(array):
    """In a file unless it is small; equal ones are one file."""
    array = numpy.ascontiguousarray(array)
    return tensor_as(array, "audio_%08x.bin" % zlib.crc32(array.tobytes()) if array.size > 24 else None)


def noise(frames, channels=None, seed=1):
    """A tone that rises, and noise."""
    random = numpy.random.RandomState(seed)
    t = numpy.arange(frames)[:, None]
    v = 0.5 * numpy.sin(0.05 * t + 0.0006 * t * t + numpy.arange(channels or 1)) + 0.1 * random.randn(frames, channels or 1)
    v = v.astype(numpy.float32)
    return v if channels else v[:, 0]


def planes(x):
    """[frames, channels] as torchaudio has it."""
    return torch.from_numpy(numpy.ascontiguousarray(x.T))


def case(name, options, x, y, tolerance, key="x", **keys):
    y = numpy.ascontiguousarray(numpy.asarray(y))
    stored = x if isinstance(x, dict) else tensor(x)
    expect = {"spec": "%s: f32[%s]" % (key, ",".join(str(d) for d in y.shape)), "elements": [{key: tensor(y)}]}
    if tolerance:
        expect["tolerance"] = float("%.2g" % tolerance)
    return dict({"name": name, "options": options, "input": [{key: stored}]}, **keys, expect=expect)


def refusal(name, options, x, message, **keys):
    return dict({"name": name, "options": options, "input": [{"x": tensor(x)}]}, **keys, expect={"error": message})


def ragged(shape):
    return {"input_spec": {"x": {"dtype": "f32", "shape": shape}}}


KEYS = {"seed": 3, "epoch": 1, "tag": 7}


def stream(element):
    return Stream(3, 7, 1, 0, element)


def drawn(name, options, x, results, tolerance=0, spec=None, **keys):
    """Elements that differ by what is drawn only."""
    shape = ",".join(str(d) for d in results[0].shape)
    expect = {"spec": "x: f32[%s]" % (spec or shape), "elements": [{"x": tensor(r)} for r in results]}
    if tolerance:
        expect["tolerance"] = float("%.2g" % tolerance)
    return dict({"name": name, "options": options, "input": [{"x": tensor(x)}] * len(results)}, **KEYS, **keys, expect=expect)


# ---- resample ----

def resample(x, from_rate, to, lowpass_filter_width=6, rolloff=0.99, window="hann", beta=14.769656459379492):
    """In double precision: torchaudio computes filters in that of the waveform."""
    y = FUNCTIONAL.resample(planes(x).double(), from_rate, to, lowpass_filter_width, rolloff, "sinc_interp_" + window,
                            beta if window == "kaiser" else None)
    return y.numpy().T.astype(numpy.float32)


def resample_case(name, x, from_rate, to, **options):
    return case(name, dict(options, **{"from": from_rate, "to": to}), x, resample(x, from_rate, to, **options), 1e-6, key="audio")


def rate(value, dtype="i32"):
    return {"dtype": dtype, "data": [value]}


def resample_cases():
    x = noise(500)
    for pair in (2, 1), (1, 2), (3, 2), (44100, 16000), (22050, 8000), (8000, 48000), (16000, 11025), (5, 5), (48000, 7999):
        yield resample_case("%d to %d" % pair, x if pair[1] < 9000 else x[:200], *pair)
    yield resample_case("two channels", noise(300, 2), 3, 2)
    yield resample_case("wide filter", x, 4, 3, lowpass_filter_width=32, rolloff=0.9)
    yield resample_case("narrow filter", x, 4, 3, lowpass_filter_width=1)
    yield resample_case("kaiser", x, 22050, 16000, window="kaiser")
    yield resample_case("kaiser, another beta", x[:100], 1, 3, window="kaiser", beta=6.0)
    yield resample_case("one sample", x[:1], 2, 3)
    none = tensor(numpy.zeros(0, numpy.float32))
    yield {"name": "no sample", "options": {"from": 2, "to": 3}, "input": [{"audio": none}],
           "expect": {"spec": "audio: f32[0]", "elements": [{"audio": none}]}}
    rates = 8000, 16000, 24000, 16000, 12000, 10000, 48000, 8000
    yield {"name": "rates of elements", "options": {"to": 16000},
           "input": [{"audio": tensor(x[:100]), "sample_rate": rate(r)} for r in rates],
           "expect": {"spec": "audio: f32[?], sample_rate: i32", "tolerance": 1e-6,
                      "elements": [{"audio": tensor(resample(x[:100], r, 16000)), "sample_rate": rate(16000)} for r in rates]}}
    for bad in 0, -5, 2000000000:
        yield {"name": "refuses a rate of %d" % bad, "options": {"to": 16000},
               "input": [{"audio": tensor(x[:30]), "sample_rate": rate(bad)}],
               "expect": {"error": "field sample_rate: %d samples a second" % bad}}
    sound = {"audio": tensor(x[:30])}
    yield {"name": "refuses no rate", "options": {"to": 5}, "input": [sound], "expect": {"error": "no integer field \"sample_rate\""}}
    yield {"name": "refuses a rate that is a float", "options": {"to": 5, "rate_field": "r"}, "input": [dict(sound, r=rate(5.5, "f32"))],
           "expect": {"error": "no integer field \"r\""}}
    yield {"name": "refuses no such field", "options": {"from": 2, "to": 5, "field": "y"}, "input": [sound], "expect": {"error": "no field \"y\""}}
    yield {"name": "refuses too many filters", "options": {"from": 9999991, "to": 9999973}, "input": [sound], "expect": {"error": "too many"}}
    yield {"name": "refuses rank 3", "options": {"from": 2, "to": 3}, "input": [{"audio": tensor(numpy.zeros((2, 2, 2), numpy.float32))}],
           "expect": {"error": "not a waveform"}}
    yield {"name": "refuses 300 channels", "options": {"from": 2, "to": 3}, "input": [{"audio": tensor(numpy.zeros((2, 300), numpy.float32))}],
           "expect": {"error": "300 channels"}}


# ---- decode_audio ----

def encoded(x, rate, kind, subtype=None, **options):
    out = io.BytesIO()
    soundfile.write(out, x, rate, format=kind, subtype=subtype, **options)
    return out.getvalue()


def bytes_of(data):
    return {"dtype": "str", "file": put("audio_%08x.file" % zlib.crc32(data), data)}


def decoded(data, offset=0, frames=0):
    """A stretch of the whole, not what the library makes of a stretch."""
    whole = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)[0]
    return whole[offset:offset + frames if frames else None]


def decode_case(name, data, options=None, tolerance=0, rate=None):
    options = options or {}
    y = decoded(data, options.get("offset", 0), options.get("frames", 0))
    channels = options.get("channels") or "?"
    spec = "audio: f32[?,%s]" % channels
    element = {"audio": tensor(y)}
    if rate:
        spec += ", rate: i32"
        element["rate"] = {"dtype": "i32", "data": [rate]}
        options = dict(options, rate_field="rate")
    expect = {"spec": spec, "elements": [element]}
    if tolerance:
        expect["tolerance"] = tolerance
    return {"name": name, "options": options, "input": [{"bytes": bytes_of(data)}], "expect": expect}


def decode_refusal(name, data, message, options=None):
    stored = {"dtype": "str", "hex": data.hex()} if len(data) < 100 else bytes_of(data)
    return {"name": name, "options": options or {}, "input": [{"bytes": stored}], "expect": {"error": message}}


def wav(data, rate=8000, channels=1, bits=16, kind=1, length=None):
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", kind, channels, rate, (rate * block) & 0xFFFFFFFF, block & 0xFFFF, bits)
    length = len(data) if length is None else length
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", length) + data


def mp3(frames, rate, channels=1):
    return encoded(noise(frames, channels) * 0.7, rate, "MP3")


def decode_cases():
    two, one = noise(400, 2) * 0.6, noise(500) * 0.6
    for subtype in "PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "IMA_ADPCM":
        yield decode_case("wav, %s" % subtype, encoded(two, 22050, "WAV", subtype), rate=22050)
    for subtype in "PCM_16", "PCM_24":
        yield decode_case("flac, %s" % subtype, encoded(two, 44100, "FLAC", subtype), rate=44100)
    # lossy: libraries of other versions and for other CPUs round in another way
    yield decode_case("vorbis", encoded(one, 16000, "OGG", "VORBIS"), tolerance=2e-5, rate=16000)
    yield decode_case("vorbis, two channels", encoded(two, 44100, "OGG", "VORBIS"), tolerance=2e-5, rate=44100)
    yield decode_case("opus", encoded(one, 48000, "OGG", "OPUS"), tolerance=2e-4, rate=48000)
    yield decode_case("mp3", mp3(3000, 22050), tolerance=2e-6, rate=22050)
    yield decode_case("mp3, two channels", mp3(3000, 44100, 2), tolerance=2e-6, rate=44100)
    yield decode_case("mp3, 8 kHz", mp3(1500, 8000), tolerance=2e-6, rate=8000)
    for name, data, tolerance in (("wav", encoded(two, 8000, "WAV"), 0), ("flac", encoded(two, 8000, "FLAC"), 0),
                                  ("vorbis", encoded(noise(6000) * 0.5, 8000, "OGG", "VORBIS"), 2e-5), ("mp3", mp3(6000, 16000), 2e-6)):
        long = 100 if tolerance == 0 else 2500
        yield decode_case("a stretch of %s" % name, data, {"offset": long, "frames": 77}, tolerance)
        yield decode_case("the rest of %s" % name, data, {"offset": 2 * long}, tolerance)
    yield decode_case("more frames than there are", encoded(two, 8000, "WAV"), {"frames": 1000000})
    yield decode_case("no frames are left", encoded(two, 8000, "WAV"), {"offset": 400})
    yield decode_case("two channels are wanted", encoded(two, 8000, "WAV"), {"channels": 2, "sample_rate": 8000})
    yield decode_case("64 channels", wav(bytes(range(256)) * 2, channels=64))
    yield decode_case("no samples", wav(b""), rate=8000)
    yield decode_case("length not known", wav(b"\0\1" * 30, length=0xFFFFFFFF))
    yield decode_case("a chunk before the data", encoded(two, 8000, "WAV", "PCM_16")[:36] + b"junk\3\0\0\0abc\0" + encoded(two, 8000, "WAV", "PCM_16")[36:])
    data = encoded(two, 8000, "WAV")
    yield decode_refusal("refuses one channel", data, "the file has 2 channels, and option channels is 1", {"channels": 1})
    yield decode_refusal("refuses another rate", data, "8000 frames a second, and option sample_rate is 16000", {"sample_rate": 16000})
    yield decode_refusal("refuses an offset behind the end", data, "it has 400 frames, and option offset is 401", {"offset": 401})
    yield decode_refusal("refuses nothing", b"", "these 0 bytes are no WAV")
    yield decode_refusal("refuses text", b"hello, world, what is this", "these 26 bytes are no WAV")
    yield decode_refusal("refuses a wav that is cut", data[:-2], "the WAV file ends early: 1598 of 1600 bytes")
    yield decode_refusal("refuses a wav header alone", data[:30], "the WAV file has no data")
    yield decode_refusal("refuses a flac that is cut", encoded(two, 8000, "FLAC")[:-40], "")
    yield decode_refusal("refuses a flac header alone", encoded(two, 8000, "FLAC")[:60], "")
    yield decode_refusal("refuses a vorbis header alone", encoded(one, 8000, "OGG", "VORBIS")[:200], "libvorbisfile")
    yield decode_refusal("refuses an mp3 that is only a tag", b"ID3\3\0\0\0\0\0\5aaaaa", "libmpg123")
    yield decode_refusal("refuses an mp3 of noise", b"\xff\xfb\x90\0" + bytes(60), "libmpg123")
    yield decode_refusal("refuses NaN", wav(struct.pack("<fff", 0.5, float("nan"), 1), bits=32, kind=3), "frame 1 is no number")
    yield decode_refusal("refuses infinity", wav(struct.pack("<fff", 0.5, 1, float("-inf")), bits=32, kind=3), "frame 2 is no number")
    yield decode_refusal("refuses 0 Hz", wav(b"ab" * 20, rate=0), "")
    yield decode_refusal("refuses 0 channels", wav(b"ab" * 20, channels=0), "")
    yield decode_refusal("refuses 300 channels", wav(bytes(1200), channels=300), "channels")
    yield decode_refusal("refuses a rate field that is there", data, "bytes2", {"rate_field": "bytes2 "})
    yield {"name": "refuses a number", "options": {}, "input": [{"bytes": {"dtype": "i32", "data": [5]}}], "expect": {"error": "no str field"}}
    yield {"name": "refuses a name that is taken", "options": {"out": "a"}, "input": [{"a": {"dtype": "i32", "data": [5]}, "bytes": bytes_of(data)}],
           "expect": {"error": "field \"a\" is there twice"}}


# ---- to_mono, gain, fit_length ----

def to_mono_cases():
    for channels in 2, 3, 6:
        x = noise(50, channels)
        yield case("%d channels" % channels, {}, x, planes(x).mean(0).numpy(), 1e-7)
    x = noise(40)
    yield case("one channel", {}, noise(40, 1), noise(40, 1)[:, 0], 0)
    yield case("mono", {}, x, x, 0)
    yield case("no frames", {}, numpy.zeros((0, 2), numpy.float32), numpy.zeros(0, numpy.float32), 0)
    far = numpy.array([[1, 2], [numpy.inf, -numpy.inf], [numpy.nan, -numpy.nan], [numpy.inf, 1]] * 5, numpy.float32)
    yield case("NaN of infinities", {}, far, numpy.array([1.5, numpy.nan, numpy.nan, numpy.inf] * 5, numpy.float32), 0)
    yield refusal("refuses no channels", {}, numpy.zeros((5, 0), numpy.float32), "0 channels", **ragged([-1, -1]))
    yield refusal("refuses integers", {}, numpy.zeros(5, numpy.int32), "not a waveform", fields=["x"])


def vol(x, db):
    return FUNCTIONAL.gain(torch.from_numpy(x), db).numpy()


def gain_cases():
    x = noise(60, 2)
    for db in 6.0, -20.0, 0.5, 0.0:
        yield case("%g dB" % db, {"db": db}, x, vol(x, db), 1e-6)
    yield drawn("between two", {"db": [-12, 3]}, x, [vol(x, stream(e).uniform(1, -12, 3)) for e in range(5)], 1e-6)
    yield drawn("half of them", {"db": 10, "p": 0.5}, x, [vol(x, 10.0) if stream(e).unit(0) < 0.5 else x for e in range(6)], 1e-6)
    yield case("never", {"db": 10, "p": 0}, x, x, 0)
    yield refusal("refuses a range upside down", {"db": [3, -3]}, x, "option db: 3 is greater than -3")
    yield refusal("refuses integers", {"db": 3}, numpy.zeros(5, numpy.int32), "not f32", fields=["x"])


def fit(x, length, start=None, before=0, value=0.0, repeat=False):
    if len(x) >= length:
        return x[start:start + length]
    pad = [(before, length - len(x) - before)] + [(0, 0)] * (x.ndim - 1)
    return numpy.pad(x, pad, "wrap") if repeat else numpy.pad(x, pad, constant_values=value)


def fit_length_cases():
    x, y = noise(31), noise(30, 2)
    yield case("the middle", {"length": 10}, x, fit(x, 10, 10), 0)
    yield case("the middle of channels", {"length": 8}, y, fit(y, 8, 11), 0)
    yield case("the start", {"length": 10, "crop": "start"}, y, fit(y, 10, 0), 0)
    yield drawn("a random stretch", {"length": 7, "crop": "random"}, y, [fit(y, 7, stream(e).below(0, 24)) for e in range(8)])
    yield case("as long as it is", {"length": 30, "crop": "random"}, y, y, 0)
    for channels, v in (1, x), (2, y):
        for pad, part in ("end", 0), ("center", 0.5), ("start", 1):
            before = int((81 - len(v)) * part)
            options = {"length": 81, "pad": pad}
            yield case("%d channels, zeros, %s" % (channels, pad), options, v, fit(v, 81, before=before), 0)
            yield case("%d channels, repeated, %s" % (channels, pad), dict(options, fill="repeat"), v, fit(v, 81, before=before, repeat=True), 0)
    yield case("a value", {"length": 33, "value": -0.25}, x, fit(x, 33, value=-0.25), 0)
    yield case("length comes late", {"length": 33}, x, fit(x, 33), 0, **ragged([-1]))
    yield refusal("refuses no frames", {"length": 5}, numpy.zeros(0, numpy.float32), "a waveform of 0 frames")
    yield refusal("refuses length 0", {"length": 0}, x, "length")


# ---- preemphasis, speed, add_noise ----

def preemphasis_cases():
    for x, name in (noise(60), "mono"), (noise(40, 3), "channels"):
        for coeff in 0.97, 0.5, -0.3:
            y = FUNCTIONAL.preemphasis(planes(x), coeff).numpy().T
            yield case("%s, %g" % (name, coeff), {"coeff": coeff}, x, y, 1e-7)
    yield case("no frames", {}, noise(9)[:0], noise(9)[:0], 0)
    yield refusal("refuses rank 3", {}, numpy.zeros((2, 2, 2), numpy.float32), "not a waveform", fields=["x"])
    yield refusal("refuses 2", {"coeff": 2}, noise(9), "coeff")


def faster(x, factor, rate=16000):
    return FUNCTIONAL.speed(planes(x).double(), rate, factor)[0].numpy().T.astype(numpy.float32)


def speed_cases():
    x, two = noise(300), noise(200, 2)
    for factor in 0.9, 1.1, 1.0, 2.0, 0.5:
        late = case("%g" % factor, {"factors": factor}, x, faster(x, factor), 1e-6)
        late["expect"]["spec"] = "x: f32[?]"
        yield late
    factors = [0.9, 1.0, 1.1]
    results = [faster(two, factors[stream(e).below(1, 3)], 8000) for e in range(8)]
    yield drawn("one of three", {"factors": factors, "sample_rate": 8000}, two, results, 1e-6, "?,2")
    results = [faster(x, 1.1) if stream(e).unit(0) < 0.5 else x for e in range(6)]
    yield drawn("half of them", {"factors": 1.1, "p": 0.5}, x, results, 1e-6, "?")
    yield refusal("refuses too many filters", {"factors": 0.999983, "sample_rate": 1000000}, x, "option factors: 0.999983")
    yield refusal("refuses a factor of 0", {"factors": [1, 0]}, x, "factors")
    yield refusal("refuses integers", {"factors": 1.1}, numpy.zeros(5, numpy.int32), "not a waveform", fields=["x"])


def white(draws, shape):
    n = int(numpy.prod(shape))
    v = []
    for i in range(0, n, 2):
        size, angle = numpy.sqrt(-2 * numpy.log(1 - draws.unit(2 + i))), 2 * numpy.pi * draws.unit(3 + i)
        v += [size * numpy.cos(angle), size * numpy.sin(angle)]
    return numpy.array(v[:n]).reshape(shape)


def noisy(x, extra, snr):
    a, b = planes(x).double(), torch.from_numpy(numpy.ascontiguousarray(extra.T)).double()
    return FUNCTIONAL.add_noise(a, b, torch.full(a.shape[:-1], float(snr), dtype=torch.float64)).numpy().T.astype(numpy.float32)


def noise_case(name, options, x, results, extra=None):
    one = {"audio": tensor(x)} if extra is None else {"audio": tensor(x), "n": tensor(extra)}
    options = options if extra is None else dict(options, noise="n")
    spec = ", ".join("%s: f32[%s]" % (key, ",".join(str(d) for d in v["shape"])) for key, v in one.items())
    return dict({"name": name, "options": options, "input": [one] * len(results)}, **KEYS,
                expect={"spec": spec, "tolerance": 1e-6, "elements": [dict(one, audio=tensor(r)) for r in results]})


def add_noise_cases():
    x, two, extra = noise(50), noise(40, 2), noise(50, seed=9)
    yield noise_case("a field", {"snr": 10}, x, [noisy(x, extra, 10)], extra)
    yield noise_case("louder than the signal", {"snr": -6.5}, two, [noisy(two, noise(40, 2, 8), -6.5)], noise(40, 2, 8))
    yield noise_case("a shorter field", {"snr": 3}, x, [noisy(x, numpy.resize(extra[:13], 50), 3)], extra[:13])
    yield noise_case("a longer field", {"snr": 3}, x[:20], [noisy(x[:20], extra[:20], 3)], extra)
    yield noise_case("between two", {"snr": [0, 20]}, x, [noisy(x, extra, stream(e).uniform(1, 0, 20)) for e in range(4)], extra)
    yield noise_case("white", {"snr": 10}, x[:31], [noisy(x[:31], white(stream(e), 31), 10) for e in range(3)])
    yield noise_case("white, channels", {"snr": [5, 15]}, two, [noisy(two, white(stream(e), two.shape), stream(e).uniform(1, 5, 15)) for e in range(3)])
    yield noise_case("half of them", {"snr": 10, "p": 0.5}, x, [noisy(x, white(stream(e), 50), 10) if stream(e).unit(0) < 0.5 else x for e in range(5)])
    yield noise_case("silence is added", {"snr": 10}, x, [x], x * 0)
    yield noise_case("to silence", {"snr": 10}, x * 0, [x * 0], x)
    yield noise_case("no frames", {"snr": 10}, x[:0], [x[:0]])
    sound = {"audio": tensor(x[:9])}
    for name, options, element, message in (
            ("refuses no such field", {"snr": 1, "noise": "n"}, sound, "option noise: there is no field \"n\""),
            ("refuses no waveform", {"snr": 1, "field": "a"}, sound, "option field: there is no field \"a\""),
            ("refuses noise of other channels", {"snr": 1, "noise": "n"}, dict(sound, n=tensor(two)), "40 frames and 2 channels for a waveform of 1"),
            ("refuses noise without frames", {"snr": 1, "noise": "n"}, dict(sound, n=tensor(x[:0])), "noise of 0 frames"),
            ("refuses text as noise", {"snr": 1, "noise": "n"}, dict(sound, n={"dtype": "str", "text": "a"}), "not a waveform"),
            ("refuses a range upside down", {"snr": [2, 1]}, sound, "option snr: 2 is greater than 1")):
        yield {"name": name, "options": options, "input": [element], "expect": {"error": message}}


CASES = {"resample": resample_cases, "decode_audio": decode_cases, "to_mono": to_mono_cases, "gain": gain_cases, "fit_length": fit_length_cases,
         "preemphasis": preemphasis_cases, "speed": speed_cases, "add_noise": add_noise_cases}


def main(cases):
    for op in sys.argv[1:] or cases:
        write(op, list(cases[op]()))


if __name__ == "__main__":
    main(CASES)
