"""The page in a real browser: every feature is clicked through in headless Chromium."""

import json
import time
from pathlib import Path

import pytest
from browsing import CHROMIUM, DRIVER, NO_BROWSER, Page, serving, start_browser
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

from gramian.trees import Tree

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=NO_BROWSER)

SENTENCE = "Anna saw the picture of wood with a telescope ."
GOLD = "(S (NP (NNP Anna)) (VP (VBD saw) (XP (DT the) (NN picture))) (. .))"


@pytest.fixture(scope="module")
def address(service):
    service.warm_up()
    with serving(service) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, address):
    browser.get_log("browser")
    yield Page(browser, address)
    faults = [one for one in browser.get_log("browser") if "favicon" not in one["message"]]
    assert not faults


def test_a_sentence_becomes_a_tree(page, service):
    page.open()
    page.type(SENTENCE)
    page.until(lambda: page.text("#status").startswith("10 words, "))
    assert page.texts("[data-place='0'] svg.tree text.word") == SENTENCE.split()
    title = page.text(".parse h2")
    assert "confiden" in title  # Least confident phrase, or Low confidence
    assert "max-recall" not in title
    doubtful = [one for one in page.attributes(".node", "aria-label") if "sure" in one and " word" not in one]
    assert doubtful
    assert page.text(".arcs .word") == "Anna"
    confidences = page.attributes(".node", "aria-label")
    assert confidences[0].startswith("S: Anna saw")
    assert all("sure" in one for one in confidences)
    assert "NNP: Anna" in page.text(".nested")
    assert page.text(".nested li").startswith("S: ")


def test_a_click_shows_states_cards_map_and_tensor(page):
    page.open(f"s={SENTENCE}")
    page.click(page.node("VP"))
    page.until(lambda: page.all("#states .card"))
    assert page.text("#node h2").startswith("VP “saw")
    best = page.text("#node > .bars button.bar .name").split()[1]
    states = page.attributes("svg.map g", "data-state")
    assert len(states) > 1
    assert page.attributes("#states .card", "data-state")[0] == best  # the most probable one comes first
    for word in ("Rules", "Places", "As in"):
        assert word in page.text("#states .card")
    page.click("svg.map g", len(states) - 1)
    page.until(lambda: page.attributes(".card.chosen", "data-state") == [states[-1]])
    page.click("#node > .bars button.bar")
    page.until(lambda: page.attributes(".card.chosen", "data-state") == [best])
    if page.all("#states button.more"):
        page.click("#states button.more")
    assert sorted(page.attributes("#states .card", "data-state")) == sorted(states)
    page.click("button.tensor")
    page.until(lambda: "Heat map of VP" in page.attributes("#tensor canvas", "aria-label")[0])
    assert page.browser.execute_script(
        "const c = document.querySelector('#tensor canvas');"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(one => one > 0)"
    )
    page.one("#tensor select").send_keys("1")
    page.until(lambda: page.one("#tensor select").get_attribute("value") == "1")
    # A part of the rule leads on to that part.
    page.click(".rules li button")
    page.until(lambda: not page.text("#node h2").startswith("VP “saw the picture of"))
    page.press(Keys.ESCAPE)
    page.until(lambda: page.attributes("#node", "hidden") == [""])


def test_keys_alone_are_enough(page):
    page.open(f"s={SENTENCE}")
    page.browser.execute_script("document.querySelector('svg.tree .node').focus()")
    focused = lambda: page.browser.switch_to.active_element.get_attribute("aria-label")  # noqa: E731
    assert focused().startswith("S:")
    page.press(Keys.ARROW_DOWN)
    assert focused().startswith("NP: Anna")
    page.press(Keys.ARROW_RIGHT)
    assert focused().startswith("VP: saw")
    page.press(Keys.ARROW_UP)
    assert focused().startswith("S:")
    page.press(Keys.ARROW_DOWN, Keys.ENTER)
    page.until(lambda: page.text("#node h2").startswith("NP “Anna”"))
    page.until(lambda: page.browser.switch_to.active_element.tag_name == "h2")
    page.press(Keys.ESCAPE)
    page.until(lambda: (focused() or "").startswith("NP: Anna"))
    page.browser.execute_script("document.querySelector('#tab-trees').focus()")
    page.press(Keys.ARROW_RIGHT)
    page.until(lambda: page.one("#tab-bank").get_attribute("aria-selected") == "true")
    page.press(Keys.ARROW_RIGHT)
    page.until(lambda: page.one("#tab-states").get_attribute("aria-selected") == "true")


