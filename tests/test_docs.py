"""Code blocks of the README and the docs do what the pages say.

Python blocks run in order, sessions (``>>>``) with their output compared; ``$`` lines of console blocks run in a shell. Numbers count:
whole ones exactly; percentages and fractions within 1 (scores), within 1 % (logarithms) or, where both are at most 1, within 0.1
(probabilities); only what differs from run to run is free, that is seconds, rates and megabytes. ``...`` stands for any text.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gramian

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# behind a number that differs from run to run
FREE = re.compile(r"\s*(?:s\b|ms\b|MB\b|seconds\b|a (?:CPU )?second\b)")
NOT_RUN = ("pip ", "make ", "git ")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/*/*.md")))
    if page.parent.name not in ("gallery", "python") and BLOCK.search(page.read_text("utf-8"))
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What pages speak of: trees of a made-up English, and a model."""
    from gramian.learn import SpectralClustering
    from gramian.parsing.model import Model
    from gramian.parsing.model_store import save_model
    from gramian.treebank import Treebank

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "examples")
        from made_up_english import sample

    folder = tmp_path_factory.mktemp("made")
    for names, seed in ((("train",), 1), (("dev", "test", "parsed", "other"), 2)):
        trees = list(sample(300, seed))
        for name in names:
            (folder / f"{name}.mrg").write_text("".join(f"{tree}\n" for tree in trees), encoding="utf-8")
    learner = SpectralClustering(8).fit(Treebank.read(folder / "train.mrg"))
    save_model(Model(learner.model_, report=learner.report_), folder / "my.grammar")
    # compiled by now, so that no command says it compiles
    gramian.load(folder / "my.grammar").parse("Anna slept .")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A folder with copies of these, and the repository's own files."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in ("tests", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_a_page(page, folder):
    text = page.read_text("utf-8")
    if "-o my.grammar" in text:  # a page that trains the model itself
        (folder / "my.grammar").unlink()
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block[1] == "console":
            run_console(block[2], f"{page.name}:{line}")
        elif ">>>" in block[2]:
            run_session(block[2], names, page, line)
        else:
            exec(compile("\n" * line + block[2], str(page), "exec"), names)


class Checker(doctest.OutputChecker):
    """Compares output, with fractions that may differ a little and times that may differ at will."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        expected: list[tuple[str, str]] = []
        parts = []
        for piece in re.split(r"(\.\.\.)", want.strip()):
            place = 0
            for match in NUMBER.finditer(piece):
                parts.append(_loose(piece[place : match.start()]))
                parts.append(f"({NUMBER.pattern})")
                expected.append((match[0], piece[match.end() :]))
                place = match.end()
            parts.append(r".*?" if piece == "..." else _loose(piece[place:]))
        found = re.fullmatch("".join(parts), got.strip(), re.DOTALL)
        return found is not None and all(
            FREE.match(behind) or _close(number, other, behind.lstrip().startswith("%"))
            for (number, behind), other in zip(expected, found.groups(), strict=True)
        )


def _loose(text: str) -> str:
    """Return a pattern for a text whose white space may be any."""
    return r"\s+".join(re.escape(word) for word in re.split(r"\s+", text))


def _close(number: str, other: str, percentage: bool) -> bool:
    one, two = (float(text.replace(",", "")) for text in (number, other))
    if "." not in number and "." not in other and not percentage:
        return one == two
    largest = max(abs(one), abs(two))
    return abs(one - two) <= (0.1 if largest <= 1 else max(1.0, largest / 100))


def run_session(block: str, names: dict[str, object], page: Path, line: int) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), line)
    found: list[str] = []
    result = doctest.DocTestRunner(Checker(), optionflags=FLAGS).run(
        test, out=found.append, clear_globs=False
    )
    assert not result.failed, "".join(found)
    names.update(test.globs)


def run_console(block: str, place: str) -> None:
    for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        if command.startswith(NOT_RUN):
            continue
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode == 0, f"{place}: {command}\n{done.stdout}"
        # Said once on a machine, by whichever command comes first.
        found = re.sub(r"^Compiling kernels for this machine.*\n", "", done.stdout, flags=re.MULTILINE)
        assert Checker().check_output(expected.rstrip() + "\n", found.rstrip() + "\n", FLAGS), (
            f"{place}: {command}\n{found}\ninstead of\n{expected}"
        )


def test_options_of_the_pages_exist(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import command_pages

    sections = re.split(r"^#+ (?=gramian)", command_pages.page(), flags=re.MULTILINE)
    options = {
        name.partition("\n")[0].strip(): set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", name))
        for name in sections
    }
    assert len(options) > 20
    unknown = [
        f"{page.name}: {command} {option}"
        for page in ROOT.glob("docs/*/*.md")
        for command, words in re.findall(
            r"(gramian (?:dep |wfa )?[a-z]+)\b([^`\n|#]*)", page.read_text("utf-8")
        )
        for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", words)
        if command in options and option not in options[command]
    ]
    assert not unknown


def test_a_wrong_page_fails(folder):
    with pytest.raises(AssertionError, match="instead of"):
        run_console("$ echo one two\none three\n", "page:1")
    with pytest.raises(AssertionError, match="Expected"):
        run_session(">>> 1 + 1\n3\n", {}, ROOT / "README.md", 1)
    run_console("$ echo took 1.5 s, 1,200 trees, F1 98.2\ntook 0.3 s, 1,200 trees, F1 98.7\n", "page:1")
    for wrong in ("took 1.5 s, 7 trees", "took 1.5 s, 1,200 trees, F1 96.0"):
        with pytest.raises(AssertionError, match="instead of"):
            run_console(f"$ echo took 1.5 s, 1,200 trees, F1 98.2\n{wrong}\n", "page:1")


def test_the_reference_begins_with_load_and_parser(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    from reference_pages import pages

    entries = re.findall(r"^\.\. auto\w+:: (\S+)$", pages()["parsing"], re.MULTILINE)
    assert entries[:3] == ["gramian.load", "gramian.Parser", "gramian.ParseResult"]
    assert next(iter(pages())) == "parsing"
