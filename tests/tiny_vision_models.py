"""Small random vision models of several families, with processors that make few and small pieces of a picture."""

from __future__ import annotations

import tokenizers
import torch
import transformers

FIRST, END, UNKNOWN, IMAGE = "<s>", "</s>", "<unk>", "<image>"
MARKS = [
    *(FIRST, END, UNKNOWN, IMAGE, "<user>", "<system>", "<assistant>", "<fake_token_around_image>"),
    *("<end_of_utterance>", "<global-img>", "<|image_pad|>", "<|video_pad|>", "<begin_image>", "<end_image>"),
]
MERGES = [("o", "r"), ("c", "i"), ("s", "t"), ("a", "r"), ("1", "0"), ("?", "s")]  # the last across a prompt's end
TURNS = (
    "{% for m in messages %}<{{ m['role'] }}>{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}IMAGE{% else %}{{ c['text'] }}{% endif %}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT{% endif %}"
)
SIDE = 32  # pixels of a picture, or of a piece of it
VISION = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION |= {"image_size": SIDE, "patch_size": 8}
WORDS = [*MARKS, *(chr(code) for code in range(32, 127)), "\n", *("".join(pair) for pair in MERGES)]


def tokenizer(**special):
    """Return a tokenizer of single letters and six merges."""
    places = {word: place for place, word in enumerate(WORDS)}
    inside = tokenizers.Tokenizer(tokenizers.models.BPE(places, MERGES, unk_token=UNKNOWN))
    inside.decoder = tokenizers.decoders.Fuse()
    inside.post_processor = tokenizers.processors.TemplateProcessing(single="<s> $A", special_tokens=[(FIRST, 0)])
    inside.add_special_tokens(MARKS)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inside,
        bos_token=FIRST,
        eos_token=END,
        unk_token=UNKNOWN,
        pad_token=END,
        extra_special_tokens=special or MARKS[3:],
    )


def turns(image, assistant="<assistant>"):
    """Return a chat template with a mark for a picture and for the answer to come."""
    return TURNS.replace("IMAGE", image).replace("ASSISTANT", assistant)


def words_of(kind, **changes):
    """Return the settings of the part that reads words; far from uniform, so that a wrong position shows."""
    return {
        **{"model_type": kind, "vocab_size": len(WORDS), "hidden_size": 32, "intermediate_size": 48},
        **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.5},
        **{"max_position_embeddings": 400, "eos_token_id": 1, "bos_token_id": 0, "pad_token_id": 1},
        **changes,
    }


def llava(assistant="<assistant>"):
    config = transformers.LlavaConfig(
        vision_config={"model_type": "clip_vision_model", **VISION, "initializer_factor": 3.0},
        text_config=words_of("llama"),
        image_token_id=MARKS.index(IMAGE),
        vision_feature_layer=-1,
    )
    processor = transformers.LlavaProcessor(
        transformers.CLIPImageProcessorPil(size={"height": SIDE, "width": SIDE}, do_center_crop=False),
        tokenizer(),
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=turns(IMAGE, assistant),
    )
    return transformers.LlavaForConditionalGeneration(config), processor


def idefics():
    """A picture in four pieces and one of the whole, as SmolVLM reads it."""
    config = transformers.Idefics3Config(
        vision_config={"model_type": "idefics3_vision", **VISION, "initializer_range": 0.5},
        text_config=words_of("llama"),
        image_token_id=MARKS.index(IMAGE),
        scale_factor=2,
        pad_token_id=1,
    )
    images = transformers.Idefics3ImageProcessorPil(
        size={"longest_edge": 2 * SIDE}, max_image_size={"longest_edge": SIDE}, do_image_splitting=True
    )
    processor = transformers.Idefics3Processor(images, tokenizer(), image_seq_len=4, chat_template=turns(IMAGE))
    return transformers.Idefics3ForConditionalGeneration(config), processor


