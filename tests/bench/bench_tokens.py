#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers beside those of Python packages: bench_tokens.py --build build/fast --packages DIR FILE...

DIR is where `pip install --target DIR tokenizers sentencepiece tiktoken` put the packages; each FILE is a
text of lines, on which the models are trained first (50,257 tokens of BPE; 16,000 of sentencepiece), into
--models. Then for each file and model all lines are encoded, in turns, --rounds times: CPU seconds of the
process and its threads, the best round of each side. The tokens of all lines are compared before a ratio
is told. tokenizers runs encode_batch_fast with and without threads, and the better one counts."""
import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile

LINES_MAX = 20000000


def cpu():
    times = os.times()
    return times.user + times.system


def read_lines(path):
    with open(path, "rb") as text:
        data = text.read(LINES_MAX)
    return data[:data.rfind(b"\n")].decode().split("\n")


class Ours:
    def __init__(self, build, scratch, lines):
        self.program = os.path.join(build, "tests", "bench_tokens")
        self.lines = os.path.join(scratch, "lines.txt")
        self.out = os.path.join(scratch, "tokens.bin")
        with open(self.lines, "w", encoding="utf-8", newline="") as out:
            out.write("\n".join(lines) + "\n")

    def run(self, op, options, out="-"):
        done = subprocess.run([self.program, op, json.dumps(options), self.lines, out], check=True, capture_output=True)
        return json.loads(done.stdout)

    def tokens(self, op, options):
        import numpy as np
        self.run(op, options, self.out)
        return np.fromfile(self.out, "<i4")


def flat(rows):
    import numpy as np
    return np.array([v for row in rows for v in (len(row), *row)], "<i4")


def train(models, files):
    import sentencepiece
    from tokenizers import Tokenizer, models as kinds, pre_tokenizers, trainers
    bpe = os.path.join(models, "bpe.json")
    if not os.path.exists(bpe):
        tokenizer = Tokenizer(kinds.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.train(files, trainers.BpeTrainer(vocab_size=50257, special_tokens=["<|endoftext|>"], show_progress=False,
                                                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        tokenizer.save(bpe)
    for kind in ("bpe", "unigram"):
        if not os.path.exists(os.path.join(models, kind + ".model")):
            sentencepiece.SentencePieceTrainer.train(
                input=files, model_prefix=os.path.join(models, kind), model_type=kind, vocab_size=16000, minloglevel=2,
                input_sentence_size=100000, shuffle_input_sentence=True, hard_vocab_limit=False)


def store_ranks(models):
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in plain]
    byte = {**{chr(b): b for b in plain}, **{chr(256 + i): b for i, b in enumerate(others)}}
    with open(os.path.join(models, "bpe.json"), encoding="utf-8") as text:
        vocab = json.load(text)["model"]["vocab"]
    ranks = {bytes(byte[c] for c in token): i for token, i in vocab.items() if token != "<|endoftext|>"}
    path = os.path.join(models, "bpe.ranks")
    with open(path, "w", encoding="ascii") as out:
        for token, rank in sorted(ranks.items(), key=lambda row: row[1]):
            out.write("%s %d\n" % (base64.b64encode(token).decode(), rank))
    return path, ranks


def hugging_face(models, lines):
    from tokenizers import Tokenizer
    path = os.path.join(models, "bpe.json")
    tokenizer = Tokenizer.from_file(path)

    def run(threads):
        os.environ["TOKENIZERS_PARALLELISM"] = threads
        return [e.ids for e in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]
    return "bpe", {"tokenizer": path}, [lambda: run("false"), lambda: run("true")]


def tiktoken_of(models, lines):
    import tiktoken
    path, ranks = store_ranks(models)
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    encoding = tiktoken.Encoding("bench", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return "bpe", {"ranks": path, "pattern": "gpt2"}, [lambda: encoding.encode_ordinary_batch(lines, num_threads=1)]


def sentencepiece_of(kind):
    def make(models, lines):
        import sentencepiece
        path = os.path.join(models, kind + ".model")
        processor = sentencepiece.SentencePieceProcessor(model_file=path)
        return "sentencepiece", {"model": path}, [lambda: processor.encode(lines, num_threads=1)]
    return make


def measure(ours, op, options, theirs, rounds):
    best_theirs = best_ours = 1e9
    for _ in range(rounds):
        for run in theirs:
            begin = cpu()
            rows = run()
            best_theirs = min(best_theirs, cpu() - begin)
        best_ours = min(best_ours, ours.run(op, options)["cpu_s"])
    return rows, best_theirs, best_ours


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/fast")
    parser.add_argument("--packages", required=True)
    parser.add_argument("--models", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    sys.path.insert(0, args.packages)
    os.makedirs(args.models, exist_ok=True)
    train(args.models, args.files)
    table = []
    for file in args.files:
        lines = read_lines(file)
        with tempfile.TemporaryDirectory() as scratch:
            ours = Ours(args.build, scratch, lines)
            for name, make in (("tokenizers", hugging_face), ("tiktoken", tiktoken_of),
                               ("sentencepiece bpe", sentencepiece_of("bpe")),
                               ("sentencepiece unigram", sentencepiece_of("unigram"))):
                op, options, theirs = make(args.models, lines)
                rows, theirs_s, ours_s = measure(ours, op, options, theirs, args.rounds)
                expected, found = flat(rows), ours.tokens(op, options)
                if len(expected) != len(found) or (expected != found).any():
                    sys.exit("%s, %s: other tokens" % (file, name))
                size = os.path.getsize(ours.lines)
                table.append({"file": os.path.basename(file), "beside": name, "bytes": size, "theirs_s": theirs_s,
                              "ours_s": ours_s, "ratio": theirs_s / ours_s})
                print("%-12s %-22s %8.3f s %8.4f s  %6.1f x  %6.1f MB/s" % (
                    os.path.basename(file), name, theirs_s, ours_s, theirs_s / ours_s, size / ours_s / 1e6), flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump(table, out, indent=1)


if __name__ == "__main__":
    main()
