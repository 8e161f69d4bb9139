"""Small random networks, saved and loaded as real ones are, against plain passes of the same networks."""

import copy
import json

import numpy as np
import pytest
import torch
from PIL import Image

from genlaws.core.errors import InputError
from genlaws.models.language import TransformersModel
from genlaws.probes.encoders.image import ExtractorEncoder
from genlaws.probes.encoders.load import load_encoder
from genlaws.probes.encoders.pooling import pool_states
from genlaws.probes.encoders.stimuli import hue_stimuli, mark_stimuli, word_stimuli
from genlaws.probes.layers.embeddings import measure_layers
from genlaws.semanticity.networks.extractors import Prepared, ResNet

transformers = pytest.importorskip("transformers", reason="needs the package transformers")
tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")

EXACT = 1e-5  # of numbers of order 1 in float32, between ways of batching the same sums
TEXTS = ["abc", "h", "gfedcba", "ab", "ddd"]
SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
MEAN, DEVIATION = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]


def save_letters(folder):
    """Save a tokenizer of single letters that ends each text with </s>, as CLIP does."""
    words = {word: place for place, word in enumerate(["<pad>", "<unk>", *"abcdefgh", "</s>"])}
    inside = tokenizers.Tokenizer(tokenizers.models.BPE(words, [], unk_token="<unk>"))
    inside.post_processor = tokenizers.processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 10)])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=inside, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)


def save_processor(folder, kind, side=32):
    reported = {
        **{"image_processor_type": kind, "do_resize": True, "do_rescale": True, "do_normalize": True},
        **{"size": {"height": side, "width": side}, "do_center_crop": False, "resample": 2},
        **{"rescale_factor": 1 / 255, "image_mean": MEAN, "image_std": DEVIATION, "crop_pct": 1.0},
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(reported), encoding="utf-8")


def save(folder, network, processor=None):
    network.eval().save_pretrained(folder)
    save_letters(folder)
    if processor:
        save_processor(folder, processor)
    return network


def towers(kind):
    torch.manual_seed(0)
    text = {**SMALL, "vocab_size": 11, "max_position_embeddings": 12, "eos_token_id": 10, "pad_token_id": 0}
    vision = {**SMALL, "image_size": 32, "patch_size": 16}
    if kind == "siglip":
        return transformers.SiglipModel(transformers.SiglipConfig(text_config=text, vision_config=vision))
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    return transformers.CLIPModel(config)


def bert(**changed):
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(vocab_size=11, **{**SMALL, **changed}))


def tokens_of(text):
    return torch.tensor([["abcdefgh".index(letter) + 2 for letter in text] + [10]])


def pixels_of(pictures):
    table = np.stack([np.asarray(one, dtype=np.float32) for one in pictures]) / 255.0
    scaled = (table - np.array(MEAN, dtype=np.float32)) / np.array(DEVIATION, dtype=np.float32)
    return torch.from_numpy(scaled).permute(0, 3, 1, 2).contiguous()


def values(features):
    return (features if isinstance(features, torch.Tensor) else features.pooler_output).numpy()


@pytest.mark.parametrize("pooling", ["mean", "last", "first", "max"])
def test_text_layers_are_those_of_each_text_alone(tmp_path, pooling):
    network = save(tmp_path, bert())
    encoder = load_encoder(tmp_path, pooling=pooling, batch_size=2)
    assert encoder.layers == ("embeddings", "layer 1", "layer 2")
    found = encoder.embed(TEXTS)
    plain = {"mean": lambda h: h.mean(0), "last": lambda h: h[-1], "first": lambda h: h[0], "max": lambda h: h.amax(0)}
    for place, text in enumerate(TEXTS):
        with torch.no_grad():
            states = network(tokens_of(text), output_hidden_states=True).hidden_states
        for layer, state in zip(encoder.layers, states, strict=True):
            assert found[layer][place] == pytest.approx(plain[pooling](state[0]).numpy(), abs=EXACT)