def test_menus_by_keys_alone(page):
    page.open()
    name = lambda: page.browser.execute_script(  # noqa: E731
        "const one = document.activeElement; return one.id || one.name || one.textContent.trim()"
    )
    page.one("#sentence").send_keys(Keys.CONTROL, "a")
    page.press(*SENTENCE, Keys.ENTER)
    page.until(lambda: page.texts("svg.tree text.word") == SENTENCE.split())
    page.press(Keys.TAB, Keys.TAB)
    assert "Options" in name()
    page.press(Keys.ENTER, Keys.TAB, Keys.TAB)
    assert name() == "k"
    page.press(Keys.ARROW_UP)
    page.until(lambda: len(page.all(".parse")) == 2)  # the two best trees
    page.press(Keys.ARROW_DOWN)
    page.until(lambda: len(page.all(".parse")) == 1)
    page.press(Keys.TAB, Keys.TAB)
    assert name() == "model"
    page.press(Keys.SPACE)
    page.until(lambda: len(page.all(".parse")) == 2)  # two models compared
    assert "two.grammar" in page.text("[data-place='1'] h2")
    page.press(Keys.SPACE)
    page.until(lambda: len(page.all(".parse")) == 1)
    page.press(Keys.ESCAPE)
    assert page.attributes("#options", "open") == [None]
    assert "Options" in name()  # the keys stay where the menu was opened
    page.press(Keys.TAB)
    assert "Examples" in name()
    page.press(Keys.ENTER, Keys.TAB, Keys.TAB)
    page.press(Keys.ENTER)
    page.until(lambda: page.texts("svg.tree text.word")[:1] == ["Which"])
    assert "Examples" in name()
    page.browser.execute_script("document.querySelector('.menu summary').focus()")
    page.press(Keys.SPACE)
    page.until(lambda: page.attributes(".menu", "open") == [""])
    page.press(Keys.ESCAPE)
    assert "Copy or save" in name()
    page.press(Keys.ENTER, Keys.TAB)
    assert name() == "Copy brackets"
    page.press(Keys.TAB, Keys.ENTER)
    assert page.copied().startswith("\\begin{forest}")
    assert "Copy or save" in name()


def test_best_trees_decoders_and_models_side_by_side(page):
    page.open(f"s={SENTENCE}&k=3&m=0 1&d=max-recall viterbi")
    titles = page.texts(".parse h2 small")
    assert [one.strip() for one in titles[:3]] == [
        f"one.grammar · max-recall · tree {rank}" for rank in (1, 2, 3)
    ]
    assert " two.grammar · viterbi · tree 1" in titles
    assert page.all(".node.differs")
    assert "not in the first tree" in page.text(".legend")
    page.open(f"s={SENTENCE}")
    page.click("input[name=decoder]", 4)
    page.until(lambda: len(page.all(".parse")) == 2)
    page.click("input[name=model]", 1)
    page.until(lambda: len(page.all(".parse")) == 4)


def test_gold_is_compared_with_the_parse(page):
    page.open()
    page.type(GOLD)
    page.until(lambda: page.all("[data-place='1'] .node.differs"))
    assert page.text("[data-place='0'] h2") == "Gold tree, as typed"
    assert "F1" in page.text("[data-place='1'] .facts")
    assert "XP “the picture”" in page.text(".missing")
    assert "differs" in page.node("NP", 1).get_attribute("aria-label") or page.all(
        "[data-place='1'] .node.differs[aria-label^=NP]"
    )
    [marked] = page.attributes("[data-place='0'] .node.differs", "aria-label")
    assert marked.startswith("XP: the picture")


