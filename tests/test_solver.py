"""Models as users hold them: scoring, looking inside, saving and loading."""

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from models import CASES, solver
from safetensors.torch import load_file, save_file

import lengthwise as lw


@pytest.mark.parametrize("case", CASES)
def test_a_saved_model_comes_back_the_same(case: str, tmp_path: Path) -> None:
    model = solver(case, reserved_tokens=1)
    model.save_pretrained(tmp_path / "model")
    for again in (lw.load(tmp_path / "model"), lw.Solver.from_pretrained(tmp_path / "model")):
        assert again.task == model.task
        assert again.vocabulary == model.vocabulary
        assert again.transformer.config == model.transformer.config
        assert again.transformer.encoding == model.transformer.encoding
        page = model.task.write([57, 48, 96])
        assert again.score(page.tokens, page.position_ids).equal(model.score(page.tokens, page.position_ids))
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == [
        *("README.md", "config.json", "model.safetensors"),
    ]


@pytest.mark.filterwarnings("ignore")
def test_saving_over_an_older_model_and_from_a_compiled_one(tmp_path: Path) -> None:
    solver("learned", seed=1).save_pretrained(tmp_path)
    model = solver("learned", seed=2)
    model.transformer.blocks[0] = torch.compile(model.transformer.blocks[0], backend="eager")  # type: ignore[assignment]
    model.save_pretrained(tmp_path)
    assert not any("_orig_mod" in name for name in load_file(tmp_path / "model.safetensors"))
    page = model.task.write([57, 48])
    loaded = lw.load(tmp_path).score(page.tokens, page.position_ids)
    assert loaded.equal(solver("learned", seed=2).score(page.tokens, page.position_ids))


