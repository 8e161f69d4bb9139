"""A model whose blocks add known matrices times the stream, with the parts that a transformer's blocks have."""

from types import SimpleNamespace

import torch
from torch import nn


class LinearBlock(nn.Module):
    def __init__(self, attention, mlp):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = nn.Identity(), nn.Identity()
        self.self_attn, self.mlp = (nn.Linear(len(one), len(one), bias=False) for one in (attention, mlp))
        for part, matrix in ((self.self_attn, attention), (self.mlp, mlp)):
            part.weight = nn.Parameter(matrix.clone())

    def forward(self, hidden_states):
        hidden_states = hidden_states + self.self_attn(self.input_layernorm(hidden_states))
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class LinearStream(nn.Module):
    """Words are rows of a table; each site's write is a matrix times the state; the scores are another product."""

    def __init__(self, matrices, words=7, head=True):
        super().__init__()
        width = len(matrices[0])
        generator = torch.Generator().manual_seed(5)
        self.words = nn.Embedding(words, width, dtype=torch.float64)
        self.words.weight = nn.Parameter(torch.randn(words, width, generator=generator, dtype=torch.float64))
        pairs = zip(matrices[::2], matrices[1::2], strict=True)
        self.layers = nn.ModuleList(LinearBlock(*pair) for pair in pairs)
        self.head = nn.Linear(width, words, bias=False, dtype=torch.float64) if head else None
        if head:
            self.head.weight = nn.Parameter(torch.randn(words, width, generator=generator, dtype=torch.float64))

    def forward(self, input_ids):
        states = self.words(input_ids)
        for block in self.layers:
            states = block(states)
        return states if self.head is None else SimpleNamespace(logits=self.head(states))


def random_matrices(count, width, seed, size=0.3):
    generator = torch.Generator().manual_seed(seed)
    return [size * torch.randn(width, width, generator=generator, dtype=torch.float64) for _ in range(count)]


def hook_count(model):
    """Return how many hooks a model has."""
    return sum(len(part._forward_hooks) + len(part._forward_pre_hooks) for part in model.modules())
