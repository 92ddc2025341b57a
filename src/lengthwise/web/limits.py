"""What one request may ask for, and how many are served at once."""

from dataclasses import dataclass, fields

from lengthwise.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the page; a request beyond them is refused in a sentence."""

    characters: int = 8_000
    """The longest problem, as typed."""
    digits: int = 200
    """The most digits of one number."""
    bits: int = 1_000
    """The most bits of a bit string."""
    numbers: int = 100
    """The most numbers of a sum."""
    tokens: int = 12_000
    """The longest page, in tokens."""
    matrix: int = 2_500
    """The longest page whose attention is given as a whole matrix, in tokens."""
    seconds: float = 60.0
    """How long one problem may be worked on."""
    at_once: int = 2
    """How many problems are worked on at once; the rest wait in line."""
    waiting: int = 200
    """How many may wait in line; further ones are sent away."""
    per_address: int = 20
    """How many from one address may be worked on or wait; further ones are sent away."""

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not value > 0 and not (entry.name == "waiting" and value == 0):  # nan is not, either
                raise InputError(f"{entry.name} must be above 0, not {value}.")

    @property
    def body(self) -> int:
        """The largest body of a request, in bytes: a problem, and a response of so many tokens."""
        return 4_096 + 4 * self.characters + 8 * (self.tokens + 100)
