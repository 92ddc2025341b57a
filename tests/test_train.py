"""Training: the loop against naive formulas, and runs that are stopped against runs that are not."""

import json
import math
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
import torch
from models import CASES
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

import lengthwise as lw
from lengthwise.data import Feed
from lengthwise.learning import learn, learning_rate, make_optimizer
from lengthwise.model.transformer import Transformer
from lengthwise.pages import Examples
from lengthwise.randomness import derive
from lengthwise.recipe import Recipe, Training, Watch
from lengthwise.runs import STATE, Record, Run
from lengthwise.solver import Solver
from lengthwise.train import is_compiled
from test_recipe import tiny


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a power cut can tell whether a file had reached the disk itself, and reaching it is slow."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)


class Onlooker:
    """Keeps what it is told, and does something after a step."""

    def __init__(self, **after: Any) -> None:
        self.told: list[str] = []
        self.records: list[Record] = []
        self._after = {int(step.removeprefix("step")): action for step, action in after.items()}

    def begin(self, recipe: Recipe, run: Run, model: Solver, step: int) -> None:
        self.told.append(f"begin {step}")

    def advance(self, step: int, tokens_per_second: float) -> None:
        self.told.append(f"step {step}")
        if step in self._after:
            self._after[step]()

    def note(self, record: Record) -> None:
        self.records.append(record)

    def end(self, step: int, seconds: float) -> None:
        self.told.append(f"end {step}")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def crash() -> None:
    raise ZeroDivisionError


def stop_after(step: int, how: Any = interrupt) -> Onlooker:
    return Onlooker(**{f"step{step}": how})


def outcome(folder: Path) -> dict[str, bytes]:
    """What must be the same however often a run was stopped."""
    names = ("model.safetensors", "metrics.jsonl")
    assert not list(folder.rglob("*.part")) + list(folder.rglob(".*.part"))
    assert not (folder / STATE).exists()
    return {name: (folder / name).read_bytes() for name in names}


def losses(metrics: list[Record]) -> dict[str, float]:
    """All losses, by kind and step."""
    return {
        f"{name} {record['step']}": record[name]
        for record in metrics
        for name in ("loss", "validation_loss")
        if name in record
    }


def saving_often(recipe: Recipe) -> Recipe:
    return replace(recipe, watch=replace(recipe.watch, save_seconds=0.0))


def new(recipe: Recipe) -> Solver:
    return Solver.new(recipe.task, recipe.encoding, recipe.model, seed=recipe.seed)


# The learning rate.


@pytest.mark.parametrize(
    ("steps", "warm_up", "floor"),
    [(100, 0.01, 0.1), (50, 0.3, 0.0), (7, 0.0, 0.5), (1, 0.01, 0.1), (10, 1.0, 0.1), (3, 0.5, 1.0)],
)
def test_the_learning_rate_rises_linearly_and_falls_by_a_cosine(steps: int, warm_up: float, floor: float) -> None:
    training = Training(steps=steps, learning_rate=3.0, warm_up=warm_up, floor=floor)
    rising = -int(-(warm_up * steps) // 1)  # steps that are begun count whole
    expected = [3.0 * number / rising for number in range(1, rising + 1)]
    for number in range(steps - rising):
        turn = math.pi * number / (steps - rising)
        expected.append(3.0 * floor + (3.0 - 3.0 * floor) * (1 + math.cos(turn)) / 2)
    assert [learning_rate(training, step) for step in range(steps)] == pytest.approx(expected)
    assert learning_rate(training, steps) == pytest.approx(3.0 * floor if rising < steps else 3.0)


def test_the_papers_schedule() -> None:
    training = lw.presets.get("addition-coupling-scratchpad").training
    rates = [learning_rate(training, step) for step in range(50_000)]
    assert rates[499] == max(rates) == 3e-5
    assert rates[249] == pytest.approx(1.5e-5)
    assert rates[0] == pytest.approx(3e-5 / 500)
    assert rates[25_250] == pytest.approx((3e-5 + 3e-6) / 2)
    assert rates[-1] == pytest.approx(3e-6, rel=1e-4)
    assert all(later <= earlier for earlier, later in pairwise(rates[499:]))


def test_every_step_is_taken_with_its_own_rate(tmp_path: Path) -> None:
    recipe = tiny()
    run = lw.train(replace(recipe, watch=Watch(log_every=1, validate_every=0)), tmp_path / "run")
    noted = [record["learning_rate"] for record in run.metrics]
    assert noted == [learning_rate(recipe.training, step) for step in range(6)]


# One step.


def naive_loss(model: Solver, parts: list[Examples]) -> Tensor:
    """Page by page: the mean over all target tokens of the batch."""
    losses = []
    for part in parts:
        for number, (begin, end) in enumerate(zip(part.boundaries[:-1], part.boundaries[1:], strict=True)):
            page = slice(int(begin), int(end))
            alone = torch.tensor([0, end - begin])
            logits = model.transformer(part.tokens[page], part.position_ids[:, page], alone)
            own = part.sample == number
            after = part.wanted[own] - begin
            losses.append(functional.cross_entropy(logits[after], part.expected[own], reduction="none"))
    return torch.cat(losses).mean()


def gradients(model: Solver, loss: Tensor) -> dict[str, Tensor]:
    named = dict(model.named_parameters())
    return dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))


