#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of the operators on texts and tokens, with what Python's str, unicodedata and re, and
NumPy say, and their data files. Run by hand from anywhere; needs python3-numpy."""
import json
import os
import random
import re
import unicodedata

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "data")
PIECES = ["a", "B", "word ", "ABC", "\u00c9", "e\u0301", "\u0130", "I\u0307", "\u03a3", "\u03a3 ", "\u03a3.", "\u039f\u03a3\u0301", "\u00df",
          "\u1e9e", "\ufb01", "\uac00", "\u1100\u1161", "\u212b", "\u01c5", "\u2163", "\U00010400", "\u0345\u0301", "q\u0323\u0307", "12", "-",
          " ", "\n", "\u3000", "\uff21", "\u00bd", "\U0001f600", "\u2126", "\u0344"]


def texts(n):
    draw = random.Random(3)
    return ["", "plain ascii TEXT", "A\u03a3", "\u03a3", "A\u03a3\u03a3a", "A.\u03a3'b \u03a3"] + [
        "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 12))) for _ in range(n)]


def text(value):
    return {"text": {"dtype": "str", "hex": value.hex() if isinstance(value, bytes) else value.encode().hex()}}


def tensor(array, dtype=None):
    array = np.asarray(array)
    return {"dtype": dtype or {"int32": "i32", "float32": "f32", "uint8": "u8"}[str(array.dtype)],
            "shape": list(array.shape), "data": [v.item() for v in array.flatten()]}


def tokens(values):
    return {"tokens": tensor(np.array(values, np.int32))}


def case(name, options, given, expected, spec=None):
    expect = {"elements": expected}
    if spec:
        expect["spec"] = spec
    return {"name": name, "options": options, "input": given, "expect": expect}


def refused(name, options, error, given):
    return {"name": name, "options": options, "input": [given], "expect": {"error": error}}


def write(op, cases):
    with open(os.path.join(HERE, op + ".json"), "w", encoding="utf-8") as out:
        out.write('{"op": "%s",\n "cases": [\n' % op)
        out.write(",\n".join("   " + json.dumps(c) for c in cases))
        out.write("]}\n")


def spec(fields):
    return {name: {"dtype": dtype, "shape": shape} for name, (dtype, shape) in fields.items()}


def lower():
    given = texts(150)
    every = [chr(c) for c in range(0x80, 0x2000) if chr(c).lower() != chr(c)]
    given.append(" ".join(every))
    broken = bytes([0xff]) + b"AB" + bytes([0xc3]) + "\u00c9".encode()
    write("lower", [case("as Python", {}, [text(t) for t in given], [text(t.lower()) for t in given], "text: str"),
                    case("no UTF-8", {}, [text(broken)], [text(bytes([0xff]) + b"ab" + bytes([0xc3]) + "\u00e9".encode())]),
                    refused("numbers", {}, "no field", tokens([1]))])


def unicode_normalize():
    given = texts(150)
    cases = [case(form, {"form": form}, [text(t) for t in given], [text(unicodedata.normalize(form.upper(), t)) for t in given])
             for form in ("nfc", "nfd", "nfkc", "nfkd")]
    broken = b"e" + bytes([0xff]) + "e\u0301".encode() + bytes([0xe2, 0x82])
    cases.append(case("no UTF-8", {}, [text(broken)], [text(b"e" + bytes([0xff]) + "\u00e9".encode() + bytes([0xe2, 0x82]))]))
    cases.append(refused("no such form", {"form": "nfx"}, "form", text("a")))
    write("unicode_normalize", cases)


def regex_replace():
    given = texts(40)
    cases = []
    for name, pattern, with_, python in (
            ("spaces", r"\s+", " ", " "), ("nothing", r"[a-z]+", "", ""), ("groups", r"(\w)(\w)", "$2${1}", r"\2\1"),
            ("named group", r"(?P<first>[A-Z])", "<${first}>", r"<\g<first>>"), ("a dollar", r"\d+", "$$", "$"),
            ("empty matches", r"x*", "-", "-"), ("nothing matches", r"zzz", "y", "y")):
        cases.append(case(name, {"pattern": pattern, "with": with_}, [text(t) for t in given],
                          [text(re.sub(pattern, python, t)) for t in given]))
    cases += [case("no UTF-8", {"pattern": "a", "with": "b"}, [text(b"a\xffa\xc3")], [text(b"b\xffb\xc3")]),
              refused("a wrong pattern", {"pattern": "(a"}, "character 2", text("a")),
              refused("no such group", {"pattern": "(a)", "with": "$2"}, "names no group", text("a")),
              refused("no such name", {"pattern": "(a)", "with": "${b}"}, "names no group", text("a")),
              refused("no name", {"pattern": "(a)", "with": "x$"}, "names no group", text("a")),
              refused("going back", {"pattern": "(?:a+)+$", "with": ""}, "more than 1000000 steps", text("a" * 40 + "b"))]
    write("regex_replace", cases)


def vocab_lookup():
    with open(os.path.join(DATA, "vocab_lookup.txt"), "w", encoding="utf-8", newline="") as out:
        out.write("cat\ndog\r\n\n\u00e9\n")
    with open(os.path.join(DATA, "bad_vocab_lookup.txt"), "w", encoding="utf-8") as out:
        out.write("cat\ndog\ncat\n")
    file = {"vocab": "${DATA}/vocab_lookup.txt"}
    ids = lambda values: [{"text": {"dtype": "i32", "shape": [], "data": [v]}} for v in values]
    write("vocab_lookup", [
        case("a file", file, [text(t) for t in ("dog", "cat", "", "\u00e9")], ids([1, 0, 2, 3]), "text: i32"),
        case("a list", {"strings": ["b", "a"]}, [text("a"), text("b")], ids([1, 0])),
        case("an id for unknown ones", {**file, "unknown": 9}, [text("bird"), text("dog")], ids([9, 1])),
        refused("an unknown one", file, "\"bird\" is none of the 4 strings", text("bird")),
        refused("twice in a file", {"vocab": "${DATA}/bad_vocab_lookup.txt"}, "string 2, \"cat\"", text("a")),
        refused("twice in a list", {"strings": ["a", "a"]}, "option strings", text("a")),
        refused("neither", {}, "one of the options", text("a")),
        refused("both", {**file, "strings": ["a"]}, "one of the options", text("a")),
        refused("no file", {"vocab": "${DATA}/none.txt"}, "none.txt", text("a"))] + words_of_files())


def words_of_files():
    """What `cachew analyze` writes."""
    for name, fields in (("vocab_words", {"text": {"count": 3, "vocabulary": ["dog", "cat"], "counts": [2, 1]}, "n": {"mean": [1]},
                                          "other": {"vocabulary": ["cat", "bird"]}}),
                         ("bad_vocab_words", {"text": {"vocabulary": ["dog", 5]}, "other": {"vocabulary": []}})):
        with open(os.path.join(DATA, name + ".json"), "w", encoding="utf-8") as out:
            out.write(json.dumps({"fields": fields}) + "\n")
    word = lambda value: {"dtype": "str", "text": value}
    number = lambda value: {"dtype": "i32", "shape": [], "data": [value]}
    two = {"file": "${DATA}/vocab_words.json", "words_of": ["text", "other"]}
    given = {"text": word("dog"), "other": word("cat")}
    return [case("words of two fields in a file", two, [given, {"text": word("cat"), "other": word("bird")}],
                 [{"text": number(0), "other": number(0)}, {"text": number(1), "other": number(1)}]),
            refused("a word of the other field", two, '"bird" is none of the 2 strings', {**given, "text": word("bird")}),
            refused("no words of the field", {**two, "words_of": ["other"]}, "no words of a field of this name", {"text": word("dog")}),
            refused("a file and a list", {**two, "strings": ["a"]}, "one of the options vocab, strings and file", {"text": word("dog")}),
            refused("a file that is none of cachew analyze", {**two, "file": "${DATA}/coco.json"}, "was not written by", given),
            refused("a file that is no JSON", {**two, "file": "${DATA}/vocab_lookup.txt"}, "vocab_lookup.txt", given),
            refused("a word that is a number", {**two, "file": "${DATA}/bad_vocab_words.json"}, 'field "text": word 1 is no string', given)]


def truncate():
    rows = [list(range(n)) for n in (0, 1, 3, 4, 9)]
    cases = []
    for keep, cut in (("first", lambda r: r[:3]), ("last", lambda r: r[-3:])):
        cases.append({**case(keep, {"length": 3, "keep": keep}, [tokens(r) for r in rows], [tokens(cut(r)) for r in rows],
                             "tokens: i32[?]"), "input_spec": spec({"tokens": ("i32", [-1])})})
    cases.append(case("nothing", {"length": 0}, [tokens([1, 2])], [tokens([])], "tokens: i32[0]"))
    image = np.arange(12, dtype=np.uint8).reshape(4, 3)
    cases.append({**case("rows of two dimensions", {"length": 2, "keep": "last"}, [{"x": tensor(image)}],
                         [{"x": tensor(image[2:])}], "x: u8[2,3]"), "fields": ["x"]})
    cases.append({**refused("a text", {"length": 1}, "a tensor is needed", text("a")), "fields": ["text"]})
    cases.append(refused("less than nothing", {"length": -1}, "length", tokens([1])))
    write("truncate", cases)


def add_tokens():
    rows = [[], [5], [6, 7, 8]]
    known = {"input_spec": spec({"tokens": ("i32", [-1])})}
    write("add_tokens", [
        {**case("both", {"begin": 1, "end": [2, 3]}, [tokens(r) for r in rows], [tokens([1] + r + [2, 3]) for r in rows],
                "tokens: i32[?]"), **known},
        case("a known length", {"end": [-1]}, [tokens([4, 5])], [tokens([4, 5, -1])], "tokens: i32[3]"),
        {**case("nothing", {}, [tokens(r) for r in rows], [tokens(r) for r in rows]), **known},
        refused("beyond i32", {"begin": [3000000000]}, "begin", tokens([1])),
        {**refused("a text", {"begin": [1]}, "tokens are i32[?]", text("a")), "fields": ["text"]}] + named_tokens(known))


def named_tokens(known):
    """Tokens by their texts."""
    path = lambda name: "${DATA}/tokens/" + name
    number = lambda name, word: json.load(open(os.path.join(DATA, "tokens", name), encoding="utf-8"))["model"]["vocab"][word]
    lines = open(os.path.join(DATA, "tokens", "vocab.txt"), encoding="utf-8").read().splitlines()
    rows = [[], [6, 7, 8]]

    def around(name, file, begin, end, ids_begin, ids_end):
        options = {"tokenizer": path(file), "begin": begin, "end": end}
        return {**case(name, options, [tokens(r) for r in rows], [tokens(ids_begin + r + ids_end) for r in rows], "tokens: i32[?]"), **known}
    return [
        around("an added token", "gpt2.json", [], "<|end|>", [], [0]),
        around("numbers and texts", "gpt2.json", [7, "le"], ["<|end|>", 5], [7, number("gpt2.json", "le")], [0, 5]),
        around("of a vocab.json", "vocab.json", "<|end|>", "!", [0], [1]),
        around("of a vocab.txt", "vocab.txt", "[CLS]", "[UNK]", [lines.index("[CLS]")], [lines.index("[UNK]")]),
        refused("a text without a file", {"end": "<|end|>"}, "give that as option tokenizer", tokens([1])),
        refused("a token that is not there", {"end": ["<|enf|>"], "tokenizer": path("gpt2.json")},
                "option end: the tokenizer has no token \"<|enf|>\"; did you mean \"<|end|>\"?", tokens([1])),
        refused("no line", {"begin": "[CLZ]", "tokenizer": path("vocab.txt")}, "option begin: the tokenizer has no token", tokens([1])),
        refused("no such file", {"end": "x", "tokenizer": path("none.json")}, "none.json", tokens([1])),
        refused("neither", {"end": [1.5]}, "option end: tokens are whole numbers", tokens([1]))]


def shift():
    rows = [[], [5], [6, 7, 8]]
    both = lambda r, name: {"tokens": tokens(r[:-1])["tokens"], name: tokens(r[1:])["tokens"]}
    known = {"input_spec": spec({"tokens": ("i32", [-1])})}
    grid = np.arange(6, dtype=np.float32).reshape(3, 2)
    two = {**tokens([1, 2]), "x": tensor(grid)}
    write("shift", [
        {**case("rows", {}, [tokens(r) for r in rows], [both(r, "labels") for r in rows], "tokens: i32[?], labels: i32[?]"), **known},
        case("named", {"field": "x", "labels": "y"}, [two], [{**tokens([1, 2]), "x": tensor(grid[:2]), "y": tensor(grid[1:])}],
             "tokens: i32[2], x: f32[2,2], y: f32[2,2]"),
        refused("which", {}, "option field", two),
        refused("no such field", {"field": "z"}, "option field", two),
        refused("the name is taken", {"field": "x", "labels": "tokens"}, "tokens", two)])


def embedding_lookup():
    table = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    np.save(os.path.join(DATA, "embedding.npy"), table)
    np.save(os.path.join(DATA, "bad_embedding_rank.npy"), table[0])
    np.save(os.path.join(DATA, "bad_embedding_dtype.npy"), np.zeros((2, 2), np.int32))
    with open(os.path.join(DATA, "embedding.npy"), "rb") as whole:
        cut = whole.read()[:-4]
    with open(os.path.join(DATA, "bad_embedding_cut.npy"), "wb") as out:
        out.write(cut)
    options = {"table": "${DATA}/embedding.npy", "dtype": "f32", "width": 3}
    file = lambda name: {**options, "table": "${DATA}/" + name}
    rows = [[], [4], [0, 2, 2, 1]]
    looked = [{"tokens": {"dtype": "f32", "shape": [len(r), 3], "data": [float(v) for i in r for v in table[i]]}} for r in rows]
    write("embedding_lookup", [
        {**case("rows", options, [tokens(r) for r in rows], looked, "tokens: f32[?,3]"), "input_spec": spec({"tokens": ("i32", [-1])})},
        refused("no row", options, "token 5 is not in 0 to 4", tokens([5])),
        refused("less than 0", options, "token -1 is not in 0 to 4", tokens([-1])),
        refused("another width", {**options, "width": 4}, "rows of 3 f32, not of 4 f32", tokens([1])),
        refused("half of what the file says", {"table": "x", "width": 4}, "option width", tokens([1])),
        refused("one dimension", file("bad_embedding_rank.npy"), "2 dimensions", tokens([1])),
        refused("integers", file("bad_embedding_dtype.npy"), "array of floats", tokens([1])),
        refused("cut", file("bad_embedding_cut.npy"), "bad_embedding_cut.npy", tokens([1])),
        refused("no file", file("none.npy"), "none.npy", tokens([1]))])


def ngrams():
    """The list of tf.strings.ngrams, by Python's zip of the list with itself, moved."""
    def runs(words, widths, sep=" "):
        return [sep.join(run) for width in widths for run in zip(*(words[k:] for k in range(width)))]

    def strings(values):
        return {"words": {"dtype": "str", "shape": [len(values)], "strings": values}}

    rows = [[], ["one"], ["the", "", "sea"], ["\u00e9", "a b", "c", "d", "the end", "x"]]
    unknown = spec({"words": ("str", [-1])})
    cases = []
    for name, options in (("two", {"widths": [2]}), ("one and two", {"widths": [1, 2]}), ("in this order", {"widths": [3, 1, 3]}),
                          ("another separator", {"widths": [2, 4], "sep": "::"}), ("no separator", {"widths": [2], "sep": ""}),
                          ("longer than any", {"widths": [64]})):
        results = [strings(runs(r, options["widths"], options.get("sep", " "))) for r in rows]
        cases.append({**case(name, options, [strings(r) for r in rows], results, "words: str[?]"), "input_spec": unknown})
    four = strings(["A", "B", "C", "D"])
    cases.append(case("as TensorFlow's reference has it", {"widths": [2, 3]}, [four], [strings(["A B", "B C", "C D", "A B C", "B C D"])], "words: str[5]"))
    cases += [refused("no width", {}, "option widths", four), refused("a width of 0", {"widths": [0]}, "option widths", four),
              {**refused("a text", {"widths": [2]}, "no list of strings", text("a")), "fields": ["text"]}]
    write("ngrams", cases)


