"""What the paper says, compared with grids made up for the purpose: every verdict where it belongs, and no other."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import Measured, Rate, at, flat, parted, plan

from lengthwise.experiments import Verdict, experiment, kinds, methods, parity, windowed
from lengthwise.experiments import addition_architecture as architecture
from lengthwise.experiments import addition_data_size as data_size
from lengthwise.experiments import addition_embedding_dim as embedding_dim
from lengthwise.experiments import addition_head_dim as head_dim
from lengthwise.experiments import addition_input_formats as input_formats
from lengthwise.experiments import addition_train_lengths as train_lengths
from lengthwise.experiments import addition_zero_padding as zero_padding
from lengthwise.experiments import attention_patterns as attention
from lengthwise.experiments.verdicts import compared, judged, learned, per_cent, reached
from lengthwise.reproduce import claims_table, state

PLAIN = [methods.titled(method, False) for method in methods.METHODS]
PADDED = [methods.titled(method, True) for method in ("nope", "fire", "fire-authors")]


# What all claims are made of.


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (1.0, "confirmed"),
        (0.9, "confirmed"),
        (0.89, "weaker"),
        (0.5, "weaker"),
        (0.49, "contradicted"),
        (None, "not run"),
    ],
)
def test_a_value_is_judged_by_two_thresholds_that_belong_to_the_better_side(value: float | None, verdict: str) -> None:
    assert judged(value, confirmed=0.9, weaker=0.5) == verdict


def test_without_a_second_threshold_there_is_nothing_in_between() -> None:
    assert [judged(value, confirmed=0.9) for value in (0.9, 0.89, 0.0, None)] == [
        "confirmed",
        "contradicted",
        "contradicted",
        "not run",
    ]


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_failing_far_away_confirms_nothing_of_a_model_that_has_not_even_learned_what_is_near(verdict: Verdict) -> None:
    assert learned(verdict, 0.9) == verdict
    for inside in (0.89, None):
        assert learned(verdict, inside) == ("not learned" if verdict == "confirmed" else verdict)


@pytest.mark.parametrize("verdict", get_args(Verdict))
@pytest.mark.parametrize("name", kinds())
def test_not_to_get_as_far_contradicts_only_with_as_much_training_as_the_papers(name: str, verdict: Verdict) -> None:
    one = experiment(name)
    assert reached(verdict, one.scale("paper")) == verdict
    for scale in ("smoke", "small"):
        assert reached(verdict, one.scale(scale)) == ("weaker" if verdict == "contradicted" else verdict)


@given(st.floats(0, 1, exclude_max=True))
def test_less_than_all_is_never_called_100_per_cent(value: float) -> None:
    number, sign = per_cent(value).split(" ")
    assert sign == "%"
    assert float(number) < 100
    assert float(number) == pytest.approx(100 * value, abs=0.1)


def test_rates_in_words() -> None:
    rates = (None, 0.0, 0.5, 0.123, 0.1, 0.9995, 0.99999, 1.0)
    assert [per_cent(rate) for rate in rates] == [
        *("–", "0 %", "50 %", "12.3 %", "10 %", "99.9 %", "99.9 %", "100 %"),
    ]


def test_rates_are_medians_over_the_seeds(tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    measured.put(zero_padding.PADDED, flat(1.0), flat(0.0), at({(20, 30): 0.4}, elsewhere=0.7))
    measured.put(zero_padding.UNPADDED, flat(0.6), flat(0.2))
    found = measured.found
    assert found.rate(zero_padding.PADDED, 10, 10) == 0.7
    assert found.rate(zero_padding.PADDED, 20, 30) == found.lowest(zero_padding.PADDED, 30, 30) == 0.4
    assert found.rate(zero_padding.UNPADDED, 10, 10) == pytest.approx(0.4)
    assert found.rate(zero_padding.PADDED, 14, 14) is None, "14 is not a size of this grid"
    assert found.seeds(zero_padding.PADDED) == 3
    claim = measured.claim("less far")
    assert claim.ours == "mean beyond 10 × 10 40 % without, 69.8 % with"
    assert claim.seeds == 2, "as many as the case has that has the fewest"


def test_means_beyond_the_training_sizes_leave_out_what_is_within(tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    measured.put(zero_padding.PADDED, parted(1.0, 0.25))
    assert measured.found.mean_beyond(zero_padding.PADDED, 10) == 0.25
    assert measured.found.mean_beyond(zero_padding.PADDED, 30) is None
    assert measured.found.lowest(zero_padding.PADDED, 10, 10) == 1.0
    assert measured.found.lowest(zero_padding.PADDED, 11, 10) == 0.25


def test_means_are_taken_seed_by_seed_and_their_median_is_told_with_its_ends(tmp_path: Path) -> None:
    """Cell by cell it would come out otherwise: no seed is right at more than half of the sizes."""
    measured = Measured("addition-zero-padding", tmp_path)
    title, found = zero_padding.PADDED, measured.found
    assert found.means_beyond(title, 10) == []
    assert found.spread_beyond(title, 10) == "–"
    measured.put(title, flat(0.3))
    assert measured.found.spread_beyond(title, 10) == "30 %"
    halves: list[Rate] = [
        lambda length, count: float(length > 10),
        lambda length, count: float((count or 0) > 10),
        lambda length, count: float(length > 10 or (count or 0) > 10),
    ]
    measured.put(title, *halves)
    one, other, whole = measured.found.means_beyond(title, 10)
    assert one == other == pytest.approx(8 * 14 / (14 * 14 - 6 * 6))
    assert whole == 1.0
    assert measured.found.mean_beyond(title, 10) == one
    assert measured.found.spread_beyond(title, 10) == "70 % (70 … 100 in 3 seeds)"


def test_the_best_of_several_seeds_is_not_rounded_up_to_100_either(tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path, "paper")
    measured.put(zero_padding.PADDED, flat(0.5), flat(0.999))
    assert "100" not in measured.found.spread_beyond(zero_padding.PADDED, 10)


@pytest.mark.parametrize(
    ("better", "worse", "one", "several"),
    [
        (0.5, 0.14, "confirmed", "confirmed"),
        (0.5, 0.16, "weaker", "confirmed"),
        (0.5, 0.44, "weaker", "confirmed"),
        (0.5, 0.46, "weaker", "weaker"),
        (0.5, 0.5, "weaker", "weaker"),
        (0.46, 0.5, "weaker", "weaker"),
        (0.44, 0.5, "contradicted", "contradicted"),
        (None, 0.5, "not run", "not run"),
        (0.5, None, "not run", "not run"),
    ],
)
def test_what_is_better_must_be_so_by_a_margin_which_is_wide_for_a_single_seed(
    better: float | None, worse: float | None, one: str, several: str
) -> None:
    assert [compared(better, worse, seeds=seeds) for seeds in (1, 2, 3)] == [one, several, several]


SEEDS = pytest.mark.parametrize("seeds", [(1, 1), (2, 1), (1, 2), (2, 2)])
"""How many of what should be better, and of what should be worse."""


def rivals(seeds: tuple[int, int]) -> tuple[tuple[float, str], ...]:
    """Rates to compare with one half: the fewest seeds decide by how much they must be lower."""
    near = "weaker" if min(seeds) == 1 else "confirmed"
    far = ((0.14, "confirmed"), (0.16, near), (0.44, near))
    return (*far, (0.46, "weaker"), (0.5, "weaker"), (0.54, "weaker"), (0.56, "contradicted"))


def test_seeds_that_a_scale_does_not_ask_for_are_taken_along(tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    measured.put(zero_padding.PADDED, flat(1.0), flat(0.5), first=7)
    assert measured.found.seeds(zero_padding.PADDED) == 2
    assert measured.found.rate(zero_padding.PADDED, 10, 10) == 0.75
    assert state(measured.experiment, "small", tmp_path).runs == 0, "but they are not the runs that are wanted"


def test_half_a_grid_is_no_grid(tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    for title in (zero_padding.PADDED, zero_padding.UNPADDED):
        measured.put(title, flat(1.0))
    case = measured.found.case(zero_padding.PADDED)
    (file,) = measured.found.files(case, case.measurements[0])
    (grid,) = measured.found.grids(zero_padding.PADDED)
    grid.correct[3][3] = grid.answers[3][3] = grid.total[3][3] = None
    grid.save(file)
    assert measured.found.grids(zero_padding.PADDED) == []
    assert measured.claim("less far").verdict == "not run"
    assert measured.claim("still add many").verdict == "confirmed", "which the other case alone decides"


@pytest.mark.parametrize("scale", ["small", "paper"])
@pytest.mark.parametrize("name", kinds())
def test_nothing_measured_nothing_claimed(name: str, scale: str, tmp_path: Path) -> None:
    measured = Measured(name, tmp_path, scale)
    claims = measured.experiment.claims(measured.found)
    assert claims
    assert {(claim.verdict, claim.seeds) for claim in claims} == {("not run", 0)}
    assert len({claim.says for claim in claims}) == len(claims)
    assert all(claim.says and claim.paper and claim.ours for claim in claims)


@pytest.mark.parametrize("name", kinds())
def test_a_verdict_comes_from_so_many_runs_and_no_verdict_from_none(name: str, tmp_path: Path) -> None:
    """However much of a figure has been measured: all, all but one case, or one case alone."""
    measured = Measured(name, tmp_path)
    cases = [case for case in plan(name, "small") if not case.own or name == "windowed"]
    for case in cases:
        for number, asked in enumerate(case.measurements):
            if asked.kind == "attention":
                measured.put_focus(case.title, (0.5, 2.0))
            else:
                measured.put(case.title, flat(0.5), number=number)
    assert all(claim.verdict != "not run" for claim in measured.experiment.claims(measured.found))
    assert all(claim.seeds == 1 for claim in measured.experiment.claims(measured.found))
    aside = tmp_path / "aside"
    for chosen in cases:
        for away in ([chosen], [case for case in cases if case is not chosen]):
            aside.mkdir()
            for case in away:
                measured.found.run_folder(case, 0).rename(aside / case.key)
            for claim in measured.experiment.claims(measured.found):
                assert (claim.verdict == "not run") == (claim.seeds == 0), ([case.title for case in away], claim)
            for case in away:
                (aside / case.key).rename(measured.found.run_folder(case, 0))
            aside.rmdir()


# Figure by figure.


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [
        (parted(1.0, 0.0), "confirmed"),
        (parted(0.9, 0.05), "confirmed"),
        (parted(0.89, 0.0), "not learned"),
        (parted(0.89, 0.06), "weaker"),
        (parted(1.0, 0.06), "weaker"),
        (parted(1.0, 0.5), "weaker"),
        (parted(1.0, 0.51), "contradicted"),
        (flat(1.0), "contradicted"),
    ],
)
@pytest.mark.parametrize("best", PLAIN)
def test_without_scratchpad_addition_is_near_zero_beyond(best: str, rate: Rate, verdict: str, tmp_path: Path) -> None:
    """The best of the four decides; and of none is it said before all have been run."""
    measured = Measured("addition-methods", tmp_path)
    for title in PLAIN:
        if title != best:
            measured.put(title, parted(1.0, 0.0))
    assert measured.claim("without scratchpad").verdict == "not run"
    measured.put(best, rate)
    assert measured.claim("without scratchpad").verdict == verdict


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [
        (at({(10, 10): 1.0, (11, 11): 0.6}), "confirmed"),
        (at({(10, 10): 0.9, (11, 11): 0.06, (13, 13): 0.1}), "confirmed"),
        (at({(10, 10): 1.0, (11, 11): 0.04}), "weaker"),  # not even a little beyond
        (at({(10, 10): 0.89, (11, 11): 0.6}), "not learned"),
        (at({(10, 10): 1.0, (13, 13): 0.11}), "weaker"),
        (at({(10, 10): 1.0, (13, 13): 0.51}), "contradicted"),
        (at({(10, 10): 0.2, (13, 13): 0.51}), "contradicted"),
        (at({(10, 10): 1.0}, elsewhere=1.0), "contradicted"),
    ],
)
@pytest.mark.parametrize(
    ("method", "words"),
    [("nope", "NoPE with"), ("fire", "FIRE with"), ("fire-authors", "authors' code with")],
)
def test_baselines_with_scratchpad_go_a_little_beyond_and_fail_at_13_by_13(
    method: str, words: str, rate: Rate, verdict: str, tmp_path: Path
) -> None:
    measured = Measured("addition-methods", tmp_path)
    assert measured.claim(words).verdict == "not run"
    measured.put(methods.titled(method, True), rate)
    assert measured.claim(words).verdict == verdict
    others = {"NoPE with", "FIRE with", "authors' code with"} - {words}
    assert {measured.claim(other).verdict for other in others} == {"not run"}


@pytest.mark.parametrize(
    ("coupled", "others", "small", "paper"),
    [
        (flat(1.0), None, "confirmed", "confirmed"),
        (at({(30, 30): 0.68}, elsewhere=1.0), None, "confirmed", "confirmed"),
        (at({(30, 2): 0.67}, elsewhere=1.0), flat(0.1), "weaker", "contradicted"),
        (at({(1, 2): 0.67}, elsewhere=1.0), None, "contradicted", "contradicted"),
        (flat(0.5), flat(0.5), "contradicted", "contradicted"),
        (flat(0.5), flat(0.4), "weaker", "contradicted"),
        (parted(1.0, 0.0), parted(0.0, 0.1), "contradicted", "contradicted"),
        (None, flat(0.4), "not run", "not run"),
    ],
)
def test_coupling_solves_every_cell_or_with_less_training_goes_further_than_the_others(
    coupled: Rate | None, others: Rate | None, small: str, paper: str, tmp_path: Path
) -> None:
    for scale, verdict in (("small", small), ("paper", paper)):
        measured = Measured("addition-methods", tmp_path, scale)
        if coupled is not None:
            measured.put(methods.COUPLED, coupled)
        if others is not None:
            measured.put(PADDED[1], others)
        assert measured.claim("coupling with scratchpad").verdict == verdict


def test_the_papers_own_number_is_the_threshold(tmp_path: Path) -> None:
    """67.8 %, with 1,000 problems a cell."""
    for rate, verdict in ((0.678, "confirmed"), (0.677, "contradicted")):
        measured = Measured("addition-methods", tmp_path, "paper")
        measured.put(methods.COUPLED, at({(17, 23): rate}, elsewhere=1.0))
        claim = measured.claim("coupling with scratchpad")
        assert claim.verdict == verdict
        assert claim.ours.startswith(f"lowest cell {100 * rate:.1f} %; 100 % at 13 × 13, ")


@pytest.mark.parametrize(
    ("own", "authors", "verdict"),
    [
        (0.3, 0.3, "confirmed"),
        (0.3, 0.34, "confirmed"),
        (0.2, 0.3, "weaker"),
        (0.3, 0.2, "weaker"),
        (1, 0, "contradicted"),
    ],
)
def test_whose_fire_it_is_matters_little(own: float, authors: float, verdict: str, tmp_path: Path) -> None:
    measured = Measured("addition-methods", tmp_path)
    measured.put(methods.titled("fire", True), parted(1.0, own))
    assert measured.claim("FIRE baseline").verdict == "not run"
    measured.put(methods.titled("fire-authors", True), parted(1.0, authors))
    assert measured.claim("FIRE baseline").verdict == verdict
    measured.put(methods.titled("fire-authors", True), parted(0.0, authors))
    unlearned = "not learned" if verdict == "confirmed" else verdict
    assert measured.claim("FIRE baseline").verdict == unlearned, "nothing is confirmed by what was not learned"


@pytest.mark.parametrize(
    ("best", "small", "paper"),
    [
        (0.1, "not learned", "confirmed"),
        (0.12, "weaker", "weaker"),
        (0.5, "weaker", "weaker"),
        (0.6, "contradicted", "contradicted"),
    ],
)
def test_without_scratchpad_multiplication_fails_within_the_training_sizes_for_all_the_papers_training(
    best: float, small: str, paper: str, tmp_path: Path
) -> None:
    for scale, verdict in (("small", small), ("paper", paper)):
        measured = Measured("multiplication-methods", tmp_path, scale)
        for title in PLAIN[1:]:
            measured.put(title, flat(0.0))
        assert measured.claim("none generalises").verdict == "not run"
        measured.put(PLAIN[0], at({(10, 10): best}, elsewhere=1.0))
        assert measured.claim("none generalises").verdict == verdict


@pytest.mark.parametrize(
    ("cells", "small", "paper"),
    [
        ({(10, 10): 1.0, (12, 12): 0.3}, "confirmed", "confirmed"),
        ({(10, 10): 1.0, (12, 12): 0.06, (15, 15): 0.1}, "confirmed", "confirmed"),
        ({(10, 10): 0.8, (12, 12): 0.3}, "not learned", "not learned"),
        ({(10, 10): 1.0, (12, 12): 0.04}, "weaker", "contradicted"),  # fails even sooner
        ({(10, 10): 1.0, (12, 12): 0.9, (15, 15): 0.2}, "contradicted", "contradicted"),  # goes further
        ({(10, 10): 0.0, (12, 12): 0.0, (15, 15): 0.2}, "contradicted", "contradicted"),
    ],
)
def test_multiplying_baselines_reach_12_by_12_and_little_more(
    cells: dict[tuple[int, int | None], float], small: str, paper: str, tmp_path: Path
) -> None:
    for scale, verdict in (("small", small), ("paper", paper)):
        measured = Measured("multiplication-methods", tmp_path, scale)
        assert measured.claim("NoPE with").verdict == "not run"
        measured.put(methods.titled("nope", True), at(cells))
        assert measured.claim("NoPE with").verdict == verdict


@pytest.mark.parametrize(
    ("coupled", "others", "small", "paper"),
    [
        # beyond 20 × 15
        (at({(20, 20): 0.0, (25, 1): 0.0, (1, 17): 0.0}, elsewhere=1.0), None, "confirmed", "confirmed"),
        (at({(20, 15): 0.8}, elsewhere=1.0), None, "confirmed", "confirmed"),
        (at({(20, 15): 0.78}, elsewhere=1.0), 0.0, "weaker", "contradicted"),
        (at({(1, 1): 0.78}, elsewhere=1.0), None, "contradicted", "contradicted"),
        (flat(0.5), 0.6, "contradicted", "contradicted"),
    ],
)
def test_coupling_multiplies_up_to_20_by_15(
    coupled: Rate, others: float | None, small: str, paper: str, tmp_path: Path
) -> None:
    for scale, verdict in (("small", small), ("paper", paper)):
        measured = Measured("multiplication-methods", tmp_path, scale)
        if others is not None:
            measured.put(methods.titled("nope", True), flat(others))
        assert measured.claim("20 × 15").verdict == "not run"
        measured.put(methods.COUPLED, coupled)
        assert measured.claim("20 × 15").verdict == verdict


@pytest.mark.parametrize(("rate", "verdict"), [(0.2, "confirmed"), (0.06, "weaker"), (0.04, "contradicted")])
def test_without_scratchpad_coupling_multiplies_by_one_digit(rate: float, verdict: str, tmp_path: Path) -> None:
    measured = Measured("multiplication-methods", tmp_path)
    assert measured.claim("one operand is short").verdict == "not run"
    measured.put(methods.titled("coupling", False), at({(15, 1): rate, (10, 1): 0.9}))
    assert measured.claim("one operand is short").verdict == verdict
    measured.put(methods.titled("coupling", False), at({(15, 1): rate, (10, 1): 0.8}))
    unlearned = "not learned" if verdict == "contradicted" else verdict
    assert measured.claim("one operand is short").verdict == unlearned, "it has not learned to multiply at all"


@pytest.mark.parametrize(
    ("near", "far", "verdict"),
    [
        (1.0, 0.5, "confirmed"),
        (0.9, 0.54, "confirmed"),
        (0.9, 0.46, "confirmed"),
        (0.8, 0.5, "not learned"),
        (0.8, 0.6, "weaker"),
        (1.0, 0.6, "weaker"),
        (1.0, 0.4, "weaker"),
        (1.0, 0.75, "contradicted"),
        (1.0, 0.0, "contradicted"),
    ],
)
def test_without_scratchpad_parity_is_guessed_beyond(near: float, far: float, verdict: str, tmp_path: Path) -> None:
    """Of answers, not of whole responses; and either side of one half is no guess."""
    measured = Measured("parity", tmp_path)
    titles = [parity.titled(method, False) for method in parity.METHODS]
    for title in titles[1:]:
        measured.put_answers(title, parted(1.0, 0.5, trained=20))
    assert measured.claim("without scratchpad").verdict == "not run"
    measured.put_answers(titles[0], parted(near, far, trained=20))
    assert measured.claim("without scratchpad").verdict == verdict


@pytest.mark.parametrize(
    ("scale", "rate", "verdict"),
    [
        *((scale, *one) for scale in ("small", "paper") for one in ((0.9, "confirmed"), (0.89, "weaker"))),
        ("small", 0.5, "weaker"),
        ("paper", 0.6, "weaker"),
        ("paper", 0.5, "contradicted"),
    ],
)
def test_with_scratchpad_parity_reaches_35_bits(scale: str, rate: float, verdict: str, tmp_path: Path) -> None:
    """As the authors measure: with the right scratchpad given."""
    measured = Measured("parity", tmp_path, scale)
    title = parity.titled("nope", True)
    measured.put_answers(title, flat(1.0), number=1)
    assert measured.claim("NoPE with scratchpad").verdict == "not run"
    measured.put_answers(title, at({(35, None): rate}))
    claim = measured.claim("NoPE with scratchpad")
    assert claim.verdict == verdict
    assert claim.ours.endswith("decoded 100 % at 35")


@pytest.mark.parametrize(
    ("scale", "rate", "verdict"),
    [
        *((scale, *one) for scale in ("small", "paper") for one in ((0.97, "confirmed"), (0.96, "weaker"))),
        ("small", 0.5, "weaker"),
        ("paper", 0.6, "weaker"),
        ("paper", 0.5, "contradicted"),
    ],
)
def test_coupled_parity_is_near_perfect_at_100_bits(scale: str, rate: float, verdict: str, tmp_path: Path) -> None:
    measured = Measured("parity", tmp_path, scale)
    assert measured.claim("100 bits").verdict == "not run"
    measured.put_answers(parity.COUPLED, at({(100, None): rate}))
    assert measured.claim("100 bits").verdict == verdict


@pytest.mark.parametrize(
    ("decoded", "verdict"),
    [
        (0.8, "confirmed"),
        (0.76, "confirmed"),
        (0.84, "confirmed"),
        (0.7, "weaker"),
        (0.9, "weaker"),  # better decoded than given is a difference, too
        (0.5, "contradicted"),
        (1.0, "contradicted"),
    ],
)
def test_answers_given_a_scratchpad_mislead_by_their_largest_difference_either_way(
    decoded: float, verdict: str, tmp_path: Path
) -> None:
    measured = Measured("parity", tmp_path)
    titles = [*(parity.titled(method, True) for method in parity.METHODS), parity.COUPLED]
    for title in titles:
        measured.put_answers(title, flat(0.8))
    assert measured.claim("as good as decoded").verdict == "not run"
    for title in titles:
        measured.put_answers(title, flat(0.8), number=1)
    measured.put_answers(titles[2], at({(27, None): decoded}, elsewhere=0.8), number=1)
    claim = measured.claim("as good as decoded")
    assert (claim.verdict, claim.seeds) == (verdict, 1)
    if verdict != "confirmed":
        gap = f"{100 * abs(0.8 - decoded):.0f}"
        assert claim.ours.startswith(f"largest difference {gap} points: {titles[2]} at 27 bits, 80 % given, ")


ARCHITECTURES = [architecture.titled(*shape) for shape in architecture.SHAPES]


@pytest.mark.parametrize(
    ("seeds", "others", "verdict"),
    [
        ((0.1,), (0.5,) * 11, "confirmed"),
        ((0.1,), (0.05, *(0.5,) * 10), "contradicted"),  # another one is worse
        ((0.1, 0.2, 0.3), (0.5,) * 11, "confirmed"),
        ((0.1, 0.2, 0.6), (0.5,) * 11, "weaker"),  # the worst by its median, but one seed is as good as most
        ((0.1,), (0.1,) * 11, "weaker"),  # none is worse than another
        ((0.5,), (0.1,) * 11, "contradicted"),
    ],
)
def test_one_layer_of_two_heads_is_the_worst_of_twelve_with_every_seed(
    seeds: tuple[float, ...], others: tuple[float, ...], verdict: str, tmp_path: Path
) -> None:
    measured = Measured("addition-architecture", tmp_path)
    worst, *titles = ARCHITECTURES
    for title, beyond in zip(titles, others, strict=True):
        measured.put(title, parted(1.0, beyond))
    assert measured.claim("worst of twelve").verdict == "not run"
    measured.put(worst, *(parted(1.0, beyond) for beyond in seeds))
    claim = measured.claim("worst of twelve")
    assert (claim.verdict, claim.seeds) == (verdict, 1)


def seeded(*rates: tuple[float, float, float]) -> list[Rate]:
    """Seeds by what they get right at 10 digits × 10 numbers, 10 × 15 and 15 × 10."""
    return [at({(10, 10): near, (10, 15): more, (15, 10): longer}) for near, more, longer in rates]


@pytest.mark.parametrize(
    ("few", "many", "verdict"),
    [
        ([(1.0, 1.0, 0.08)], [(1.0, 0.0, 0.12)], "confirmed"),
        ([(0.9, 0.52, 0.0)], [(0.9, 0.0, 1.0)], "confirmed"),
        ([(1.0, 0.5, 0.08)], [(1.0, 1.0, 1.0)], "weaker"),  # nor does it add more numbers
        ([(1.0, 1.0, 0.08)], [(1.0, 1.0, 0.1)], "contradicted"),
        ([(1.0, 1.0, 0.1)], [(1.0, 1.0, 1.0)], "contradicted"),
        ([(1.0, 0.0, 1.0)], [(1.0, 1.0, 0.0)], "contradicted"),
        ([(0.88, 1.0, 0.0)], [(1.0, 1.0, 1.0)], "not learned"),
        ([(1.0, 1.0, 0.0)], [(0.88, 1.0, 1.0)], "not learned"),
        ([(0.88, 0.0, 1.0)], [(0.88, 0.0, 0.0)], "not learned"),
        # seeds that have not learned their training sizes have no say, however many they are
        ([(0.0, 0.0, 0.9), (0.0, 0.0, 0.9), (1.0, 1.0, 0.0)], [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)], "confirmed"),
        ([(0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.4, 0.0)], [(1.0, 1.0, 1.0)], "weaker"),
        ([(0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.9)], [(1.0, 1.0, 1.0)], "contradicted"),
        # of those that have, the median
        ([(1.0, 1.0, 0.0), (1.0, 0.6, 0.0), (1.0, 0.0, 0.9)], [(1.0, 1.0, 1.0)], "confirmed"),
        ([(1.0, 1.0, 0.0)], [(1.0, 1.0, 1.0), (1.0, 1.0, 0.0), (1.0, 1.0, 0.0)], "contradicted"),
    ],
)
def test_two_heads_add_more_but_not_longer_numbers_and_four_do_by_the_seeds_that_learned(
    few: list[tuple[float, float, float]], many: list[tuple[float, float, float]], verdict: str, tmp_path: Path
) -> None:
    measured = Measured("addition-architecture", tmp_path)
    measured.put(architecture.titled(1, 2), *seeded(*few))
    assert measured.claim("more numbers, but not longer").verdict == "not run"
    measured.put(architecture.titled(1, 4), *seeded(*many))
    claim = measured.claim("more numbers, but not longer")
    assert (claim.verdict, claim.seeds) == (verdict, min(len(few), len(many)))
    shown = (", ".join(" / ".join(map(per_cent, rates)) for rates in seeds) for seeds in (few, many))
    titles = (architecture.titled(1, 2), architecture.titled(1, 4))
    words = "; ".join(f"{title} {each}" for title, each in zip(titles, shown, strict=True))
    assert claim.ours.endswith(f"seed by seed: {words}"), "those without a say are told, too"


@SEEDS
@pytest.mark.parametrize("shape", [(2, 2), (1, 4)])
def test_four_heads_in_all_do_better_than_the_baseline(
    shape: tuple[int, int], seeds: tuple[int, int], tmp_path: Path
) -> None:
    words = {(2, 2): "2 layers of 2 heads do better", (1, 4): "1 layer of 4 heads does better"}[shape]
    measured = Measured("addition-architecture", tmp_path)
    measured.put(architecture.titled(*shape), *[parted(0.0, 0.5)] * seeds[0])
    assert measured.claim(words).verdict == "not run"
    for baseline, verdict in rivals(seeds):
        measured.put(architecture.titled(6, 8), *[parted(1.0, baseline)] * seeds[1])
        assert measured.claim(words).verdict == verdict


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ((0.1, 0.2, 0.3, 0.4), "confirmed"),
        ((0.1, 0.3, 0.2, 0.4), "confirmed"),  # the widest is the best
        ((0.1, 0.44, 0.2, 0.4), "confirmed"),  # or as good as the best
        ((0.1, 0.46, 0.2, 0.4), "weaker"),  # better than the narrowest, at least
        ((0.34, 0.1, 0.2, 0.4), "confirmed"),
        ((0.36, 0.1, 0.2, 0.4), "weaker"),  # the best, but hardly better than the narrowest
        ((0.4, 0.4, 0.4, 0.4), "weaker"),
        ((0.36, 0.5, 0.2, 0.4), "contradicted"),
        ((0.4, 0.3, 0.2, 0.1), "contradicted"),
    ],
)
def test_wider_models_go_further_at_one_rate_for_all(rates: tuple[float, ...], verdict: str, tmp_path: Path) -> None:
    measured = Measured("addition-embedding-dim", tmp_path)
    for width, rate in list(zip(embedding_dim.WIDTHS, rates, strict=True))[1:]:
        measured.put(embedding_dim.titled(width), parted(1.0, rate))
    assert measured.claim("at one learning rate").verdict == "not run"
    measured.put(embedding_dim.titled(64), parted(1.0, rates[0]))
    claim = measured.claim("at one learning rate")
    assert (claim.verdict, claim.seeds) == (verdict, 1)


@pytest.mark.parametrize(
    ("bests", "verdict"),
    [
        ((0.6, 0.7, 0.8, 0.9), "confirmed"),
        ((0.8, 0.7, 0.6, 0.9), "confirmed"),  # the widest is the best
        ((0.8, 0.94, 0.6, 0.9), "confirmed"),  # or as good as the best
        ((0.8, 0.96, 0.6, 0.9), "weaker"),  # better than the narrowest, at least
        ((0.86, 0.7, 0.6, 0.9), "weaker"),  # the best, but hardly better than the narrowest
        ((0.86, 0.96, 0.6, 0.9), "contradicted"),
        ((0.9, 0.8, 0.7, 0.6), "contradicted"),
    ],
)
def test_the_gap_of_widths_is_judged_at_each_widths_best_rate(
    bests: tuple[float, ...], verdict: str, tmp_path: Path
) -> None:
    """Whatever the gap at one rate is: here it is always the paper's."""
    measured = Measured("addition-embedding-dim", tmp_path)
    for width, rate in zip(embedding_dim.WIDTHS, (0.1, 0.2, 0.3, 0.4), strict=True):
        measured.put(embedding_dim.titled(width), parted(1.0, rate))
    for width, best in zip(embedding_dim.WIDTHS, bests, strict=True):
        for factor in embedding_dim.FACTORS[1:]:
            measured.put(embedding_dim.titled(width, factor), parted(0.0, best if factor == 10 else 0.0))
    claim = measured.claim("not of the rate")
    assert (claim.verdict, claim.seeds) == (verdict, 1)
    assert f"width 64 {per_cent(bests[0])} at 10 × the rate" in claim.ours
    assert measured.claim("at one learning rate").verdict == "confirmed"