def test_copies(page):
    page.open(f"s={SENTENCE}")
    tools = dict(zip(page.texts(".menu button"), page.all(".menu button"), strict=True))
    page.click(tools["Copy brackets"])
    tree = page.copied()
    assert Tree.parse(tree).words == tuple(SENTENCE.split())
    page.click(tools["Copy JSON"])
    assert json.loads(page.copied())["tree"] == tree
    page.click(tools["Copy SVG"])
    assert page.copied().startswith("<svg")
    page.until(lambda: "Copied as SVG" in page.text("#status"))
    page.click(tools["Copy LaTeX"])
    assert page.copied().startswith("\\begin{forest}")
    page.click("#link")
    assert page.copied() == page.browser.current_url


def test_files_to_save(page):
    page.open(f"s={SENTENCE}")
    # What is saved is kept where a test can see it.
    page.browser.execute_script(
        "window.saved = []; URL.createObjectURL = (blob) => { window.saved.push(blob); return 'data:,'; };"
        "HTMLAnchorElement.prototype.click = () => {}"
    )
    tools = dict(zip(page.texts(".menu button"), page.all(".menu button"), strict=True))
    for number, (name, kind, begins) in enumerate(
        [
            ("Save SVG", "image/svg+xml", "<svg"),
            ("Save PNG", "image/png", "PNG"),
            ("Save LaTeX", "text/plain", "documentclass"),
        ],
        1,
    ):
        page.click(tools[name])
        page.until(lambda number=number: page.browser.execute_script("return window.saved.length") == number)
        got, text = page.browser.execute_async_script(
            "const done = arguments[0]; const blob = window.saved.at(-1); blob.text().then((text) => done([blob.type, text]))"
        )
        assert got.startswith(kind)
        assert begins in text[:30]


def test_a_text_is_a_list_with_doubtful_sentences_first(page):
    page.open()
    page.type("Anna slept. Anna saw the picture of wood with a telescope. The dog slept.")
    page.until(lambda: len(page.all("#sentences .sentence")) == 3)
    page.until(lambda: page.all("svg.tree"))
    sure = [int(one.split(":")[1].strip(" ><%\xa0")) for one in page.texts("#sentences small")[1:]]
    assert "3 sentences, 17 words. Sentence" in page.text("#status")
    assert sure == sorted(sure)
    assert page.texts("#sentences [aria-current] .said") == page.texts("#sentences .said")[:1]
    page.click("#sentences header button")
    assert page.texts("#sentences .said")[0] == "Anna slept ."
    page.click("#sentences .sentence", 2)
    page.until(lambda: page.texts("svg.tree text.word") == ["The", "dog", "slept", "."])
    assert "i=2" in page.browser.current_url
    page.open(page.browser.current_url.partition("#")[2])
    page.until(lambda: page.texts("svg.tree text.word") == ["The", "dog", "slept", "."])
    page.type("Anna slept.")
    page.until(lambda: page.attributes("#sentences", "hidden") == [""])


def test_a_treebank_is_browsed(page):
    bank = f"{GOLD} (S (NP (DT the) (NN dog)) (VP (VBD slept)) (. .)) (S (NP (NNP Anna)) (VP (VBD slept)))"
    page.open(f"s={bank}")
    page.until(lambda: len(page.all("table.bank tbody tr")) == 3)
    assert "3 of 3 trees" in page.text("#bank-list")
    page.one("#bank-words").send_keys("DOG")
    page.until(lambda: page.texts("table.bank .said") == ["the dog slept ."])
    page.one("#bank-words").clear()
    page.one("#bank-words").send_keys(" ", Keys.BACKSPACE)
    page.select("#bank-label", "XP")
    page.until(lambda: page.texts("table.bank .said") == ["Anna saw the picture ."])
    page.select("#bank-label", "")
    page.one("#bank-most").send_keys("4")
    page.until(lambda: len(page.all("table.bank tbody tr")) == 2)
    page.one("#bank-most").send_keys(Keys.BACKSPACE)
    page.click("#judge")
    page.until(
        lambda: (
            "mean F1" in page.text("#bank-list")
            and page.one("#bank-order").get_attribute("value") == "differences"
        )
    )
    assert page.texts("table.bank .said")[0] == "Anna saw the picture ."
    page.click("table.bank .sentence")
    page.until(lambda: len(page.all("[data-place]")) == 2)
    assert page.text("[data-place='0'] h2") == "Gold tree, as typed"


