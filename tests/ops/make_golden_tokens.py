#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models into data/tokens, and the cases of bpe, wordpiece and sentencepiece, whose ids
are those of the packages tokenizers, tiktoken and sentencepiece (of PyPI; run by hand with them on
PYTHONPATH). The text that models are trained on is made here, so the files change only with this
script."""
import base64
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data", "tokens")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
          r"\s*[\r\n]|\s+(?!\S)|\s")
ODD = r"\p{Lu}?\p{L}+|\d|[^\p{L}\d]+?"

PIECES = ["'s", "'S", "'\u017f", "'RE", "'ll", " ", "  ", "   ", "\t", "\r", "\n", "\n\n", "\u0085", "\u00a0",
          "\u3000", "a", "B", "word", "words", " word ", "<tool>", "<mask>", " <mask> ", "<|end|>", "A\u030a<x>  ",
          "\u00c5<x> ", "1", "12", "1234567", "\u00bd", "\u2167", "\u0663", "\u00df", "\u00e9", "e\u0301", "\u6f22\u5b57",
          "\u3072\u3089", "\ud55c\uad6d\uc5b4", "\U0001f469\u200d\U0001f467", "\U0001f600", "\u0301", "\u02b0", "\u01c4",
          "\u01c5", "_", "-", "/", "//", "...", "()", "\u212a", "\u0130", "\ufb01", "\u03a3", "\u05d0", "\ufeff",
          "\U0001d400", "\ue000", "$", "^", "the ", "sea ", "Lantern", "[MASK]", "un", "believ", "able", "\u200b", "\ufffd"]
WORDS = ("the a of and to in sea wind lantern keeper light tower night storm wave gull ship captain rope harbour stone "
         "bright believe unbelievable reading reader reads written writing it's don't we'll 1845 1,200 3.14 "
         "caf\u00e9 na\u00efve stra\u00dfe \u6f22\u5b57 \u3072\u3089\u304c\u306a").split()


def corpus():
    draw = random.Random(11)
    return [" ".join(draw.choice(WORDS) for _ in range(draw.randint(3, 14))) + draw.choice(".!?") for _ in range(400)]


def texts(n):
    draw = random.Random(5)
    found = ["", " ", "the keeper of the light", "The lantern's unbelievable!", "a" * 300, "-" * 70 + " x"]
    return found + ["".join(draw.choice(PIECES) for _ in range(draw.randint(1, 12))) for _ in range(n)]


def case(name, options, given, ids, hexed=False):
    rows = [{"text": {"dtype": "str", "hex": t.encode().hex()} if hexed else {"dtype": "str", "text": t}} for t in given]
    return {"name": name, "options": options, "input": rows,
            "expect": {"spec": "text: i32[?]",
                       "elements": [{"text": {"dtype": "i32", "shape": [len(i)], "data": i}} for i in ids]}}


def refused(name, options, error, given="x"):
    return {"name": name, "options": options, "input": [{"text": {"dtype": "str", "text": given}}],
            "expect": {"error": error}}


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w", encoding="utf-8") as out:
        out.write('{"op": "%s",\n "cases": [\n' % op)
        out.write(",\n".join("   " + json.dumps(c) for c in cases))
        out.write("]}\n")


def path(name):
    return "${DATA}/tokens/" + name


def store(name, text):
    with open(os.path.join(DATA, name), "w", encoding="utf-8", newline="") as out:
        out.write(text)


# ---- bpe ----

def train_bpe(name, pattern, normalizer=None, added=(), **model):
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE(**model))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    tokenizer.pre_tokenizer = level if pattern is None else pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), level])
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=420, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    for token in added:
        tokenizer.add_tokens([token])
    store(name, tokenizer.to_str())
    return tokenizer


def encode(tokenizer, given):
    return [tokenizer.encode(t, add_special_tokens=False).ids for t in given]


def byte_of():
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [b for b in range(256) if b not in plain]
    return {**{chr(b): b for b in plain}, **{chr(256 + i): b for i, b in enumerate(others)}}


def store_ranks(tokenizer):
    of = byte_of()
    ranks = {bytes(of[c] for c in token): i for token, i in tokenizer.get_vocab().items() if token != "<|end|>"}
    rows = sorted(ranks.items(), key=lambda row: row[1])
    store("ranks.tiktoken", "".join("%s %d\n" % (base64.b64encode(b).decode(), i) for b, i in rows))
    return ranks


def bpe_refusals():
    from tokenizers import Tokenizer, models, pre_tokenizers
    gaps = Tokenizer(models.BPE({"a": 7, "b": 2000000000, "ab": 9}, [("a", "b")]))
    gaps.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    vocab, merges = {"vocab": path("vocab.json")}, {"merges": path("merges.txt")}
    store("gap.json", json.dumps({"a": 7, "b": 2000000000, "ab": 9}))
    store("gap.txt", "a b\n")
    with open(os.path.join(DATA, "merges.txt"), encoding="utf-8") as merged:
        good = merged.read().split("\n")[1]
    store("wrong_merge.txt", "#version: 0.2\n" + good + "\nq qqq\n")
    store("short_merge.txt", good + "\nth\n")
    store("twice.json", '{"a": 1, "b": 2, "a": 3}')
    store("negative.json", '{"a": -1}')
    store("twice.tiktoken", "YQ== 0\nYQ== 1\n")
    store("few.tiktoken", "YQ== 0\n")
    store("garbled.tiktoken", "YQ== 0\nY*Q= 1\n")
    store("no_bpe.json", json.dumps({"model": {"type": "Unigram", "vocab": []}}))
    with open(os.path.join(DATA, "llama3.json"), encoding="utf-8") as text:
        other = json.load(text)
    for name, change in (("merged.json", {"behavior": "MergedWithPrevious", "invert": True}), ("removed.json", {"behavior": "Removed"})):
        other["pre_tokenizer"]["pretokenizers"][0].update({"invert": False, **change})
        store(name, json.dumps(other))
    return [
        refused("words with what follows", {"tokenizer": path("merged.json")}, "Split with this behavior"),
        refused("what lies between words", {"tokenizer": path("removed.json")}, "Split with this behavior"),
        refused("no file", {}, "exactly one"),
        refused("two files", {"tokenizer": "a", "ranks": "b"}, "exactly one"),
        refused("no merges", vocab, "option merges"),
        refused("no pattern", {"ranks": "b"}, "option pattern"),
        refused("wrong pattern", {"ranks": "b", "pattern": "(a"}, "option pattern"),
        refused("missing file", {"tokenizer": path("none.json")}, "none.json"),
        refused("wrong merge", {**vocab, "merges": path("wrong_merge.txt")}, 'merge 2, "q" and "qqq"'),
        refused("short merge", {**vocab, "merges": path("short_merge.txt")}, "merge 2 is not two tokens"),
        refused("token twice", {"vocab": path("twice.json"), **merges}, "twice.json"),
        refused("negative id", {"vocab": path("negative.json"), **merges}, "id -1"),
        refused("rank twice", {"ranks": path("twice.tiktoken"), "pattern": "gpt2"}, "line 2: its token was there before"),
        refused("bytes missing", {"ranks": path("few.tiktoken"), "pattern": "gpt2"}, "0x00"),
        refused("no base64", {"ranks": path("garbled.tiktoken"), "pattern": "gpt2"}, "line 2"),
        refused("other model", {"tokenizer": path("no_bpe.json")}, "Unigram"),
        refused("unknown special", {**vocab, **merges, "special": ["<none>"]}, "<none>"),
        refused("going back", {**vocab, **merges, "pattern": "(?:a+)+$"}, "more than 1000000 steps", "a" * 40 + "b"),
        case("gaps in the vocabulary", {"vocab": path("gap.json"), "merges": path("gap.txt")}, ["abba cab"],
             encode(gaps, ["abba cab"])),
    ]


def bpe():
    import tiktoken
    from tokenizers import AddedToken, normalizers
    given = texts(60)
    plain = train_bpe("gpt2.json", None)
    plain.model.save(DATA)
    llama3 = train_bpe("llama3.json", LLAMA3, ignore_merges=True)
    nfc = train_bpe("added.json", LLAMA3.replace("{1,3}", ""), normalizers.NFC(), [
        AddedToken("<tool>", normalized=False), AddedToken("word", single_word=True), AddedToken("<mask>", lstrip=True),
        AddedToken("\u00c5<x>", rstrip=True), AddedToken("<tool><tool>", normalized=True)])
    odd = train_bpe("odd.json", ODD)
    files = {"vocab": path("vocab.json"), "merges": path("merges.txt"), "special": ["<|end|>"]}
    cases = [case("tokenizer.json of GPT-2's kind", {"tokenizer": path("gpt2.json")}, given, encode(plain, given), True),
             case("vocab.json and merges.txt", files, given, encode(plain, given), True),
             case("Llama 3's pattern, whole words", {"tokenizer": path("llama3.json")}, given, encode(llama3, given), True),
             case("NFC and added tokens", {"tokenizer": path("added.json")}, given, encode(nfc, given), True),
             case("another pattern", {"tokenizer": path("odd.json")}, given, encode(odd, given), True)]
    ranks = store_ranks(llama3)
    for name, pattern in (("cl100k", CL100K), ("o200k", O200K)):
        oracle = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 900})
        ids = [oracle.encode(t, allowed_special="all") for t in given]
        options = {"ranks": path("ranks.tiktoken"), "special": {"<|end|>": 900}}
        cases.append(case("ranks, " + name, {**options, "pattern": name}, given, ids, True))
        cases.append(case("ranks, " + name + " by PCRE2", {**options, "pattern": "(?:" + pattern + ")"}, given, ids, True))
    raw = bytes([0xff, 0x61, 0xc3, 0x20, 0xe2, 0x82])
    spelled = {b: plain.token_to_id(c) for c, b in byte_of().items()}
    cases.append({"name": "bytes that are no UTF-8", "options": files, "input": [{"text": {"dtype": "str", "hex": raw.hex()}}],
                  "expect": {"elements": [{"text": {"dtype": "i32", "shape": [6], "data": [spelled[b] for b in raw]}}]}})
    long = "a" * 20000
    cases.append(case("a word of 20,000 bytes", files, [long], encode(plain, [long])))
    write("bpe", cases + bpe_refusals())


# ---- wordpiece ----

def wordpiece():
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers
    special = ["[PAD]", "[UNK]", "[CLS]", "[MASK]"]
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer()
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=200, special_tokens=special,
                                                                    show_progress=False))
    rows = sorted(trained.get_vocab().items(), key=lambda row: row[1])
    store("vocab.txt", "".join(token + "\n" for token, _ in rows))
    store("twice.txt", "[UNK]\na\na\n")
    store("no_unk.txt", "a\nb\n")
    given = texts(60) + ["a" * 100, "a" * 101, "UN\u0000BELIEVABLE \u4e2d\u6587reader"]
    vocab = {"vocab": path("vocab.txt")}
    cases = []
    for name, options, keywords in (
            ("as BERT", {"special": ["[MASK]"]}, {}),
            ("cased", {"lower": False, "special": ["[MASK]"]}, {"lowercase": False}),
            ("accents stay", {"strip_accents": "no", "special": ["[MASK]"]}, {"strip_accents": False}),
            ("not cleaned", {"clean": False, "chinese_chars": False, "special": ["[MASK]"]},
             {"clean_text": False, "handle_chinese_chars": False})):
        oracle = Tokenizer(models.WordPiece(dict(rows), unk_token="[UNK]"))
        oracle.normalizer = normalizers.BertNormalizer(**keywords)
        oracle.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        oracle.add_special_tokens([AddedToken("[MASK]", normalized=False, special=True)])
        cases.append(case(name, {**vocab, **options}, given, encode(oracle, given), True))
    cases += [refused("a token twice", {"vocab": path("twice.txt")}, "line 3"),
              refused("no token for unknown words", {"vocab": path("no_unk.txt")}, "[UNK]"),
              refused("no such special token", {**vocab, "special": ["[NONE]"]}, "[NONE]"),
              refused("no file", {"vocab": path("none.txt")}, "none.txt")]
    write("wordpiece", cases)


# ---- sentencepiece ----

def train_sp(name, **keywords):
    import io
    import sentencepiece
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(corpus()), model_writer=model, minloglevel=2,
                                             num_threads=1, **keywords)
    with open(os.path.join(DATA, name), "wb") as out:
        out.write(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def sentencepiece():
    given = texts(60) + ["\u2581a \u2581", "the  keeper   of the light ", "=" * 200, "ab" * 400]
    models = [("unigram", "unigram.model", {"model_type": "unigram", "vocab_size": 150, "hard_vocab_limit": False}),
              ("unigram, bytes, user-defined pieces", "unigram_bytes.model",
               {"model_type": "unigram", "vocab_size": 420, "hard_vocab_limit": False, "byte_fallback": True, "user_defined_symbols": ["<tool>", "word"],
                "normalization_rule_name": "nfkc_cf", "character_coverage": 0.98}),
              ("unigram across spaces", "unigram_across.model",
               {"model_type": "unigram", "vocab_size": 150, "hard_vocab_limit": False, "split_by_whitespace": False,
                "normalization_rule_name": "identity"}),
              ("unigram, spaces behind", "unigram_behind.model",
               {"model_type": "unigram", "vocab_size": 150, "hard_vocab_limit": False, "treat_whitespace_as_suffix": True,
                "normalization_rule_name": "identity"}),
              ("bpe", "bpe.model", {"model_type": "bpe", "vocab_size": 200, "hard_vocab_limit": False}),
              ("bpe, bytes, all spaces", "bpe_bytes.model",
               {"model_type": "bpe", "vocab_size": 420, "hard_vocab_limit": False, "byte_fallback": True, "add_dummy_prefix": False,
                "remove_extra_whitespaces": False, "normalization_rule_name": "identity",
                "allow_whitespace_only_pieces": True, "user_defined_symbols": ["<tool>", "  "], "character_coverage": 0.98})]
    cases = []
    for name, file, keywords in models:
        processor = train_sp(file, **keywords)
        cases.append(case(name, {"model": path(file)}, given, [processor.encode(t) for t in given], True))
    with open(os.path.join(DATA, "bpe.model"), "rb") as whole:
        data = whole.read()
    with open(os.path.join(DATA, "cut.model"), "wb") as out:
        out.write(data[:1000])
    cases += unused("bpe.model", given[:40])
    cases += unused("bpe_bytes.model", given)
    store("no_model.model", "this is text")
    cases += [refused("a part of a file", {"model": path("cut.model")}, "cut.model"),
              refused("no model", {"model": path("no_model.model")}, "no_model.model"),
              refused("no file", {"model": path("none.model")}, "none.model"),
              refused("no option", {}, "model")]
    write("sentencepiece", cases)


def unused(name, given):
    """Every third piece of a BPE model becomes an unused one, which is taken apart again."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    model = sentencepiece_model_pb2.ModelProto()
    with open(os.path.join(DATA, name), "rb") as whole:
        model.ParseFromString(whole.read())
    model.normalizer_spec.precompiled_charsmap = b""
    file = name.replace(".", "_unused.")
    for i, piece in enumerate(model.pieces):
        if piece.type == 1 and i % 3 == 0:
            piece.type = 5
    with open(os.path.join(DATA, file), "wb") as out:
        out.write(model.SerializeToString())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
    return [case("unused pieces, " + name, {"model": path(file)}, given,
                 [processor.encode(t) for t in given], True)]


