"""Loading a language model: folders that hold one, and one sentence for whatever goes wrong."""

import importlib.util
import json
import shutil
import sys
from importlib import import_module

import pytest
import torch

from genlaws.core.errors import InputError
from genlaws.models.interface import Prompt
from genlaws.models.language import TransformersModel

transformers = pytest.importorskip("transformers", reason="needs the package transformers")
tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")
safetensors = pytest.importorskip("safetensors.torch", reason="needs the package safetensors")

EXACT = 1e-4  # of log-probabilities in float32
PROMPTS = [Prompt("ab", ("c", "dd"), answer_prefix=""), Prompt("hegab", ("ae", "b", "c"), answer_prefix="")]


def letters(order="abcdefgh"):
    """Return a tokenizer of single letters."""
    words = {word: place for place, word in enumerate(["<s>", "</s>", "<unk>", *order])}
    inside = tokenizers.Tokenizer(tokenizers.models.BPE(words, [], unk_token="<unk>"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inside, eos_token="</s>", unk_token="<unk>")


def save_model(folder):
    """Save a small random model with its tokenizer, and return it."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    network = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=11, initializer_range=0.5, **sizes))
    network.eval().save_pretrained(folder)
    letters().save_pretrained(folder)
    return TransformersModel(network, letters(), "made-up")


def test_a_saved_model_is_loaded_from_its_folder(tmp_path):
    saved = save_model(tmp_path)
    loaded = TransformersModel.load(tmp_path, batch_size=2, seed=7)
    for one, two in zip(saved.score(PROMPTS), loaded.score(PROMPTS), strict=True):
        assert two.log_probabilities == pytest.approx(one.log_probabilities, abs=EXACT)
    settings = f"[weights {loaded.fingerprint}, float32, temperature=0, seed=7, tokens=16, stop=newline]"
    assert loaded.name == f"transformers:{tmp_path} {settings}"
    assert loaded.identity == f"transformers {settings}"
    assert loaded.name != TransformersModel.load(tmp_path, dtype="bfloat16", seed=7).name
    half = TransformersModel.load(tmp_path, dtype="float16")
    assert half.network.dtype == torch.float16


def _one_weight(folder):
    file = folder / "model.safetensors"
    weights = safetensors.load_file(file)
    weights["model.layers.0.mlp.up_proj.weight"][3, 5] += 1e-3
    safetensors.save_file(weights, file, metadata={"format": "pt"})


def _json(name, **changed):
    def change(folder):
        file = folder / name
        file.write_text(json.dumps(json.loads(file.read_text()) | changed))

    return change


CHANGES = {
    "one weight": _one_weight,
    "configuration": _json("config.json", rms_norm_eps=1e-3),
    "tokenizer": lambda folder: letters("hgfedcba").save_pretrained(folder),
    "chat template": lambda folder: (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}!"),
    "end of a reply": _json("generation_config.json", eos_token_id=5),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_answers_changes_what_they_are_kept_under(tmp_path, change):
    before, moved = tmp_path / "before", tmp_path / "elsewhere" / "renamed"
    save_model(before)
    first = TransformersModel.load(before)
    shutil.copytree(before, moved)
    assert TransformersModel.load(moved).identity == first.identity
    assert TransformersModel.load(moved).name != first.name
    CHANGES[change](moved)
    assert TransformersModel.load(moved).identity != first.identity


def test_a_model_in_memory_is_known_by_its_weights_and_not_by_its_use(tmp_path):
    model = save_model(tmp_path)
    first = model.identity
    model.score(PROMPTS)
    model.reply(PROMPTS)
    model.tokenizer(["ab", "abc"], padding=False, truncation=True, max_length=2)
    assert TransformersModel(model.network, model.tokenizer, "made-up").identity == first == model.identity
    with torch.no_grad():
        model.network.lm_head.weight[2, 3] += 1.0
    trained = model.identity
    model.network.lm_head.weight.data[1, 1] *= 1.5  # which torch does not count
    assert len({first, trained, model.identity}) == 3


def test_a_network_without_a_language_head_is_refused(tmp_path):
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    letters().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="is not a language model; it has no weights for"):
        TransformersModel.load(tmp_path)


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("nobody/no-such-model", {}, "there is no model 'nobody/no-such-model'"),
        ("no/such.gguf", {}, "there is no file 'no/such.gguf'"),
        ("", {}, "source must be a Hugging Face id, a folder, or a .gguf file"),
        (3, {}, "source must be a Hugging Face id"),
        (__file__, {}, "got the file"),
        ("x", {"dtype": "float8"}, "dtype must be one of float32, bfloat16, float16; got 'float8'"),
        ("x", {"device": "abacus"}, "device must be one that torch has here"),
        ("x", {"batch_size": 0}, "batch_size must be a whole number, at least 1"),
        ("x", {"temperature": -1.0}, "temperature must be zero or positive"),
        ("x", {"max_new_tokens": 0}, "max_new_tokens must be"),
        ("x", {"seed": -1}, "seed must be"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_sentence(source, options, sentence):
    with pytest.raises(InputError) as caught:
        TransformersModel.load(source, **options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(InputError, match="transformers could not load"):
        TransformersModel.load(tmp_path)


@pytest.mark.parametrize("library", ["gguf", "accelerate"])
def test_a_missing_library_is_named(library, tmp_path, monkeypatch):
    file = tmp_path / "model.gguf"
    file.touch()
    found = importlib.util.find_spec

    def without(name, *rest):
        """Return no place for one library."""
        return None if name == library else found(name, *rest)

    files = import_module("genlaws.models.load")
    monkeypatch.setattr(files, "find_spec", without)
    with pytest.raises(ModuleNotFoundError) as caught:
        TransformersModel.load(file)
    assert caught.value.name == library
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        TransformersModel.load("any/model")
    assert caught.value.name == "transformers"
