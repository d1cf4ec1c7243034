"""Are the losses that the C++ test compares with still NumPy's?"""

import re

import pytest
import training_step_reference


def test_the_header_has_numpys_losses() -> None:
    committed = training_step_reference.HEADER.read_text()
    numbers = [float(n) for n in re.findall(r"^ {4}([0-9.]+),$", committed, re.MULTILINE)]
    assert numbers == pytest.approx(training_step_reference.losses(), rel=1e-12)
    assert len(numbers) == training_step_reference.STEPS
    assert numbers == sorted(numbers, reverse=True), "a step makes the loss smaller"


def test_its_gradients_are_the_slopes_of_its_loss() -> None:
    w = training_step_reference.initial_weights()
    tokens, targets = (
        training_step_reference.np.arange(training_step_reference.SEQ) % n for n in (7, 5)
    )
    _, gradients = training_step_reference.step(w, tokens, targets)
    for name, gradient in gradients.items():
        at, h = (3, 2), 1e-5
        slope = 0.0
        for side in (1, -1):
            moved = {other: one.copy() for other, one in w.items()}
            moved[name][at] += side * h
            slope += side * training_step_reference.step(moved, tokens, targets)[0] / (2 * h)
        assert gradient[at] == pytest.approx(slope, rel=1e-4, abs=1e-9), name
