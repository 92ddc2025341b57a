"""Every format of the authors' code that the paper studies: token for token, id for id, target for target."""

import json
from pathlib import Path
from typing import Any

import pytest

import lengthwise as lw

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "parity": ("parity", {"scratchpad": False}),
    "parity_scratchpad": ("parity", {"scratchpad": True}),
    "parity_scratchpad_reversed": ("parity", {"scratchpad": True, "reverse_response": True}),
}
for padding in ("pad", "nopad"):
    for query in ("pin", "rin"):
        for response in ("pout", "rout"):
            options = {
                "zero_padding": padding == "pad",
                "reverse_query": query == "rin",
                "reverse_response": response == "rout",
            }
            suffix = f"{padding}_{query}_{response}"
            for prefix, task in (("madd", "addition"), ("mult", "multiplication")):
                VARIANTS[f"{prefix}_{suffix}"] = (task, {"scratchpad": False, **options})
                VARIANTS[f"{prefix}_scratchpad_{suffix}"] = (task, {"scratchpad": True, **options})
VARIANTS["madd_scratchpad_pad_pin_rout_nozerostart"] = ("addition", {"start_with_zeros": False})

NOT_REPRODUCED = {
    "madd_scratchpad_pad_pin_rout_reverseorder_coupled": "sums from the last operand back, used nowhere in the paper",
    "mult_scratchpad_pad_pin_pout_coupled": "inconsistent in the authors' code and used nowhere",
}

FILES = [
    *("parity", "parity_coupled", "parity_scratchpad", "parity_scratchpad_coupled"),
    *("parity_scratchpad_reversed", "parity_scratchpad_reversed_coupled"),
    *(f"madd_{p}_{q}_{r}_coupled" for p in ("pad", "nopad") for q in ("pin", "rin") for r in ("pout", "rout")),
    *(
        f"madd_scratchpad_{p}_{q}_{r}_coupled"
        for p in ("pad", "nopad")
        for q in ("pin", "rin")
        for r in ("pout", "rout")
    ),
    *("madd_pad_pin_rout", "madd_nopad_pin_rout", "madd_scratchpad_pad_pin_rout", "madd_scratchpad_nopad_pin_rout"),
    "madd_scratchpad_pad_pin_rout_nozerostart_coupled",
    *("mult_nopad_pin_rout_coupled", "mult_pad_pin_pout_coupled", "mult_pad_pin_rout", "mult_pad_pin_rout_coupled"),
    *("mult_pad_rin_rout_coupled", "mult_scratchpad_nopad_pin_rout_coupled", "mult_scratchpad_pad_pin_rout"),
    *("mult_scratchpad_pad_pin_rout_coupled", "mult_scratchpad_pad_rin_rout_coupled"),
]


def test_no_file_is_left_out(reference: Path) -> None:
    there = {file.stem for file in (reference / "formats").glob("*.jsonl")}
    ours = {name for name in there if name.startswith(("parity", "madd", "mult"))}
    assert ours == set(FILES) | set(NOT_REPRODUCED)


@pytest.mark.parametrize("name", FILES)
def test_as_the_authors_write_it(reference: Path, name: str) -> None:
    task_name, options = VARIANTS[name.removesuffix("_coupled")]
    task = lw.task(task_name, **options)
    lines = (reference / "formats" / f"{name}.jsonl").read_text().splitlines()
    assert len(lines) > 30
    for line in lines:
        record = json.loads(line)
        page = task.write(record["operands"])
        assert page.tokens == [token.replace("[EOS]", "$") for token in record["tokens"]], record["operands"]
        assert page.targets == [bool(flag) for flag in record["loss_mask"]], record["operands"]
        assert (record["position_ids"] is not None) == name.endswith("_coupled")
        if record["position_ids"] is not None:
            assert page.position_ids == record["position_ids"], record["operands"]
