"""The papers whose laws the library computes."""

RULES_FACTS_PAPER = "Farné, Boncoraglio and Zdeborová (2026), arXiv:2603.25579"
SEMANTICITY_PAPER = "Nurisso et al. (2026), arXiv:2506.14797"
RELATIONS_PAPER = "Baek, Liu and Tegmark (2024), arXiv:2402.05916"
