"""Where two systems meet: questions that neither of them answers alone.

The systems never import one another. This is the only place below figures and reports where two of them stand in one
file; nothing of a system is changed or repeated here.
"""
