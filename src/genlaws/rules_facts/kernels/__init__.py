"""Kernels by their two numbers, named families of kernels, and kernels of deep networks."""

from genlaws.core.imports import loaded_on_access

__getattr__, __dir__ = loaded_on_access(__name__)