def weights(model: Solver) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@pytest.mark.parametrize("case", ["learned", "windowed hard", "fire", "rotary"])
@pytest.mark.parametrize("accumulate", [1, 2, 3, 4, 6])
def test_a_step_follows_the_gradient_of_the_mean_over_all_targets(case: str, accumulate: int) -> None:
    """In parts as at once, and even where the parts have different numbers of targets."""
    recipe = tiny(case, accumulate=accumulate, clip=None)
    model = new(recipe)
    parts = Feed(recipe, model).at(3)
    expected = naive_loss(model, parts)
    slopes, before = gradients(model, expected), weights(model)
    loss, right = learn(model, torch.optim.SGD(model.parameters(), lr=1.0), recipe.training, parts)
    assert float(loss) == pytest.approx(expected.item(), rel=1e-5)
    assert [len(marks) for marks in right] == [len(part.expected) for part in parts]
    for name, weight in weights(model).items():
        torch.testing.assert_close(before[name] - weight, slopes[name], rtol=1e-3, atol=1e-5)
    assert all(weight.grad is None for weight in model.parameters()), "no gradient is left for the next step"


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("clip", [0.01, 1e6])
def test_the_gradient_of_the_whole_batch_is_clipped(accumulate: int, clip: float) -> None:
    recipe = tiny(accumulate=accumulate, clip=clip)
    model = new(recipe)
    parts = Feed(recipe, model).at(0)
    norm = float(torch.cat([slope.flatten() for slope in gradients(model, naive_loss(model, parts)).values()]).norm())
    before = weights(model)
    learn(model, torch.optim.SGD(model.parameters(), lr=1.0), recipe.training, parts)
    moved = torch.cat([(before[name] - weight).flatten() for name, weight in weights(model).items()])
    assert norm > 0.01
    assert float(moved.norm()) == pytest.approx(min(clip, norm), rel=1e-3)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.3])
def test_adam_against_its_formula(optimizer: str, weight_decay: float) -> None:
    recipe = tiny(optimizer=optimizer, weight_decay=weight_decay, betas=(0.8, 0.9), clip=None)
    model, rate = new(recipe), 0.01
    feed, adam = Feed(recipe, model), make_optimizer(model.transformer, recipe.training)
    first = {name: torch.zeros_like(weight) for name, weight in weights(model).items()}
    second = {name: torch.zeros_like(weight) for name, weight in weights(model).items()}
    for step in range(3):
        parts, expected = feed.at(step), weights(model)
        for name, slope in gradients(model, naive_loss(model, parts)).items():
            if optimizer == "adam":
                slope = slope + weight_decay * expected[name]
            else:
                expected[name] = expected[name] * (1 - rate * weight_decay)
            first[name] = 0.8 * first[name] + 0.2 * slope
            second[name] = 0.9 * second[name] + 0.1 * slope**2
            mean, spread = first[name] / (1 - 0.8 ** (step + 1)), second[name] / (1 - 0.9 ** (step + 1))
            expected[name] = expected[name] - rate * mean / (spread.sqrt() + 1e-8)
        learn(model, adam, recipe.training, parts)
        for name, weight in weights(model).items():
            torch.testing.assert_close(weight, expected[name], rtol=1e-3, atol=3e-4)


