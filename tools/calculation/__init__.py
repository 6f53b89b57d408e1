"""The calculator's own arithmetic: text → tokens → quantities → text. Nothing of Python is ever evaluated.

`numbers` are exact fractions for as long as they can be, `quantities` carry units, `reader` makes tokens, `parser`
computes while it reads, and `display` writes the answer.
"""
