"""Where a transformer reads its residual stream and what it adds to it, found from the names of its parts.

Three kinds of block are known:

- pre-norm: attention and MLP each read the stream through a norm and add to it (Llama, Mistral, Qwen, Gemma, GPT-2,
  ModernBERT; with a further norm on what is added: Gemma 2 and 3, GLM 4, OLMo 2);
- parallel: both read the same state and both are added at once, so there is no point before the MLP (GPT-NeoX and
  Pythia, GPT-J, Phi, Cohere);
- post-norm: the sum of the state and what is added passes through a norm, and that is the next state (BERT and those
  built like it, DistilBERT).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import nn

from genlaws.core.errors import InputError
from genlaws.models.stream import PLACES, Site

ATTENTION_NAMES = ("self_attn", "attn", "attention", "self_attention")
MLP_NAMES = ("mlp", "feed_forward", "ffn", "block_sparse_moe")
FIRST_NORM_NAMES = ("input_layernorm", "ln_1", "attn_norm")
MLP_NORM_NAMES = ("pre_feedforward_layernorm", "post_attention_layernorm", "ln_2", "mlp_norm")
ATTENTION_POST_NORM = "post_self_attn_layernorm"  # GLM 4; for Gemma and OLMo 2 the name is post_attention_layernorm
MLP_POST_NORM_NAMES = ("post_feedforward_layernorm", "post_mlp_layernorm")

IDENTITIES = {
    "pre-norm": "next = this + write",
    "parallel": "next = this + attention's write + MLP's write",
    "post-norm": "next = LayerNorm(this + write)",
}
KIND_NOTES = {
    "parallel": "The blocks are parallel: attention and MLP read the same state, so there is no point before the MLP "
    "and each block is one site.",
    "post-norm": "The blocks are post-norm: a state is what a LayerNorm gives and next = LayerNorm(this + write), so a "
    "step from site to site is not what was written.",
}


@dataclass(frozen=True)
class SiteStep:
    """One site, and how the stream goes on from there.

    Attributes
    ----------
    site : Site
    reader : torch.nn.Module
        Its first input is the state.
    writers : tuple of torch.nn.Module
        Their outputs are added to the state.
    norm : torch.nn.Module, optional
        What the sum passes through before it is the next state, in post-norm blocks.
    """

    site: Site
    reader: nn.Module
    writers: tuple[nn.Module, ...]
    norm: nn.Module | None = None


@dataclass(frozen=True)
class TransformerArchitecture:
    """The sites of a transformer.

    Attributes
    ----------
    kind : {"pre-norm", "parallel", "post-norm"}
    steps : tuple of SiteStep
        One for each site but the end, in the order of the forward pass.
    last : torch.nn.Module
        The last block; its output is the state at the end.
    """

    kind: str
    steps: tuple[SiteStep, ...]
    last: nn.Module

    @property
    def sites(self) -> tuple[Site, ...]:
        """All sites, the end included."""
        ends = Site(self.steps[-1].site.layer + 1, "end")
        return (*(step.site for step in self.steps), ends)

    @property
    def identity(self) -> str:
        """How a state follows from the one before, such as ``next = this + write``."""
        return IDENTITIES[self.kind]

    @property
    def messages(self) -> tuple[str, ...]:
        """What a reader of the states has to know."""
        return (KIND_NOTES[self.kind],) if self.kind in KIND_NOTES else ()


def architecture_of(model: nn.Module) -> TransformerArchitecture:
    """Return where a transformer reads and writes its stream; refuse one whose blocks are of an unknown kind.

    Parameters
    ----------
    model : torch.nn.Module
        With one list of blocks, at any depth.

    Raises
    ------
    InputError
        Naming the part that was not found.
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch module, such as a model of transformers; got {type(model).__name__}.")
    stacks = list(_stacks(model))
    if not stacks:
        raise InputError(
            f"{type(model).__name__} has an unknown architecture: it has no list of blocks that each have an "
            f"attention ({', '.join(ATTENTION_NAMES)})."
        )
    if len(stacks) > 1:
        names = " and ".join(name for name, _ in stacks)
        raise InputError(
            f"{type(model).__name__} has {len(stacks)} lists of blocks ({names}); give the part of it that has one."
        )
    blocks = stacks[0][1]
    found = [_block(layer, block) for layer, block in enumerate(blocks)]
    kinds = {kind for kind, _ in found}
    if len(kinds) > 1:
        raise InputError(f"The blocks of {type(model).__name__} are of several kinds: {', '.join(sorted(kinds))}.")
    return TransformerArchitecture(kinds.pop(), tuple(step for _, steps in found for step in steps), blocks[-1])


