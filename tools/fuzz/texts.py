"""Text formats: bracketed trees, CoNLL-U, PAutomaC and its relatives, tagged text, records, head rules, sentences, settings."""

import io
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz.mutate import mutated

Make = Callable[[Random], bytes]
Read = Callable[[bytes], object]

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))", "( (S (NP-SBJ-1 (-NONE- *T*-1)) (VP (VB go))) )", "()", "(())",
    "(ROOT (NP (NN New York) (-LRB- -LRB-)))", "(TOP (S (S (X x))))", "(A\n  (B b)\n  (C (D d)))\n(E e)",
]  # fmt: skip
SENTENCE = (
    "# sent_id = 1\n1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tDo\tdo\tAUX\tVB\tMood=Ind|Tense=Pres\t3\taux\t3:aux\t_\n"
    "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\tSpaceAfter=No\n2.1\tx\t_\t_\t_\t_\t_\t_\t1:y\t_\n3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
)
RECORDS = [
    {"tokens": ["the", "dog", "saw"], "tags": ["DT", None, {"VB": 0.5, "NN": 0.5}]},
    {
        "tokens": ["the", "dog"],
        "uncrossed": [[0, 1]],
        "required": [[0, 2, "NP"]],
        "forbidden": [[0, 1, "VP"]],
    },
    {"text": "the dog saw a cat ."},
]


def tree_text(random: Random, depth: int = 0) -> str:
    """Return a tree of any shape."""
    label = random.choice(("S", "NP", "NP-SBJ=1", "VP|<x>", "", "-NONE-", "X^Y", "@", "*", "ROOT", "é", "1"))
    if depth > 6 or random.random() < 0.35:
        return f"({label} {random.choice(('a', 'dog', '-LRB-', '*T*-1', '(', 'x y', '', '0', chr(0xA0)))})"
    children = " ".join(tree_text(random, depth + 1) for _ in range(random.choice((0, 1, 1, 2, 3))))
    return f"({label} {children})"


def deep(random: Random) -> str:
    """Return something nested very deeply, or very long on one line."""
    count = random.choice((100, 1000, 20_000))
    return random.choice(
        (
            "(X " * count + "(A a)" + ")" * count,
            "(S" + " (A a b)" * count + ")",
            "(" * count,
            ")" * count,
            "(A a)" * count,
            "a" * count * 10,
            "(S (A a)\n" * count,
        )
    )


def conllu_text(random: Random) -> str:
    """Return a sentence whose arcs may be anything."""
    count = random.choice((1, 2, 3, 5, 10, 300))
    rows = []
    for number in range(1, count + 1):
        head = random.choice((0, number - 1, random.randint(0, count), "_", count + 1))
        feats = random.choice(("_", "A=B", "A", "=", "A=B|A=C", "|"))
        rows.append(f"{number}\tw{number}\t_\tX\tY\t{feats}\t{head}\tdep\t_\t_")
    return "\n".join(rows) + "\n\n"


def numbered_text(random: Random) -> str:
    """Return a sample of strings in the PAutomaC format."""
    size, count = random.randint(1, 5), random.randint(0, 6)
    rows = [[random.randrange(size) for _ in range(random.randint(0, 5))] for _ in range(count)]
    return f"{count} {size}\n" + "".join(" ".join(map(str, (len(row), *row))) + "\n" for row in rows)


