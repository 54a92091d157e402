"""What is written: whole or not at all, with the mode it had, through links, and nothing that holds something without force."""

import ast
import gzip
import os
import stat
from pathlib import Path

import pytest

import gramian
from gramian.errors import InputError, OptionError
from gramian.io.output import changed_options, check_output, check_results, writing

SOURCE = Path(gramian.__file__).parent


def test_writing_is_all_or_nothing(tmp_path):
    path = tmp_path / "out.txt"
    with pytest.raises(ValueError, match="surrogates"), writing(path) as out:
        out.write("half \udc00")
    assert list(tmp_path.iterdir()) == []
    with writing(path) as out:
        out.write("é\n")
    assert path.read_bytes() == "é\n".encode()
    with pytest.raises(InputError, match="cannot be written"), writing(tmp_path / "none" / "out.txt"):
        pass


def test_equal_text_gives_equal_bytes(tmp_path):
    written = []
    for name in ("a.gz", "b.gz"):
        with writing(tmp_path / name) as out:
            out.write("text\n")
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert gzip.decompress(written[0]) == b"text\n"


def test_an_output_is_checked_before_work_begins(tmp_path):
    check_output(tmp_path / "new")
    assert not any(tmp_path.iterdir())
    with pytest.raises(OptionError, match="mkdir -p"):
        check_output(tmp_path / "no" / "where")
    with pytest.raises(OptionError, match="cannot be written"):
        check_output(tmp_path)
    for name in ("file", "link"):
        (tmp_path / "file").write_text("dear")
        if name == "link":
            (tmp_path / "link").symlink_to("file")
        with pytest.raises(
            OptionError,
            match="this file exists and would be replaced; try: choose another name, or pass --force",
        ):
            check_output(tmp_path / name)
        check_output(tmp_path / name, force=True)
    (tmp_path / "file").write_text("")  # nothing would be lost
    check_output(tmp_path / "file")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OptionError, match="this symbolic link points to itself"):
        check_output(tmp_path / "loop", force=True)
    (tmp_path / "dangling").symlink_to(tmp_path / "none" / "out")
    with pytest.raises(OptionError, match=f"there is no folder {tmp_path}/none"):
        check_output(tmp_path / "dangling")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    """Set the umask for one test."""
    before = os.umask(0)
    os.umask(before)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o027, 0o077])
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path, umask, mask):
    umask(mask)
    with writing(tmp_path / "new") as out:
        out.write("text")
    assert mode_of(tmp_path / "new") == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_that_exists_keeps_its_mode(tmp_path, umask, mode):
    umask(0o022)
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(mode)
    with writing(path) as out:
        out.write("new")
        out.flush()
        [temporary] = [one for one in tmp_path.iterdir() if one != path]
        assert mode_of(temporary) == 0o600  # a private text is private from the start
    assert (path.read_text(), mode_of(path)) == ("new", mode)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_exists_keeps_its_owner(tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    os.chown(path, 12, 34)
    with writing(path) as out:
        out.write("new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12, 34)


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(tmp_path, exists):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target.gz", tmp_path / "link"
    if exists:
        target.write_text("old")
        target.chmod(0o600)
    (tmp_path / "between").symlink_to("far/target.gz")
    link.symlink_to("between")
    with writing(link) as out:
        out.write("new")
        out.flush()
        assert not exists or target.read_text() == "old"  # until all is written
    assert link.is_symlink()
    assert target.read_text() == "new"  # compressed or not is said by the name that was given
    assert not exists or mode_of(target) == 0o600
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["between", "far", "link", "target.gz"]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    with writing(tmp_path / ("x" * 255)) as out:
        out.write("text")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 255]


def test_differences_of_options_are_named():
    old, new = {"to": "jsonl", "form": "text", "gone": 1}, {"to": "brackets", "form": "text", "added": None}
    changes = changed_options(old, new)
    assert changes == ["to is 'brackets', was 'jsonl'", "gone is None, was 1"]
    with pytest.raises(
        OptionError, match=r"out: has results .* \(to is 'brackets', was 'jsonl'; gone .*--force"
    ):
        check_results("out", changes, force=False)
    check_results("out", changes, force=True)
    check_results("out", [], force=False)


# Files that are not results: what a stopped command keeps, compiled kernels, streams, and what lies in temporary folders.
WRITERS = {
    "io/output.py", "io/lock.py", "io/resume.py", "pipelines/storage.py", "learn/state_search.py", "kernels/store.py", "cli/__init__.py",
    "system.py", "experiments/recipes/self_training.py", "training/members.py",
}  # fmt: skip
WRITE_MODES = set("wax+")


def writes(node: ast.AST) -> bool:
    """Whether a call opens a file to write, or moves or removes one."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("write_text", "mkstemp", "rmtree"):
        return True
    owner = getattr(getattr(node.func, "value", None), "id", "")
    if name == "write_bytes":  # of a path; gramian's own function is no method
        return isinstance(node.func, ast.Attribute)
    if owner == "os" and name in ("replace", "rename", "open", "remove", "unlink"):
        return True
    texts = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
    return name == "open" and any(isinstance(text, str) and WRITE_MODES & set(text) for text in texts)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_all_that_is_written_goes_through_one_module(path):
    if path.relative_to(SOURCE).as_posix() in WRITERS:
        return
    found = [node.lineno for node in ast.walk(ast.parse(path.read_text("utf-8"))) if writes(node)]
    assert not found, f"{path}: lines {found} write without gramian.io.output"
