"""Output of any length: its end in memory, all of it on disk, counted correctly, no character split."""

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.files.output_artifacts import OutputArtifacts
from tools.running.command_output_buffer import CommandOutputBuffer, NewCommandOutputReader
from tools.text_sanitizing import render_plain_output

PIECES = st.lists(
    st.binary(max_size=12) | st.sampled_from([b"\n", "é漢😀".encode(), b"\x1b[31m", b"\r"]), max_size=40
)


@settings(max_examples=150)
@given(st.text(st.sampled_from("ab\n é漢😀"), max_size=200), st.data())
def test_any_way_of_arriving_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    raw = text.encode()
    output = CommandOutputBuffer(OutputArtifacts(tmp_path_factory.mktemp("a")), "bash")
    delta = NewCommandOutputReader(output)
    shown = ""
    position = 0
    while position < len(raw):
        step = data.draw(st.integers(1, 20))
        output.feed(raw[position : position + step])
        position += step
        shown += delta.take_new_output()
    assert shown == text
    end = output.finish()
    assert (end.text, end.truncation.total_bytes) == (text, len(raw))
    assert end.truncation.total_lines == text.count("\n") + (1 if text and not text.endswith("\n") else 0)


@settings(max_examples=40)
@given(PIECES)
def test_a_cut_end_is_valid_text_and_the_artifact_is_everything(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    raw = b"".join(pieces) * (700_000 // max(1, sum(map(len, pieces))))
    output = CommandOutputBuffer(OutputArtifacts(tmp_path_factory.mktemp("a")), "bash")
    for start in range(0, len(raw), 99_991):
        output.feed(raw[start : start + 99_991])
    end = output.finish()
    end.text.encode("utf-8")
    assert len(end.text.encode()) <= 50 * 1024 and end.text.count("\n") <= 2000
    if end.truncation.truncated:
        assert end.artifact is not None
        assert end.artifact.path.read_bytes() == raw
    else:
        assert end.text == render_plain_output(raw.decode("utf-8", "replace"))


def test_memory_stays_bounded(tmp_path: Path) -> None:
    output = CommandOutputBuffer(OutputArtifacts(tmp_path), "bash")
    chunk = b"0123456789abcde\n" * 4096
    tracemalloc.start()
    for _ in range(1000):
        output.feed(chunk)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    end = output.finish()
    assert end.truncation.total_lines == 4096 * 1000
    assert end.artifact is not None and end.artifact.path.stat().st_size == len(chunk) * 1000
    assert peak < 4 << 20


def test_the_file_stops_growing_at_its_limit_and_says_so(tmp_path: Path) -> None:
    output = CommandOutputBuffer(OutputArtifacts(tmp_path, command_bytes=1_000_000), "bash")
    for _ in range(50):
        output.feed(b"x" * 99 + b"\n" + b"y" * 99_900)
    end = output.finish()
    assert end.artifact is not None and end.artifact.path.stat().st_size <= 1_000_000
    assert end.artifact_problem == "the file stops at 976.6KB"
    assert end.truncation.total_bytes == 50 * 100_000


def test_a_disk_that_fills_up_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = CommandOutputBuffer(OutputArtifacts(tmp_path), "bash")
    output.feed(b"line\n" * 100_000)

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        output.feed(b"more\n" * 1000)
    output.feed(b"end\n")
    end = output.finish()
    assert end.text.endswith("more\nend\n") and end.artifact_problem == "No space left on device"


def test_short_output_leaves_nothing_on_disk(tmp_path: Path) -> None:
    output = CommandOutputBuffer(OutputArtifacts(tmp_path / "session"), "bash")
    output.feed(b"short\n")
    assert output.finish().artifact is None
    assert not (tmp_path / "session").exists()


def test_artifacts_without_a_session_file_go_with_the_session() -> None:
    artifacts = OutputArtifacts()
    artifact, descriptor = artifacts.create("odd/../name")
    os.close(descriptor)
    assert artifact.path.name == "0.odd-name.log"
    artifacts.close()
    assert not artifact.path.parent.exists()
