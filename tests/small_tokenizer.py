"""A tokenizer of words w0 to w59, with marks as a template says."""

import pytest

OPENING, CLOSING, SPACE = 1, 2, 0


def small_tokenizer(template):
    """Return a tokenizer whose token of ``w7`` is 7; white space that is left at the end of a text is one token."""
    hf = pytest.importorskip("transformers", reason="needs the package transformers")
    tokenizers = pytest.importorskip("tokenizers", reason="needs the package tokenizers")
    words = {"\n": SPACE, "[B]": OPENING, "[E]": CLOSING} | {f"w{number}": number for number in range(3, 60)}
    inside = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w59"))
    pieces = tokenizers.pre_tokenizers
    inside.pre_tokenizer = pieces.Sequence(
        [pieces.Split(" ", "removed"), pieces.Split("\n", "isolated")],
    )
    inside.post_processor = tokenizers.processors.TemplateProcessing(
        single=template, special_tokens=[("[B]", OPENING), ("[E]", CLOSING)]
    )
    return hf.PreTrainedTokenizerFast(tokenizer_object=inside, bos_token="[B]", eos_token="[E]", unk_token="w59")