@SEEDS
@pytest.mark.parametrize(("heads", "words"), [(4, "1 layer of 4 heads"), (8, "1 layer of 8 heads")])
def test_wider_heads_are_better(heads: int, words: str, seeds: tuple[int, int], tmp_path: Path) -> None:
    measured = Measured("addition-head-dim", tmp_path)
    measured.put(head_dim.titled(heads, 256), *[parted(0.0, 0.5)] * seeds[0])
    assert measured.claim(words).verdict == "not run"
    for narrow, verdict in rivals(seeds):
        measured.put(head_dim.titled(heads, 128), *[parted(1.0, narrow)] * seeds[1])
        assert measured.claim(words).verdict == verdict


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ((0.1, 0.2, 0.3), "confirmed"),
        ((0.1, 0.1, 0.3), "confirmed"),
        ((0.1, 0.3, 0.2), "contradicted"),
        ((0.2, 0.2, 0.2), "contradicted"),
        ((0.3, 0.2, 0.1), "contradicted"),
    ],
)
def test_longer_training_problems_carry_further(rates: tuple[float, ...], verdict: str, tmp_path: Path) -> None:
    """Measured where none of the three was trained: beyond 13 × 13."""
    measured = Measured("addition-train-lengths", tmp_path)
    for size, rate in list(zip(train_lengths.PRESETS, rates, strict=True))[1:]:
        measured.put(train_lengths.titled(size), parted(0.0, rate, trained=13))
    assert measured.claim("longer problems").verdict == "not run"
    measured.put(train_lengths.titled(7), parted(1.0, rates[0], trained=13))
    assert measured.claim("longer problems").verdict == verdict


