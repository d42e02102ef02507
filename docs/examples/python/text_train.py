#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer to tell the next token, on the texts of FOLDER/*.jsonl ({"text": ...} a line) and with a tokenizer.json of the
package tokenizers: text_train.py --data FOLDER --tokenizer FILE --checkpoint FILE [--service ADDRESS] [--epochs N] [--steps N]. Started again, it
goes on from its checkpoint."""
import argparse
import json
import os

import libcachew as cachew
import libcachew.torch
import torch
from torch import nn

HEADS = 4


def pipeline(folder, tokenizer, end, length, batch):
    """Rows of `length` tokens, in which texts stand one behind another: each has its number in `segment`, and its places in `position`. Labels
    are the next tokens, and -100 where a row is filled up."""
    return (cachew.jsonl(f"{folder}/*.jsonl", schema=["text: str"]).shuffle().bpe(tokenizer=tokenizer).add_tokens(end=end, tokenizer=tokenizer).shift(field="text")
            .pack(length, value={"labels": -100}).batch(batch))


class Model(nn.Module):
    def __init__(self, vocabulary, length, width=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, HEADS, 4 * width, dropout=0, batch_first=True), 2)
        self.logits = nn.Linear(width, vocabulary)

    def forward(self, text, segment, position):
        length = text.shape[1]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        hidden = later | (segment[:, :, None] != segment[:, None, :])  # a token sees those before it in its own text
        seen = self.layers(self.tokens(text) + self.places(position), mask=hidden.repeat_interleave(HEADS, 0))
        return self.logits(seen)


def loss_of(model, batch):
    logits = model(batch["text"], batch["segment"], batch["position"])
    return nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].long().flatten(), ignore_index=-100)


def save(path, **parts):
    torch.save(parts, f"{path}.new")
    os.replace(f"{path}.new", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--checkpoint", required=True, help="a file, which is read if it is there, and written after each 10 steps")
    parser.add_argument("--end", default="<|endoftext|>", help="the token behind each text")
    parser.add_argument("--service", default="local:")
    parser.add_argument("--length", type=int, default=64, help="of a row, in tokens")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, help="end after so many")
    arguments = parser.parse_args()

    with open(arguments.tokenizer, encoding="utf-8") as file:
        described = json.load(file)
    vocabulary = described["model"]["vocab"] | {token["content"]: token["id"] for token in described["added_tokens"]}
    torch.manual_seed(1)
    model = Model(max(vocabulary.values()) + 1, arguments.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
    batches = pipeline(arguments.data, os.path.abspath(arguments.tokenizer), arguments.end, arguments.length, 8)
    with cachew.torch.DataLoader(batches, service=arguments.service, seed=1, epochs=arguments.epochs) as loader:
        if os.path.exists(arguments.checkpoint):
            kept = torch.load(arguments.checkpoint)
            model.load_state_dict(kept["model"])
            optimizer.load_state_dict(kept["optimizer"])
            loader.load_state_dict(kept["data"])
        taken = 0
        for _ in range(loader.state_dict()["epoch"], arguments.epochs):
            for batch in loader:
                loss = loss_of(model, batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                taken += 1
                print(f"epoch {batch.epoch}: loss {loss.item():.6f}", flush=True)
                if taken % 10 == 0 or taken == arguments.steps:
                    save(arguments.checkpoint, model=model.state_dict(), optimizer=optimizer.state_dict(), data=loader.state_dict())
                if taken == arguments.steps:
                    return


if __name__ == "__main__":
    main()