def chosen_sites(
    known: Sequence[Site], sites: Sequence[Site | str] | None, layers: Sequence[int] | None
) -> tuple[Site, ...]:
    """Return the requested sites, in the order of the network."""
    requested = None if sites is None else [sites] if isinstance(sites, str | Site) else list(sites)
    names = {site.name for site in known}
    for one in requested or []:
        name = one.name if isinstance(one, Site) else one
        if name not in names and name not in {site.place for site in known}:
            places = ", ".join(place for place in PLACES if any(site.place == place for site in known))
            raise InputError(f"sites must be among {places}, or names such as {known[-2].name}; got {name!r}.")
    wanted = None if requested is None else {one.name if isinstance(one, Site) else one for one in requested}
    numbers = {site.layer for site in known}
    for layer in layers if layers is not None else ():
        if layer not in numbers:
            raise InputError(f"layers must lie between 0 and {known[-1].layer}; got {layer}.")
    found = [site for site in known if wanted is None or site.name in wanted or site.place in wanted]
    found = [site for site in found if layers is None or site.layer in set(layers)]
    if not found:
        raise InputError("sites and layers must leave at least one site; they leave none.")
    return tuple(found)


def _stacks(model: nn.Module) -> Iterator[tuple[str, Sequence[nn.Module]]]:
    """Yield the lists of modules that all have an attention."""
    for name, part in model.named_modules():
        if isinstance(part, nn.ModuleList) and len(part) and all(_child(one, ATTENTION_NAMES) for one in part):
            yield name, list(part)


def _child(block: nn.Module, names: Sequence[str]) -> nn.Module | None:
    """Return the first part of a block that has one of these names."""
    parts = dict(block.named_children())
    return next((parts[name] for name in names if name in parts), None)


def _block(layer: int, block: nn.Module) -> tuple[str, list[SiteStep]]:
    """Return the kind of a block and its steps."""
    attention = _child(block, ATTENTION_NAMES)
    assert attention is not None  # the list was chosen by it
    if _child(block, ("intermediate",)) is not None or _child(block, ("sa_layer_norm",)) is not None:
        return "post-norm", _post_norm(layer, block, attention)
    mlp, first = _child(block, MLP_NAMES), _child(block, FIRST_NORM_NAMES)
    if mlp is None:
        raise InputError(_missing(layer, block, f"no MLP ({', '.join(MLP_NAMES)})"))
    if first is None:
        return "pre-norm", _norms_after(layer, block, attention, mlp)
    before = _child(block, MLP_NORM_NAMES)
    if before is None or getattr(block, "use_parallel_residual", False):
        return "parallel", [SiteStep(Site(layer, "block"), block, (attention, mlp))]
    return "pre-norm", _pre_norm(layer, block, attention, mlp, before)


def _pre_norm(layer: int, block: nn.Module, attention: nn.Module, mlp: nn.Module, before: nn.Module) -> list[SiteStep]:
    """Return the steps of a block with two norms that read the stream, and perhaps two more on what is added."""
    named_after_place = _child(block, ("pre_feedforward_layernorm",)) is before
    after = _child(block, ("post_attention_layernorm",) if named_after_place else (ATTENTION_POST_NORM,))
    return [
        SiteStep(Site(layer, "attention"), block, (after or attention,)),
        SiteStep(Site(layer, "mlp"), before, (_child(block, MLP_POST_NORM_NAMES) or mlp,)),
    ]


def _norms_after(layer: int, block: nn.Module, attention: nn.Module, mlp: nn.Module) -> list[SiteStep]:
    """Return the steps of a block with norms only on what is added: attention and MLP read the bare stream."""
    after, last = _child(block, ("post_attention_layernorm",)), _child(block, MLP_POST_NORM_NAMES)
    if after is None or last is None:
        raise InputError(_missing(layer, block, f"no norm before the attention ({', '.join(FIRST_NORM_NAMES)})"))
    return [SiteStep(Site(layer, "attention"), block, (after,)), SiteStep(Site(layer, "mlp"), mlp, (last,))]


def _post_norm(layer: int, block: nn.Module, attention: nn.Module) -> list[SiteStep]:
    """Return the steps of a block whose sums pass through norms: BERT's names, then DistilBERT's."""
    inner, outer = _child(attention, ("output",)), _child(block, ("output",))
    widened = _child(block, ("intermediate",))
    if inner is not None and outer is not None and widened is not None:
        parts = (*(_child(inner, (name,)) for name in ("dense", "LayerNorm")), widened)
        parts += tuple(_child(outer, (name,)) for name in ("dense", "LayerNorm"))
    else:
        mlp = _child(block, MLP_NAMES)
        parts = (attention, _child(block, ("sa_layer_norm",)), mlp, mlp, _child(block, ("output_layer_norm",)))
    write, norm, reader, second_write, second_norm = parts
    if write is None or norm is None or reader is None or second_write is None or second_norm is None:
        raise InputError(_missing(layer, block, "no LayerNorm after its attention and after its MLP"))
    return [
        SiteStep(Site(layer, "attention"), block, (write,), norm),
        SiteStep(Site(layer, "mlp"), reader, (second_write,), second_norm),
    ]


def _missing(layer: int, block: nn.Module, what: str) -> str:
    parts = ", ".join(name for name, _ in block.named_children())
    return f"Block {layer} ({type(block).__name__}) is of an unknown kind: it has {what}; its parts are {parts}."
