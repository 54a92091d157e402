"""``gramian split``: every tree in exactly one part, the same for the same seed."""

import gzip

import pytest

LINES = [f"(A word{number})" for number in range(25)]


@pytest.fixture
def split(gramian, monkeypatch, tmp_path):
    def call(content: str, *options: str) -> tuple[int, str]:
        (tmp_path / "input").write_text(content)
        monkeypatch.chdir(tmp_path)
        code, out, err = gramian("split", "input", "-o", "out", *options)
        assert out == ""
        return code, err

    return call


def parts(tmp_path) -> dict[str, list[str]]:
    return {path.name: path.read_text().splitlines() for path in sorted((tmp_path / "out").iterdir())}


def test_in_order(split, tmp_path):
    code, err = split("\n".join(LINES))
    assert code == 0
    assert parts(tmp_path) == {
        "train.mrg": LINES[:20],
        "dev.mrg": LINES[20:22],
        "test.mrg": LINES[22:],
    }
    assert "out/train.mrg: 20\n" in err


def test_by_seed(split, tmp_path):
    assert split("\n".join(LINES), "--seed", "3")[0] == 0
    first = parts(tmp_path)
    assert first["train.mrg"] != LINES[:20]
    assert sorted(line for lines in first.values() for line in lines) == sorted(LINES)
    for lines in first.values():
        assert lines == sorted(lines, key=LINES.index)
    assert split("\n".join(LINES), "--seed", "3", "--force")[0] == 0
    assert parts(tmp_path) == first
    assert split("\n".join(LINES), "--seed", "4", "--force")[0] == 0
    assert parts(tmp_path) != first


def test_shares(split, tmp_path):
    assert split("\n".join(LINES), "--train", "0.6", "--dev", "0.4", "--test", "0")[0] == 0
    assert {name: len(lines) for name, lines in parts(tmp_path).items()} == {"train.mrg": 15, "dev.mrg": 10}
    assert split("\n".join(LINES), "--train", "0", "--dev", "0", "--test", "0")[0] == 2


def test_conllu(split, tmp_path):
    text = "".join(f"# {number}\n1\tw\t_\t_\t_\t_\t0\troot\t_\t_\n\n" for number in range(10))
    assert split(text, "--compress")[0] == 0
    packed = [(tmp_path / "out" / f"{part}.conllu.gz").read_bytes() for part in ("train", "dev", "test")]
    assert b"".join(map(gzip.decompress, packed)).decode() == text


def test_files_are_not_overwritten(split, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "dev.mrg").write_text("mine")
    code, err = split("\n".join(LINES))
    assert code == 2
    assert "dev.mrg: this file exists" in err
    assert (tmp_path / "out" / "dev.mrg").read_text() == "mine"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["dev.mrg"]


def test_broken_trees(split, tmp_path):
    code, err = split("(A a)\n(S (B b)\n")
    assert code == 2
    assert "input:2:1: '(' is never closed" in err
    assert not (tmp_path / "out").exists()
    assert split("(A a)\n(S (B b)\n", "--skip-broken", "--train", "1", "--dev", "0", "--test", "0")[0] == 0
    assert parts(tmp_path) == {"train.mrg": ["(A a)"]}
