"""The calculator's own arithmetic: text → tokens → quantities → text. Nothing of Python is ever evaluated.

`numbers` are exact fractions while they stay short, `quantities` carry units, `reader` makes tokens, `parser` computes
while it reads, and `display` writes the answer.
"""
