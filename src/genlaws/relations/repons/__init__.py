"""When do the representations of one class merge? One representation, seen as a particle, is a *repon*.

The modules:

- ``pair``: two repons on a line, exactly, at any time.
- ``matrix``: any dimension: the conserved matrix, the exact motion, where it ends.
- ``probability``: how likely random starts merge: gradient flow, sign updates.
- ``whole_class``: when a whole class collapses, and how likely.
- ``flow``: two repons with a bias that learns.
- ``ensemble``: simulation of many repons of several classes.
- ``merging``: the answer for a pair or a class, with its law and a simulation.
"""
