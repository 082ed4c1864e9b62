"""The region head as a torch module, for training; planweave/perception/region_head.py computes the same in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from planweave.perception.region_features import CHANNELS, MEASURES

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
