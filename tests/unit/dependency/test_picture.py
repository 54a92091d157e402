from xml.etree import ElementTree

from toy_treebank import toy_sentences

from gramian.automata.automaton_picture import to_svg
from gramian.automata.pdfa import PDFA
from gramian.dependency.dependency_parser import DependencyParse
from gramian.dependency.dependency_picture import draw_parse


def texts(svg):
    return [node.text for node in ElementTree.fromstring(svg).iter() if node.tag.endswith("text")]


def machine():
    # From 0, "D" leads to 1 and "<" to 2; state 3 is reached with a probability of one in a hundred.
    successor = [[1, 2, 3], [-1, -1, -1], [1, -1, -1], [-1, -1, -1]]
    probability = [[0.5, 0.24, 0.01, 0.25], [0.0, 0.0, 0.0, 1.0], [0.9, 0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 1.0]]
    return PDFA(successor, probability, ("D", "<", "rare"))


def test_states_are_drawn_with_their_probabilities():
    found = texts(to_svg(machine()))
    assert {"D 0.50", "< 0.24", "D 0.90", "0.25", "1.00", "0.10", "start"} <= set(found)
    assert not any("rare" in text for text in found)
    assert [text for text in found if text in "0123"] == ["0", "1", "2", "3"]


def test_a_lower_threshold_shows_more():
    found = texts(to_svg(machine(), 0.001))
    assert "rare 0.01" in found


def test_long_labels_are_counted():
    both = PDFA([[1, 1], [-1, -1]], [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]], ("a", "b"))
    assert "+1" in texts(to_svg(both, labels=1))
    assert "b 0.30" in texts(to_svg(both))


def test_a_parse_shows_words_relations_and_doubts():
    sentence = toy_sentences(1, seed=3)[0]
    doubts = [1.0] * (len(sentence) - 1) + [0.42]
    relations = tuple(token.deprel for token in sentence.tokens)
    parse = DependencyParse(sentence, sentence.heads, relations, tuple(doubts), "parsed")
    found = texts(draw_parse(parse))
    assert set(sentence.words) <= set(found)
    assert f"{relations[-1]} 0.42" in found
    assert "nsubj" in found
    assert parse._repr_svg_() == parse.svg() == draw_parse(parse)