@SEEDS
def test_zero_padding_helps(seeds: tuple[int, int], tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    measured.put(zero_padding.PADDED, *[parted(0.0, 0.5)] * seeds[0])
    assert measured.claim("less far").verdict == "not run"
    for unpadded, verdict in rivals(seeds):
        measured.put(zero_padding.UNPADDED, *[parted(1.0, unpadded)] * seeds[1])
        assert measured.claim("less far").verdict == verdict


@pytest.mark.parametrize(("rate", "verdict"), [(0.5, "confirmed"), (0.05, "weaker"), (0.04, "contradicted")])
def test_unpadded_models_still_add_many_numbers(rate: float, verdict: str, tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    measured.put(zero_padding.PADDED, flat(1.0))
    assert measured.claim("still add many").verdict == "not run"
    measured.put(zero_padding.UNPADDED, at({(20, 30): rate}))
    assert measured.claim("still add many").verdict == verdict


@pytest.mark.parametrize(
    ("odd", "verdict"), [(0.6, "confirmed"), (0.36, "confirmed"), (0.3, "weaker"), (0.1, "contradicted")]
)
def test_the_size_of_the_training_set_does_not_matter(odd: float, verdict: str, tmp_path: Path) -> None:
    measured = Measured("addition-data-size", tmp_path)
    for problems in list(data_size.PRESETS)[1:]:
        measured.put(data_size.titled(problems), parted(1.0, 0.5))
    assert measured.claim("no significant impact").verdict == "not run"
    measured.put(data_size.titled(20_000), parted(1.0, odd))
    assert measured.claim("no significant impact").verdict == verdict


@pytest.mark.parametrize(("own", "verdict"), [(1.0, "confirmed"), (0.73, "confirmed"), (0.71, "contradicted")])
def test_its_own_format_is_among_the_best(own: float, verdict: str, tmp_path: Path) -> None:
    """Within a tenth of the best."""
    measured = Measured("addition-input-formats", tmp_path)
    baseline, *others = input_formats.TITLES.values()
    for number, title in enumerate(others):
        measured.put(title, parted(1.0, 0.8 if number == 2 else 0.1))
    assert measured.claim("best of six").verdict == "not run"
    measured.put(baseline, parted(0.0, own))
    assert measured.claim("best of six").verdict == verdict


# Where heads look.


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [
        ((0.8,), "confirmed"),
        ((0.1, 0.9, 0.85), "confirmed"),
        ((0.79,), "weaker"),
        ((0.4,), "weaker"),
        ((0.3,), "contradicted"),
    ],
)
def test_coupled_heads_look_at_the_two_digits_to_add(weights: tuple[float, ...], verdict: str, tmp_path: Path) -> None:
    """By the head that does so most, the median over seeds."""
    measured = Measured("attention-patterns", tmp_path)
    assert measured.claim("fixed number of tokens").verdict == "not run"
    measured.put_focus(attention.ONE_LAYER, *((weight, 2.5) for weight in weights))
    claim = measured.claim("fixed number of tokens")
    assert (claim.verdict, claim.seeds) == (verdict, len(weights))
    assert "nine tenths of its weight lie on 2.5 keys" in claim.ours


@pytest.mark.parametrize(
    ("weights", "verdict"),
    [((0.9, 0.8, 0.95), "confirmed"), ((0.9, 0.79, 0.95), "weaker"), ((0.9, 0.9, 0.39), "contradicted")],
)
def test_deep_models_with_scratchpad_have_such_heads_too(
    weights: tuple[float, ...], verdict: str, tmp_path: Path
) -> None:
    """All three of them: the one decides whose best head looks there least."""
    measured = Measured("attention-patterns", tmp_path)
    for title, weight in list(zip(attention.TITLES[:3], weights, strict=True))[1:]:
        measured.put_focus(title, (weight, 2.0))
    assert measured.claim("have such heads, too").verdict == "not run"
    measured.put_focus(attention.TITLES[0], (weights[0] - 0.1, 2.0), (weights[0] + 0.1, 2.0))
    claim = measured.claim("have such heads, too")
    assert (claim.verdict, claim.seeds) == (verdict, 1)
    assert f"{attention.TITLES[0]} 90 %" in claim.ours


@pytest.mark.parametrize(
    ("scale", "weight", "verdict"),
    [
        *((scale, *one) for scale in ("small", "paper") for one in ((0.5, "confirmed"), (0.49, "weaker"))),
        *((scale, 0.061, "weaker") for scale in ("small", "paper")),
        ("small", 0.059, "not learned"),
        ("paper", 0.059, "contradicted"),
    ],
)
def test_without_scratchpad_a_head_looks_at_all_digits_of_a_column_or_at_least_more_than_evenly(
    scale: str, weight: float, verdict: str, tmp_path: Path
) -> None:
    """Evenly it would be 2 %: three times as much is a preference."""
    measured = Measured("attention-patterns", tmp_path, scale)
    measured.put_focus(PLAIN[0], (0.9, 2.0))
    assert measured.claim("as many tokens as there are operands").verdict == "not run"
    measured.put_focus(attention.PLAIN, (weight, 11.5))
    claim = measured.claim("as many tokens as there are operands")
    assert (claim.verdict, claim.seeds) == (verdict, 1)
    assert f"{PLAIN[0]} 90 %, {attention.PLAIN} {per_cent(weight)}" in claim.ours
    assert claim.ours.endswith("evenly it would be 2 %")


def test_the_heads_that_are_drawn_are_those_with_most_weight_on_what_matters(tmp_path: Path) -> None:
    measured = Measured("attention-patterns", tmp_path)
    measured.put_focus(attention.ONE_LAYER, (0.5, 2.0))
    (focus,) = attention.focuses_of(measured.found, attention.ONE_LAYER)
    assert attention.telling(focus) == [(1, 1), (1, 2)]
    weight = [[0.1, 0.9, 0.2], [0.8, 0.0, 0.3]]
    several = type(focus)(weight=weight, with_carry=weight, keys=[[1.0] * 3] * 2, uniform=0.1, matter=2.0)
    assert attention.telling(several) == [(1, 2), (1, 3), (2, 1), (2, 3)]


# Windowed coupling.


@pytest.mark.parametrize(
    ("rate", "verdict"), [(1.0, "confirmed"), (0.99, "confirmed"), (0.98, "weaker"), (0.4, "contradicted")]
)
@pytest.mark.parametrize(
    ("title", "words"),
    [("addition", "solves addition"), (windowed.TITLES["windowed-multiplication"], "solves multiplication")],
)
def test_windowed_coupling_is_judged_by_its_lowest_cell(
    title: str, words: str, rate: float, verdict: str, tmp_path: Path
) -> None:
    measured = Measured("windowed", tmp_path)
    assert measured.claim(words).verdict == "not run"
    measured.put(title, at({(17, 25): rate}, elsewhere=1.0))
    # 50 problems a cell of products: 99 % of them is 50, 98 % is 49.
    assert measured.claim(words).verdict == verdict


@pytest.mark.parametrize(("decoded", "verdict"), [(0.99, "confirmed"), (0.98, "weaker"), (0.5, "contradicted")])
def test_windowed_parity_is_judged_by_answers_that_were_decoded(decoded: float, verdict: str, tmp_path: Path) -> None:
    measured = Measured("windowed", tmp_path)
    measured.put_answers(parity.WINDOWED, flat(1.0))
    assert measured.claim("parity").verdict == "not run"
    measured.put_answers(parity.WINDOWED, at({(100, None): decoded}), number=1)
    assert measured.claim("parity").verdict == verdict


# All of them, as a table.


def rows(table: str) -> list[list[str]]:
    """The cells of a Markdown table, its two lines of head first."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_the_table_is_markdown_with_as_many_columns_everywhere(tmp_path: Path) -> None:
    measured = Measured("addition-zero-padding", tmp_path)
    measured.put(zero_padding.UNPADDED, flat(1.0))
    table = claims_table(tmp_path)
    assert table.endswith("|\n")
    head, line, *body = rows(table)
    assert head == ["figure", "the paper says", "its number", "here", "scale", "seeds", "verdict"]
    assert set(line) == {"---"}
    assert {len(row) for row in (head, line, *body)} == {7}
    assert all(cell for row in body for cell in row)
    claimed = [
        (f"`{name}`, {kind.figure}", claim.says)
        for name, kind in kinds().items()
        for claim in kind().claims(kind().found("small", tmp_path))
    ]
    assert [(row[0], row[1]) for row in body] == claimed
    assert [row for row in body if row[6] != "not run"] == [
        [
            "`addition-zero-padding`, Figure 6",
            "without zero-padding they still add many numbers of fewer than 25 digits",
            "“reasonable accuracy for operand lengths below 25 digits”",
            "100 % at 30 numbers of 20 digits, 100 % of 10",
            "small",
            "1",
            "confirmed",
        ]
    ]
    assert {tuple(row[3:6]) for row in body if row[6] == "not run"} == {("–", "–", "–")}


def test_the_table_takes_for_each_claim_the_largest_scale_that_can_judge_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = {"addition-zero-padding": kinds()["addition-zero-padding"]}
    monkeypatch.setattr("lengthwise.reproduce.kinds", lambda: only)

    def told() -> list[list[str]]:
        return [row[3:] for row in rows(claims_table(tmp_path))[2:]]

    for scale, rate in (("smoke", 0.0), ("small", 0.5)):
        measured = Measured("addition-zero-padding", tmp_path, scale)
        measured.put(zero_padding.PADDED, flat(1.0))
        measured.put(zero_padding.UNPADDED, flat(rate))
        if scale == "smoke":
            assert {tuple(row) for row in told()} == {("–", "–", "–", "not run")}, "smoke shows that it runs, no more"
    assert told() == [
        ["mean beyond 10 × 10 50 % without, 100 % with", "small", "1", "confirmed"],
        ["50 % at 30 numbers of 20 digits, 50 % of 10", "small", "1", "confirmed"],
    ]
    paper = Measured("addition-zero-padding", tmp_path, "paper")
    paper.put(zero_padding.UNPADDED, flat(0.01), flat(0.02), flat(0.03))
    assert told() == [
        ["mean beyond 10 × 10 50 % without, 100 % with", "small", "1", "confirmed"],
        ["2 % at 30 numbers of 20 digits, 2 % of 10", "paper", "3", "contradicted"],
    ]
