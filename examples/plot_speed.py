"""
How parsing time grows with length
==================================

Charts are cubic in the length of a sentence; pruning keeps the cube small. Milliseconds are this machine's; look at the shape.
"""

import matplotlib.pyplot as plt

import gramian

parser = gramian.load()
clause = ["the", "old", "sailor", "saw", "the", "boat", "near", "the", "harbour", "of", "Lisbon"]

# %%
# One clause, joined by *and* again and again; the least of three runs counts.

lengths, milliseconds = [], []
for repeats in (1, 2, 3, 4, 6, 8):
    words = [*[*clause, "and"] * (repeats - 1), *clause, "."]
    parser.parse(words)
    lengths.append(len(words))
    milliseconds.append(1000 * min(parser.parse(words).seconds for _ in range(3)))
figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(lengths, milliseconds, marker="o")
axes.set(xlabel="words", ylabel="milliseconds", ylim=(0, None))
figure.tight_layout()