def mask_tokens():
    """The algorithm of transformers' DataCollatorForLanguageModeling, with the numbers of cachew's stream; the shares are looked at."""
    from make_golden_image import Stream
    where = {"seed": 3, "epoch": 1, "tag": 7, "ids": [0, 5, 1 << 33]}

    def masked(ids, element, mask, vocab_size=0, p=0.15, random=0.1, stay=0.1, special=(), ignore=-100, labels="labels"):
        stream, inputs, told = Stream(where["seed"], where["tag"], where["epoch"], 0, element), [], []
        for i, token in enumerate(ids):
            u = stream.unit(2 * i)
            chosen = u < p and token not in special
            told.append(token if chosen else ignore)
            if chosen and u >= p * stay:
                token = stream.below(2 * i + 1, vocab_size) if u < p * (stay + random) else mask
            inputs.append(token)
        return {"text": tensor(np.array(inputs, np.int32)), labels: tensor(np.array(told, np.int32))}

    draw = np.random.default_rng(4)
    rows = [[2] + draw.integers(5, 1000, n).tolist() + [3] for n in (0, 60, 800)]
    options = {"mask": 4, "vocab_size": 1000, "special": [2, 3]}
    cases, unknown = [], spec({"text": ("i32", [-1])})
    for name, more in (("BERT's", {}), ("half of them", {"p": 0.5, "random": 0.25, "stay": 0}), ("all", {"p": 1, "random": 0, "stay": 0}),
                       ("none", {"p": 0}), ("other labels", {"labels": "told", "ignore": -1, "special": []})):
        all_options = {**options, **more}
        results = [masked(r, e, **all_options) for r, e in zip(rows, where["ids"])]
        if name == "BERT's":
            was, now = np.array(rows[2]), np.array(results[2]["text"]["data"])
            chosen = np.array(results[2]["labels"]["data"]) >= 0
            assert abs(chosen.mean() - 0.15) < 0.05 and abs((now == 4)[chosen].mean() - 0.8) < 0.12 and abs((now == was)[chosen].mean() - 0.1) < 0.09
        cases.append({**case(name, all_options, [{"text": tensor(np.array(r, np.int32))} for r in rows], results,
                             "text: i32[?], %s: i32[?]" % all_options.get("labels", "labels")), "input_spec": unknown, **where})
    one = {"text": tensor(np.array([7], np.int32))}
    cases += [refused("no mask", {}, "option mask", one), refused("no size", {"mask": 4}, "option vocab_size", one),
              refused("more than all", {"mask": 4, "random": 0.6, "stay": 0.5}, "more than 1", one),
              refused("no field", {"mask": 4, "p": 0, "field": "x"}, 'no field "x"', one),
              refused("a name that is taken", {"mask": 4, "p": 0, "labels": "text"}, '"text" is there twice', one),
              refused("no tokens", {"mask": 4, "p": 0}, "i32", {"text": tensor(np.array([7], np.float32))})]
    write("mask_tokens", cases)


if __name__ == "__main__":
    lower()
    unicode_normalize()
    regex_replace()
    vocab_lookup()
    mask_tokens()
    ngrams()
    truncate()
    add_tokens()
    shift()
    embedding_lookup()
