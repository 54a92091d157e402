"""Labels in words."""

import pytest

from gramian.trees import SCHEMES
from gramian.trees.glossary import entries, explain, meaning


def test_every_preset_and_universal_dependencies_have_words():
    schemes = {one.scheme for one in entries()}
    assert {*SCHEMES, "ud"} - {"whole"} <= schemes
    assert {one.kind for one in entries()} == {"phrase", "tag", "relation", "part"}


def test_no_label_stands_twice_in_a_section():
    keys = [one[:3] for one in entries()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("label", "scheme", "part"),
    [
        ("SBAR", "penn", "subordinate clause"),
        ("NP-SBJ-1", "penn", "noun phrase; subject"),
        ("#", "penn", "pound"),
        ("-LRB-", "penn", "opening bracket"),
        ("IP-MAT", "icepahc", "clause (inflectional phrase); main clause"),
        ("BEDI", "icepahc", "to be"),
        ("grup.nom", "cess", "noun"),
        ("vmip3s0", "cess", "indicative"),
        ("NP;*SBJ*", "keyaki", "noun phrase"),
        ("nmod:tmod", "ud", "noun that modifies a noun"),
        ("acl:relcl", "ud", "relative clause"),
        ("%2C", "penn", "comma"),
        ("RPN", "icon", "relative clause"),
        ("HAN", "icepahc", "to have"),
        ("NP-SPR", "icepahc", "noun phrase; second predicate"),
        ("IP-REL", "keyaki", "clause; relative clause"),
    ],
)
def test_labels_with_parts_prefixes_and_subtypes(label, scheme, part):
    assert part in meaning(label, scheme)


def test_a_label_of_several_kinds_and_schemes():
    assert {one.scheme for one in explain("NP")} == {"penn", "icepahc", "keyaki", "ftb"}
    assert meaning("PRP", kind="tag").startswith("personal pronoun")
    assert meaning("PRP", kind="part") == "purpose or reason"
    assert meaning("VINF", "penn") == "verb, infinitive"  # of another scheme, where its own does not know it
    assert explain("") == explain("ZZZ") == []
