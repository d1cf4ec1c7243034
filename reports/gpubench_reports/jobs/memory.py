"""How many bytes a job needs on its fullest GPU, and whether they fit."""

from gpubench_reports.jobs.job import Job
from gpubench_reports.jobs.machine import Machine

# What the CUDA context, the libraries and gaps between buffers leave of the memory.
_USABLE = 0.95
_STATE = 12  # bytes per parameter: fp32 copy and two moments of AdamW
_PARAMETER = 2


def needed_bytes(job: Job) -> float:
    return _state_bytes(job) + _activation_bytes(job)


def fits(job: Job, machine: Machine) -> bool:
    return needed_bytes(job) <= usable_bytes(machine)


def usable_bytes(machine: Machine) -> float:
    return _USABLE * machine.memory_bytes


def _state_bytes(job: Job) -> float:
    parameters = job.stage_parameters
    whole, sharded = _PARAMETER + job.gradient_bytes, float(_STATE)
    if job.sharding == "none":
        return parameters * (whole + sharded)
    if job.sharding == "optimizer":
        return parameters * (whole + sharded / job.data)
    # Two layers are whole while one is computed and the next one is gathered. Backward, the
    # gradient of one is whole until it is scattered.
    model = job.model
    largest = max(model.layer_parameters, model.hidden * model.vocabulary) / job.tensor
    passing = (2 * _PARAMETER + job.gradient_bytes) * largest
    return parameters * (whole + sharded) / job.data + passing


def _activation_bytes(job: Job) -> float:
    """By Korthikanti et al. (arXiv 2205.05198), without dropout, and with what 1F1B keeps."""
    model = job.model
    tokens = job.microbatch * job.sequence
    layer = _layer_bytes(job, tokens)
    kept = layer
    if job.recompute == "full":
        shared = job.tensor if job.sequence_parallel else 1
        kept = 2.0 * tokens * model.hidden / shared
    in_flight = float(min(job.microbatches, job.pipeline))
    if job.interleave > 1:
        in_flight = min(float(job.microbatches), job.pipeline + (job.pipeline - 1) / job.interleave)
    stage = kept * job.stage_layers * in_flight
    working = layer if job.recompute == "full" else 0.0
    # The logits in bf16 and in fp32, and a gradient in fp32.
    logits = (2 + 4 + 4) * tokens * model.vocabulary / job.tensor
    # With a pipeline they are on its last stage, which keeps one microbatch only.
    if job.pipeline > 1:
        return max(stage + working, kept * job.stage_layers + working + logits)
    return stage + working + logits


def _layer_bytes(job: Job, tokens: float) -> float:
    model, tensor = job.model, job.tensor
    shared = tensor if job.sequence_parallel else 1
    width = (3 if model.gated else 2) * model.feed_forward
    # The inputs of norms and products (hidden), and what each GPU has a part of.
    elements = (
        4 * model.hidden / shared
        + (2 * model.hidden + 2 * model.kv_hidden) / tensor
        + width / tensor
    )
    scores = 0.0
    if job.attention == "standard" and job.recompute != "selective":
        scores = 2.0 * model.heads * job.sequence / tensor
    return 2.0 * tokens * (elements + scores)
