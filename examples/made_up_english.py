"""A made-up English to learn from: a grammar of fine symbols, sampled into trees that show only coarse labels.

``VBD~give`` and ``VBD~say`` are both written ``VBD``: which verbs take which objects, what attaches where, who can
say something are hidden, as they are in a real treebank. A grammar with latent states can find them again.

    python examples/made_up_english.py 2000 --seed 1 > train.mrg
"""

import argparse
import random
from collections.abc import Iterator
from itertools import accumulate

from gramian.trees import Tree

# A symbol, then its expansions with their weights.
RULES = """
S          8 NP~who VP . | 2 NP~one VP~is . | 1 NP~who ADVP VP . | 1 PP~time , NP~who VP . | 1 SBAR~when , NP~who VP .
           2 S~in CC S~in .
S~in       5 NP~who VP | 1 NP~one VP~is
SBAR~that  2 IN~that S~in | 1 S~in
SBAR~when  1 IN~when S~in
SBAR~who   1 WHNP~who VP~rel
SBAR~which 1 WHNP~which S~gap
WHNP~who   1 WP
WHNP~which 1 WDT
S~gap      1 NP~who VP~gap

VP         4 VBD~go | 4 VBD~go PP~place | 2 VBD~go ADVP | 1 VBD~go PP~place PP~time
           5 VBD~see NP~what | 2 VBD~see NP~person | 4 VBD~see NP~what PP~with | 3 VBD~see NP~what PP~place
           2 VBD~see NP~what PP~time | 2 VBD~give NP~person NP~what | 2 VBD~give NP~what PP~to
           5 VBD~say SBAR~that | 3 VBD~want S~to | 2 MD VP~do | 2 VBD~be ADJP~mood | 1 VBD~was PP~place
           2 VP CC VP | 1 VP ADVP
VP~is      3 VBD~be ADJP~look | 2 VBD~was VP~done | 1 VBD~fall | 1 VBD~fall PP~place
VP~done    2 VBN | 2 VBN PP~by | 1 VBN PP~place
VP~do      3 VB~go PP~place | 2 VB~go | 4 VB~see NP~what | 2 VB~see NP~person | 3 VB~see NP~what PP~with
           1 VB~give NP~person NP~what
VP~rel     4 VBD~go | 4 VBD~see NP~what | 2 VBD~see NP~person | 1 VBD~say SBAR~that
VP~gap     4 VBD~see | 1 VBD~see PP~with
S~to       1 VP~to
VP~to      1 TO VP~do

NP~who     4 PRP~who | 3 NNP~name | 5 DT NN~person | 2 DT JJ~mood NN~person | 1 NP~human SBAR~who
           1 NP~human CC NP~human | 1 NP~human PP~from | 1 NP~owner NN~person
NP~person  3 PRP~whom | 4 NNP~name | 5 DT NN~person | 1 DT JJ~mood NN~person | 1 NP~human PP~place
           1 NP~human CC NP~human
NP~human   1 NNP~name | 2 DT NN~person
NP~owner   1 NNP~name POS | 1 DT NN~person POS
NP~what    6 DT NN~thing | 3 DT JJ~look NN~thing | 2 NNS~thing | 1 JJ~look NNS~thing | 1 CD NNS~thing
           1 NP~owner NN~thing | 4 NP~thing PP~of | 3 NP~thing PP~feature | 4 NP~thing PP~place
           2 NP~thing CC NP~thing | 1 NP~thing SBAR~which
NP~thing   5 DT NN~thing | 2 DT JJ~look NN~thing | 2 NNS~thing
NP~one     4 DT NN~thing | 2 DT JJ~look NN~thing | 1 NP~single PP~of | 1 NP~owner NN~thing
NP~single  1 DT NN~thing
NP~stuff   3 NN~stuff | 1 JJ~look NN~stuff
NP~place   5 DT NN~place | 1 DT JJ~look NN~place | 2 NNP~town | 1 NP~site PP~in | 2 NP~site PP~place
NP~site    1 DT NN~place
NP~town    1 NNP~town
NP~tool    4 DT NN~tool | 1 DT JJ~look NN~tool
NP~part    1 DT NN~part | 1 NNS~part
NP~time    3 NNP~day | 1 DT NN~time
ADJP~mood  3 JJ~mood | 1 RB~very JJ~mood | 1 JJ~mood PP~about
ADJP~look  3 JJ~look | 1 RB~very JJ~look
ADVP       1 RB~how
PP~about   1 IN~about NP~what
PP~by      1 IN~by NP~person
PP~feature 1 IN~with NP~part
PP~from    1 IN~from NP~town
PP~in      1 IN~of NP~town
PP~of      1 IN~of NP~stuff
PP~place   1 IN~place NP~place
PP~time    1 IN~time NP~time
PP~to      1 TO~to NP~person
PP~with    1 IN~with NP~tool
"""