@pytest.mark.parametrize("accumulate", [2, 3])
def test_a_run_in_parts_is_the_run_at_once_up_to_rounding(accumulate: int, tmp_path: Path) -> None:
    whole = lw.train(tiny(), tmp_path / "whole").metrics
    parts = lw.train(tiny(accumulate=accumulate), tmp_path / "parts").metrics
    assert losses(parts) == pytest.approx(losses(whole), rel=1e-4)


def test_half_precision_is_nearly_the_same(tmp_path: Path) -> None:
    exact, rough = (
        lw.train(tiny(precision=precision), tmp_path / precision).metrics for precision in ("float32", "bfloat16")
    )
    assert exact != rough
    assert exact[0]["loss"] == pytest.approx(rough[0]["loss"], rel=0.05)
    assert lw.load(tmp_path / "bfloat16").transformer.embedding.dtype == torch.float32


# A whole run.


def quick_parity() -> Recipe:
    """Learns parity of up to 6 bits in half a second."""
    recipe = lw.presets.get("parity-tiny")
    return replace(
        recipe,
        model=replace(recipe.model, heads=2, width=32, feedforward=32),
        data=replace(recipe.data, length=6),
        training=replace(recipe.training, steps=100, batch_size=32, learning_rate=0.005),
        watch=Watch(log_every=20, validate_every=20, validation_samples=50, cells=("8", "12"), cell_samples=20),
    )


def test_a_run_learns_and_measures_as_it_goes(tmp_path: Path) -> None:
    recipe = quick_parity()
    run = lw.train(recipe, tmp_path / "run")
    metrics = run.metrics
    assert [(record["step"], "loss" in record) for record in metrics] == [
        (step, kind) for step in (20, 40, 60, 80, 100) for kind in (True, False)
    ]
    first, last = metrics[1], metrics[-1]
    assert first["validation_exact_match"] < 0.9
    assert last["validation_exact_match"] == last["cells"]["12"] == metrics[-2]["exact_match"] == 1.0
    assert metrics[-2]["loss"] < 0.1 < metrics[0]["loss"]
    assert run.finished
    assert run.step == 100
    assert run.recipe == recipe
    assert run.model.trained_on == {"length": 6}
    assert run.model.solve("0110100110").correct
    # The last numbers are those of the model that is kept: naively, page by page, and as lw.evaluate measures cells.
    problems = recipe.task.sample_problems(50, length=6, seed=derive(recipe.seed, "validation"))
    surprises: list[Tensor] = []
    for sample in range(50):
        page = recipe.task.write([recipe.task.operand_text(digits) for digits in problems.operands(sample)])
        logits = run.model.score(page.tokens, page.position_ids).log_softmax(-1)
        places = [place for place, target in enumerate(page.targets) if target]
        surprises += [-logits[place - 1, run.model.vocabulary.index(page.tokens[place])] for place in places]
    assert last["validation_loss"] == pytest.approx(float(torch.stack(surprises).mean()), rel=1e-3)
    grid = lw.evaluate(run.model, lengths=[8, 12], samples=20, seed=recipe.seed)
    assert [row[0] for row in grid.accuracy] == list(last["cells"].values())


def test_losses_are_means_since_the_last_note(tmp_path: Path) -> None:
    def noted(log_every: int) -> dict[int, float]:
        recipe = replace(tiny(steps=7), watch=Watch(log_every=log_every, validate_every=0))
        run = lw.train(recipe, tmp_path / str(log_every))
        return {record["step"]: record["loss"] for record in run.metrics}

    each = noted(1)
    assert list(each) == [1, 2, 3, 4, 5, 6, 7]
    assert noted(3) == pytest.approx(
        {3: (each[1] + each[2] + each[3]) / 3, 6: (each[4] + each[5] + each[6]) / 3, 7: each[7]}
    )


def test_what_is_watched_changes_nothing_of_the_model(tmp_path: Path) -> None:
    """So no measurement can select a checkpoint: the weights are those of the last step, whatever was seen."""
    watches = [
        Watch(log_every=1, validate_every=1, validation_samples=3, cells=("3x3", "5x4"), cell_samples=2),
        Watch(log_every=5, validate_every=0, save_seconds=0.0),
        tiny().watch,
    ]
    kept = set()
    for number, watch in enumerate(watches):
        run = lw.train(replace(tiny(), watch=watch), tmp_path / str(number))
        kept.add((run.folder / "model.safetensors").read_bytes())
    assert len(kept) == 1


