"""Plain numba and linked kernels learn the same model, byte for byte, and give the same trees."""

import os
import subprocess
import sys

COMMANDS = """
sample -n 60 --seed 1 --max-length 12 --quiet -o train.mrg
sample -n 5 --seed 2 --max-length 12 --quiet -o dev.mrg
convert dev.mrg --to tokens --quiet -o dev.txt
train train.mrg --quiet --method spectral-cluster --states 2 -o my.grammar
parse dev.txt --tokens --quiet -m my.grammar -o parsed.mrg
"""


def test_both_paths_learn_the_same_model_and_give_the_same_trees(tmp_path):
    results = []
    for plain in ("", "1"):
        folder = tmp_path / f"plain{plain}"
        folder.mkdir()
        for line in COMMANDS.strip().splitlines():
            command = [sys.executable, "-m", "gramian", *line.split()]
            subprocess.run(command, cwd=folder, env={**os.environ, "GRAMIAN_PLAIN_NUMBA": plain}, check=True)
        results.append([(folder / name).read_bytes() for name in ("my.grammar", "parsed.mrg")])
    assert results[0] == results[1]
    assert results[0][1].startswith(b"(")
