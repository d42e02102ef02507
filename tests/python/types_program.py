# SPDX-License-Identifier: Apache-2.0
"""A program that test_types.sh checks, and does not run. Lines that are wrong say so."""
from __future__ import annotations

from typing import Any

import libcachew as cachew

pipeline: cachew.Pipeline = (cachew.files("*.jpg").shuffle().read_file().decode_image(channels=3).random_resized_crop(224)
                             .filter("x > 3", survey=True).filter(lambda element: True, fields="x").map(len).batch(64, drop_remainder=True))
both: cachew.Pipeline = cachew.zip(pipeline, cachew.range(10), name="both")
fields: list[cachew.Field] = pipeline.check()
number: int | None = pipeline.cardinality()

pipeline.shufle()  # wrong: there is no such operator
pipeline.batch(64, drop_remainders=True)  # wrong: nor such an option
pipeline.batch("64")  # wrong: a number is wanted
pipeline.resize([1, 2], interpolation="cubical")  # wrong: none of the words
cachew.range()  # wrong: it needs a number
cachew.run("pipeline")  # wrong: a text is no pipeline


def main(address: str) -> None:
    with cachew.connect(address, timeout=3) as connection:
        job = connection.run(pipeline, seed=1, epochs=3)
        for batch in job:
            array: cachew.Array = batch["image"]
            shape: tuple[int, ...] = array.shape
            token: bytes | None = batch.token
            size: str = array.shape  # wrong: it is a tuple
            print(shape, token, size, array.tolist(), batch.epoch, len(batch))
        for epoch in connection.run(both).epochs():
            for one in epoch:
                print(one.number)
        told: dict[str, Any] = job.stats()
        print(told, job.waiting()[2], connection.explain(job).text)
        connection.running(pipeline)  # wrong: there is no such method