class QwenWithoutVideos(transformers.Qwen2VLProcessor):
    """Videos need a library that pictures do not."""

    def check_argument_for_proper_class(self, argument_name, argument):
        """Take no video processor."""
        return None if argument is None else super().check_argument_for_proper_class(argument_name, argument)


def qwen():
    """Positions along the sides of a picture."""
    config = transformers.Qwen2VLConfig(
        vision_config={
            **{"depth": 2, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 4},
            **{"spatial_merge_size": 2, "temporal_patch_size": 2, "in_chans": 3, "initializer_range": 0.5},
        },
        text_config=words_of(
            "qwen2_vl_text", rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}
        ),
        image_token_id=MARKS.index("<|image_pad|>"),
        video_token_id=MARKS.index("<|video_pad|>"),
        vision_start_token_id=MARKS.index("<begin_image>"),
        vision_end_token_id=MARKS.index("<end_image>"),
    )
    images = transformers.Qwen2VLImageProcessorPil(
        patch_size=4, merge_size=2, temporal_patch_size=2, min_pixels=SIDE**2, max_pixels=SIDE**2
    )
    shown = turns("<begin_image><|image_pad|><end_image>")
    return transformers.Qwen2VLForConditionalGeneration(config), QwenWithoutVideos(
        images, tokenizer(), video_processor=None, chat_template=shown
    )


def gemma():
    """A picture whose tokens see each other, and layers that see a few tokens back."""
    words = tokenizer(boi_token="<begin_image>", image_token=IMAGE, eoi_token="<end_image>")
    config = transformers.Gemma3Config(
        vision_config={"model_type": "siglip_vision_model", **VISION},
        text_config=words_of(
            "gemma3_text",
            head_dim=8,
            query_pre_attn_scalar=8,
            sliding_window=16,
            layer_types=["sliding_attention", "full_attention"],
        ),
        mm_tokens_per_image=16,
        tie_word_embeddings=False,
        image_token_index=MARKS.index(IMAGE),
        boi_token_index=MARKS.index("<begin_image>"),
        eoi_token_index=MARKS.index("<end_image>"),
    )
    network = transformers.Gemma3ForConditionalGeneration(config)
    for name, values in network.named_parameters():
        if name.endswith(("mm_input_projection_weight", "patch_embedding.weight")):
            torch.nn.init.normal_(values)  # a new network does not look at the picture yet
    images = transformers.Gemma3ImageProcessorPil(size={"height": SIDE, "width": SIDE})
    return network, transformers.Gemma3Processor(
        images, words, image_seq_length=16, chat_template=turns("<begin_image>")
    )


def mllama():
    """A picture beside the tokens, not among them: keys and values alone do not say which of its parts are empty."""
    words = tokenizer(image_token=IMAGE)
    config = transformers.MllamaConfig(
        vision_config={
            **{"hidden_size": 16, "attention_heads": 2, "num_hidden_layers": 2, "num_global_layers": 1},
            **{"intermediate_size": 24, "vision_output_dim": 32, "image_size": SIDE, "patch_size": 8},
            **{"max_num_tiles": 4, "intermediate_layers_indices": [1]},
        },
        text_config=words_of(
            "mllama_text_model", cross_attention_layers=[1], rope_parameters={"rope_type": "default", "rope_theta": 1e4}
        ),
        image_token_index=MARKS.index(IMAGE),
    )
    network = transformers.MllamaForConditionalGeneration(config)
    with torch.no_grad():
        for name, values in network.named_parameters():
            if "gate" in name and values.numel() == 1:
                values.fill_(1.0)  # a new network does not look at the picture yet
    images = transformers.MllamaImageProcessorPil(size={"height": SIDE, "width": SIDE}, max_image_tiles=4)
    return network, transformers.MllamaProcessor(images, words, chat_template=turns(IMAGE))


FAMILIES = {"llava": llava, "idefics": idefics, "qwen": qwen, "gemma": gemma, "mllama": mllama}


def made(family, **changes):
    """Return the network and the processor of a family, always the same."""
    torch.manual_seed(0)
    network, processor = FAMILIES[family](**changes)
    return network.eval(), processor