def test_masked_places_never_count():
    states = torch.arange(24.0).reshape(2, 4, 3)
    mask = torch.tensor([[0, 1, 1, 0], [1, 1, 1, 1]])
    spoilt = states.masked_fill(mask.unsqueeze(-1) == 0, 1e6)
    for how in ("mean", "last", "first", "max", "mean_sqrt_len", "weightedmean"):
        assert pool_states(spoilt, mask, how)[0] == pytest.approx(pool_states(states[:1, 1:3], mask[:1, 1:3], how)[0])
    assert pool_states(spoilt, mask, "first")[0].tolist() == [3.0, 4.0, 5.0]
    assert pool_states(spoilt, mask, "last")[0].tolist() == [6.0, 7.0, 8.0]
    assert pool_states(spoilt, mask, "weightedmean")[0].tolist() == pytest.approx([5.0, 6.0, 7.0])
    assert pool_states(spoilt, mask, "mean_sqrt_len")[0].tolist() == pytest.approx(
        [9 / 2**0.5, 11 / 2**0.5, 13 / 2**0.5]
    )


def steps(folder, pooling, *kinds):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    listed = [{"type": f"sentence_transformers.models.{kind}", "path": f"{at}_{kind}"} for at, kind in enumerate(kinds)]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")


@pytest.mark.parametrize(
    ("pooling", "plain"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, lambda h: h[0]),
        ({"pooling_mode": "lasttoken"}, lambda h: h[-1]),
        (
            {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": True},
            lambda h: torch.cat([h.amax(0), h.mean(0)]),
        ),
    ],
)
def test_a_sentence_encoder_keeps_its_own_pooling(tmp_path, pooling, plain):
    network = save(tmp_path, bert())
    steps(tmp_path, pooling, "Transformer", "Pooling", "Normalize")
    encoder = load_encoder(tmp_path)
    assert encoder.layers[-1] == "output"
    for text, row in zip(TEXTS, encoder.embed(TEXTS)["output"], strict=True):
        with torch.no_grad():
            expected = plain(network(tokens_of(text)).last_hidden_state[0])
        assert row == pytest.approx((expected / expected.norm()).numpy(), abs=EXACT)


def test_dense_layers_of_a_sentence_encoder_are_applied(tmp_path):
    network = save(tmp_path, bert())
    steps(tmp_path, {"pooling_mode_mean_tokens": True}, "Transformer", "Pooling", "Dense")
    folder = tmp_path / "2_Dense"
    folder.mkdir()
    linear = torch.nn.Linear(16, 5)
    torch.save({f"linear.{name}": one for name, one in linear.state_dict().items()}, folder / "pytorch_model.bin")
    reported = {"in_features": 16, "out_features": 5, "activation_function": "torch.nn.modules.activation.Tanh"}
    (folder / "config.json").write_text(json.dumps(reported), encoding="utf-8")
    encoder = load_encoder(tmp_path)
    with torch.no_grad():
        expected = torch.tanh(linear(network(tokens_of("abc")).last_hidden_state.mean(1)))[0]
    assert encoder.embed(["abc"])["output"][0] == pytest.approx(expected.numpy(), abs=EXACT)
    drawn = encoder.with_random_weights(0).head.dense[0][0]
    assert not torch.equal(drawn.weight, encoder.head.dense[0][0].weight)


def test_a_step_that_is_not_known_is_said(tmp_path):
    save(tmp_path, bert())
    steps(tmp_path, {"pooling_mode_mean_tokens": True}, "Transformer", "Pooling", "LSTM")
    with pytest.raises(InputError, match="has a step LSTM after its network"):
        load_encoder(tmp_path)


def test_a_loaded_decoder_is_read_without_its_language_head(tmp_path):
    torch.manual_seed(0)
    network = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=11, **SMALL)).eval()
    save(tmp_path, network)
    model = TransformersModel.load(tmp_path)
    loaded, again = load_encoder(model), load_encoder(tmp_path)
    assert loaded.layers == again.layers == ("embeddings", "layer 1", "layer 2")
    found, twice = loaded.embed(TEXTS), again.embed(TEXTS)
    for place, text in enumerate(TEXTS):
        with torch.no_grad():
            states = network(tokens_of(text), output_hidden_states=True).hidden_states
        for layer, state in zip(loaded.layers, states, strict=True):
            assert found[layer][place] == pytest.approx(state[0].mean(0).numpy(), abs=EXACT)
            assert twice[layer][place] == pytest.approx(found[layer][place], abs=EXACT)
    with pytest.raises(InputError, match="is no image encoder; it is a text encoder"):
        load_encoder(model, kind="image")


