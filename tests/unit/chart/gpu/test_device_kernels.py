"""Triton kernels of charts on a device, run by Triton's interpreter: they say what torch says."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CODE = """
import numpy as np
from gramian.chart.gpu import batch_forest, dense_chart, state_pass, tree_choice
from gramian.learn import EM
from gramian.parsing.model import Model
from gramian.parsing.parser import Parser
from gramian.trees import Tree
trees = [Tree.parse(text) for text in (
    "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (PRP it)) (PP (IN with) (NP (DT the) (NN dog)))))",
    "(S (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT a) (NN cat)))) (VP (VBZ sees) (NP (PRP it))))",
)] * 20
one, other = (EM(n_states=n, allocation="all", max_iter=2).fit(trees).model_ for n in (2, 4))
parser = Parser(Model((one, other)), device="cpu")
sentences = [list(tree.words) for tree in trees[:2]] + ["the cat with it sees a dog".split(), "it sees".split()]
plain = list(parser.parse_many(sentences))
for module in (batch_forest, dense_chart, state_pass, tree_choice):
    module.has_kernels = lambda tensor: True
kernels = list(parser.parse_many(sentences))
assert [one.tree for one in plain] == [one.tree for one in kernels]
for one, two in zip(plain, kernels, strict=True):
    np.testing.assert_allclose(one.confidences, two.confidences, atol=1e-5)
    np.testing.assert_allclose(one.log_prob_words, two.log_prob_words, rtol=1e-5)
"""


@pytest.mark.skipif(not find_spec("torch"), reason="the extra 'neural' is not installed")
@pytest.mark.skipif(
    not find_spec("triton"), reason="Triton, which comes with torch for GPUs, is not installed"
)
def test_kernels_say_what_torch_says():
    folders = [str(Path(__file__).parents[3] / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    given = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, "-c", CODE], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
