"""The paper's theorem as weights: a 1-layer 4-head Transformer that adds, built and not trained.

model = lw.construct(digits=30, operands=30)
model.solve("57+48+96").answer

directions.py    the residual stream, by name; the paper's symbols
heads.py         the four attention heads            feedforward.py   the three subnetworks
build.py         all of it in an ordinary Transformer
"""

from lengthwise.construction.build import Plan, construct

__all__ = ["Plan", "construct"]