@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_both_towers_of_a_joint_model(tmp_path, kind):
    network = save(tmp_path, towers(kind), "ViTImageProcessor")
    words, sight = load_encoder(tmp_path, kind="text", batch_size=2), load_encoder(tmp_path, kind="image", batch_size=2)
    assert words.layers == sight.layers == ("embeddings", "layer 1", "layer 2", "projection")
    found = words.embed(TEXTS)
    for place, text in enumerate(TEXTS):
        tokens = tokens_of(text)
        if kind == "siglip":  # reads texts of full length, padding included
            tokens = torch.nn.functional.pad(tokens, (0, 12 - tokens.shape[1]))
        with torch.no_grad():
            state = network.text_model(tokens, output_hidden_states=True).hidden_states[1][0, : len(text) + 1]
            features = values(network.get_text_features(tokens))[0]
        assert found["layer 1"][place] == pytest.approx(state.mean(0).numpy(), abs=EXACT)
        assert found["projection"][place] == pytest.approx(features, abs=EXACT)
    pictures = mark_stimuli(5, size=32)
    seen, pixels = sight.embed(pictures), pixels_of(pictures.contents)
    with torch.no_grad():
        states = network.vision_model(pixels, output_hidden_states=True).hidden_states
        features = values(network.get_image_features(pixels))
    assert seen["layer 2"] == pytest.approx(states[2].mean(1).numpy(), abs=EXACT)
    assert seen["projection"] == pytest.approx(features, abs=EXACT)
    with pytest.raises(InputError, match="kind must be text or image for .*, which has a tower for each; got 'auto'"):
        load_encoder(tmp_path)


def vision_network(kind):
    torch.manual_seed(0)
    if kind == "vit":
        config = transformers.ViTConfig(image_size=32, patch_size=16, **SMALL)
        return transformers.ViTModel(config), "ViTImageProcessor"
    few = {"depths": [1, 1], "hidden_sizes": [8, 16]}
    if kind == "resnet":
        config = transformers.ResNetConfig(embedding_size=8, layer_type="basic", **few)
        return transformers.ResNetModel(config), "ViTImageProcessor"
    config = transformers.ConvNextConfig(num_stages=2, **few)
    return transformers.ConvNextModel(config), "ViTImageProcessor"


@pytest.mark.parametrize("kind", ["vit", "resnet", "convnext"])
def test_image_layers_are_means_over_patches_or_places(tmp_path, kind):
    network = save(tmp_path, *vision_network(kind))
    encoder = load_encoder(tmp_path, batch_size=3)
    assert encoder.layers == ("embeddings", "layer 1", "layer 2", "output")
    pictures = hue_stimuli(7, size=32)
    found = encoder.embed(pictures)
    with torch.no_grad():
        reported = network(pixels_of(pictures.contents), output_hidden_states=True)
    for layer, state in zip(encoder.layers, [*reported.hidden_states, reported.last_hidden_state], strict=True):
        plain = state.mean((2, 3)) if state.ndim == 4 else state.mean(1)
        assert found[layer] == pytest.approx(plain.numpy(), abs=EXACT)
    if kind != "vit":
        with pytest.raises(InputError, match="pooling must be mean or max for a network whose layers are maps"):
            load_encoder(tmp_path, pooling="first").embed(pictures)


def test_a_residual_network_from_a_file_is_read_stage_by_stage(tmp_path):
    torch.manual_seed(0)
    network, head = ResNet(3, (4, 6), 1).eval(), torch.nn.Linear(6, 2)
    weights = {**network.state_dict(), "linear.weight": head.weight, "linear.bias": head.bias}
    np.savez(tmp_path / "small.npz", **{name: one.detach().numpy() for name, one in weights.items()})
    encoder = load_encoder(tmp_path / "small.npz")
    assert isinstance(encoder, ExtractorEncoder)
    assert encoder.layers == ("layer1", "layer2", "features")
    pictures = hue_stimuli(5, size=32)
    found = encoder.embed(pictures)
    table = np.stack([np.asarray(one, dtype=np.float32) for one in pictures.contents]).transpose(0, 3, 1, 2) / 255.0
    with torch.no_grad():
        plain = encoder.network(torch.from_numpy(table)).numpy()
    assert isinstance(encoder.network, Prepared)
    assert found["features"] == pytest.approx(plain, abs=EXACT)
    assert found["layer2"] == pytest.approx(plain, abs=EXACT)
    with pytest.raises(InputError, match="is no text encoder; it is an image encoder"):
        load_encoder(tmp_path / "small.npz", kind="text")


