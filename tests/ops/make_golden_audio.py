#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators on audio, by torchaudio (and NumPy where it has no such function): writes <operator>.json and
data/audio_* beside itself.

Run by hand, with Debian's python3-torch and python3-numpy and with torchaudio and soundfile of PyPI in PYTHONPATH (of torchaudio only
Python code is used: any 2.0 will do); the results are in the tree.
"""
import sys
import zlib

import numpy
import torch
import torchaudio

from make_golden_image import Stream, write
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


# ---- spectrogram ----

WINDOWS = {"hann": torch.hann_window, "hamming": torch.hamming_window, "rectangular": lambda n: torch.ones(n)}


def spectrogram(x, n_fft=400, win_length=0, hop=0, pad=0, window="hann", power=2, normalized="none", center=True, pad_mode="reflect"):
    win = win_length or n_fft
    y = FUNCTIONAL.spectrogram(planes(x), pad, WINDOWS[window](win), n_fft, hop or win // 2, win, float(power) or None,
                               False if normalized == "none" else normalized, center, pad_mode)
    return (torch.view_as_real(y) if power == 0 else y).numpy()


def spectrogram_case(name, x, **options):
    y = spectrogram(x, **options)
    # single precision on both sides, in another order: a part of the greatest value
    return case(name, options, x, y, 2e-6 * numpy.abs(y).max())


def spectrogram_cases():
    x = noise(700)
    yield spectrogram_case("as it is", x)
    yield spectrogram_case("smaller", x, n_fft=64, hop=16)
    yield spectrogram_case("two channels", noise(300, 2), n_fft=48, hop=10)
    yield spectrogram_case("magnitudes", x, n_fft=60, hop=25, power=1)
    yield spectrogram_case("complex", noise(250), n_fft=32, power=0)
    yield spectrogram_case("complex channels", noise(120, 3), n_fft=32, power=0)
    yield spectrogram_case("odd size", noise(300), n_fft=45, hop=20)
    yield spectrogram_case("short window", noise(300), n_fft=64, win_length=40, hop=20)
    yield spectrogram_case("odd window", noise(300), n_fft=64, win_length=25)
    yield spectrogram_case("hamming", noise(200), n_fft=32, window="hamming")
    yield spectrogram_case("rectangular", noise(200), n_fft=32, window="rectangular")
    yield spectrogram_case("not centred", noise(300), n_fft=50, hop=20, center=False)
    yield spectrogram_case("zeros around", noise(200), n_fft=40, pad=33)
    yield spectrogram_case("constant", noise(200), n_fft=40, pad_mode="constant")
    yield spectrogram_case("replicate", noise(200), n_fft=40, pad_mode="replicate")
    yield spectrogram_case("by the window", noise(200), n_fft=40, normalized="window")
    yield spectrogram_case("by the frame", noise(200), n_fft=40, normalized="frame_length", power=1)
    yield spectrogram_case("one frame", noise(40), n_fft=40, hop=100, center=False)
    yield spectrogram_case("as short as possible", noise(21), n_fft=40)
    y = spectrogram(noise(90), n_fft=40)
    late = case("length comes late", {"n_fft": 40}, noise(90), y, 2e-6 * numpy.abs(y).max(), **ragged([-1]))
    late["expect"]["spec"] = "x: f32[21,?]"
    yield late
    none = numpy.zeros(0, numpy.float32)
    yield refusal("refuses what is too short", {"n_fft": 40}, noise(20), "20 samples is too short for n_fft 40")
    yield refusal("refuses what is too short, late", {"n_fft": 40}, noise(20), "20 samples is too short", **ragged([-1]))
    yield refusal("refuses nothing", {"n_fft": 40, "pad_mode": "constant"}, none, "0 samples is too short", **ragged([-1]))
    yield refusal("refuses what is too short without edges", {"n_fft": 40, "center": False}, noise(39), "39 samples is too short")
    yield refusal("refuses 7", {"n_fft": 14}, noise(40), "option n_fft: 14 has other prime factors")
    yield refusal("refuses a longer window", {"n_fft": 16, "win_length": 17}, noise(40), "win_length: 17 is greater")
    yield refusal("refuses rank 3", {}, numpy.zeros((2, 2, 2), numpy.float32), "not a waveform", fields=["x"])
    yield refusal("refuses integers", {}, numpy.zeros(500, numpy.int32), "not a waveform", fields=["x"])
    yield refusal("refuses no channels", {"n_fft": 4}, numpy.zeros((50, 0), numpy.float32), "0 channels", **ragged([-1, -1]))


# ---- mel ----

def mel(s, n_mels=128, sample_rate=16000, f_min=0.0, f_max=0.0, scale="htk", norm="none", log="none", offset=0.0, floor=1e-10, top_db=0.0):
    filters = FUNCTIONAL.melscale_fbanks(s.shape[-2], f_min, f_max or float(sample_rate // 2), n_mels, sample_rate,
                                         None if norm == "none" else norm, scale)
    y = torch.matmul(torch.from_numpy(s).transpose(-1, -2), filters).transpose(-1, -2)
    if log == "db":
        y = FUNCTIONAL.amplitude_to_DB(y + offset, 10.0, floor, 0.0, top_db or None)
    elif log != "none":
        y = {"ln": torch.log, "log10": torch.log10}[log](torch.clamp(y + offset, min=floor))
    return y.contiguous().numpy()


def mel_case(name, s, **options):
    y = mel(s, **options)
    # torchaudio computes the edges of filters in single precision: 8000 Hz x 1e-7 of a band of 30 Hz and more
    log = options.get("log", "none") != "none"
    return case(name, options, s, y, 2e-3 if log else 2e-5 * numpy.abs(y).max())


def mel_cases():
    s = spectrogram(noise(700), n_fft=256, hop=128)
    yield mel_case("as it is", s, n_mels=20)
    yield mel_case("slaney", s, n_mels=20, scale="slaney", norm="slaney")
    yield mel_case("htk by width", s, n_mels=10, norm="slaney")
    yield mel_case("a part", s, n_mels=12, f_min=300.0, f_max=4000.0, sample_rate=22050)
    yield mel_case("empty bands", s, n_mels=100)
    yield mel_case("ln", s, n_mels=20, log="ln", offset=1e-6)
    yield mel_case("log10", s, n_mels=20, log="log10")
    yield mel_case("db", s, n_mels=20, log="db")
    yield mel_case("top db", s, n_mels=20, log="db", top_db=25.0)
    yield mel_case("floor", s, n_mels=20, log="ln", floor=0.5)
    yield mel_case("channels", spectrogram(noise(300, 2), n_fft=64), n_mels=8, sample_rate=8000)
    yield mel_case("many columns", spectrogram(noise(700), n_fft=32, hop=12), n_mels=6)
    yield mel_case("odd rate", s, n_mels=20, sample_rate=11025)
    y = mel(s, n_mels=9)
    late = case("size comes late", {"n_mels": 9}, s, y, 2e-5 * numpy.abs(y).max(), **ragged([-1, -1]))
    late["expect"]["spec"] = "x: f32[9,?]"
    yield late
    empty = case("no time", {"n_mels": 9}, s[:, :0], y[:, :0], 0)
    yield empty
    yield refusal("refuses rank 1", {}, noise(9), "not a spectrogram", fields=["x"])
    yield refusal("refuses one frequency", {}, noise(9, 9)[:1], "1 frequencies")
    yield refusal("refuses no frequencies", {}, noise(9, 9)[:0], "0 frequencies", **ragged([-1, 9]))
    yield refusal("refuses a lower end above", {"f_min": 9000}, s, "option f_min: 9000 is not less than f_max, 8000")
    yield refusal("refuses top_db alone", {"top_db": 80}, s, "option top_db: only with log db")


CASES = {"spectrogram": spectrogram_cases, "mel": mel_cases}


def main():
    for op in sys.argv[1:] or CASES:
        write(op, list(CASES[op]()))


if __name__ == "__main__":
    main()
