"""Thousands of small networks trained at once, on CPU or GPU; needs only numpy and torch.

Every network is trained as if it were alone. `train` is the main function; `Perceptron` and `PairPerceptron` are
networks differentiated by hand, `Differentiated` and `Modules` accept any other. All public names are constructors:
`train` makes a `TrainedStack`, which holds the parameters of every network as tensors. The questions of the
systems on networks train one and answer with numbers.
"""

from genlaws.ensembles.architecture import Layout, ParameterArray
from genlaws.ensembles.batches import FreshDraws, Minibatches, WholeSet
from genlaws.ensembles.checkpoint import Checkpoint
from genlaws.ensembles.differentiated import Differentiated, Modules
from genlaws.ensembles.optimizers import Adam, AdamW, Sgd
from genlaws.ensembles.perceptron import PairPerceptron, Perceptron
from genlaws.ensembles.result import Live, TrainedStack
from genlaws.ensembles.training import train

__all__ = [
    "Adam",
    "AdamW",
    "Checkpoint",
    "Differentiated",
    "FreshDraws",
    "Layout",
    "Live",
    "Minibatches",
    "Modules",
    "PairPerceptron",
    "ParameterArray",
    "Perceptron",
    "Sgd",
    "TrainedStack",
    "WholeSet",
    "train",
]
