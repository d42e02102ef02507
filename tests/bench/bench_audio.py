#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Operators on audio against torchaudio and soundfile: one thread each, in turn, CPU seconds, results compared first.

usage: bench_audio.py BUILD_DIR CLIPS [--clips N] [--rounds N] [--json FILE]

A build with -O2; /usr/bin/python3 with Debian's python3-torch and python3-numpy, torchaudio and soundfile of PyPI in PYTHONPATH, and
the program lame. CLIPS is a folder of WAV files of speech (Debian's asterisk-core-sounds-en-wav): they are joined to clips of ten seconds.
Theirs has its tables made before, and the files of both are in the page cache."""
import argparse
import glob
import json
import os
import subprocess
import tempfile
import time

import numpy as np
import soundfile
import torch
import torchaudio

SECONDS = 10
TORCH = torchaudio.transforms
NOTHING = ("fit_length", {"length": 1})  # what is decoded is not copied to a batch


def make_clips(folder, work, n):
    """Speech at 16 kHz as WAV, and at 22,050 Hz as MP3."""
    speech = np.concatenate([soundfile.read(p, dtype="float32")[0] for p in sorted(glob.glob(os.path.join(folder, "*.wav")))])
    for i in range(n):
        part = torch.from_numpy(np.take(speech, range(i * SECONDS * 8000, (i + 1) * SECONDS * 8000), mode="wrap"))
        for rate, kind in (16000, "wav"), (22050, "wav"):
            x = torchaudio.functional.resample(part, 8000, rate).numpy()
            soundfile.write(os.path.join(work, "%d_%03d.%s" % (rate, i, kind)), x, rate)
        wav = os.path.join(work, "22050_%03d.wav" % i)
        subprocess.run(["lame", "--quiet", "-b", "64", wav, wav.replace(".wav", ".mp3")], check=True)


def files(work, pattern, *nodes):
    head = [{"op": "files", "pattern": os.path.join(work, pattern)}, {"op": "read_file"}, {"op": "decode_audio"}, {"op": "to_mono"}]
    return {"pipeline": head + [{"op": name, **options} for name, options in nodes]}


def of_cachew(program, work, pipeline):
    path, results = os.path.join(work, "pipeline.json"), os.path.join(work, "results")
    with open(path, "w") as f:
        json.dump(pipeline, f)
    seconds = float(subprocess.run([program, path, "5", results], check=True, capture_output=True, text=True).stdout)
    with open(results, "rb") as f:
        data, arrays = f.read(), []
    while data:
        n = int.from_bytes(data[:8], "little")
        arrays.append(np.frombuffer(data[8:8 + n], np.float32))
        data = data[8 + n:]
    return seconds, arrays


def of_torch(inputs, work):
    begin = time.process_time()
    with torch.no_grad():
        results = [work(x) for x in inputs]
    return time.process_time() - begin, results


def load(path):
    return torch.from_numpy(soundfile.read(path, dtype="float32")[0])


def log_mel(mel):
    return lambda x: torch.log(mel(x) + 1e-6)


def compare(name, ours, theirs, tolerance):
    """The logarithms of bands with hardly any sound differ most, since a transform in single precision has an error of its loudest band."""
    assert len(ours) == len(theirs)
    apart = [np.abs(a - np.asarray(b).reshape(-1)) for a, b in zip(ours, theirs)]
    most, mean = max(float(d.max()) for d in apart), max(float(d.mean()) for d in apart)
    if most > tolerance or mean > 1e-4:
        raise SystemExit("%s: results differ by %g, on average by %g" % (name, most, mean))
    return most


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--clips", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    program = os.path.join(args.build, "tests", "bench_audio")
    mel_16 = log_mel(TORCH.MelSpectrogram(16000, 400, hop_length=160, n_mels=80))
    mel_8 = log_mel(TORCH.MelSpectrogram(8000, 400, hop_length=200, n_mels=128))
    to_8 = TORCH.Resample(22050, 8000)
    stft, stretch, mel_256 = TORCH.Spectrogram(400, power=None), TORCH.TimeStretch(200, 201, 0.8), TORCH.MelScale(256, 8000, n_stft=201)
    cedar = (("resample", {"from": 22050, "to": 8000}), ("spectrogram", {"power": 0}), ("time_stretch", {"rate": 0.8, "power": 2}),
             ("mel", {"n_mels": 256, "sample_rate": 8000, "log": "ln", "offset": 1e-6}))
    ops_16 = ("spectrogram", {"hop": 160}), ("mel", {"n_mels": 80, "log": "ln", "offset": 1e-6})
    ops_8 = ("resample", {"from": 22050, "to": 8000}), ("spectrogram", {}), ("mel", {"sample_rate": 8000, "log": "ln", "offset": 1e-6})

    def of_cedar(path):
        return torch.log(mel_256(stretch(stft(to_8(load(path)))).abs() ** 2) + 1e-6)

    with tempfile.TemporaryDirectory() as work:
        make_clips(args.folder, work, args.clips)
        paths = {p: sorted(glob.glob(os.path.join(work, p))) for p in ("16000_*.wav", "22050_*.wav", "22050_*.mp3")}
        waves = {p: [load(path) for path in paths[p]] for p in paths}
        # name, our pipeline, one that only decodes, whose time is taken off, inputs of theirs, their work, tolerance
        work_list = [
            ("log-mel 80 of 16 kHz, alone", files(work, "16000_*.wav", *ops_16), files(work, "16000_*.wav", NOTHING), waves["16000_*.wav"], mel_16, 5e-3),
            ("resample 22 to 8 kHz, log-mel, alone", files(work, "22050_*.wav", *ops_8), files(work, "22050_*.wav", NOTHING), waves["22050_*.wav"],
             lambda x: mel_8(to_8(x)), 0.1),
            ("MP3 decoding alone", files(work, "22050_*.mp3"), None, paths["22050_*.mp3"], load, 1e-4),
            ("MP3, resample, log-mel", files(work, "22050_*.mp3", *ops_8), None, paths["22050_*.mp3"], lambda p: mel_8(to_8(load(p))), 0.1),
            ("cedar's CommonVoice without masks", files(work, "22050_*.mp3", *cedar), None, paths["22050_*.mp3"], of_cedar, 0.3),
        ]
        table = []
        print("%d clips of %d s; CPU seconds of a round, the least of %d" % (args.clips, SECONDS, args.rounds))
        print("%-40s %10s %10s %7s %12s" % ("", "cachew", "torchaudio", "ratio", "difference"))
        for name, pipeline, without, inputs, theirs, tolerance in work_list:
            ours_s, theirs_s, off_s = [], [], [0.0] if without is None else []
            for _ in range(args.rounds):
                seconds, ours = of_cachew(program, work, pipeline)
                ours_s.append(seconds)
                if without:
                    off_s.append(of_cachew(program, work, without)[0])
                seconds, results = of_torch(inputs, theirs)
                theirs_s.append(seconds)
                most = compare(name, ours, results, tolerance)
            a, b = min(ours_s) - min(off_s), min(theirs_s)
            table.append({"name": name, "cachew_s": a, "torchaudio_s": b, "ratio": b / a, "difference": most})
            print("%-40s %10.4f %10.4f %7.2f %12.2g" % tuple(table[-1].values()), flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
