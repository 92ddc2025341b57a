"""What only a GPU can show: flash attention agrees with the padded path, and everything runs there."""

import pytest
import torch
from models import CASES, solver, train

import lengthwise as lw
from lengthwise.model.attention import Context, Sequences, flash, padded
from lengthwise.positions.base import Hooks, Place

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: nothing to compare with the CPU")


@pytest.mark.parametrize("head_dim", [8, 16, 64, 128, 256])
def test_flash_and_padded_attention_agree_in_values_and_gradients(head_dim: int) -> None:
    source = torch.Generator().manual_seed(0)
    boundaries = torch.tensor([0, 5, 6, 77, 400])
    tensors = torch.randn(3, 400, 4, head_dim, generator=source) * torch.tensor([0.3, 1, 1])[:, None, None, None]
    results = []
    for dtype, way in ((torch.float64, "padded"), (torch.bfloat16, "padded"), (torch.bfloat16, "flash")):
        query, key, value = (part.to("cuda", dtype).requires_grad_() for part in tensors)
        sequences = Sequences(boundaries.cuda(), 400)
        place = Place(torch.zeros(1, 400, dtype=torch.int64, device="cuda"), sequences.index)
        context = Context(Hooks(), sequences, place, head_dim**-0.5)
        mixed = flash(query, key, value, context) if way == "flash" else padded(query, key, value, context, None)
        torch.autograd.backward((mixed * torch.linspace(0, 1, 400, device="cuda")[:, None, None]).sum())
        grads = [part.grad for part in (query, key, value)]
        results.append([mixed.detach().double(), *(grad.double() for grad in grads if grad is not None)])
    exact, *rough = results
    for result in rough:
        for got, expected in zip(result, exact, strict=True):
            assert float((got - expected).norm() / expected.norm()) < 0.02


@pytest.mark.parametrize("case", CASES)
def test_the_gpu_computes_what_the_cpu_computes(case: str) -> None:
    model = solver(case)
    batch = model.task.sample(20, length=5, count=5, seed=0)
    on_gpu = model.task.write_all(batch.problems.to("cuda"))
    on_cpu = model.task.write_all(batch.problems)
    assert on_gpu.tokens.cpu().equal(on_cpu.tokens)
    assert on_gpu.position_ids.cpu().equal(on_cpu.position_ids)
    expected = model(on_cpu).detach()
    model = model.cuda()
    assert torch.allclose(model(on_gpu).cpu(), expected, atol=1e-3)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        rough = model(on_gpu).float().cpu().detach()
    assert float((rough - expected).norm() / expected.norm()) < 0.1


@pytest.mark.parametrize("case", CASES)
def test_decoding_agrees_with_one_pass(case: str) -> None:
    model = solver(case).cuda()
    batch = model.task.sample(40, length=2, count=2, seed=0, device="cuda")
    train(model, batch, steps=80, rate=0.01)
    assert model.exact_matches(batch).equal(model.exact_matches(batch, "greedy"))


@pytest.mark.parametrize("task", ["parity", "addition", "multiplication"])
def test_sampling_on_the_gpu_writes_right_pages(task: str) -> None:
    written = lw.task(task)
    size = {"length": 9} if task == "parity" else {"length": 6, "count": 7}
    batch = written.sample(200, seed=0, device="cuda", **size)  # type: ignore[arg-type]
    for sample in range(0, 200, 10):
        operands = [written.operand_text(digits) for digits in batch.problems.operands(sample)]
        page = written.write(operands, offsets=batch.offsets[:, sample].tolist())
        assert batch.text(sample) == page.tokens
        assert batch.position_ids[:, batch.span(sample)].tolist() == page.position_ids


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ["learned", "windowed hard"])
def test_compiled_on_the_gpu(case: str) -> None:
    model = solver(case).cuda()
    batch = model.task.sample(20, length=5, count=5, seed=0, device="cuda")
    expected = model(batch)
    with model.compiled():
        assert torch.allclose(model(batch), expected, atol=1e-3)
