"""Take the pictures of docs/howto/web-page.md in headless Chromium, with the current English model, and the tree of the README.

    python -m tools.page_pictures [FOLDER] [--only annotate]

Beside the English model the page shows a grammar, a dependency parser and an automaton of a made-up English, which are learnt first (half a
minute). chromium and chromedriver must be installed. Look at the pictures before you commit them.
"""

import argparse
import base64
import shutil
import signal
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from PIL import Image
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[1]
PATIENCE = 120  # seconds
SENTENCE = "I saw the girl with the telescope."
WOOD = "Anna saw the picture of wood with a telescope ."
TEXT = (
    "It rained all morning. At noon the clouds broke, and we walked down to the river. "
    "Nobody had told us that the bridge was closed. Would you have turned back?"
)
LONG = (
    "Although the ferry had left an hour earlier than planned, most passengers, some of whom had never been at sea before, "
    "arrived at the harbour in time to watch the last fishing boats come in from the bay."
)


SENTENCES = (
    "I saw the girl with the telescope.",
    "The ferry left the harbour before the storm reached the coast.",
    "She gave him a book about the sea, and he read it on the train.",
    "Nobody knew that the bridge was closed.",
)
ANNOTATE = {"tab": "annotate", "who": "anna", "name": "00001"}
_ON_NODE = (  # what a key does on the first node with a name
    "const node = [...document.querySelectorAll('svg.tree .node')].find((one) => one.getAttribute('aria-label').startsWith('{name}'));"
    "node.focus(); node.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}));"
)


class Shot(NamedTuple):
    """A view of the page: its width, at most how much of its height, the address behind #, and what must be there."""

    name: str
    width: int
    height: int
    view: dict[str, str]
    shows: str
    script: str = ""  # done first, before what must be there is waited for

    @property
    def is_dark(self) -> bool:
        return self.name.endswith("dark")


SHOTS = [
    Shot("node-light", 1280, 1200, {"s": SENTENCE, "n": "0.3"}, "#states .card"),
    Shot("text-light", 1280, 1250, {"s": TEXT}, "#sentences .sentence"),
    Shot("readings-dark", 1280, 900, {"s": "The old man saw the boat with a telescope."}, "[data-place='1'] .node"),
    Shot("bank-light", 1280, 1000, {"s": "{bank}"}, "table.bank td + td + td", "document.querySelector('#judge').click()"),
    Shot("states-light", 1280, 1400, {"tab": "states", "label": "VBD"}, "#view-states .card"),
    Shot("phone-light", 390, 1500, {"s": SENTENCE}, "svg.tree"),
    Shot("phone-dark", 390, 1500, {"s": LONG}, "svg.tree"),
    Shot("dependencies-dark", 1280, 1500, {"tab": "dependencies", "s": WOOD, "h": "1"}, "#head .paper"),
    Shot("annotate-1-light", 1280, 900, ANNOTATE, "svg.tree .node"),
    Shot("annotate-2-light", 1280, 900, ANNOTATE, "#anno-forbidden", _ON_NODE.format(name="NP: the girl with", key="x")),
    Shot("annotate-3-light", 1280, 900, ANNOTATE, ".held", _ON_NODE.format(name="PP: with", key="Enter")),
    Shot("annotate-4-dark", 1280, 900, {**ANNOTATE, "name": "00003"}, "#anno-question", _ON_NODE.format(name="PP: about", key="r")),
    Shot("automaton-light", 1280, 900, {"tab": "automaton", "q": "DT NN VBD DT NN IN DT NN ."}, "#automaton .bar"),
]  # fmt: skip


