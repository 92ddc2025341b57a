"""What is computed on, and how exactly."""

import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Any, Literal

import torch

from lengthwise.errors import InputError
from lengthwise.version import __version__

Precision = Literal["auto", "float32", "bfloat16"]


def pick_device(device: str | torch.device | None) -> torch.device:
    """The device asked for, or the best there is."""
    if device is None or str(device) == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.zeros(1, device=chosen).item()  # something that can be read back: `meta` is a device, too
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InputError(f"the device {str(device)!r} cannot be used here: try cpu.") from error
    return chosen


def is_half(device: torch.device, precision: Precision) -> bool:
    """Whether matrix products are computed in bfloat16; auto is that on CUDA, and float32 elsewhere."""
    return precision == "bfloat16" or (precision == "auto" and device.type == "cuda")


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[Any]:
    """The context in which a model computes in a precision."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if is_half(device, precision) else nullcontext()


class Beside:
    """Work on a GPU beside what is under way there; on any other device in its turn.

    What such work makes may be used afterwards as if it had been made in turn, but must be kept until the device is
    done with all that uses it: the memory would be given to the next work of this kind.
    """

    def __init__(self, device: torch.device) -> None:
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(device))

    @contextmanager
    def work(self) -> Iterator[None]:
        """Within, work goes beside; what is read back waits for that work alone."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield
        torch.cuda.current_stream(self._stream.device).wait_stream(self._stream)


def circumstances(device: torch.device) -> dict[str, str]:
    """On what, with what and when something was measured."""
    return {
        "lengthwise": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{device.type}, {platform.machine()}",
        "threads": str(torch.get_num_threads()),
        "date": datetime.now(UTC).date().isoformat(),
    }
