"""``gramian doctor``: says that all is well, or what is wrong and what to do about it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = str(Path(__file__).parents[1] / "unit" / "grammar" / "fixtures" / "version-1.grammar")
NAMES = ["versions", "threads", "cache", "model", "kernels", "sentence"]


@pytest.fixture
def doctor(gramian):
    def call(*options: str) -> tuple[int, dict[str, dict[str, str]]]:
        code, out, _ = gramian("doctor", "--json", *options)
        report = json.loads(out)
        assert report["ok"] == (code == 0)
        for finding in report["findings"]:
            assert bool(finding["fix"]) != finding["ok"]
        return code, {finding["name"]: finding for finding in report["findings"]}

    return call


def wrong(findings: dict[str, dict[str, str]]) -> list[str]:
    return [name for name, finding in findings.items() if not finding["ok"]]


def test_all_is_well(gramian, doctor, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    code, findings = doctor()
    assert (code, wrong(findings)) == (0, [])
    assert list(findings) == NAMES
    assert "numba" in findings["versions"]["found"]
    assert "the bundled one" in findings["model"]["found"]
    assert "(NN doctor)" in findings["sentence"]["found"]
    code, out, _ = gramian("doctor")
    lines = out.splitlines()
    assert code == 0
    assert [line.split()[1] for line in lines[:-1]] == NAMES
    assert lines[-1] == "all is well"


def test_no_model_and_damaged_models(doctor, tmp_path, monkeypatch):
    code, findings = doctor("-m", str(tmp_path / "none.grammar"))
    assert (code, wrong(findings)) == (1, ["model"])
    assert "no such model file" in findings["model"]["found"]
    assert "gramian train" in findings["model"]["fix"]
    (tmp_path / "half.grammar").write_bytes(Path(MODEL).read_bytes()[:500])
    code, findings = doctor("-m", str(tmp_path / "half.grammar"))
    assert (code, findings["model"]["fix"]) == (1, "copy it again, or use a file that 'gramian train' wrote")
    monkeypatch.setattr("gramian.parsing.installed_models.__file__", str(tmp_path / "grammar" / "store.py"))
    code, findings = doctor()
    assert (code, wrong(findings)) == (1, ["model"])
    assert "has no bundled model" in findings["model"]["found"]


def test_another_model_and_a_sentence_without_a_tree(doctor, monkeypatch):
    code, findings = doctor("-m", MODEL)
    assert (code, wrong(findings)) == (0, [])
    assert MODEL in findings["model"]["found"]
    monkeypatch.setattr(sys.modules["gramian.cli.doctor"], "_SENTENCE", "with with with")
    code, findings = doctor("-m", MODEL)
    assert (code, wrong(findings)) == (1, ["sentence"])
    assert "glued" in findings["sentence"]["found"]


def test_a_missing_package_and_an_odd_setting(doctor, monkeypatch):
    from importlib import metadata

    def version(package):
        if package in ("conllu", "nltk"):
            raise metadata.PackageNotFoundError(package)
        return "1.0"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    code, findings = doctor()
    assert code == 1
    assert wrong(findings) == ["versions", "threads"]
    assert findings["versions"]["fix"] == "pip install conllu"
    assert findings["threads"]["fix"] == "unset OMP_NUM_THREADS"


def run(code: str, **environment: str | None) -> tuple[int, dict[str, dict[str, str]]]:
    """Run the doctor in a process of its own, where numba has not looked for its cache yet."""
    settings = {**os.environ, **environment}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{code}\nimport sys; sys.argv = ['gramian', 'doctor', '--json']\nfrom gramian.cli import main; main()",
        ],
        env={key: value for key, value in settings.items() if value is not None},
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout)
    return done.returncode, {finding["name"]: finding for finding in report["findings"]}


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, findings = run("", NUMBA_CACHE_DIR=str(tmp_path / "file" / "cache"), HOME=None)
    assert (code, wrong(findings)) == (1, ["cache"])
    assert findings["cache"]["fix"].endswith("unset NUMBA_CACHE_DIR")
    assert findings["sentence"]["ok"]


def test_no_advice_leads_to_a_directory_that_others_can_write(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    shared.chmod(0o777)
    code, findings = run("", NUMBA_CACHE_DIR=str(shared))
    assert (code, wrong(findings)) == (1, ["cache"])
    assert "others can write" in findings["cache"]["found"]
    assert findings["cache"]["fix"].startswith("choose a directory that only you can write")


NOWHERE = """
import tempfile
def refuse(*_, **__):
    raise PermissionError("read-only")
tempfile.TemporaryFile = tempfile.mkdtemp = refuse
"""


def test_no_place_for_a_cache():
    """Kernels are compiled for this run alone, and all goes on."""
    code, findings = run(NOWHERE, NUMBA_CACHE_DIR=None, HOME=None)
    assert code == 1
    assert wrong(findings) == ["cache"]
    assert "NUMBA_CACHE_DIR" in findings["cache"]["fix"]
