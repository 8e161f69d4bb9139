"""The same networks in plain torch, one at a time, to compare stacks with."""

import torch
from torch import nn

ACTIVATIONS = {"tanh": nn.Tanh, "relu": nn.ReLU, "sigmoid": nn.Sigmoid, "identity": nn.Identity}


def plain_loss(name, outputs, target):
    """Return the loss of each row as torch's own functions give it."""
    if name == "squared":
        return nn.functional.mse_loss(outputs, target, reduction="none").mean(1)
    if name == "logistic":
        return nn.functional.binary_cross_entropy_with_logits(outputs, target, reduction="none").mean(1)
    return torch.relu(1.0 - target * outputs).mean(1)


class PlainPerceptron(nn.Module):
    """Linear layers of torch.nn with the values of one network of a stack."""

    def __init__(self, network, values, place):
        super().__init__()
        layers = []
        for layer in range(1, network.depth + 1):
            weight = values[f"weight_{layer}"][place]
            linear = nn.Linear(*weight.shape, bias=network.bias, dtype=weight.dtype)
            with torch.no_grad():
                linear.weight.copy_(weight.T)
                if network.bias:
                    linear.bias.copy_(values[f"bias_{layer}"][place])
            layers.append(linear)
            if layer < network.depth:
                layers.append(ACTIVATIONS[network.activation]())
        self.layers = nn.Sequential(*layers)

    def forward(self, inputs):
        return self.layers(inputs)


class PlainPairs(nn.Module):
    """An nn.Embedding and a decoder with the values of one network of a stack."""

    def __init__(self, network, values, place):
        super().__init__()
        self.mode = network.mode
        self.table = nn.Embedding(network.elements, network.dimension, _weight=values["embedding"][place].clone())
        self.decoder = PlainPerceptron(network.decoder, values, place)

    def forward(self, first, second):
        one, other = self.table(first), self.table(second)
        if self.mode == "concatenate":
            return self.decoder(torch.cat([one, other], 1))
        difference = one - other
        return self.decoder(difference**2 if self.mode == "squared_difference" else difference)
