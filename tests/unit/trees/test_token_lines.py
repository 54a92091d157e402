"""Lines of token/TAG pairs."""

import pytest

from gramian.errors import InputError
from gramian.trees.token_lines import split_pairs


def test_the_last_slash_parts_token_and_tag():
    assert split_pairs("the/DT 1/2/CD", "<string>") == [("the", "DT"), ("1/2", "CD")]


def test_a_token_without_a_tag_is_named():
    with pytest.raises(InputError, match="'dog/' is not a token with its tag"):
        split_pairs("the/DT dog/", "<string>")