def made_up_models(folder: Path) -> tuple[list[str], str]:
    """Learn models of a made-up English; return the options of gramian serve that show them, and a treebank."""
    sys.path.insert(0, str(ROOT / "examples"))
    from gramian.annotate.bank import AnnotationBank
    from gramian.automata import PNFAEM, Sequences
    from gramian.dependency import SHAGParser
    from gramian.learn import SpectralClustering
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import default_model_path, save_model
    from gramian.text.rule_tokenizer import tokenize
    from gramian.treebank import Treebank
    from gramian.trees import HeadRules, to_dependencies
    from made_up_english import sample

    trees = list(sample(600, 1))
    heads = HeadRules.collins()
    learner = SpectralClustering(6).fit(Treebank.from_trees(trees))
    save_model(Model(learner.model_, report=learner.report_), folder / "made-up.grammar")
    parser = SHAGParser("em", n_states=3, max_iter=10).fit([to_dependencies(tree, heads) for tree in trees])
    parser.save(folder / "dependency.model")
    tags = Sequences.from_strings([list(tree.tags) for tree in trees])
    PNFAEM(6, random_state=0).fit(tags).model_.save(folder / "tags.wfa")
    options = ["-m", str(default_model_path()), "-m", str(folder / "made-up.grammar")]
    with AnnotationBank(folder / "sea-stories") as annotation_bank:
        annotation_bank.add([[token.word for token in tokenize(sentence)] for sentence in SENTENCES])
    options += ["--annotate", str(folder / "sea-stories")]
    options += ["--dependency", str(folder / "dependency.model"), "--automaton", str(folder / "tags.wfa")]
    return options, "\n".join(str(tree) for tree in sample(12, 3))


def tree() -> str:
    """Return the drawing that the README shows, by the code that it shows."""
    import gramian

    result = gramian.load().parse(SENTENCE)
    return result.tree.svg(values={(label, start, end): sure for label, start, end, sure in result.spans})


def browser(profile: Path) -> Any:
    """Return a headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or sys.exit("chromium is not installed")
    for option in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(option)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_page_load_timeout(PATIENCE)
    return driver


def take(driver: Any, address: str, shot: Shot, bank: str) -> bytes:
    """Open a view and return its picture."""
    driver.get("about:blank")  # a new fragment alone would not load the page again
    metrics = {"width": shot.width, "height": 900, "deviceScaleFactor": 1, "mobile": shot.width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if shot.is_dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    view = {name: value.replace("{bank}", bank) for name, value in shot.view.items()}
    driver.get(f"{address}#{'&'.join(f'{name}={quote(value)}' for name, value in view.items())}")
    wait = WebDriverWait(driver, PATIENCE, 0.1)
    wait.until(lambda _: driver.execute_script("return document.body.dataset.ready"))
    if shot.script:
        driver.execute_script(shot.script)
    wait.until(lambda _: driver.execute_script("return document.querySelector(arguments[0])", shot.shows))
    driver.execute_async_script("setTimeout(arguments[0], 500)")  # what is drawn is drawn
    height = min(shot.height, max(700, driver.execute_script("return document.documentElement.scrollHeight")))
    clip = {"x": 0, "y": 0, "width": shot.width, "height": height, "scale": 1}
    options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", nargs="?", default=str(ROOT / "docs" / "_static"))
    options.add_argument("--only", default="", help="take those whose names begin so")
    given = options.parse_args()
    out = Path(given.folder)
    (out / "tree.svg").write_text(tree(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        shown, bank = made_up_models(Path(temporary))
        command = [sys.executable, "-m", "gramian", "serve", "--port", "0", *shown]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            driver = browser(Path(temporary) / "profile")
            try:
                for shot in [shot for shot in SHOTS if shot.name.startswith(given.only)]:
                    picture = Image.open(BytesIO(take(driver, address, shot, bank))).convert("RGB")
                    picture.quantize(160, Image.Quantize.MAXCOVERAGE).save(
                        out / f"page-{shot.name}.png", optimize=True
                    )
                    print(shot.name, driver.find_element("id", "status").text)
            finally:
                driver.quit()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    return 0


if __name__ == "__main__":
    sys.exit(main())