@pytest.mark.parametrize("kind", ["text", "image", "extractor"])
def test_random_weights_are_other_weights_and_the_network_stays(tmp_path, kind):
    if kind == "text":
        save(tmp_path, bert())
        encoder, stimuli = load_encoder(tmp_path), TEXTS
    else:
        save(tmp_path, *vision_network("resnet"))
        stimuli = hue_stimuli(4, size=32)
        small = ExtractorEncoder(Prepared(ResNet(3, (4, 6), 1).eval(), MEAN, DEVIATION), "small")
        encoder = load_encoder(tmp_path) if kind == "image" else small
    before, state = copy.deepcopy(encoder.network.state_dict()), torch.get_rng_state()
    first, again, other = (encoder.with_random_weights(seed) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(one, before[name]) for name, one in encoder.network.state_dict().items())
    assert "random weights, seed=6" in other.name
    for layer in encoder.layers:
        reported = [one.embed(stimuli)[layer] for one in (encoder, first, again, other)]
        assert np.array_equal(reported[1], reported[2])
        assert np.abs(reported[0] - reported[1]).max() > 1e-3
        assert np.abs(reported[3] - reported[1]).max() > 1e-3


def test_a_network_is_measured_with_both_controls(tmp_path):
    save(tmp_path, *vision_network("vit"))
    found = measure_layers(
        load_encoder(tmp_path, dtype="bfloat16"),
        stimuli=hue_stimuli(24, size=32),
        control=("permuted", "random weights"),
        fronts=False,
    )
    assert len(found.to_frame()) == 12
    # Hues are a circle in the pixels, and a linear layer of patches keeps it.
    assert found.measurements[0].generalization.low > found.controls["permuted"][0].generalization.high
    assert "bfloat16" in found.encoder


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        ("nobody/no-such-model", {}, "there is no model 'nobody/no-such-model'.*Nothing is downloaded"),
        ("", {}, "source must be a Hugging Face id"),
        (3, {}, "source must be a Hugging Face id"),
        (__file__, {}, "got the file"),
        ("x", {"kind": "smell"}, "kind must be one of auto, text, image, vectors; got 'smell'"),
        ("x", {"pooling": "sum"}, "pooling must be one of mean, last, first, max; got 'sum'"),
        ("x", {"dtype": "float8"}, "dtype must be one of"),
        ("x", {"device": "abacus"}, "device must be one that torch has here"),
        ("x", {"batch_size": 0}, "batch_size must be a whole number"),
        ("x.gguf", {}, "there is no file 'x.gguf'"),
        ("x.npz", {}, "there is no file 'x.npz'"),
        ("torchvision:resnet18", {}, "nothing is downloaded unless local_files_only is false"),
        ("no-such-folder", {"kind": "vectors"}, "there is no file"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_one_sentence(source, options, sentence):
    with pytest.raises(InputError, match=sentence) as caught:
        load_encoder(source, **options)
    assert "\n" not in str(caught.value)


def test_a_network_of_the_wrong_kind_or_without_its_tools_is_refused(tmp_path):
    texts, bare = tmp_path / "texts", tmp_path / "bare"
    save(texts, bert())
    with pytest.raises(InputError, match="is no image encoder; it is a text encoder"):
        load_encoder(texts, kind="image")
    (tmp_path / "x.gguf").touch()
    with pytest.raises(InputError, match="x.gguf is no image encoder; it is a text encoder"):
        load_encoder(tmp_path / "x.gguf", kind="image")
    vision_network("vit")[0].save_pretrained(bare)
    with pytest.raises(InputError, match="is no text encoder; it is an image encoder"):
        load_encoder(bare, kind="text")
    with pytest.raises(InputError, match="comes without a usable image processor"):
        load_encoder(bare)
    encoder = load_encoder(texts)
    with pytest.raises(InputError, match="it was loaded as a text encoder"):
        encoder.embed(hue_stimuli(4, size=8))
    with pytest.raises(InputError, match="reads at most 512 tokens; a text has 601"):
        encoder.embed(["a" * 600])
    save(bare, *vision_network("vit"))
    with pytest.raises(InputError, match="it was loaded as an image encoder"):
        load_encoder(bare).embed(word_stimuli("years", count=4))
    assert load_encoder(bare).embed([Image.new("RGB", (9, 5))])["output"].shape == (1, 16)


def test_a_network_without_all_its_weights_is_refused(tmp_path):
    save(tmp_path, bert(num_hidden_layers=1))
    reported = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    (tmp_path / "config.json").write_text(json.dumps({**reported, "num_hidden_layers": 2}), encoding="utf-8")
    with pytest.raises(InputError, match="is not a complete encoder; it has no weights for encoder.layer.1"):
        load_encoder(tmp_path)
