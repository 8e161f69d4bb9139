"""Relations: how much data a structure needs, and when representations merge.

Theory of :cite:p:`baek2024`, exact where the paper samples: description lengths, the Bayes bound for any training set,
the data an accuracy needs, the next pair worth asking for, and the dynamics of representations that attract each other.
"""
