"""Triton kernels that make one update of a whole stack of networks in one launch."""
