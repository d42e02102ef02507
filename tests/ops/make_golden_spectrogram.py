#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Golden cases of the operators on spectrograms, by torchaudio: as make_golden_audio.py, beside which it stands.

Run by hand; the results are in the tree.
"""
import numpy
import torch
import torchaudio

from make_golden_audio import FUNCTIONAL, case, drawn, main, noise, planes, ragged, refusal, stream

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


# ---- masks ----

def mask(s, width, axis, draws, count=1, value=0.0, share=1.0):
    s = s.copy()
    size = s.shape[axis]
    most = min(width, int(size * share) if share < 1 else size)
    for i in range(count):
        n = draws.unit(1 + 2 * i) * most
        start = int(draws.unit(2 + 2 * i) * (size - n))
        index = [slice(None)] * s.ndim
        index[axis] = slice(start, start + int(n))
        s[tuple(index)] = value
    return s


def mask_cases(axis):
    one, two = noise(12, 20), numpy.stack([noise(12, 20, seed) for seed in (1, 2)])
    for name, s in ("a plane", one), ("channels", two):
        for options in {"width": 7}, {"width": 5, "count": 3, "value": -1.5}, {"width": 500}, {"width": 10, "share": 0.25}:
            text = name + "".join(", %s %g" % item for item in options.items())
            yield drawn(text, options, s, [mask(s, axis=axis, draws=stream(e), **options) for e in range(4)])
    results = [mask(one, 6, axis, stream(e)) if stream(e).unit(0) < 0.5 else one for e in range(6)]
    yield drawn("half of them", {"width": 6, "p": 0.5}, one, results)
    yield case("no time", {"width": 6}, one[:, :0], one[:, :0], 0)
    yield refusal("refuses rank 1", {"width": 6}, noise(9), "not a spectrogram", fields=["x"])
    yield refusal("refuses width 0", {"width": 0}, one, "width")


# ---- mfcc ----

def mfcc_cases():
    x = noise(700)
    kwargs = {"n_fft": 128, "hop_length": 64, "n_mels": 20}
    for name, log_mels, norm in ("db", False, "ortho"), ("ln", True, "ortho"), ("not orthonormal", False, None):
        whole = torchaudio.transforms.MFCC(16000, 13, norm=norm, log_mels=log_mels, melkwargs=kwargs)
        m = whole.MelSpectrogram(torch.from_numpy(x))
        m = torch.log(m + 1e-6) if log_mels else whole.amplitude_to_DB(m)
        options = {"n_mfcc": 13} if norm else {"n_mfcc": 13, "norm": "none"}
        y = whole(torch.from_numpy(x)).numpy()
        yield case(name, options, m.numpy(), y, 2e-6 * numpy.abs(y).max())
    s = numpy.stack([noise(12, 20, seed) for seed in (1, 2)])
    matrix = FUNCTIONAL.create_dct(12, 12, "ortho").numpy()
    yield case("all of them, channels", {"n_mfcc": 12}, s, numpy.einsum("cmt,mk->ckt", s, matrix), 3e-6)
    yield refusal("refuses more than there are", {"n_mfcc": 13}, s, "12 bands: n_mfcc, 13, to 4096")
    yield refusal("refuses more than there are, late", {"n_mfcc": 13}, s, "12 bands", **ragged([2, -1, -1]))
    yield refusal("refuses rank 1", {}, noise(9), "not a spectrogram", fields=["x"])


# ---- time_stretch ----

def stretch(c, rate, power=0):
    z = torch.view_as_complex(torch.from_numpy(c).double())
    y = FUNCTIONAL.phase_vocoder(z, rate, torch.linspace(0, numpy.pi * 20, z.shape[-2])[..., None].double())
    y = torch.view_as_real(y) if power == 0 else y.abs() ** power
    return y.numpy().astype(numpy.float32)


def stretch_cases():
    c = spectrogram(noise(400), n_fft=32, power=0)
    channels = spectrogram(noise(300, 2), n_fft=32, power=0)
    for rate in 0.8, 1.3, 2.0, 0.5, 1.0, 7.0, 100.0:
        for power in 0, 1, 2:
            y = stretch(c, rate, power)
            options = {"rate": rate, "power": power} if power else {"rate": rate}
            yield case("rate %g, power %d" % (rate, power), options, c, y, 1e-5 * numpy.abs(y).max())
    yield case("channels", {"rate": 0.9}, channels, stretch(channels, 0.9), 1e-5 * numpy.abs(channels).max())
    zeros = c * (numpy.arange(c.shape[1]) % 3 > 0)[None, :, None].astype(numpy.float32)
    yield case("times without sound", {"rate": 0.75}, zeros, stretch(zeros, 0.75), 1e-5 * numpy.abs(c).max())
    results = [stretch(c, stream(e).uniform(1, 0.8, 1.25)) for e in range(4)]
    yield drawn("between two", {"rate": [0.8, 1.25]}, c, results, 1e-5 * numpy.abs(c).max(), "17,?,2")
    results = [stretch(c, 1.25) if stream(e).unit(0) < 0.5 else c for e in range(5)]
    yield drawn("half of them", {"rate": 1.25, "p": 0.5}, c, results, 1e-5 * numpy.abs(c).max(), "17,?,2")
    yield case("never", {"rate": 1.25, "p": 0}, c, c, 0)
    yield refusal("refuses what is not complex", {"rate": 1.25}, spectrogram(noise(400), n_fft=32), "no complex spectrogram", fields=["x"])
    yield refusal("refuses a rate of 0", {"rate": 0}, c, "rate")
    yield refusal("refuses a range upside down", {"rate": [2, 1]}, c, "option rate: 2 is greater than 1")


CASES = {"spectrogram": spectrogram_cases, "mel": mel_cases, "time_mask": lambda: mask_cases(-1), "freq_mask": lambda: mask_cases(-2),
         "mfcc": mfcc_cases, "time_stretch": stretch_cases}

if __name__ == "__main__":
    main(CASES)