# A tag, then its words, the most frequent first.
WORDS = """
.        .
,        ,
CC       and but or
DT       the a this every that some
POS      's
MD       could would will must
TO       to
TO~to    to
WP       who
WDT      that which
IN~that  that whether
IN~when  when because after while before although
IN~of    of
IN~from  from
IN~with  with without
IN~place in near behind under at from outside beside
IN~time  on before after until
IN~by    by
IN~about about
PRP~who  he she I it
PRP~whom him her me it
NNP~name Anna Peter Maria John Sofia Tom Clara Hugo Nora Felix Ivan Lena Oscar Ruth Victor
NNP~town Lisbon Oslo Vienna Prague Dublin Turin Geneva Bergen Malmo Porto
NNP~day  Monday Friday Sunday Tuesday Saturday Thursday Wednesday
CD       two three four five seven ten twelve
NN~person teacher doctor neighbour student farmer baker lawyer sailor painter nurse king child guest judge driver poet soldier pilot
NN~thing book letter map house lamp picture boat door clock bottle window bicycle coat bridge basket piano engine carpet mirror kettle
NNS~thing books letters maps lamps pictures boats doors clocks bottles windows coats baskets chairs engines plates shoes ladders kettles
NN~stuff wood glass silver water paper stone leather sugar wool iron
NN~place garden kitchen harbour school forest market station library square cellar church theatre valley hotel
NN~tool  hammer telescope knife camera brush rope spoon needle pencil shovel
NN~part  handle rope roof cover frame lid window
NNS~part wheels legs handles corners edges
NN~time  morning winter war summer evening storm
JJ~mood  happy tired angry quiet young proud nervous kind lonely clever
JJ~look  old red small broken heavy new green empty wooden narrow bright dusty
RB~very  very quite too rather
RB~how   slowly yesterday quickly again often silently suddenly
VBD~go   slept walked waited laughed arrived danced worked lived sang rested
VBD~see  saw bought found painted opened carried stole repaired sold cleaned
VBD~give gave sent showed offered handed lent
VBD~say  said thought knew heard believed hoped
VBD~want wanted tried began decided forgot
VBD~be   was seemed became looked
VBD~was  was
VBD~fall fell disappeared vanished
VBN      found painted stolen broken hidden sold
VB~go    sleep walk wait work live rest
VB~see   see buy find open carry repair sell clean
VB~give  give send show offer
"""

SLIP = 0.1  # how often a noun, adjective or preposition comes from another fine tag: no class is pure
SLIPPERY = ("NN", "NNS", "JJ", "IN")


def read_rules() -> dict[str, tuple[list[list[str]], list[float]]]:
    """Return for each symbol its expansions and their summed weights."""
    rules: dict[str, tuple[list[list[str]], list[float]]] = {}
    weights: dict[str, list[float]] = {}
    symbol = ""
    for line in RULES.splitlines():
        if not line:
            continue
        if not line.startswith(" "):
            symbol, _, line = line.partition(" ")
        for expansion in line.split(" | "):
            weight, *children = expansion.split()
            rules.setdefault(symbol, ([], []))[0].append(children)
            weights.setdefault(symbol, []).append(float(weight))
    for symbol, listed in weights.items():
        rules[symbol][1].extend(accumulate(listed))
    return rules


def read_words() -> dict[str, tuple[list[str], list[float]]]:
    """Return for each tag its words and their summed weights, which fall with the rank."""
    lines = [line.split() for line in WORDS.splitlines() if line]
    return {
        tag: (words, list(accumulate(1 / (rank + 2) for rank in range(len(words))))) for tag, *words in lines
    }


def sample(count: int, seed: int = 0, longest: int = 30) -> Iterator[Tree]:
    """Draw trees of at most `longest` words."""
    rules, words, rng = read_rules(), read_words(), random.Random(seed)
    alike = {label: [tag for tag in words if tag.partition("~")[0] == label] for label in SLIPPERY}

    def grow(symbol: str) -> Tree:
        label = symbol.partition("~")[0]
        if symbol in words:
            if label in alike and rng.random() < SLIP:
                symbol = rng.choice(alike[label])
            return Tree(label, word=rng.choices(words[symbol][0], cum_weights=words[symbol][1])[0])
        expansions, weights = rules[symbol]
        (children,) = rng.choices(expansions, cum_weights=weights)
        return Tree(label, tuple(grow(child) for child in children))

    while count:
        tree = grow("S")
        if len(tree.words) <= longest:
            yield tree
            count -= 1


if __name__ == "__main__":
    options = argparse.ArgumentParser(description="Write trees of a made-up English, one a line.")
    options.add_argument("count", type=int)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    for drawn in sample(chosen.count, chosen.seed):
        print(drawn)
