"""Bytes that kernels other than products move, as constants that follow from what they compute.

A kernel that is fused as usual reads each of its inputs once and writes each of its outputs once,
in bf16. Widths are the model's: `hidden` is split over tensor-parallel GPUs only with sequence
parallelism; `feed_forward` and `heads` always are.
"""

from dataclasses import dataclass

from gpubench_reports.jobs.job import Job

_ELEMENT = 2  # bytes


@dataclass(frozen=True)
class Traffic:
    """Elements read and written per token in one layer, in multiples of each width."""

    hidden: int  # two norms, two residual additions
    feed_forward: int  # the activation
    gated: int  # the activation, where it multiplies two vectors
    heads: int  # rotation of queries and keys, in multiples of their width


FORWARD = Traffic(hidden=2 * 2 + 2 * 3, feed_forward=2, gated=3, heads=2)
BACKWARD = Traffic(hidden=2 * 3 + 2 * 3, feed_forward=3, gated=5, heads=2)

# Per element of the logits: to fp32 and back, softmax and its gradient.
LOSS = (2 + 4) + 4 + (4 + 4) + (4 + 2)
# Per parameter: AdamW reads gradient, fp32 parameter and two moments, and writes the last three
# and a bf16 copy; the gradients' norm reads them once more.
OPTIMIZER = 4 * 4 + 3 * 4 + 2 + 4
# Per parameter and microbatch: a sum in fp32, read and written.
ACCUMULATE = 2 * 4


def layer_bytes(job: Job, traffic: Traffic) -> float:
    """Per token, in one layer on one GPU."""
    model, tensor = job.model, job.tensor
    shared = tensor if job.sequence_parallel else 1
    activation = traffic.gated if model.gated else traffic.feed_forward
    elements = (
        traffic.hidden * model.hidden / shared
        + activation * model.feed_forward / tensor
        + traffic.heads * (model.hidden + model.kv_hidden) / tensor
    )
    return _ELEMENT * elements
