#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_text_train.sh: text_train_cases.py CASE FOLDER [DISPATCHER]. The tokens of docs/examples/python/text_train.py beside those of the
package tokenizers."""
import collections
import importlib.util
import json
import os
import random
import sys

import libcachew as cachew
import tokenizers

END = "<|endoftext|>"


def texts(folder):
    for name in sorted(os.listdir(f"{folder}/texts")):
        with open(f"{folder}/texts/{name}", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)["text"]


def make(folder):
    """Texts of words that follow each other by rule, and a tokenizer trained on them."""
    rnd = random.Random(1)
    words = "the keeper of a lantern saw wind and sea; na\u00efve ships, 1845 of them, don't sink \U0001f6a2\n".split(" ")
    os.makedirs(f"{folder}/texts")
    for part in range(3):
        with open(f"{folder}/texts/{part}.jsonl", "w", encoding="utf-8") as file:
            for number in range(60):
                begin, count = rnd.randrange(len(words)), rnd.randrange(1, 25)
                text = " ".join(words[(begin + i) % len(words)] for i in range(count))
                file.write(json.dumps({"id": number, "text": text}, ensure_ascii=number % 2 == 0) + "\n")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=[END], initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts(folder), trainer)
    tokenizer.save(f"{folder}/tokenizer.json")


def tokens(folder, address):
    """Each text is in the rows once, with the next tokens as labels."""
    spec = importlib.util.spec_from_file_location("text_train", os.path.join(os.environ["SOURCE_DIR"], "docs/examples/python/text_train.py"))
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    length = 128
    expected = collections.Counter(tuple(tokenizer.encode(text).ids + [tokenizer.token_to_id(END)]) for text in texts(folder))
    found, rows = collections.Counter(), 0
    with cachew.connect(address) as connection:
        for batch in connection.run(example.pipeline(f"{folder}/texts", f"{folder}/tokenizer.json", END, length, 8), seed=1):
            for text, labels, segment, position in zip(*(batch[name].numpy() for name in ("text", "labels", "segment", "position"))):
                rows += 1
                assert (labels[segment == 0] == -100).all()
                for number in range(1, segment.max() + 1):
                    one = segment == number
                    assert position[one].tolist() == list(range(one.sum()))
                    assert text[one][1:].tolist() == labels[one][:-1].tolist()
                    found[tuple(text[one].tolist() + labels[one][-1:].tolist())] += 1
    assert found == expected and sum(found.values()) == 180, (found - expected, expected - found)
    assert rows < 100, rows  # several texts share a row
    print(f"180 texts in {rows} rows of {length} tokens, all as the package tokenizers has them")


if __name__ == "__main__":
    {function.__name__: function for function in (make, tokens)}[sys.argv[1]](*sys.argv[2:])
