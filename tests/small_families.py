"""Small random models of every family that can be captured, and how each computes what its MLP writes."""

from dataclasses import dataclass, field
from typing import Any

import torch
import transformers as hf

WORDS = 60
SIZES = {
    **{"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "max_position_embeddings": 64, "bos_token_id": 1, "eos_token_id": 2},
}
SHARED_KEYS = {"num_key_value_heads": 2}
WIDE = {**SHARED_KEYS, "head_dim": 8}
OLD_SIZES = {
    **{"vocab_size": WORDS, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64},
    **{"bos_token_id": 1, "eos_token_id": 2},
}
DISTIL_SIZES = {
    **{"vocab_size": WORDS, "dim": 32, "hidden_dim": 48, "n_layers": 3, "n_heads": 4},
    "max_position_embeddings": 64,
}
MODERN_MARKS = {"pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}


def write_of(norm, after=None):
    """Return how a block's next state follows from the one before its MLP: this + MLP(norm(this))."""

    def following(block, state):
        write = block.mlp(getattr(block, norm)(state) if norm else state)
        return state + (write if after is None else getattr(block, after)(write))

    return following


def bert_following(block, state):
    return block.output.LayerNorm(state + block.output.dense(block.intermediate(state)))


def distilbert_following(block, state):
    return block.output_layer_norm(state + block.ffn(state))


@dataclass(frozen=True)
class Family:
    model: str
    config: str
    kind: str
    following: Any  # the next block's state from the state before the MLP; none where there is no such point
    blocks: str
    final_norm: str = ""  # through which the last of transformers' own hidden states has gone
    settings: dict = field(default_factory=lambda: SIZES)

    def build(self, **more):
        torch.manual_seed(0)
        model = getattr(hf, self.model)(getattr(hf, self.config)(**self.settings, **more)).eval()
        with torch.no_grad():  # weights that differ from layer to layer, norms and biases included
            for weights in model.parameters():
                weights.add_(0.1 * torch.randn_like(weights))
        return model


def llama_like(name, following=None, config=None, **more):
    settings = {**SIZES, **SHARED_KEYS, **more}
    following = following or write_of("post_attention_layernorm")
    return Family(f"{name}ForCausalLM", config or f"{name}Config", "pre-norm", following, "layers", "norm", settings)


GEMMA = write_of("pre_feedforward_layernorm", "post_feedforward_layernorm")
NEOX = ("GPTNeoXForCausalLM", "GPTNeoXConfig")
FAMILIES = {
    "llama": llama_like("Llama"),
    "mistral": llama_like("Mistral"),
    "qwen2": llama_like("Qwen2"),
    "qwen3": llama_like("Qwen3", **WIDE),
    "gemma": llama_like("Gemma", **WIDE),
    "gemma2": llama_like("Gemma2", GEMMA, **WIDE),
    "gemma3": llama_like("Gemma3", GEMMA, "Gemma3TextConfig", **WIDE),
    "glm4": llama_like("Glm4", write_of("post_attention_layernorm", "post_mlp_layernorm"), **WIDE, pad_token_id=0),
    "olmo2": llama_like("Olmo2", write_of("", "post_feedforward_layernorm")),
    "gpt2": Family("GPT2LMHeadModel", "GPT2Config", "pre-norm", write_of("ln_2"), "h", "ln_f", OLD_SIZES),
    "neox_sequential": Family(
        *NEOX, "pre-norm", write_of("post_attention_layernorm"), "layers", "final_layer_norm", {**SIZES}
    ),
    "neox": Family(*NEOX, "parallel", None, "layers", "final_layer_norm"),
    "phi": Family("PhiForCausalLM", "PhiConfig", "parallel", None, "layers", "final_layernorm"),
    "gptj": Family("GPTJForCausalLM", "GPTJConfig", "parallel", None, "h", "ln_f", {**OLD_SIZES, "rotary_dim": 4}),
    "cohere": Family("CohereForCausalLM", "CohereConfig", "parallel", None, "layers", "norm", {**SIZES, **SHARED_KEYS}),
    "modernbert": Family(
        *("ModernBertModel", "ModernBertConfig", "pre-norm", write_of("mlp_norm"), "layers", "final_norm"),
        settings={**SIZES, **MODERN_MARKS},
    ),
    "bert": Family("BertForMaskedLM", "BertConfig", "post-norm", bert_following, "encoder.layer"),
    "roberta": Family("RobertaModel", "RobertaConfig", "post-norm", bert_following, "encoder.layer"),
    "distilbert": Family(
        *("DistilBertModel", "DistilBertConfig", "post-norm", distilbert_following, "transformer.layer"),
        settings=DISTIL_SIZES,
    ),
}
FAMILIES["neox_sequential"].settings["use_parallel_residual"] = False