def test_two_trees_side_by_side(page):
    page.open("s=(S (NP (NN a) (NN b)) (VP (VB c))) (S (NP (NN a)) (VP (NN b) (VB c)))")
    page.until(lambda: page.texts(".parse h2") == ["First tree", "Second tree"])
    for place in (0, 1):  # the difference is marked in both
        assert len(page.all(f"[data-place='{place}'] .node.differs")) == 2
    assert "2 nodes differ, 2 missing" in page.text("[data-place='1'] .facts")


def boxes(page, css):
    return page.browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(one => { const box = one.getBoundingClientRect();"
        "return [box.left, box.top, box.right, box.bottom] })",
        css,
    )


READINGS = "Anna saw the picture with a telescope ."


def test_an_ambiguous_sentence_is_shown_as_two_trees(page):
    page.open(f"s={READINGS}")
    assert "8 words, two readings" in page.text("#status")
    assert [one.strip() for one in page.texts(".parse h2 small")] == ["reading 1", "reading 2"]
    assert "the first" in page.text("[data-place='1'] .facts")
    # the phrase that distinguishes it
    assert page.text("[data-place='1'] h2").startswith(("With", "Without"))
    tops = {round(top) for _, top, _, _ in boxes(page, ".parse > .scroll")}
    assert len(tops) == 1  # both trees begin at the same height
    for place in (0, 1):  # the noun phrase stands below VP, or below another noun phrase
        assert page.all(f"[data-place='{place}'] path.moved[d]:not([d=''])")
    before = page.attributes("svg.tree", "data-layout")
    assert before[0] == before[1]
    page.click("[data-place='1'] button[aria-label^=Turn]")  # both turn
    after = page.attributes("svg.tree", "data-layout")
    assert after[0] == after[1] != before[0]
    page.type("Anna slept .")
    page.until(lambda: "3 words, 1 tree" in page.text("#status"))


def test_a_notice_says_that_text_is_foreign_or_in_title_case(page):
    page.open()
    page.type("Der Hund schläft und die Katze ist auf dem Sofa.")
    page.until(lambda: "another language" in page.text(".notice"))
    page.type("Anna Saw The Picture Of Wood")
    page.until(lambda: "Anna saw the" in page.text(".notice"))


def test_an_unclosed_bracket_is_no_word(page):
    page.open()
    page.type("(S (NP (NN a)")
    page.until(lambda: "never closed" in page.text("#status"))
    assert "mend the brackets" in page.text("#status")
    assert not page.all("svg.tree")
    page.browser.get_log("browser")  # the browser notes the status 400
    page.type("(Laughs) Anna slept .")
    page.until(lambda: page.texts("[data-place='0'] text.word")[1:2] == ["Laughs"])


@pytest.mark.parametrize("width", [390, 1280, 1920])
@pytest.mark.parametrize("dark", [False, True])
def test_legend_input_and_cards_are_in_view_and_aligned(page, width, dark):
    page.open(f"s={READINGS}", width, dark)
    [field], [legend], cards = boxes(page, "#sentence"), boxes(page, "#legend"), boxes(page, ".parse")
    assert legend[3] < min(card[1] for card in cards)  # above the trees
    assert legend[3] < 900
    assert min(card[0] for card in cards) == pytest.approx(field[0], abs=1)
    assert max(card[2] for card in cards) == pytest.approx(field[2], abs=1)
    page.click(".menu summary")
    [choices], [tree] = boxes(page, ".menu[open] .choices"), boxes(page, "[data-place='0'] > .scroll")
    assert choices[1] >= tree[3]  # below the tree
    assert page.width() <= width


def test_a_click_does_not_turn_the_tree(page):
    page.open("s=The man saw the boat near the harbour of wood with the dog .", 1100)
    height = lambda: page.browser.execute_script(  # noqa: E731
        "return document.querySelector('svg.tree').viewBox.baseVal.height"
    )
    before = height()
    page.click(page.node("VP"))
    page.until(lambda: page.all("#states .card"))
    assert height() == before


def test_the_input_grows_with_its_text(page):
    page.open()
    [low] = boxes(page, "#sentence")
    page.one("#sentence").send_keys(" and the dog slept" * 30)
    [high] = boxes(page, "#sentence")
    assert high[3] - high[1] > 2 * (low[3] - low[1])
    inner, outer = page.browser.execute_script(
        "const one = document.querySelector('#sentence'); return [one.scrollHeight, one.clientHeight]"
    )
    assert inner <= outer + 1  # nothing is clipped


def test_examples_are_a_click_away(page):
    page.open()
    examples = page.texts(".example")
    assert len(examples) >= 8
    page.click(".example", 1)
    page.until(lambda: page.texts("svg.tree text.word")[:1] == ["Which"])
    assert page.one("#sentence").get_attribute("value").startswith("Which of")
    assert page.attributes("#examples", "open") == [None]
    assert page.attributes("#options", "open") == [None]  # options wait behind their button


def test_labels_say_what_they_mean(page):
    page.open(f"s={SENTENCE}")
    webdriver.ActionChains(page.browser).move_to_element(page.node("PP")).perform()
    page.until(lambda: "prepositional phrase" in page.text(".explain"))
    assert page.attributes("#tip", "hidden") == [""]  # nothing covers the tree
    page.browser.execute_script("document.querySelector('svg.tree .node').focus()")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    page.until(lambda: "proper noun, singular" in page.text(".explain"))


def test_the_states_of_all_nodes_are_drawn_by_name(page):
    page.open(f"s={SENTENCE}")
    nodes = len(page.all("[data-place='0'] .node"))
    page.click("[data-place='0'] button[aria-label^='Show states']")
    page.until(lambda: len(page.texts("[data-place='0'] .note")) == nodes)
    names = page.texts("[data-place='0'] .note")
    assert names[1].isalpha() or " " in names[1]  # words, such as "subject"
    assert not any(one.isdigit() for one in names)
    page.open(page.browser.current_url.partition("#")[2])
    page.until(lambda: page.texts("[data-place='0'] .note") == names)


def test_words_of_drawings_do_not_overlap(page):
    page.open(f"s={SENTENCE} ".replace("telescope", "constitutionalrepresentation"))
    for css in ("svg.tree text.word", "svg.arcs text.word", "svg.arcs text.relation"):
        boxes = page.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(one => { const box = one.getBoundingClientRect();"
            "return [box.left, box.top, box.right, box.bottom] })",
            css,
        )
        assert len(boxes) == len(SENTENCE.split())
        for number, one in enumerate(boxes):
            for other in boxes[:number]:
                apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
                assert apart, css


def test_no_two_arcs_share_a_line(page):
    page.open(f"s={SENTENCE}")
    paths = page.browser.execute_script(
        "return [...document.querySelectorAll('svg.arcs path:not(.tip):not(.root)')].map(one => one.getAttribute('d'))"
    )
    ends = [
        float(end) for path in paths for end in (path[1:].split()[0], path.rpartition("V")[0].split()[-2])
    ]
    assert len(paths) == len(SENTENCE.split()) - 1
    assert len({round(end, 1) for end in ends}) == len(ends)


def test_words_on_the_map_of_states_cover_neither_words_nor_states(page):
    page.open("tab=states&label=NN")
    page.until(lambda: page.all("svg.map g"))
    words, spots = page.browser.execute_script(
        "const box = (one) => { const b = one.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom] };"
        "const shown = [...document.querySelectorAll('svg.map text')].filter(one => one.style.display !== 'none');"
        "return [shown.map(box), [...document.querySelectorAll('svg.map circle')].map(box)]"
    )
    assert len(words) > 1
    for number, one in enumerate(words):
        for other in words[:number]:
            assert one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3] or other[1] >= one[3]
        for left, top, right, bottom in spots:
            x, y = (left + right) / 2, (top + bottom) / 2
            assert not (one[0] < x < one[2] and one[1] < y < one[3])


def test_the_map_of_states_can_be_searched_and_zoomed(page):
    page.open("tab=states&label=NP")
    page.until(lambda: page.all("svg.map g"))
    words = page.texts(".card q")
    field = page.one(".state-search")
    field.send_keys(words[0])
    page.until(lambda: " of " in page.text("#view-states [role=status]"))
    opaque = [one for one in page.attributes("svg.map g", "style") if "opacity: 1" in one]
    assert 0 < len(opaque) <= len(page.all("svg.map g"))
    field.clear()
    before = page.attributes("svg.map circle", "cx")
    page.click("button[aria-label=Nearer]")
    assert page.attributes("svg.map circle", "cx") != before
    page.click("button[aria-label='The whole map']")
    assert page.attributes("svg.map circle", "cx") == before
    page.click(".nearest button")
    page.until(lambda: len(page.all(".card.chosen")) == 1)
    assert page.attributes(".card.chosen", "data-state") == page.texts(".nearest button")[:1]


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not there; npm install --no-save axe-core")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "fragment",
    [
        f"s={SENTENCE}&n=0.3",
        f"s={SENTENCE}&k=3",
        "s=Anna slept. The dog slept.",
        "tab=bank",
        "tab=states&label=NP",
        "tab=dependencies&s=Anna slept .",
        "tab=automaton&q=NNP VBD",
    ],
)
def test_everybody_can_use_it(page, fragment, dark):
    page.open(fragment, dark=dark)
    page.until(lambda: not page.all("#node .hint") or page.all("#states .card"))
    page.browser.execute_script(AXE.read_text("utf-8"))
    found = page.browser.execute_async_script(
        "const done = arguments[0]; axe.run(document).then((answer) => done(answer.violations), (error) => done([String(error)]))"
    )
    told = [(one["id"], one["help"], [node["html"][:150] for node in one["nodes"]][:3]) for one in found]
    assert told == []


