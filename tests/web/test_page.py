"""The page in a real browser: every feature is clicked through in headless Chromium."""

from __future__ import annotations

import json
import shutil
import threading
import time

import pytest
import uvicorn
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from gramian.trees import Tree
from gramian.web.app import create_app
from gramian.web.server import listen

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="nobody can click without chromium and chromedriver (Debian: chromium-driver)",
)

SENTENCE = "Anna saw the picture of wood with a telescope ."
GOLD = "(S (NP (NNP Anna)) (VP (VBD saw) (XP (DT the) (NN picture))) (. .))"
PATIENCE = 90  # seconds; other work may keep the machine busy


@pytest.fixture(scope="module")
def address(service):
    service.warm_up()
    opened = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(create_app(service, max_seconds=300), log_level="warning", ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{opened.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for option in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(PATIENCE)
    yield driver
    driver.quit()


class Page:
    """What a visitor does."""

    def __init__(self, browser, address) -> None:
        self.browser, self.address = browser, address

    def open(self, fragment="", width=1280, dark=False):
        self.browser.get("about:blank")  # a new fragment alone would not load the page again
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.browser.get(f"{self.address}#{fragment}")
        self.until(lambda: self.browser.execute_script("return document.body.dataset.ready"))
        # What is copied is kept where a test can see it.
        self.browser.execute_script(
            "navigator.clipboard.writeText = async (text) => { window.copied = text; }"
        )
        return self

    def until(self, condition):
        # What was found may be drawn anew before it is looked at; then it is found again.
        patient = WebDriverWait(self.browser, PATIENCE, 0.05, [StaleElementReferenceException, IndexError])
        return patient.until(lambda _: condition())

    def all(self, css):
        return self.browser.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.until(lambda: next(iter(self.all(css)), None))

    def text(self, css):
        return self.browser.execute_script(
            "return document.querySelector(arguments[0])?.textContent ?? ''", css
        )

    def texts(self, css):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)", css
        )

    def attributes(self, css, name):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(one => one.getAttribute(arguments[1]))",
            css,
            name,
        )

    def click(self, element, place=0):
        """Click an element, or the one at a place among those that CSS names."""
        if isinstance(element, str):
            self.until(lambda: len(self.all(element)) > place)
        script = "(typeof arguments[0] === 'string' ? document.querySelectorAll(arguments[0])[arguments[1]] : arguments[0])"
        self.browser.execute_script(
            f"{script}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))", element, place
        )

    def press(self, *keys):
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def type(self, text):
        field = self.one("#sentence")
        field.clear()
        field.send_keys(text, Keys.ENTER)

    def node(self, label, place=0):
        return next(
            one
            for one in self.all(f"[data-place='{place}'] .node")
            if one.get_attribute("aria-label").startswith(f"{label}:")
        )

    def copied(self):
        return self.until(
            lambda: self.browser.execute_script(
                "const text = window.copied; window.copied = null; return text"
            )
        )

    def shadow(self, css, inner):
        return self.browser.execute_script(
            "return [...document.querySelector(arguments[0]).shadowRoot.querySelectorAll(arguments[1])]",
            css,
            inner,
        )

    def width(self):
        return self.browser.execute_script("return document.documentElement.scrollWidth")


@pytest.fixture
def page(browser, address):
    browser.get_log("browser")
    yield Page(browser, address)
    faults = [one for one in browser.get_log("browser") if "favicon" not in one["message"]]
    assert not faults


def test_a_sentence_becomes_a_tree(page, service):
    page.open()
    page.type(SENTENCE)
    page.until(lambda: "10 words, 1 tree" in page.text("#status"))
    assert page.texts("svg.tree text.word") == SENTENCE.split()
    assert page.text(".parse h2") == "one.grammar · max-recall"
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
    if page.all("button.more"):
        page.click("button.more")
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
    page.until(lambda: page.one("#tab-states").get_attribute("aria-selected") == "true")


def test_best_trees_decoders_and_models_side_by_side(page):
    page.open(f"s={SENTENCE}&k=3&m=0 1&d=max-recall viterbi")
    titles = page.texts(".parse h2")
    assert titles[:3] == [f"one.grammar · max-recall · tree {rank}" for rank in (1, 2, 3)]
    assert "two.grammar · viterbi · tree 1" in titles
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
    assert page.text("[data-place='0'] h2") == "Gold tree"
    assert "F1" in page.text("[data-place='1'] .facts")
    assert "XP “the picture”" in page.text(".missing")
    assert "differs" in page.node("NP", 1).get_attribute("aria-label") or page.all(
        "[data-place='1'] .node.differs[aria-label^=NP]"
    )
    assert not page.all("[data-place='0'] .node.differs")


def test_copies(page):
    page.open(f"s={SENTENCE}")
    tools = {one.text: one for one in page.all(".tools button")}
    page.click(tools["brackets"])
    tree = page.copied()
    assert Tree.parse(tree).words == tuple(SENTENCE.split())
    page.click(tools["JSON"])
    assert json.loads(page.copied())["tree"] == tree
    page.click(tools["SVG"])
    assert page.copied().startswith("<svg")
    page.until(lambda: "Copied as SVG" in page.text("#status"))
    page.click(tools["LaTeX"])
    assert page.copied().startswith("\\begin{forest}")
    page.click("#link")
    assert page.copied() == page.browser.current_url


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
    page.click(tools["−"])
    page.click(tools["turn"])
    column = size()
    assert column[0] < row[0]
    page.click(tools["turn"])
    assert size()[1] > column[1]
    page.click(tools["turn"])
    assert size() == pytest.approx(row, rel=0.01)


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
    assert float(drawing.get_attribute("width")) == pytest.approx(whole, abs=1)  # not made smaller
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
    page.one("#label").send_keys("VP")
    page.until(lambda: "states of VP" in page.text("#view-states h3"))
    assert "label=VP" in page.browser.current_url


def test_dependencies_and_the_automata_of_a_head(page):
    page.open("tab=dependencies&s=The/DT dog/NN slept/VBD ./.&in=tagged")
    words = page.shadow(".paper", "text:not([class])")
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
    page.one("#input").send_keys("token/TAG")
    page.type("Anna slept")
    page.until(lambda: "is not a token with its tag" in page.text("#status"))
    page.browser.get_log("browser")  # the browser notes the status 400