def test_the_same_recipe_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        lw.train(tiny(seed=seed), tmp_path / name)
    assert outcome(tmp_path / "one") == outcome(tmp_path / "two")
    for name, content in outcome(tmp_path / "other").items():
        assert outcome(tmp_path / "one")[name] != content


def test_global_randomness_does_not_matter(tmp_path: Path) -> None:
    for seed in (1, 2):
        torch.manual_seed(seed)
        lw.train(tiny(problems=10), tmp_path / str(seed))
    assert outcome(tmp_path / "1") == outcome(tmp_path / "2")


def test_an_observer_is_told_everything(tmp_path: Path) -> None:
    onlooker = Onlooker()
    run = lw.train(tiny(), tmp_path / "run", observer=onlooker)
    assert onlooker.told == ["begin 0", *(f"step {step}" for step in range(1, 7)), "end 6"]
    assert onlooker.records == run.metrics
    again = Onlooker()
    assert lw.train(tiny(), tmp_path / "run", resume=True, observer=again) == run, "a finished run is left as it is"
    assert again.told == []


@pytest.mark.parametrize("how", [interrupt, crash])
def test_an_observer_is_told_of_the_end_however_it_comes(how: Any, tmp_path: Path) -> None:
    """A progress bar that is not put away leaves a terminal without its cursor."""
    onlooker = stop_after(2, how)
    with pytest.raises((KeyboardInterrupt, ZeroDivisionError)):
        lw.train(tiny(), tmp_path / "run", observer=onlooker)
    assert onlooker.told[-1] == "end 2"


# Stopping and going on.


MANY = list(product(("learned", "windowed hard"), (None, 20), (1, 2)))


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize(("case", "problems", "accumulate"), MANY)
def test_a_run_stopped_after_any_step_ends_as_if_it_had_not(
    case: str, problems: int | None, accumulate: int, tmp_path: Path
) -> None:
    recipe = tiny(case, problems=problems, accumulate=accumulate, steps=4)
    lw.train(recipe, tmp_path / "whole")
    for step in range(1, recipe.training.steps + 1):
        folder = tmp_path / str(step)
        with pytest.raises(KeyboardInterrupt):
            lw.train(recipe, folder, observer=stop_after(step))
        assert Run(folder).step == step
        onlooker = Onlooker()
        lw.train(recipe, folder, resume=True, observer=onlooker)
        assert outcome(folder) == outcome(tmp_path / "whole")
        assert step == 4 or onlooker.told[:2] == [f"begin {step}", f"step {step + 1}"], "no step is done twice"