def spoil_config(change: dict[str, Any] | None = None, drop: str | None = None, **parts: dict[str, Any]) -> Any:
    def spoil(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        config.update(change or {})
        if drop:
            del config[drop]
        for part, values in parts.items():
            config[part].update(values)
        (folder / "config.json").write_text(json.dumps(config))

    return spoil


def spoil_weights(change: Any) -> Any:
    def spoil(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")

    return spoil


def cut(folder: Path) -> None:
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "config.json").unlink(), "no config.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no model.safetensors"),
        (lambda folder: (folder / "config.json").write_text("{"), "not JSON"),
        (lambda folder: (folder / "config.json").write_text("[]"), "does not say its format"),
        (lambda folder: (folder / "config.json").write_bytes(b"\xff\xfe"), "not JSON"),
        (cut, "cut short or not a safetensors file"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b""), "cut short"),
        (lambda folder: (folder / "model.safetensors").write_bytes(pickle.dumps({"a": 1})), "not a safetensors file"),
        (spoil_config({"format": 2}), "install a newer lengthwise"),
        (spoil_config({"extra": 1}), "unknown key 'extra'"),
        (spoil_config(drop="task"), "lacks the key 'task'"),
        (spoil_config({"task": "addition"}), "as objects"),
        (spoil_config({"vocabulary": "abc"}), "list of tokens"),
        (spoil_config(task={"name": "division"}), "unknown task 'division'"),
        (spoil_config(encoding={"name": "magic"}), "unknown encoding 'magic'"),
        (spoil_config(model={"depth": 3}), "unknown setting 'depth'"),
        (spoil_config(model={"layers": 0}), "layers must be"),
        (spoil_config(model={"layers": "2"}), "layers must be a whole number"),
        (spoil_config(model={"layers": 10**30}), "layers must be from 1"),
        (spoil_config(model={"gated": None}), "gated must be True or False"),
        (spoil_config(model={"name": "x"}), "unknown setting 'name'"),
        (spoil_config(model={"reserved_tokens": 20}), "none is left"),
        (spoil_config(encoding={"sizes": ["a", "b"]}), "sizes must be a tuple of integers"),
        (spoil_config(encoding={"sizes": None}), "sizes must be a tuple of integers"),
        (spoil_config(encoding={"sizes": [40, None]}), "sizes must be a tuple of integers"),
        (spoil_config(encoding={"sizes": [-5, 40]}), "largest ids"),
        (spoil_config(encoding={"sizes": [10**15, 40]}), "largest ids"),
        (spoil_config(encoding={"name": ["learned"]}), "unknown encoding"),
        (spoil_config(model={"width": 10**6, "feedforward": 10**6}), "memory|shape"),
        (spoil_config({"format": True}), "formats count from 1"),
        (spoil_config({"format": "1"}), "formats count from 1"),
        (lambda folder: (folder / "config.json").write_text("[" * 200_000), "not JSON"),
        (spoil_weights(lambda weights: weights.update(embedding=weights["embedding"].long())), "not floating-point"),
        (spoil_config(task={"scratchpad": False}), "every level, 1 in all"),
        (spoil_config(model={"width": 64}), "has the shape"),
        (spoil_config({"vocabulary": ["a", "b"]}), "shape"),
        (spoil_weights(lambda weights: weights.pop("embedding")), "lacks the tensor 'embedding'"),
        (spoil_weights(lambda weights: weights.update(extra=torch.zeros(1))), "'extra' that the model does not have"),
        (spoil_weights(lambda weights: weights.update(embedding=torch.zeros(2, 2))), "has the shape \\(2, 2\\)"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_a_spoilt_folder_is_refused_in_a_sentence(spoil: Any, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    solver("learned").save_pretrained(folder)
    spoil(folder)
    for read in (lw.load, lw.Solver.from_pretrained):
        with pytest.raises(lw.InputError, match=words) as error:
            read(folder)
        assert "\n" not in str(error.value)


def test_a_setting_that_is_missing_is_not_guessed(tmp_path: Path) -> None:
    solver("learned").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["encoding"]["shared"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(lw.InputError, match="lacks the setting 'shared'"):
        lw.load(tmp_path)


def test_a_failed_save_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solver("learned", seed=1).save_pretrained(tmp_path / "model")

    def full(file: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lengthwise.checkpoint.write_whole", full)
    with pytest.raises(lw.InputError, match="No space left on device"):
        solver("learned", seed=2).save_pretrained(tmp_path / "model")
    page = lw.task("addition").write([57, 48])
    expected = solver("learned", seed=1).score(page.tokens, page.position_ids)
    assert lw.load(tmp_path / "model").score(page.tokens, page.position_ids).equal(expected)
    (tmp_path / "file").write_text("")
    monkeypatch.undo()
    with pytest.raises(lw.InputError, match="cannot be written to"):
        solver("learned").save_pretrained(tmp_path / "file")


def test_half_precision_and_a_written_card_survive(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    solver("learned").to(torch.bfloat16).save_pretrained(tmp_path)
    again = lw.load(tmp_path)
    assert again.transformer.embedding.dtype == torch.bfloat16
    assert not again.training
    assert not lw.Solver.from_pretrained(tmp_path).training
    assert (tmp_path / "README.md").read_text() == "mine"
    with pytest.raises(lw.InputError, match="devcie are for repositories"):
        lw.Solver.from_pretrained(tmp_path, devcie="cuda")
    with pytest.raises(lw.InputError, match="pushtohub can only be given with push_to_hub=True"):
        again.save_pretrained(tmp_path, pushtohub=True)


def test_pushing_saves_what_a_folder_would_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub itself cannot be reached in a test: what it would be given is looked at."""
    held: list[str] = []

    class Hub:
        def __init__(self, **options: Any) -> None:
            pass

        def create_repo(self, repo_id: str, **options: Any) -> Any:
            return type("Repository", (), {"repo_id": repo_id})

        def upload_folder(self, *, folder_path: Any, **options: Any) -> str:
            held.extend(sorted(file.name for file in Path(folder_path).iterdir()))
            return "uploaded"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Hub)
    assert solver("learned").save_pretrained(tmp_path / "mine", push_to_hub=True, private=True) == "uploaded"
    assert held == ["README.md", "config.json", "model.safetensors"]


@pytest.mark.usefixtures("as_users_run")
def test_what_is_no_page_is_refused() -> None:
    model = solver("learned")
    for page in (lw.task("parity").write(["0101"]), lw.task("multiplication").write([3, 4])):
        with pytest.raises(lw.InputError, match="pages of its own task"):
            model.attention(page)
    for tokens, ids, words in (
        ([], None, "nothing to score"),
        (["1", "2"], [[-1, 0], [0, 0]], "ids from -1"),
        (["1", "2"], [[0.5, 0], [0, 0]], "whole numbers"),
        (["1", "2"], [[10**30, 0], [0, 0]], "whole numbers"),
        (["1", "2"], [0, 0], "2 lists of 2 ids"),
    ):
        with pytest.raises(lw.InputError, match=words):
            model.score(tokens, ids)  # type: ignore[arg-type]
        with pytest.raises(lw.InputError, match="from a task and an encoding"):
            lw.Solver.new("addition", "learned")  # type: ignore[arg-type]
        with pytest.raises(lw.InputError, match="'teacher-forced' or 'greedy'"):
            model.exact_matches(model.task.sample(2, length=2, count=2, seed=0), "teacher_forced")  # type: ignore[arg-type]
    assert model.score(torch.tensor([1, 2, 3]), torch.zeros(2, 3, dtype=torch.int64)).shape == (3, 14)


def test_a_batch_beyond_the_models_ids_is_refused() -> None:
    model = solver("learned")
    with pytest.raises(lw.InputError, match="the model's are 0 to 40"):
        model(model.task.sample(2, length=60, count=2, seed=0, fixed=True))


def test_models_can_be_copied() -> None:
    model = solver("windowed hard")
    page = model.task.write([57, 48])
    assert copy.deepcopy(model).score(page.tokens, page.position_ids).equal(model.score(page.tokens, page.position_ids))


def test_no_such_folder() -> None:
    with pytest.raises(lw.InputError, match="no model folder"):
        lw.load("no/such/folder")
    with pytest.raises(lw.InputError, match="neither a folder nor a hub repository"):
        lw.Solver.from_pretrained("no/such/folder", local_files_only=True)


def test_score_takes_names_or_numbers() -> None:
    model = solver("learned")
    page = model.task.write([57, 48])
    logits = model.score(page.tokens, page.position_ids)
    assert logits.shape == (len(page.tokens), len(model.vocabulary))
    numbers = [model.vocabulary.index(token) for token in page.tokens]
    assert model.score(numbers, page.position_ids).equal(logits)
    with pytest.raises(lw.InputError, match="'x' is not in the model's vocabulary"):
        model.score(["x"], [[0], [0]])
    with pytest.raises(lw.InputError, match="2 lists of 21 ids"):
        model.score(page.tokens, page.position_ids[:1])


def test_ids_beyond_the_models_are_refused() -> None:
    model = solver("learned")
    for request in (lambda: model.solve(["9" * 60, "1"]), lambda: model.attention(model.task.write(["9" * 60, "1"]))):
        with pytest.raises(lw.InputError, match="the model's are 0 to 40"):
            request()
    assert solver("windowed hard").solve(["9" * 60, "1"]).answer != ""


def test_attention_has_the_pages_labels() -> None:
    model = solver("windowed hard")
    page = model.task.write([57, 48, 96])
    attention = model.attention(page)
    assert attention.weights.shape == (2, 2, 29, 29)
    assert attention.labels[25] == "ones digit of partial sum 3"
    assert attention.tokens == page.tokens
    states = model.states(page)
    assert states["blocks.1"].shape == states["embedding"].shape == (29, 32)
    assert states["blocks.0.feedforward.into"].shape == (29, 48)
    assert torch.allclose(model.transformer.final_norm(states["blocks.1"]), states["final_norm"])
    assert not model.transformer.blocks[0]._forward_hooks
    # The hard window: the ones digit of sum 3 sees columns within 1 and rows within 1 of its own, or uncoupled tokens.
    seen = attention.weights[0, :, 25].amax(0) > 0
    for place in range(29):
        near = all(0 in (ids[25], ids[place]) or abs(ids[25] - ids[place]) <= 1 for ids in page.position_ids)
        assert bool(seen[place]) == (near and place <= 25)


def test_a_task_and_a_model_must_fit() -> None:
    model = solver("learned")
    with pytest.raises(lw.InputError, match="levels of ids"):
        lw.Solver(model.transformer, lw.task("parity"), model.vocabulary)
    with pytest.raises(lw.InputError, match="vocabulary lacks"):
        lw.Solver(model.transformer, model.task, tuple("abcdefghijklmn"))
    with pytest.raises(lw.InputError, match="14 rows"):
        lw.Solver(model.transformer, model.task, tuple("abc"))
