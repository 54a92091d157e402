"""The twelve universal parts of speech for Penn tags (Petrov, Das and McDonald 2012).

Balle et al. (2014) learn automata of both: 45 tags as the treebank has them, and these twelve.
"""

_PENN = {
    ".": "# $ '' `` , . : -LRB- -RRB- ( ) -LCB- -RCB- -LSB- -RSB- HYPH NFP",
    "ADJ": "JJ JJR JJS AFX",
    "ADP": "IN",
    "ADV": "RB RBR RBS WRB",
    "CONJ": "CC",
    "DET": "DT EX PDT WDT",
    "NOUN": "NN NNS NNP NNPS",
    "NUM": "CD",
    "PRON": "PRP PRP$ WP WP$",
    "PRT": "POS RP TO",
    "VERB": "MD VB VBD VBG VBN VBP VBZ",
    "X": "FW LS SYM UH ADD GW XX",
}
_UNIVERSAL = {tag: universal for universal, tags in _PENN.items() for tag in tags.split()}


def universal_tag(penn: str) -> str:
    """Return the universal part of speech of a Penn tag; X for a tag that is none."""
    return _UNIVERSAL.get(penn, "X")