@pytest.mark.parametrize("signals", [interrupt, terminate])
def test_a_run_stopped_after_every_step_ends_as_if_it_had_not(signals: Any, tmp_path: Path) -> None:
    recipe = tiny("windowed hard", problems=10)
    lw.train(recipe, tmp_path / "whole")
    for step in range(1, 7):
        with pytest.raises(KeyboardInterrupt):
            lw.train(recipe, tmp_path / "run", resume=True, observer=stop_after(step, signals))
    lw.train(recipe, tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


@pytest.mark.parametrize("often", [False, True])
@pytest.mark.parametrize("step", [1, 3, 6])
def test_a_run_that_crashed_goes_on_from_its_last_state(often: bool, step: int, tmp_path: Path) -> None:
    recipe = saving_often(tiny()) if often else tiny()
    lw.train(recipe, tmp_path / "whole")
    with pytest.raises(ZeroDivisionError):
        lw.train(recipe, tmp_path / "run", observer=stop_after(step, crash))
    # After the last step there is no state in between: the end is saved when all is done.
    assert Run(tmp_path / "run").step == (min(step, 5) if often else 0)
    lw.train(recipe, tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("case", CASES)
def test_every_encoding_can_be_resumed(case: str, tmp_path: Path) -> None:
    recipe = tiny(case, steps=3, optimizer="adamw", weight_decay=0.1)
    recipe = replace(recipe, model=replace(recipe.model, layers=2))
    lw.train(recipe, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        lw.train(recipe, tmp_path / "run", observer=stop_after(2))
    lw.train(recipe, tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_a_run_can_be_moved_and_resumed_elsewhere(tmp_path: Path) -> None:
    lw.train(tiny(), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        lw.train(tiny(), tmp_path / "here", observer=stop_after(4))
    (tmp_path / "here").rename(tmp_path / "there")
    lw.train(tiny(), tmp_path / "there", resume=True)
    assert outcome(tmp_path / "there") == outcome(tmp_path / "whole")


def test_a_second_interruption_stops_at_once(tmp_path: Path) -> None:
    def twice() -> None:
        interrupt()
        interrupt()
        pytest.fail("the second Ctrl-C must not wait for anything")

    lw.train(tiny(), tmp_path / "whole")
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        lw.train(tiny(), tmp_path / "run", observer=stop_after(3, twice))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert Run(tmp_path / "run").step == 0
    lw.train(tiny(), tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_resuming_what_has_not_begun_begins_it(tmp_path: Path) -> None:
    lw.train(tiny(), tmp_path / "whole")
    lw.train(tiny(), tmp_path / "run", resume=True)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


def test_training_in_a_thread(tmp_path: Path) -> None:
    """Only the main thread can listen for signals; others train all the same."""
    lw.train(tiny(), tmp_path / "whole")
    worker = threading.Thread(target=lw.train, args=(tiny(), tmp_path / "run"))
    worker.start()
    worker.join()
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")


# Losses that are no numbers.


def finite(file: Path) -> bool:
    return all(bool(tensor.isfinite().all()) for tensor in load_file(file).values())


@pytest.mark.parametrize("log_every", [1, 2, 100])
@pytest.mark.parametrize("validate_every", [0, 1])
def test_a_loss_that_is_no_number_ends_the_run_and_keeps_the_last_good_state(
    log_every: int, validate_every: int, tmp_path: Path
) -> None:
    watch = Watch(log_every=log_every, validate_every=validate_every, validation_samples=4, save_seconds=0.0)
    recipe = replace(tiny(learning_rate=1e20, steps=50), watch=watch)
    for resume in (False, True):
        with pytest.raises(lw.InputError, match=r"no numbers? after step \d+: lower the learning rate") as error:
            lw.train(recipe, tmp_path / "run", resume=resume)
        assert "\n" not in str(error.value)
        assert finite(tmp_path / "run" / "model.safetensors")
        assert finite(tmp_path / "run" / STATE)
        assert Run(tmp_path / "run").step < 50
        for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
            json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


# Extras.


def test_without_tensorboard_its_flag_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(KeyboardInterrupt):
        lw.train(tiny(), tmp_path / "run", observer=stop_after(3))
    before = {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()}
    with pytest.raises(lw.InputError, match="TensorBoard is not installed: install lengthwise with"):
        lw.train(tiny(), tmp_path / "run", resume=True, tensorboard=True)
    assert {file: file.read_bytes() for file in (tmp_path / "run").rglob("*") if file.is_file()} == before


def test_tensorboard_shows_the_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, float, int]] = []
    boards: list[tuple[str, int]] = []
    closed: list[bool] = []

    class SummaryWriter:
        def __init__(self, folder: str, purge_step: int) -> None:
            boards.append((folder, purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            shown.append((name, value, step))

        def close(self) -> None:
            closed.append(True)

    fake = types.ModuleType("torch.utils.tensorboard")
    fake.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        lw.train(tiny(), folder, tensorboard=True, observer=stop_after(3))
    run = lw.train(tiny(), folder, tensorboard=True, resume=True)
    assert boards == [(str(folder / "tensorboard"), 1), (str(folder / "tensorboard"), 4)]
    assert len(closed) == 2
    expected = []
    for record in run.metrics:
        flat = {name: value for name, value in record.items() if name not in ("step", "cells")}
        flat |= {f"cells/{cell}": value for cell, value in record.get("cells", {}).items()}
        expected += [(name, value, record["step"]) for name, value in flat.items()]
    assert shown == expected


def test_the_real_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra [track] is not installed")
    run = lw.train(tiny(), tmp_path / "run", tensorboard=True)
    assert list((run.folder / "tensorboard").glob("events.out.*"))


@contextmanager
def compiled_by(backend: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Compile with another backend than inductor, which takes half a minute to translate even the smallest model."""
    used: list[str] = []
    compile_parts = Transformer.compile

    def compile_with(model: Transformer, **options: Any) -> None:
        used.append(backend)
        compile_parts(model, backend=backend, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Transformer, "compile", compile_with)
        yield used


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_run_is_the_same_up_to_rounding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = lw.train(tiny(), tmp_path / "plain")
    with compiled_by("aot_eager", monkeypatch) as used:
        with pytest.raises(KeyboardInterrupt):
            lw.train(tiny(compile=True), tmp_path / "compiled", observer=stop_after(3))
        compiled = lw.train(tiny(compile=True), tmp_path / "compiled", resume=True)
    assert used == ["aot_eager"] * 2
    assert losses(compiled.metrics) == pytest.approx(losses(plain.metrics), rel=1e-4)
    kept, expected = (load_file(run.folder / "model.safetensors") for run in (compiled, plain))
    assert kept.keys() == expected.keys()
    for name, weight in kept.items():
        torch.testing.assert_close(weight, expected[name], rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("preset", "device", "steps", "told", "compiled"),
    [
        ("addition-1l4h", "cuda", 50_000, None, True),
        ("addition-1l4h", "cuda", 1_000, None, False),  # over before that would have paid
        ("addition-1l4h", "cpu", 50_000, None, False),
        ("addition-1l4h-width256", "cuda", 50_000, None, False),  # waits for the CPU, compiled even longer
        ("addition-1l4h-width256", "cuda", 50_000, True, True),
        ("addition-1l4h", "cuda", 50_000, False, False),
    ],
)
def test_long_runs_of_large_models_on_a_gpu_are_compiled(
    preset: str, device: str, steps: int, told: bool | None, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = lw.presets.get(preset)
    recipe = replace(recipe, training=replace(recipe.training, steps=steps, compile=told))
    model = new(recipe)
    monkeypatch.setattr(Solver, "device", torch.device(device))
    assert is_compiled(recipe, model) == compiled


# What only a GPU can show.

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: nothing to wait for")


@needs_cuda
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("case", ["learned", "windowed hard", "windowed soft", "fire", "rotary", "none"])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_no_step_waits_for_the_device(case: str, accumulate: int) -> None:
    recipe = tiny(case, accumulate=accumulate)
    model = new(recipe).cuda()
    feed, optimizer = Feed(recipe, model), make_optimizer(model.transformer, recipe.training)
    learn(model, optimizer, recipe.training, feed.at(0))  # the first step makes ready what all need
    for step in range(1, 6):
        torch.cuda.set_sync_debug_mode("error")
        try:
            loss, _ = learn(model, optimizer, recipe.training, feed.at(step))
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert math.isfinite(float(loss))


@needs_cuda
@pytest.mark.parametrize("case", ["learned", "windowed hard", "fire"])
@pytest.mark.parametrize("precision", ["float32", "auto"])
def test_runs_on_the_gpu_are_resumed(case: str, precision: str, tmp_path: Path) -> None:
    recipe = tiny(case, precision=precision, problems=20)
    whole = lw.train(recipe, tmp_path / "whole", device="cuda")
    with pytest.raises(KeyboardInterrupt):
        lw.train(recipe, tmp_path / "run", device="cuda", observer=stop_after(3))
    run = lw.train(recipe, tmp_path / "run", device="cuda", resume=True)
    assert run.finished
    assert losses(run.metrics) == pytest.approx(losses(whole.metrics), rel=0.02)


@needs_cuda
def test_a_run_begun_on_the_gpu_ends_on_the_cpu(tmp_path: Path) -> None:
    recipe = tiny(precision="float32")
    with pytest.raises(KeyboardInterrupt):
        lw.train(recipe, tmp_path / "run", device="cuda", observer=stop_after(3))
    assert lw.train(recipe, tmp_path / "run", device="cpu", resume=True).finished


@needs_cuda
@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
def test_a_run_compiled_for_the_gpu_learns_the_same(tmp_path: Path) -> None:
    plain = lw.train(tiny(), tmp_path / "plain", device="cuda").metrics
    compiled = lw.train(tiny(compile=True), tmp_path / "compiled", device="cuda").metrics
    assert losses(compiled) == pytest.approx(losses(plain), rel=0.05)
