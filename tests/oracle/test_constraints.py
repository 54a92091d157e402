"""Parsing under constraints = enumeration of the trees that satisfy them."""

import numpy as np
import pytest
from chart_cases import Case, ambiguous_case, binarised_tree, cases, enumerate_derivations, skeleton, words_of
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from gramian.chart import chart_reference as reference
from gramian.chart.chart_parser import ChartParser, Pruning
from gramian.chart.constraints import Constraints, Span
from gramian.chart.decode import decode
from gramian.chart.tree_arrays import to_tree
from gramian.errors import OptionError
from gramian.trees import Tree, debinarise

EXACT = Pruning(beam=0, item=0, edge=0, fine=0, split=0)


def satisfies(tree: Tree, constraints: Constraints) -> bool:
    brackets = {Span(start, end, label) for label, start, end in tree.spans(preterminals=False)}
    brackets |= {Span(bracket.start, bracket.end) for bracket in brackets}
    return (
        not any(bracket.crosses(span) for bracket in brackets for span in constraints.uncrossed)
        and all(span in brackets for span in constraints.required)
        and not any(span in brackets for span in constraints.forbidden)
    )


@st.composite
def constrained(draw: st.DrawFn) -> tuple[Case, Constraints]:
    case = draw(cases(max_words=5, max_states=2))
    known = sorted(
        {
            part
            for name in case.grammar.symbols[: case.grammar.n_phrases]
            for part in name.strip("@").split("|")
        }
    )
    ends = st.lists(st.integers(0, len(case.words)), min_size=2, max_size=2, unique=True).map(sorted)
    spans = st.builds(lambda ends, label: Span(*ends, label), ends, st.sampled_from([None, *known]))
    kinds = [tuple(draw(st.lists(spans, max_size=size))) for size in (2, 2, 1)]
    return case, Constraints(*kinds)


@settings(max_examples=150)
@given(constrained())
def test_the_forest_has_exactly_the_trees_that_satisfy_the_constraints(
    drawn: tuple[Case, Constraints],
) -> None:
    case, constraints = drawn
    emission = reference.emissions(case.grammar, case.words)
    if not 0 < reference.fill_chart(case.grammar, emission, reference.COUNT).total <= 20_000:
        reject()
    words = words_of(case)
    chart = ChartParser(case.grammar)
    try:
        allowed = constraints.allowed(case.grammar, len(words))
    except OptionError:
        reject()
    forest = chart.forest(case.words, EXACT, allowed)
    total = 0.0
    for weight, derivation in enumerate_derivations(case.grammar, emission):
        if satisfies(debinarise(binarised_tree(case.grammar, skeleton(derivation), words)), constraints):
            total += weight
    if forest is None:
        assert total == 0
        return
    np.testing.assert_allclose(forest.log_ratio, np.log(total), rtol=1e-5, atol=1e-5)
    decoded = decode(forest)
    assert decoded is not None
    assert satisfies(to_tree(forest, decoded, words), constraints)


@settings(max_examples=40)
@given(cases(max_words=5), st.booleans())
def test_a_parse_constrained_to_contain_a_tree_is_that_tree(case: Case, labels: bool) -> None:
    chart = ChartParser(case.grammar)
    forest = chart.forest(case.words, EXACT)
    assume(forest is not None)
    words = words_of(case)
    tree = to_tree(forest, decode(forest, "max-rule-sum"), words)
    constraints = Constraints.containing(tree, labels=labels)
    constrained_forest = chart.forest(case.words, EXACT, constraints.allowed(case.grammar, len(words)))
    found = to_tree(constrained_forest, decode(constrained_forest), words)
    brackets = [
        {(node[0] * labels, *node[1:]) for node in each.spans(preterminals=False)} for each in (tree, found)
    ]
    assert brackets[0] <= brackets[1]
    compatible = Constraints.compatible_with(tree)
    assert satisfies(tree, compatible)
    assert chart.forest(case.words, EXACT, compatible.allowed(case.grammar, len(words))) is not None


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints(required=(Span(0, 5),)), "the span 0-5 is not within the 4 words"),
        (Constraints(uncrossed=(Span(2, 2),)), "2-2 is not within"),
        (Constraints(required=(Span(0, 2, "XP"),)), "no phrase 'XP'; try: A, C"),
        (Constraints(forbidden=(Span(0, 1, "x"),)), "no phrase 'x'"),
        (Constraints(required=(Span(0, 2), Span(1, 3, "A"))), "0-2 and A 1-3 cross"),
        (Constraints(required=(Span(0, 2),), uncrossed=(Span(1, 3),)), "0-2 crosses the uncrossed span 1-3"),
        (Constraints(required=(Span(0, 2, "A"),), forbidden=(Span(0, 2),)), "both required and forbidden"),
    ],
)
def test_constraints_that_cannot_be_met_get_a_clear_sentence(constraints: Constraints, message: str) -> None:
    case = ambiguous_case(4)
    with pytest.raises(OptionError, match=message):
        constraints.allowed(case.grammar, 4)
