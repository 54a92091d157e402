"""The example in docs/reference/models.md prints what the page says."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_example_of_the_page(capsys, monkeypatch):
    page = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    monkeypatch.chdir(ROOT)
    exec(compile(code, "models.md", "exec"), {})
    assert capsys.readouterr().out == printed
