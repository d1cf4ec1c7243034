"""The time of one training step of a job on a machine, part by part."""

from dataclasses import dataclass

from gpubench_reports.jobs.job import Job
from gpubench_reports.jobs.machine import Machine
from gpubench_reports.jobs.traffic import (
    ACCUMULATE,
    BACKWARD,
    FORWARD,
    LOSS,
    OPTIMIZER,
    layer_bytes,
)

# A backward pass of attention, in forward passes. The tiled way computes the scores again.
_BACKWARD_ATTENTION = {"tiled": 2.5, "standard": 2.0}


@dataclass(frozen=True)
class Step:
    """Seconds of one step on the GPU of a pipeline that is busiest."""

    compute: float  # products and attention
    bandwidth: float  # kernels that move bytes, the optimizer among them
    communication: float  # not hidden behind compute
    bubble: float
    tokens: int  # of all GPUs
    gpus: int
    mfu: float

    @property
    def seconds(self) -> float:
        return self.compute + self.bandwidth + self.communication + self.bubble

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


@dataclass(frozen=True)
class _Phase:
    """Seconds that one microbatch takes forward or backward in a part of the model."""

    products: float
    attention: float
    bandwidth: float
    communication: float

    @property
    def compute(self) -> float:
        return self.products + self.attention

    @property
    def seconds(self) -> float:
        return self.compute + self.bandwidth + self.communication

    def __add__(self, other: "_Phase") -> "_Phase":
        return _Phase(
            self.products + other.products,
            self.attention + other.attention,
            self.bandwidth + other.bandwidth,
            self.communication + other.communication,
        )

    def times(self, count: float) -> "_Phase":
        return _Phase(
            self.products * count,
            self.attention * count,
            self.bandwidth * count,
            self.communication * count,
        )


def simulate(job: Job, machine: Machine) -> Step:
    forward, backward = _stage(job, machine)
    both = forward + backward
    count = job.microbatches
    accumulate = _accumulate_seconds(job, machine)
    exposed = count * (both.communication + _sends(job, machine))
    exposed += (
        _sharded(job, machine, forward, backward)
        if job.sharding == "full"
        else (_gradients(job, machine, forward, backward))
    )
    moved = count * (both.bandwidth + accumulate) + _optimizer_seconds(job, machine)
    bubble = (job.pipeline - 1) / job.interleave * (both.seconds + accumulate)
    compute = count * both.compute
    seconds = compute + moved + exposed + bubble
    flops = job.tokens * job.model.flops_per_token(job.sequence)
    return Step(
        compute=compute,
        bandwidth=moved,
        communication=exposed,
        bubble=bubble,
        tokens=job.tokens,
        gpus=job.gpus,
        mfu=flops / (seconds * job.gpus * machine.peak),
    )


def _stage(job: Job, machine: Machine) -> tuple[_Phase, _Phase]:
    """One microbatch, forward and backward, in the pipeline stage that takes longest: the last,
    which has the output layer, or one with a layer more."""
    forward, backward = _layer(job, machine)
    output, output_back = _output(job, machine)
    fullest = job.stage_layers
    last = job.model.layers // job.pipeline
    stages = [
        (forward.times(last) + output, backward.times(last) + output_back),
        (forward.times(fullest), backward.times(fullest)),
    ]
    return max(stages, key=lambda stage: stage[0].seconds + stage[1].seconds)


def _layer(job: Job, machine: Machine) -> tuple[_Phase, _Phase]:
    model = job.model
    tokens = job.microbatch * job.sequence
    products = sum(
        machine.product_seconds(product.flops, product.bytes)
        for product in model.layer_products(tokens, job.tensor)
    )
    rate = machine.attention_rate(job.attention, model.head_size, job.sequence)
    attention = model.attention_flops(tokens, job.sequence, job.tensor) / rate
    there, back = _tensor_seconds(job, machine, tokens, products)
    forward = _Phase(
        products, attention, tokens * layer_bytes(job, FORWARD) / machine.bandwidth, there
    )
    backward = _Phase(
        2 * products,
        _BACKWARD_ATTENTION[job.attention] * attention,
        tokens * layer_bytes(job, BACKWARD) / machine.bandwidth,
        back,
    )
    if job.recompute == "full":
        backward += forward
    elif job.recompute == "selective":
        backward += _Phase(0, attention, 0, 0)
    return forward, backward