def test_a_link_brings_the_view_back(page):
    page.open(f"s={SENTENCE}")
    page.click(page.node("PP"))
    page.until(lambda: page.all("#states .card"))
    title, link = page.text("#node h2"), page.browser.current_url
    page.open(link.partition("#")[2])
    page.until(lambda: page.all("#states .card"))
    assert page.text("#node h2") == title
    assert page.one("#sentence").get_attribute("value") == SENTENCE
    page.open("tab=nothing&k=99&m=7&d=none&n=5.5&in=xml&c=-1&h=x")  # a broken link is no fault
    assert page.all("svg.tree")


def test_layouts_and_zoom(page):
    page.open(f"s={SENTENCE}")
    tools = {one.text: one for one in page.all(".tools button")}

    def size():
        drawing = page.one("svg.tree")
        return float(drawing.get_attribute("width")), float(drawing.get_attribute("height"))

    row = size()
    page.click(tools["+"])
    assert size()[0] == pytest.approx(1.25 * row[0], rel=0.01)
    page.click(tools["turn"])
    column = size()
    assert column[0] < row[0]
    page.click(tools["turn"])
    assert size()[1] > column[1]
    page.click(tools["turn"])
    assert size() == pytest.approx(row, rel=0.01)
    room = page.browser.execute_script("return document.querySelector('.parse').clientWidth")
    assert row[0] > 0.6 * room  # the tree fills its card
    left, right = page.browser.execute_script(
        "const [tree, card] = ['svg.tree', '.parse'].map(one => document.querySelector(one).getBoundingClientRect());"
        "return [tree.left - card.left, card.right - tree.right]"
    )
    assert left == pytest.approx(right, abs=2)  # in its middle


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_long_sentences_fit_every_screen(page, width, dark):
    sentence = " and ".join(["the old man saw a small boat near the harbour of Lisbon"] * 5) + " ."
    assert len(sentence.split()) > 60
    page.open(f"s={sentence}&n=0.0", width, dark)
    page.until(lambda: page.all("#states .card"))
    assert page.width() <= width
    drawing = page.one("svg.tree")
    whole = page.browser.execute_script("return arguments[0].viewBox.baseVal.width", drawing)
    assert float(drawing.get_attribute("width")) > 0.89 * whole  # hardly made smaller
    size = page.browser.execute_script(
        "return parseFloat(getComputedStyle(document.querySelector('svg.tree text.word')).fontSize)"
    )
    assert size >= 12
    ink, paper = page.browser.execute_script(
        "const one = getComputedStyle(document.body); return [one.color, one.backgroundColor].map(c => c.match(/\\d+/g).map(Number))"
    )
    assert (sum(ink) > sum(paper)) == dark
    if width < 600:
        left, right = page.browser.execute_script(
            "const box = document.querySelector('.scroll'); return [box.scrollWidth, box.clientWidth]"
        )
        assert left <= right * 2.5


