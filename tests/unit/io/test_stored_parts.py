"""What model files are made of: strings and weights as tensors, and the checksum over all."""

import numpy as np
import pytest

from gramian.io.model_files import checksum
from gramian.io.tensors import pack_strings, pack_weights, unpack_strings, unpack_weights


@pytest.mark.parametrize("strings", [(), ("a",), ("a", "ö", "")])
def test_strings_come_back(strings):
    assert unpack_strings(pack_strings(strings)) == strings


def test_zeros_of_weights_are_not_stored():
    packed = pack_weights("w", np.eye(1, 1024, 3, dtype=np.float32)[0])
    assert len(packed["w"]) == 1
    assert np.flatnonzero(unpack_weights(packed, "w")).tolist() == [3]


def test_the_checksum_sees_types_and_leaves_itself_out():
    one, other = ({"x": np.arange(3, dtype=kind)} for kind in (np.int32, np.int64))
    assert checksum(None, one) != checksum(None, other)
    assert checksum({}, one) == checksum({"checksum": "any"}, one) != checksum({"a": 1}, one)