def _tensor_seconds(
    job: Job, machine: Machine, tokens: float, products: float
) -> tuple[float, float]:
    """What the two all-reduces of a layer, or as many pairs of a reduce-scatter and an all-gather,
    add forward and backward. Where they overlap with all products, one of as many chunks as there
    are GPUs does not; backward, they may instead hide behind the gradients of the weights."""
    size = 2.0 * tokens * job.model.hidden
    node = machine.collectives.node
    kernels = ("reduce_scatter", "all_gather") if job.sequence_parallel else ("all_reduce",)
    both = 2 * sum(
        machine.collectives.seconds(kernel, job.tensor, size, node) for kernel in kernels
    )
    if "tensor" in job.overlap:
        return max(both / job.tensor, both - products), max(both / job.tensor, both - 2 * products)
    return both, max(both - products, 0.0) if "weights" in job.overlap else both


def _output(job: Job, machine: Machine) -> tuple[_Phase, _Phase]:
    """The output layer and the loss."""
    tokens = job.microbatch * job.sequence
    product = job.model.output_product(tokens, job.tensor)
    seconds = machine.product_seconds(product.flops, product.bytes)
    loss = LOSS * tokens * job.model.vocabulary / job.tensor / machine.bandwidth
    return _Phase(seconds, 0, loss / 2, 0), _Phase(2 * seconds, 0, loss / 2, 0)


def _sends(job: Job, machine: Machine) -> float:
    """Activations and their gradients to the next stage, of one microbatch."""
    if job.pipeline == 1 or "pipeline" in job.overlap:
        return 0.0
    # Each of the tensor-parallel GPUs sends its share.
    size = 2.0 * job.microbatch * job.sequence * job.model.hidden / job.tensor
    same_node = job.gpus <= machine.collectives.node
    return 2 * job.interleave * machine.collectives.send_seconds(size, same_node)


def _group_per_node(job: Job, machine: Machine) -> int:
    """How many GPUs of a node are in one data-parallel group."""
    return max(machine.collectives.node // job.tensor, 1)


def _gradients(job: Job, machine: Machine, forward: _Phase, backward: _Phase) -> float:
    """What is left of the all-reduce of gradients, once per step. With a sharded optimizer it is a
    reduce-scatter, and an all-gather of the new parameters. Overlapped, each hides behind one
    microbatch, but for the share of one layer."""
    per_node = _group_per_node(job, machine)
    size = job.gradient_bytes * job.stage_parameters
    if job.sharding == "optimizer":
        parts = [
            ("reduce_scatter", size, backward),
            ("all_gather", 2 * job.stage_parameters, forward),
        ]
    else:
        parts = [("all_reduce", size, backward)]
    total = 0.0
    for kernel, moved, behind in parts:
        seconds = machine.collectives.seconds(kernel, job.data, moved, per_node)
        if "data" in job.overlap:
            seconds = max(seconds - behind.seconds, seconds / job.stage_layers)
        total += seconds
    return total


def _sharded(job: Job, machine: Machine, forward: _Phase, backward: _Phase) -> float:
    """What is left of gathering parameters twice and scattering gradients, of every microbatch,
    one layer at a time."""
    per_node = _group_per_node(job, machine)
    layers = job.stage_layers
    share = job.stage_parameters / layers

    def seconds(kernel: str, size: float) -> float:
        return layers * machine.collectives.seconds(kernel, job.data, size * share, per_node)

    gather, scatter = seconds("all_gather", 2), seconds("reduce_scatter", job.gradient_bytes)
    total = 0.0
    for moved, behind in ((gather, forward), (gather + scatter, backward)):
        if "data" in job.overlap:
            moved = max(moved - behind.seconds, moved / layers)
        total += moved
    return job.microbatches * total


def _accumulate_seconds(job: Job, machine: Machine) -> float:
    """Adding one microbatch's gradients to those of the step."""
    if job.microbatches == 1:
        return 0.0
    shards = job.data if job.sharding == "full" else 1
    return ACCUMULATE * job.stage_parameters / shards / machine.bandwidth


def _optimizer_seconds(job: Job, machine: Machine) -> float:
    shards = 1 if job.sharding == "none" else job.data
    return OPTIMIZER * job.stage_parameters / shards / machine.bandwidth