# ---- detokenize ----

def back(name, options, rows, expected):
    return {"name": name, "options": options, "input": [{"text": {"dtype": "i32", "shape": [len(r)], "data": r}} for r in rows],
            "input_spec": {"text": {"dtype": "i32", "shape": [-1]}},
            "expect": {"spec": "text: str", "elements": [{"text": {"dtype": "str", "hex": b.hex()}} for b in expected]}}


def detokenize():
    """Of any tokens; the bytes are those of tiktoken's decode_bytes, and with U+FFFD for what is no UTF-8 the text of tokenizers' decode."""
    import tiktoken
    from tokenizers import Tokenizer, decoders
    of, draw, cases = byte_of(), random.Random(8), []
    for name, more in (("gpt2.json", {}), ("llama3.json", {}), ("added.json", {}), ("added.json", {"skip_special": True})):
        tokenizer = Tokenizer.from_file(os.path.join(DATA, name))
        tokenizer.decoder = decoders.ByteLevel()
        tokens = {i: t for t, i in tokenizer.get_vocab().items()}
        special = {i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special}
        rows = [[], [0], *encode(tokenizer, texts(30))] + [[draw.randrange(len(tokens)) for _ in range(draw.randint(1, 20))] for _ in range(30)]
        expected = []
        for row in rows:
            kept = [tokens[i] for i in row if not (more and i in special)]
            expected.append(b"".join(bytes(of[c] for c in t) if all(c in of for c in t) else t.encode() for t in kept))
            assert expected[-1].decode(errors="replace") == tokenizer.decode(row, skip_special_tokens=bool(more)), (name, row)
        cases.append(back(name + (", without special tokens" if more else ""), {"tokenizer": path(name), **more}, rows, expected))
        if name == "gpt2.json":
            cases.append(back("vocab.json", {"vocab": path("vocab.json"), "special": {"<|end|>": 0}}, rows, expected))
    with open(os.path.join(DATA, "ranks.tiktoken"), encoding="utf-8") as lines:
        ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in lines)}
    end = max(ranks.values()) + 5
    encoding = tiktoken.Encoding("small", pat_str=O200K, mergeable_ranks=ranks, special_tokens={"<|end|>": end})
    ids = [*ranks.values(), end]
    rows = [encoding.encode(t, disallowed_special=()) for t in texts(30)] + [[draw.choice(ids) for _ in range(9)] for _ in range(30)] + [[end]]
    given = {"ranks": path("ranks.tiktoken"), "special": {"<|end|>": end}}
    cases.append(back("ranks", given, rows, [encoding.decode_bytes(r) for r in rows]))
    cases.append(back("ranks, without special tokens", {**given, "skip_special": True}, rows,
                      [encoding.decode_bytes([i for i in r if i != end]) for r in rows]))

    def no(name, options, error, row=(1,)):
        return {"name": name, "options": options, "input": [{"text": {"dtype": "i32", "shape": [len(row)], "data": list(row)}}], "expect": {"error": error}}
    cases += [no("no file", {}, "exactly one"), no("two files", {"tokenizer": "a", "ranks": "b"}, "exactly one"),
              no("a list of special tokens", {"ranks": "b", "special": ["a"]}, "not an object of ids"),
              no("a special token without id", {"ranks": "b", "special": {"a": "b"}}, "not an id"),
              no("an id below 0", {**given, "special": {"a": -1}}, "token id -1"),
              no("no such token", given, "value 2: the model has no token 100000", (1, 2, 100000)),
              no("a label that counts for nothing", given, "the model has no token -100", (-100,)),
              no("a gap", given, "the model has no token %d" % (end - 1), (end - 1,)),
              no("a large id", {"vocab": path("gap.json")}, "token id 2000000000"), no("other model", {"tokenizer": path("no_bpe.json")}, "Unigram"),
              no("missing file", {"vocab": path("none.json")}, "none.json"), no("no JSON", {"vocab": path("merges.txt")}, "merges.txt"),
              no("tokens without ids", {"vocab": path("no_bpe.json")}, "no_bpe.json")]
    write("detokenize", cases)


if __name__ == "__main__":
    os.makedirs(DATA, exist_ok=True)
    bpe()
    wordpiece()
    sentencepiece()
    detokenize()
