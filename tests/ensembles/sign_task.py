"""A small task, the sign of a sum, as every kind of batches."""

import numpy as np
import torch

from genlaws.ensembles import FreshDraws, Minibatches, WholeSet, streams


def sign_examples(count):
    """Return twenty examples for each of so many networks."""
    inputs = torch.as_tensor(np.random.default_rng(0).standard_normal((count, 20, 3)))
    return {"input": inputs, "target": (inputs.sum(2, keepdim=True) > 0).double()}


def sign_batches(seeds, fresh_rows):
    """Return functions that make each kind of batches, by name; fresh draws have so many rows."""

    def fresh(keys, steps):
        inputs = streams.normals(keys, steps, 3 * fresh_rows).view(len(steps), len(keys), fresh_rows, 3)
        return {"input": inputs, "target": (inputs.sum(3, keepdim=True) > 0).double()}

    return {
        "whole": lambda: WholeSet(sign_examples(len(seeds))),
        "epochs": lambda: Minibatches(sign_examples(len(seeds)), 6, seeds),
        "random": lambda: Minibatches(sign_examples(len(seeds)), 6, seeds, "random"),
        "fresh": lambda: FreshDraws(fresh, seeds),
    }
