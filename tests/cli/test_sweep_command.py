"""lengthwise sweep: settings with several values, read as `lengthwise train` reads them."""

import json
from pathlib import Path

import pytest
from asking import refused, run

from lengthwise.runs import Run

TINY = (
    "--steps",
    "2",
    "--training.batch-size",
    "2",
    "--watch.validate-every",
    "0",
    "--workers",
    "1",
    "--device",
    "cpu",
)


def test_every_combination_is_run_and_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    grid = ("--lengths", "2,30", "--samples", "3", "--out", str(tmp_path / "out"))
    asked = ("sweep", "parity-tiny", "--seeds", "0:1", "--model.width", "8,16", *TINY, *grid)
    out, _ = run(capsys, *asked)
    assert "4 runs, 0 of them done already" in out
    assert "beyond" in out
    assert (tmp_path / "out" / "figures" / "sweep.png").is_file()
    names = sorted(path.name for path in (tmp_path / "out").glob("*-seed*"))
    assert names == [f"parity-tiny-width{width}-seed{seed}" for width in (16, 8) for seed in (0, 1)]
    assert Run(tmp_path / "out" / names[0]).recipe.model.width == 16
    out, err = run(capsys, *asked, "--json")
    said = json.loads(out)
    assert [row["setting"] for row in said["rows"]] == ["parity-tiny-width8", "parity-tiny-width16"]
    assert [row["seeds"] for row in said["rows"]] == [2, 2]
    assert "4 runs, 4 of them done already" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "The preset is missing: lengthwise sweep adder-tiny"),
        (("--seeds", "0:1"), "The preset is missing"),
        (("adder-tinny",), "adder-tiny"),
        (("adder-tiny", "--seeds", "one"), "--seeds cannot be 'one'"),
        (("adder-tiny", "--model.width", "8,wide"), "--model.width cannot be 'wide'"),
        (("adder-tiny", "--model.width", "8,8"), "named twice"),
        (("adder-tiny", "--model.widht", "8,9"), "--model.widht"),
        (("adder-tiny", "--workers", "0"), "workers must be 1 or more"),
        (("adder-tiny", "--address", "auto"), "say on='ray'"),
        (("parity-tiny", "--counts", "2"), "parity has lengths only"),
    ],
)
def test_what_cannot_be_swept_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, "sweep", *arguments)
    assert list(tmp_path.iterdir()) == []