def json_value(random: Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    kind = random.randrange(9 if depth < 3 else 7)
    if kind == 7:
        return [json_value(random, depth + 1) for _ in range(random.randrange(4))]
    if kind == 8:
        return {
            random.choice(("tokens", "a", "", "strings", "shape")): json_value(random, depth + 1)
            for _ in range(random.randrange(3))
        }
    return random.choice(
        (None, True, False, 0, -1, 1, 2**31, 2**63, -(2**70), 10**40, 0.5, -1e300,
         float("inf"), float("nan"), "", "a", "\0", "\ud800", "é", "1", [], {})
    )  # fmt: skip


def changed_json(random: Random, value: Any, depth: int = 0) -> Any:
    """Return `value` with one part of it replaced, taken away, renamed or doubled."""
    if isinstance(value, dict) and value and (depth == 0 or random.random() < 0.8):
        changed, key = dict(value), random.choice(list(value))
        choice = random.random()
        if choice < 0.1:
            del changed[key]
        elif choice < 0.2:
            changed[random.choice((key + "x", "", *value))] = changed.pop(key)
        elif choice < 0.3:
            changed[random.choice(("a", "\0", "class", "strings", "shape", "sparse", "half"))] = json_value(
                random
            )
        else:
            changed[key] = changed_json(random, value[key], depth + 1)
        return changed
    if isinstance(value, list) and value and random.random() < 0.8:
        copy, at = list(value), random.randrange(len(value))
        choice = random.random()
        if choice < 0.1:
            del copy[at]
        elif choice < 0.2:
            copy.insert(at, copy[random.randrange(len(copy))])
        else:
            copy[at] = changed_json(random, copy[at], depth + 1)
        return copy
    if isinstance(value, int) and not isinstance(value, bool) and random.random() < 0.5:
        return random.choice((value + 1, value - 1, -value, value * 1000, 2**31, 2**63, float(value)))
    return json_value(random)


def record_line(random: Random) -> bytes:
    return json.dumps(
        changed_json(random, random.choice(RECORDS)), ensure_ascii=random.random() < 0.5
    ).encode("utf-8", "surrogatepass")


def from_seeds(seeds: Sequence[str | Callable[[Random], str]], tokens: Sequence[bytes]) -> Make:
    """Return a maker of changed seeds; some of these are made anew each time."""

    def make(random: Random) -> bytes:
        parts = [random.choice(seeds) for _ in range(random.choice((1, 1, 2, 4)))]
        texts = [part if isinstance(part, str) else part(random) for part in parts]
        return mutated(random, "\n".join(texts).encode("utf-8", "surrogatepass"), tokens)

    return make


def brackets() -> tuple[Make, Read]:
    from gramian.trees import annotation_scheme, binarise, debinarise, normalise, read_trees

    def read(data: bytes) -> None:
        settings: Any = {"broken": "skip"} if len(data) % 3 == 0 else {}
        settings |= {"spaces": "reject"} if len(data) % 5 == 0 else {}
        penn = annotation_scheme("penn").options
        for number, tree in enumerate(read_trees(io.BytesIO(data), **settings)):
            if number >= 20:
                continue
            assert next(read_trees(io.StringIO(str(tree)))) == tree
            whole = normalise(tree, penn).tree
            if not whole.is_empty:
                assert debinarise(binarise(whole)) == whole

    tokens = [b"(S ", b"(", b"))", b"( (", b"(ROOT", b"-NONE-", b"-LRB-", b"*T*-1", b"=", b"|"]
    seldom = [lambda random: deep(random) if random.random() < 0.05 else tree_text(random)]
    return from_seeds([*TREES, tree_text, *seldom], tokens), read


def conllu() -> tuple[Make, Read]:
    from gramian.trees import read_conllu

    def read(data: bytes) -> None:
        settings: Any = {"broken": "skip"} if len(data) % 3 == 0 else {}
        for number, sentence in enumerate(read_conllu(io.BytesIO(data), **settings)):
            if number >= 20:
                continue
            [again] = read_conllu(io.StringIO(str(sentence)))
            assert again.tokens == sentence.tokens
            assert sentence.tokens[0].features is not None
            if sentence.tokens[0].head is not None:
                assert sentence.is_projective in (True, False)

    return from_seeds(
        [SENTENCE, conllu_text], [b"\t", b"\n\n", b"1-2\t", b"1.1\t", b"0.1", b"_", b"#", b"|", b"="]
    ), read


def pautomac() -> tuple[Make, Read]:
    from gramian.automata.string_formats import read_solution, read_strings, read_targets

    def read(data: bytes) -> None:
        kind = data[:1]
        if kind == b"s":
            read_solution(io.BytesIO(data[1:]))
        elif kind == b"t":
            read_targets(io.BytesIO(data[1:]))
        else:
            found = read_strings(io.BytesIO(data))
            assert len(list(found)) == len(found)

    seeds = [
        numbered_text,
        numbered_text,
        "2 3\n2 0 2\n0\n",
        "DT NN VB\n\nNN\n",
        "s3\n0.5\n0.25\n1e-3\n",
        "t1.0 3 0.9 -1 0.1\n",
    ]
    return from_seeds(seeds, [b" ", b"\n", b"0 0", b"-1", b"1 1\n"]), read


def tagged() -> tuple[Make, Read]:
    from gramian.treebank.vocab import TaggedWords

    path = Path(tempfile.mkdtemp(dir=_fast())) / "tagged"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        TaggedWords.read(str(path))

    return from_seeds(
        ["the/DT dog/NN ./.\n", "1\\/2/CD //SYM a/b/c\n", SENTENCE, tree_text],
        [b"/", b"/NN", b"\t", b"#", b"("],
    ), read


def records() -> tuple[Make, Read]:
    from gramian.parsing.sentences import read_record
    from tools.fuzz.models import parser

    ready = parser()

    def make(random: Random) -> bytes:
        line = record_line(random)
        return (
            mutated(random, line, [b'"tokens"', b"null", b"[", b"{", b"[" * 2000])
            if random.random() < 0.5
            else line
        )

    def read(data: bytes) -> None:
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n")[:20], 1):
            sentence = read_record(line[:5000], "<fuzz>", number, ready.model.grammar)
            ready.parse(sentence)

    return make, read


def sentences() -> tuple[Make, Read]:
    from tools.fuzz.models import parser

    ready = parser()

    def read(data: bytes) -> None:
        for line in data.decode("utf-8", "replace").split("\n")[:20]:
            result = ready.parse(line[:2000] if len(data) % 2 else line[:2000].split())
            assert result.tree.words == tuple(result.words)

    seeds = [
        "the dog saw a cat with a telescope .",
        "Mr. O'Neil doesn't (can't) pay $3.50, he said: \"no\"...",
        "a\u200bb \u00a0 c",
        tree_text,
    ]
    return from_seeds(
        seeds, [b"the ", b" dog", b"n't", b"...", b"http://a.b/c?d", b"\xf0\x9f\x98\x80", b"-LRB-"]
    ), read


def heads() -> tuple[Make, Read]:
    from gramian.trees import HeadRules, Tree

    tree = Tree.parse("(NP (DT the) (NN dog) (PP (IN of) (NP (NN war))))")

    def read(data: bytes) -> None:
        HeadRules.read(io.BytesIO(data))(tree)

    seeds = [
        "NP right NN NNS\nNP left-any NP\n* default left\n* never , .\n* coordination CC\n",
        "# x\nS last VP\n",
    ]
    return from_seeds(seeds, [b"* ", b"left", b"right-any", b"last", b"default", b"never"]), read


def toml() -> tuple[Make, Read]:
    from gramian.experiments.plan import make_plan
    from gramian.experiments.recipes import RECIPES, recipe

    folder = Path(tempfile.mkdtemp(dir=_fast()))
    for path, text in (
        ("bank/train.mrg", TREES[0] * 30),
        ("bank/dev.mrg", TREES[0]),
        ("ud/train.conllu", SENTENCE),
        ("ud/dev.conllu", SENTENCE),
    ):
        (folder / "all" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "all" / path).write_text(text)
    data = dict.fromkeys(RECIPES, folder / "all" / "bank") | {
        "languages": folder / "all",
        "shag": folder / "all" / "ud",
    }
    tokens = [b"[a]\n", b"[[a]]", b"=", b"'''", b'"', b"{", b"1979-05-27", b"true", b"[" * 3000]

    def make(random: Random) -> bytes:
        name = random.choice(list(RECIPES))
        options = {
            key: value
            for key, value in ({"seeds": 2} | recipe(name).options()).items()
            if random.random() < 0.7
        }
        if options and random.random() < 0.6:
            options = changed_json(random, options)
        text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in options.items())
        made = f"{name}\n{text}".encode("utf-8", "surrogatepass")
        return mutated(random, made, tokens) if random.random() < 0.6 else made

    def read(made: bytes) -> None:
        name, _, text = made.partition(b"\n")
        chosen = name.decode() if name.decode("utf-8", "replace") in RECIPES else "states"
        (folder / "settings.toml").write_bytes(text)
        plan = make_plan(chosen, str(data[chosen]), config=folder / "settings.toml")
        assert plan.tasks()
        assert plan.toml

    return make, read


def _fast() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