def test_states_of_any_label(page):
    page.open("tab=states&label=NP")
    page.until(lambda: page.all("#view-states .card"))
    assert "states of NP" in page.text("#view-states h3")
    page.one("#label").send_keys("VP:")
    page.until(lambda: "states of VP" in page.text("#view-states h3"))
    assert "label=VP" in page.browser.current_url


def test_dependencies_and_the_automata_of_a_head(page):
    page.open("tab=dependencies&s=The/DT dog/NN slept/VBD ./.&in=tagged")
    words = page.shadow(".paper", "text.word")
    assert [one.text for one in words] == ["The", "dog", "slept", "."]
    page.click(words[2])
    page.until(lambda: len(page.all("#head .paper")) == 2)
    assert "slept (VBD): modifiers on the left" in page.text("#head h3")
    assert page.texts("#head > .split:nth-of-type(1) .steps button") == [
        "start",
        "NN",
    ]
    rows = page.texts("tbody tr")
    assert rows[1].startswith("2dogNNslept")
    page.click(".steps button")
    assert "\tdog\t" in page.copied()
    assert "h=2" in page.browser.current_url


def test_an_automaton_step_by_step(page):
    page.open("tab=automaton&q=NNP VBD .")
    page.until(lambda: page.all("#automaton .bar"))
    steps = page.all(".steps button")
    assert [one.text for one in steps] == ["start", "NNP", "VBD", "."]
    assert steps[-1].get_attribute("aria-pressed") == "true"
    before = page.text("#automaton .bars")
    page.browser.execute_script("arguments[0].focus()", steps[-1])
    page.press(Keys.ARROW_LEFT)
    assert steps[2].get_attribute("aria-pressed") == "true"
    assert page.text("#automaton .bars") != before
    lit = [
        one
        for one in page.shadow("#automaton .paper", "circle")
        if "rgb(255, 210, 138)" in one.get_attribute("style")
    ]
    assert len(lit) == 1
    field = page.one("#symbols")
    field.clear()
    field.send_keys("DT NN", Keys.ENTER)
    page.until(lambda: page.texts(".steps button") == ["start", "DT", "NN"])
    assert "q=DT+NN" in page.browser.current_url
    page.open("tab=automaton")
    page.until(lambda: page.all("#automaton .bar"))
    assert "NN" in page.one("#symbols").get_attribute("value")  # the tags of the sentence


def test_text_is_never_read_as_html(page):
    page.open()
    page.type("<img src=x onerror=alert(1)> <b>slept</b> .")
    page.until(lambda: "tree" in page.text("#status") and page.all("svg.tree text.word"))
    assert not page.all("#results img, #results b")
    page.click(page.all(".node")[-1])
    page.until(lambda: page.all("#node h2"))
    assert not page.all("#node img")


def test_nothing_is_loaded_from_elsewhere(page, address):
    page.browser.get_log("performance")
    page.open(f"s={SENTENCE}&n=0.1")
    page.until(lambda: page.all("#states .card"))
    time.sleep(0.2)
    asked = [json.loads(one["message"])["message"] for one in page.browser.get_log("performance")]
    urls = {one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"}
    assert urls
    assert all(url.startswith((address, "data:", "about:")) for url in urls)


def test_a_fault_is_told(page):
    page.open()
    page.click("#options summary")
    page.browser.execute_script("document.querySelector('#options').open = true")
    page.one("#input").send_keys("token/TAG")
    page.type("Anna slept")
    page.until(lambda: "is not a token with its tag" in page.text("#status"))
    page.browser.get_log("browser")  # the browser notes the status 400
