"""Figures of the rules-and-facts paper, and of learners of finite size."""
