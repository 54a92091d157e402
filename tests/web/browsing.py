"""A headless Chromium, and what a visitor does with it."""

import shutil
import threading
from contextlib import contextmanager

import uvicorn
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from gramian.web.app import create_app
from gramian.web.server import listen

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NO_BROWSER = "nobody can click without chromium and chromedriver (Debian: chromium-driver)"
PATIENCE = 90  # seconds; other work may keep the machine busy


@contextmanager
def serving(service):
    """Serve a page from a thread; yield its address."""
    opened = listen("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(create_app(service, max_seconds=300), log_level="warning", ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [opened]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{opened.getsockname()[1]}/"
    server.should_exit = True
    thread.join(10)


def start_browser(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
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
    return driver


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

    def select(self, css, value):
        script = "const one = document.querySelector(arguments[0]); one.value = arguments[1]; one.dispatchEvent(new Event('change'))"
        self.browser.execute_script(script, css, value)

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
