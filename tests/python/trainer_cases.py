#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of test_trainers.sh: trainer_cases.py CASE DISPATCHER FOLDER. Training loops of Accelerate and Lightning, stopped and resumed with their own
checkpoints. Each raises when something is wrong."""
import os
import sys
import warnings

import libcachew as cachew
import libcachew.torch
import torch

if torch.__version__.startswith("1."):
    torch.__version__ = "1.13.0"  # which Debian calls 1.13.0a0, so that Lightning takes it for something older
warnings.simplefilter("ignore")
PIPELINE = cachew.range(40).shuffle().cast(dtype="f32", fields="x").batch(7)


def loader(connection, ahead, **options):
    return cachew.torch.DataLoader(PIPELINE, service=connection, seed=3, read_ahead=ahead, **options)


def values(batches):
    return [batch["x"].tolist() for batch in batches]


def accelerated(address, folder):
    """save_state() at each step, with whatever read ahead, and load_state() into a new program's objects."""
    import accelerate

    def program(connection, ahead):
        accelerator = accelerate.Accelerator(cpu=True)
        model = torch.nn.Linear(1, 1)
        batches = loader(connection, ahead)
        model, optimizer, same = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0), batches)
        assert same is batches, "Accelerate wraps it"
        accelerator.register_for_checkpointing(batches)
        return accelerator, model, optimizer, batches

    with cachew.connect(address, writable=True) as connection:
        with loader(connection, 0) as batches:
            epochs = [values(batches) for _ in range(2)]
        for ahead in (0, 1, 3):
            accelerator, model, optimizer, batches = program(connection, ahead)
            for step, batch in enumerate(batches, 1):
                accelerator.backward(model(batch["x"][:, None]).sum())
                optimizer.step()
                accelerator.save_state(os.path.join(folder, f"{ahead}-{step}"))
            batches.close()
            assert step == len(epochs[0])
            for step in range(1, len(epochs[0]) + 1):
                accelerator, _, _, batches = program(connection, ahead)
                accelerator.load_state(os.path.join(folder, f"{ahead}-{step}"))
                assert values(batches) == epochs[0][step:] and values(batches) == epochs[1], (ahead, step)
                batches.close()
        moved = accelerate.utils.send_to_device(next(iter(loader(connection, 0))), torch.device("cpu"))
        assert moved["x"].tolist() == epochs[0][0]


def lightning(address, folder):
    """A Trainer with a data module that keeps the loader's state in Lightning's checkpoint: stopped in an epoch, it goes on behind."""
    import pytorch_lightning

    class Data(pytorch_lightning.LightningDataModule):
        def __init__(self, connection):
            super().__init__()
            self.batches = loader(connection, 1)

        def train_dataloader(self):
            return self.batches

        def state_dict(self):
            return self.batches.state_dict()

        def load_state_dict(self, state):
            self.batches.load_state_dict(state)

    class Model(pytorch_lightning.LightningModule):
        def __init__(self, seen):
            super().__init__()
            self.layer, self.seen = torch.nn.Linear(1, 1), seen

        def _register_sharded_tensor_state_dict_hooks_if_available(self):
            """Not in Debian's PyTorch, whose sharded tensors cannot be imported by its Python."""

        def training_step(self, batch, index):
            self.seen.append(batch["x"].tolist())
            return self.layer(batch["x"][:, None]).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0)

    def fit(connection, seen, steps, checkpoint=None):
        trainer = pytorch_lightning.Trainer(accelerator="cpu", max_steps=steps, max_epochs=-1, logger=False, enable_checkpointing=False,
                                            enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
        data = Data(connection)
        trainer.fit(Model(seen), datamodule=data, ckpt_path=checkpoint)
        trainer.save_checkpoint(os.path.join(folder, f"{steps}.ckpt"))
        data.batches.close()

    with cachew.connect(address, writable=True) as connection:
        with loader(connection, 0) as batches:
            expected = values(batches) + values(batches)
        whole, parts = [], []
        fit(connection, whole, 12)
        assert whole == expected, (whole, expected)
        fit(connection, parts, 6)
        fit(connection, parts, 12, os.path.join(folder, "6.ckpt"))
        assert parts == expected, "resumed at an epoch's end"
        parts.clear()
        fit(connection, parts, 4)
        fit(connection, parts, 12, os.path.join(folder, "4.ckpt"))
        assert parts == expected, (parts, "resumed in an epoch")


if __name__ == "__main__":
    {function.__name__: function for function in (accelerated, lightning)}[sys.argv[1]](*sys.argv[2:])
