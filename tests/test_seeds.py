"""Whatever is drawn, the verdict and the main mistake stay the same: 100 seeds each."""

from __future__ import annotations

import pytest

from grader.service import read_source

FILES = (
    "solution/cube.py",
    "starter/cube.py",
    *(
        f"tests/submissions/{name}"
        for name in (
            "002_factor_applied_twice.py",
            "015_fractional_power_of_output.py",
            "029_ignores_grad_out.py",
            "040_broadcast_outer_product.py",
            "055_class_attribute_storage.py",
            "088_forward_casts_float32.py",
            "104_helper_accumulates_on_caller.py",
            "111_helper_compensates.py",
            "wrong_float_cast_back.py",
        )
    ),
)


@pytest.mark.timeout(400)
def test_a_hundred_seeds(root, judges):
    sources = [read_source(root / name) for name in FILES for _ in range(100)]
    reports = judges(sources)
    assert len({report.seed for report in reports}) > 1000
    for i, name in enumerate(FILES):
        mine = reports[100 * i : 100 * (i + 1)]
        outcomes = {
            (r.verdict, r.score, r.diagnoses[0].mistake if r.diagnoses else None) for r in mine
        }
        assert len(outcomes) == 1, (name, outcomes)
        assert (outcomes.pop()[0] == "pass") == (name == "solution/cube.py")
