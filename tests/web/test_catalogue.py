"""What the page offers: the box, the theorem, and what lies in folders; names that lead nowhere else."""

import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from models import solver
from serving import Client, Direct, serving

import lengthwise as lw
from lengthwise import models
from lengthwise.results import Grid
from lengthwise.web import Catalogue, catalogue, create_app

BOX = ["adder-coupling", "adder-tiny", "multiplier", "parity-tiny"]
SAFE = re.compile(r"[A-Za-z0-9._-]{1,80}")
HOSTILE = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "..",
    ".",
    "/etc/passwd",
    "//etc/passwd",
    "\\..\\etc",
    "file:///etc/passwd",
    "adder-tiny/../adder-tiny",
    "adder-tiny/",
    "adder-tiny\0",
    "\0",
    "adder-tiny.json",
    "ADDER-TINY",
    " adder-tiny",
    "~",
    "__proto__",
    "con",
    "\ud800",
    "a" * 5_000,
]


def save_model(folder: Path) -> Path:
    solver("learned").save_pretrained(folder)
    return folder


def save_grid(file: Path, task: str = "addition", **about: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    grid = Grid.blank({"length": [1, 2], "count": [2, 3]}, task={"name": task}, seed=0, samples=10, **about)
    grid.correct[0][1] = grid.answers[0][1] = 7
    grid.total[0][1] = 10
    grid.save(file)
    return file


def found(*places: Path | str) -> tuple[list[str], list[str]]:
    """What folders add: names of models, titles of grids."""
    all_there_is = Catalogue.of(places)
    offers = [offer.name for offer in all_there_is.offers.values() if offer.kind == "folder"]
    return offers, [grid.title for grid in all_there_is.grids.values() if grid.title not in BOX]


def test_the_box_and_the_theorem() -> None:
    everything = Catalogue.of()
    assert list(everything.offers) == [*BOX, "theorem"]
    assert [offer.kind for offer in everything.offers.values()] == ["box"] * 4 + ["theorem"]
    assert list(everything.grids) == [name for name in BOX if (models.FOLDER / name / models.GRID).is_file()]
    assert all(grid.model == grid.title == name for name, grid in everything.grids.items())


@pytest.mark.parametrize("name", [*BOX, "theorem"])
def test_a_model_is_what_it_is_said_to_be(name: str) -> None:
    everything = Catalogue.of()
    offer, model = everything.offer(name), everything.load(name)
    config = model.transformer.config
    assert (offer.layers, offer.heads, offer.width) == (config.layers, config.heads, config.width)
    assert offer.parameters == sum(weight.numel() for weight in model.parameters())
    assert offer.task == model.task
    assert offer.encoding == model.transformer.encoding.name
    assert offer.trained_on == (model.trained_on or {})
    assert bool(offer.trained_on) == (name != "theorem")
    said = offer.to_json()
    assert (said["name"], said["task"], said["levels"]) == (name, model.task.name, list(model.task.levels))
    assert model.solve(said["example"]).correct
    assert not model.training


def test_weights_are_read_once_and_only_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    original = lw.Solver.from_pretrained

    def from_pretrained(folder: Path) -> lw.Solver:
        read.append(folder.name)
        return original(folder)

    monkeypatch.setattr(lw.Solver, "from_pretrained", from_pretrained)
    everything = Catalogue.of([save_model(tmp_path / "mine")])
    assert read == []
    loaded: list[lw.Solver] = []
    threads = [threading.Thread(target=lambda: loaded.append(everything.load("mine"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == ["mine"]
    assert len(loaded) == 8
    assert all(model is loaded[0] for model in loaded)


def test_a_run_folder_with_its_grids(tmp_path: Path) -> None:
    recipe = lw.presets.get("adder-tiny")
    small = replace(
        recipe,
        model=lw.ModelConfig(layers=1, heads=2, width=16, feedforward=16),
        training=replace(recipe.training, steps=1, batch_size=4),
        watch=replace(recipe.watch, validation_samples=2, cell_samples=2, cells=("2x2",)),
    )
    lw.train(small, tmp_path / "run", device="cpu")
    save_grid(tmp_path / "run" / "grids" / "random.json")
    save_grid(tmp_path / "run" / "own.json")
    assert found(tmp_path / "run") == (["run"], ["run: own", "run: random"])
    everything = Catalogue.of([tmp_path / "run"])
    assert everything.offer("run").trained_on == {"length": recipe.data.length, "count": recipe.data.count}
    assert everything.load("run").solve("7+8").page.answer == "15"
    grid = everything.grids["run-random"]
    assert (grid.model, grid.title, grid.to_json()["lowest"]) == ("run", "run: random", 0.7)


def test_model_folders_grid_files_and_folders_of_folders(tmp_path: Path) -> None:
    save_model(tmp_path / "all" / "deep" / "deeper" / "one")
    save_model(tmp_path / "all" / "two")
    save_grid(tmp_path / "all" / "deep" / "grids" / "five.json")
    save_grid(tmp_path / "all" / "six.json")
    assert found(tmp_path / "all") == (["one", "two"], ["six", "deep"])  # the only grid there
    save_grid(tmp_path / "all" / "deep" / "grids" / "four.json")
    assert found(tmp_path / "all") == (["one", "two"], ["six", "deep / five", "deep / four"])
    assert found(tmp_path / "all" / "two") == (["two"], [])
    assert found(tmp_path / "all" / "six.json") == ([], ["six"])
    assert found(tmp_path / "all" / "two", tmp_path / "all" / "six.json") == (["two"], ["six"])
    assert Catalogue.of([tmp_path / "all" / "six.json"]).grids["six"].model is None


def test_what_is_hidden_or_too_deep_or_something_else_is_left_alone(tmp_path: Path) -> None:
    save_model(tmp_path / "here")
    save_model(tmp_path / ".hidden" / "model")
    save_model(tmp_path / Path(*"abcdefgh") / "model")
    save_model(tmp_path / "here" / "inside" / "another")
    (tmp_path / "notes.json").write_text('{"kind": "attention"}')
    (tmp_path / "broken.json").write_bytes(b"\xff\xfe")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_text("{}")
    assert found(tmp_path) == (["here"], [])


def test_links_in_circles_end(tmp_path: Path) -> None:
    save_model(tmp_path / "all" / "one")
    (tmp_path / "all" / "again").symlink_to(tmp_path / "all", target_is_directory=True)
    assert found(tmp_path / "all") == (["one"], [])


@pytest.mark.parametrize("place", ["empty", "nowhere", "empty/nor/here"])
def test_a_folder_with_neither_is_refused_in_a_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(lw.InputError, match=r"neither a model nor a grid in .*: give a run folder") as refusal:
        Catalogue.of([tmp_path / place])
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("not.json", b"{", "not JSON|cannot be read"),
        ("other.json", b'{"kind": "attention"}', "is not a grid"),
        ("cut.json", b'{"format":1,"kind":"grid","task":{}}', "not a whole grid"),
        ("model.safetensors", b"\x00" * 100, "JSON"),
    ],
)
def test_a_file_that_is_no_grid_is_refused_in_a_sentence(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(lw.InputError, match=words) as refusal:
        Catalogue.of([tmp_path / name])
    assert "\n" not in str(refusal.value)


def test_a_spoilt_model_is_refused_at_the_start(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    (folder / "config.json").write_text("{")
    with pytest.raises(lw.InputError, match="not JSON that can be read"):
        Catalogue.of([folder])


def test_namesakes_are_told_apart(tmp_path: Path) -> None:
    for parent in "abc":
        save_model(tmp_path / parent / "mine")
        save_grid(tmp_path / parent / "grids" / "same.json")
    save_model(tmp_path / "adder-tiny")
    save_model(tmp_path / "theorem")
    everything = Catalogue.of([tmp_path / parent for parent in ("a", "b", "c", "adder-tiny", "theorem")])
    assert list(everything.offers)[5:] == ["mine", "mine-2", "mine-3", "adder-tiny-2", "theorem-2"]
    assert list(everything.grids)[4:] == ["same", "same-2", "same-3"]
    assert everything.offer("adder-tiny").kind == "box"
    assert everything.offer("adder-tiny-2").kind == "folder"
    assert everything.first_choice("addition") == "adder-tiny"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("mein Modell", "mein-Modell"),
        ("<script>alert(1)<", "script-alert-1"),
        ("…", "unnamed"),
        ("..a..", "a"),
        ("x" * 200, "x" * 80),
        ("ünïcode", "n-code"),
        ("a&b=c?d#e%2f", "a-b-c-d-e-2f"),
        ("new\nline", "new-line"),
    ],
)
def test_odd_names_of_folders_become_safe_ones(tmp_path: Path, folder: str, name: str) -> None:
    save_model(tmp_path / folder)
    save_grid(tmp_path / folder / f"{folder}.json")
    everything = Catalogue.of([tmp_path / folder])
    assert list(everything.offers)[5:] == [name]
    for known in (*everything.offers, *everything.grids):
        assert SAFE.fullmatch(known)
    assert everything.load(name).solve("7+8").page.answer == "15"


def test_too_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        save_grid(tmp_path / f"{number}.json")
    monkeypatch.setattr(catalogue, "MOST", 5 + 4 + 3)
    assert len(Catalogue.of([tmp_path]).grids) == 4 + 3
    monkeypatch.setattr(catalogue, "MOST", 5 + 4 + 2)
    with pytest.raises(lw.InputError, match="over 11 models and grids in these folders: give fewer"):
        Catalogue.of([tmp_path])


def test_the_folder_is_the_one_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever folder one works in later; and where it is gone, the hub is not asked for one of that name."""
    save_model(tmp_path / "runs" / "mine")
    monkeypatch.chdir(tmp_path)
    everything, later = Catalogue.of(["runs/mine"]), Catalogue.of(["runs/mine"])
    monkeypatch.chdir("/")
    assert everything.load("mine").solve("7+8").page.answer == "15"
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    asked: list[str] = []

    def download(name: str, **options: object) -> str:
        asked.append(name)
        raise OSError

    monkeypatch.setattr("lengthwise.checkpoint.snapshot_download", download)
    with pytest.raises(lw.InputError, match="neither a folder"):
        later.load("mine")
    assert asked == [str(tmp_path / "runs" / "mine")]  # no name of a repository begins with a stroke


def test_a_model_that_is_not_offered_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model folder at exactly that path is not opened."""
    save_model(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    everything = Catalogue.of()
    for name in ("mine", "./mine", str(tmp_path / "mine"), *HOSTILE):
        with pytest.raises(KeyError):
            everything.offer(name)
        with pytest.raises(KeyError):
            everything.load(name)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(Catalogue.of()) as client:
        yield client


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:40])
def test_hostile_names_are_not_found(client: Client, name: str) -> None:
    if name != "\ud800":
        for path in ("/api/page", "/api/solve", "/api/solve/stream"):
            answer = client.get(path, model=name, problem="1+2")
            assert answer.status == 404
            assert answer.refusal.startswith("There is no model ")
        answer = client.get("/api/problem", model=name, length=2, count=2)
        assert answer.status == 404
    body = {"model": name, "problem": "1+2", "response": []}
    assert client.post("/api/attention", body | {"at": 0}).status == 404
    assert client.post("/api/attention/head", body | {"layer": 0, "head": 0}).status == 404


OPENED: list[str] = []
LISTENING = threading.Event()


def note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and LISTENING.is_set():
        OPENED.append(str(arguments[0]))


def test_hostile_names_open_nothing() -> None:
    """Everything that Python opens is heard of."""
    direct = Direct(create_app(Catalogue.of()))
    sys.addaudithook(note)  # there is no way to take it away: it is deaf after this test
    try:
        for name in (name for name in HOSTILE if not name.endswith("/")):  # which leads to the name without it
            paths = [f"/api/grids/{name}", f"/static/{name}", f"/{name}", f"/static/../{name}", f"/api/{name}"]
            for path in paths:
                LISTENING.set()
                answer = direct.get(path)
                LISTENING.clear()
                assert answer.status == 404, path
                assert "There is no" in answer.refusal
        assert [file for file in OPENED if not file.startswith("/dev/")] == []
        LISTENING.set()
        assert direct.get("/").status == 200
        LISTENING.clear()
        assert any(file.endswith("index.html") for file in OPENED)  # it does hear
    finally:
        LISTENING.clear()
        direct.close()
