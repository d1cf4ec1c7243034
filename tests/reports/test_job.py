"""A training step on many GPUs: its limits, its laws, and a small case computed by hand."""

from dataclasses import replace

import pytest

from gpubench_reports.common.errors import ReportError
from gpubench_reports.jobs.collectives import Collectives, collectives_of
from gpubench_reports.jobs.job import BATCH, Job
from gpubench_reports.jobs.memory import fits, needed_bytes
from gpubench_reports.jobs.model import Model, Product
from gpubench_reports.jobs.model_files import shipped_models
from gpubench_reports.jobs.search import _splits, best_plan, fastest, plans
from gpubench_reports.jobs.step import simulate

from .jobs import ALPHA, BANDWIDTH, BETA, FREE, MODEL, RATE, collectives, job, line, machine

GPT = Model("gpt", 24, 2048, 8192, 16, 16, 51200, False, True)
LLAMA = Model("llama", 80, 8192, 28672, 64, 8, 32000, True, False)


@pytest.mark.parametrize("model", [GPT, LLAMA], ids=lambda model: model.name)
@pytest.mark.parametrize("tensor", [1, 4])
def test_the_formula_counts_the_flops_of_all_products(model, tensor):
    tokens, sequence = 4096, 2048
    layer = sum(product.flops for product in model.layer_products(tokens, tensor))
    attention = 2 * model.attention_flops(tokens, sequence, tensor)  # as if nothing were masked
    output = model.output_product(tokens, tensor).flops
    total = 3 * tensor * (model.layers * (layer + attention) + output)
    assert total == pytest.approx(tokens * model.flops_per_token(sequence))


@pytest.mark.parametrize(("model", "billions"), [(GPT, 1.313), (LLAMA, 68.98)])
def test_parameters_are_as_published(model, billions):
    assert model.parameters / 1e9 == pytest.approx(billions, rel=1e-3)


def test_a_product_moves_its_three_sides_once():
    assert Product(2, 3, 5).flops == 60
    assert Product(2, 3, 5).bytes == 2 * (6 + 10 + 15)


def test_one_gpu_neither_waits_nor_communicates():
    step = simulate(job(), machine())
    assert step.communication == 0
    assert step.bubble == 0
    assert step.seconds == step.compute + step.bandwidth


def test_a_step_computed_by_hand():
    # One microbatch of 128 tokens; 4 layers of 64, heads of 16; RATE for all that multiplies.
    step = simulate(job(batch=1), machine())
    products = 2 * 128 * (4 * 64 * 64 + 2 * 64 * 256)
    attention = 2 * 128 * 128 * 64
    compute = 4 * (3 * products + 3.5 * attention) + 3 * 2 * 128 * 64 * 1
    # Sides that are narrow take the time of their bytes instead: at BANDWIDTH, all of them do.
    moved = 2 * (128 * 192 + 128 * 64 + 64 * 192)
    moved += 2 * (128 * 64 + 128 * 64 + 64 * 64)
    moved += 2 * 2 * (128 * 256 + 128 * 64 + 64 * 256)
    moved = 4 * 3 * moved + 3 * 2 * (128 * 1 + 128 * 64 + 64 * 1)
    assert step.compute == pytest.approx(moved / BANDWIDTH + 4 * 3.5 * attention / RATE)
    assert compute / RATE < step.compute
    assert simulate(job(batch=1), machine(**FREE)).compute == pytest.approx(compute / RATE)
    # Forward 10 x 64 + 2 x 256 + 2 x 128 elements of 2 bytes, backward 12, 3 and 2 of them.
    passes = 2 * ((10 + 12) * 64 + (2 + 3) * 256 + (2 + 2) * 128)
    optimizer = 34 * (4 * (4 * 64 * 64 + 2 * 64 * 256) + 64)
    assert step.bandwidth == pytest.approx(
        (128 * 4 * passes + 128 * 24 * 1 + optimizer) / BANDWIDTH
    )


def test_gradients_of_several_microbatches_are_added_up():
    once, twice = (simulate(job(batch=batch), machine()).bandwidth for batch in (1, 2))
    parameters = job().stage_parameters
    optimizer, added = (count * parameters / BANDWIDTH for count in (34, 2 * 8))
    assert twice - optimizer - added == pytest.approx(2 * (once - optimizer))


@pytest.mark.parametrize(
    ("sharding", "updated", "added"), [("optimizer", 34 / 4, 8), ("full", 34 / 4, 2)]
)
def test_shards_are_updated_by_their_owners(sharding, updated, added):
    alone = simulate(job(batch=2), machine()).bandwidth
    split = simulate(job(gpus=4, batch=8, sharding=sharding), machine()).bandwidth
    saved = (34 - updated + 2 * (8 - added)) * job().stage_parameters / BANDWIDTH
    assert alone - split == pytest.approx(saved)


def test_sequence_parallelism_splits_norms_and_additions():
    split = job(gpus=4, tensor=4, batch=1)
    both = [simulate(replace(split, sequence_parallel=on), machine()) for on in (False, True)]
    whole = 2 * 128 * 4 * (10 + 12) * 64 / BANDWIDTH
    assert both[0].bandwidth - both[1].bandwidth == pytest.approx(whole * 3 / 4)
    kept = [needed_bytes(replace(split, sequence_parallel=on)) for on in (False, True)]
    assert kept[0] - kept[1] == pytest.approx(2 * 128 * 4 * 4 * 64 * 3 / 4)


def test_mfu_is_model_flops_over_the_peak():
    step = simulate(job(), machine(**FREE))
    flops = 8 * 128 * MODEL.flops_per_token(128)
    assert step.mfu == pytest.approx(flops / step.seconds / (2 * RATE))
    assert step.tokens_per_second == pytest.approx(8 * 128 / step.seconds)


def test_computing_again_lowers_mfu_by_the_forward_pass():
    plain = simulate(job(), machine(**FREE))
    again = simulate(job(recompute="full"), machine(**FREE))
    selective = simulate(job(recompute="selective"), machine(**FREE))
    layers = 4 * sum(p.flops for p in MODEL.layer_products(8 * 128, 1))
    attention = 4 * MODEL.attention_flops(8 * 128, 128, 1)
    assert again.compute - plain.compute == pytest.approx((layers + attention) / RATE)
    assert selective.compute - plain.compute == pytest.approx(attention / RATE)
    assert again.mfu < selective.mfu < plain.mfu


@pytest.mark.parametrize("pipeline", [2, 4])
@pytest.mark.parametrize("batch", [4, 8, 32])
@pytest.mark.parametrize("interleave", [1, 2])
def test_the_bubble_is_that_of_1f1b(pipeline, batch, interleave):
    model = replace(MODEL, layers=8)
    split = job(model=model, gpus=pipeline, pipeline=pipeline, batch=batch, interleave=interleave)
    assert split.possible
    step = simulate(split, machine(**FREE))
    share = (pipeline - 1) / (interleave * batch + pipeline - 1)
    assert step.bubble / step.seconds == pytest.approx(share, rel=1e-3)


def test_with_free_links_throughput_grows_with_the_gpus():
    alone = simulate(job(batch=64), machine(**FREE)).tokens_per_second
    for gpus in (2, 8, 64):
        step = simulate(job(batch=64, gpus=gpus), machine(**FREE))
        assert step.communication == pytest.approx(0, abs=1e-9 * step.seconds)
        assert step.tokens_per_second == pytest.approx(gpus * alone)


def test_an_all_reduce_of_gradients_takes_alpha_plus_beta_times_size():
    step = simulate(job(gpus=8), machine())
    size = 4 * job().stage_parameters
    assert step.communication == pytest.approx(ALPHA + BETA * size)
    sharded = simulate(job(gpus=8, sharding="optimizer"), machine())
    # Two halves of an all-reduce: of gradients in fp32, and of parameters in bf16.
    assert sharded.communication == pytest.approx(ALPHA + BETA * size * 3 / 4)


def test_gradients_hide_behind_the_backward_pass_but_for_one_layer():
    hidden = simulate(job(gpus=8, overlap=frozenset({"data"})), machine())
    shown = simulate(job(gpus=8), machine())
    assert hidden.communication == pytest.approx(shown.communication / MODEL.layers)
    slow = machine(bandwidth=1e30, beta=1e-6)
    left = simulate(job(gpus=8, overlap=frozenset({"data"})), slow).communication
    backward = 4 * 2 * sum(product.flops for product in MODEL.layer_products(128, 1))
    backward += (
        4 * 2.5 * MODEL.attention_flops(128, 128, 1) + 2 * MODEL.output_product(128, 1).flops
    )
    assert left == pytest.approx(ALPHA + 4e-6 * job().stage_parameters - backward / RATE)


def test_tensor_parallelism_adds_two_all_reduces_per_layer_and_pass():
    step = simulate(job(gpus=4, tensor=4, batch=1), machine())
    each = ALPHA + BETA * 2 * 128 * 64
    assert step.communication == pytest.approx(4 * 2 * 2 * each)
    again = simulate(job(gpus=4, tensor=4, batch=1, recompute="full"), machine())
    assert again.communication == pytest.approx(4 * 2 * 3 * each)
    chunked = simulate(
        job(gpus=4, tensor=4, batch=1, overlap=frozenset({"tensor"})), machine(bandwidth=1e3)
    )
    assert chunked.communication == pytest.approx(4 * 2 * 2 * each / 4)


def test_backward_all_reduces_hide_behind_the_gradients_of_the_weights():
    split = job(gpus=4, tensor=4, batch=1, overlap=frozenset({"weights"}))
    each = ALPHA + BETA * 2 * 128 * 64
    assert simulate(split, machine(bandwidth=1e3)).communication == pytest.approx(4 * 2 * each)


def test_stages_send_activations_and_their_gradients():
    split = job(gpus=2, pipeline=2, batch=4)
    sizes, seconds = line(ALPHA, BETA)
    rate = sizes[-1] * 2 * 7 / 8 / seconds[-1]
    once = seconds[0] / 7 + 2 * 128 * 64 / rate
    assert simulate(split, machine()).communication == pytest.approx(4 * 2 * once)
    twice = simulate(replace(split, interleave=2), machine())
    assert twice.communication == pytest.approx(4 * 4 * once)
    assert simulate(replace(split, overlap=frozenset({"pipeline"})), machine()).communication == 0
    # Across nodes, a GPU has one of eight network cards.
    links = collectives()
    cards = 2 * 63 / 64 * sizes[-1] / seconds[-1] / 8
    assert links.send_seconds(1e9, False) == pytest.approx(1e9 / cards, rel=1e-3)


def test_sharded_parameters_are_gathered_for_every_microbatch():
    split = job(gpus=2, sharding="full", batch=8)
    step = simulate(split, machine())
    layers, size = MODEL.layers, split.stage_parameters
    # Halves of all-reduces, one per layer: parameters twice, in bf16, and gradients in fp32.
    once = (3 * layers * ALPHA + BETA * (2 + 2 + 4) * size) / 2
    assert step.communication == pytest.approx(4 * once)


def test_collectives_lie_on_the_line_through_their_rows():
    links = collectives()
    for size in (100.0, 3e6, 2e8):
        assert links.seconds("all_reduce", 8, size, 8) == pytest.approx(ALPHA + BETA * size)
    largest = line(ALPHA, BETA)[0][-1]
    beyond = links.seconds("all_reduce", 8, 10 * largest, 8)
    assert beyond == pytest.approx(10 * (ALPHA + BETA * largest))
    assert links.seconds("all_reduce", 1, 1e6, 8) == 0


def test_a_group_with_one_gpu_per_node_has_one_network_card():
    links = collectives()
    whole = links.seconds("all_reduce", 16, 1e8, 8)
    one = links.seconds("all_reduce", 2, 1e8, 1)
    # Eight times as many bytes per card; of two GPUs, 8/15 of the steps of sixteen.
    assert one - ALPHA == pytest.approx((whole - ALPHA) * 8 * 8 / 15)
    slow = replace(links, slower=4.0).seconds("all_reduce", 2, 1e8, 1)
    assert slow == pytest.approx(ALPHA + 4 * (one - ALPHA), rel=1e-3)


def test_latency_grows_beyond_the_largest_number_of_gpus():
    by_ranks = {16: line(1e-5, BETA), 64: line(4e-5, BETA)}
    links = Collectives({"all_reduce": by_ranks}, 8)
    step = (links.seconds("all_reduce", 128, 1e6, 8) - links.seconds("all_reduce", 64, 1e6, 8)) / 64
    assert step == pytest.approx(3e-5 / 48)
    between = links.seconds("all_reduce", 40, 1e6, 8)
    assert between == pytest.approx(2.5e-5 + BETA * 1e6)


def test_a_number_of_gpus_with_one_size_is_left_out():
    rows = [
        {
            "concept": "all_reduce",
            "kernel": "all_reduce",
            "seconds": 1e-3,
            "arguments": {"place": "out", "ranks": float(ranks), "size": float(size)},
        }
        for ranks, size in ((8, 1024), (8, 4096), (64, 4096))
    ]
    assert list(collectives_of(rows, 8).sweeps["all_reduce"]) == [8]


def test_slower_links_and_more_work_never_help():
    split = job(gpus=64, tensor=4, pipeline=4, batch=32)
    steps = [simulate(split, machine(beta=beta)).seconds for beta in (0, 1e-10, 1e-9, 1e-8)]
    assert steps == sorted(steps)
    assert len(set(steps)) == 4
    for field in ("layers", "hidden", "feed_forward", "vocabulary"):
        larger = replace(MODEL, **{field: getattr(MODEL, field) * 2})
        assert simulate(replace(split, model=larger), machine()).seconds > steps[2]
    longer = [simulate(replace(split, batch=batch), machine()).mfu for batch in (4, 16, 64)]
    assert longer == sorted(longer)  # less bubble


def test_the_stage_with_the_output_layer_sets_the_pace():
    model = replace(MODEL, vocabulary=4096)
    step = simulate(job(model=model, gpus=4, pipeline=4, batch=4), machine(**FREE))
    layer = sum(p.flops for p in model.layer_products(128, 1))
    stage = 3 * layer + 3.5 * model.attention_flops(128, 128, 1) + 3 * 2 * 128 * 64 * 4096
    assert step.compute == pytest.approx(4 * stage / RATE)


def test_memory_of_a_model_computed_by_hand():
    states = 18 * GPT.parameters
    one = Job(GPT, 1, 2048, 1)
    # Per layer and token: 4 x 2048 + 4 x 2048 + 2 x 8192 elements; 10 bytes per logit.
    activations = 2 * 2048 * 24 * (4 * 2048 + 4 * 2048 + 2 * 8192) + 10 * 2048 * 51200
    assert needed_bytes(one) == pytest.approx(states + activations)
    again = needed_bytes(replace(one, recompute="full"))
    assert states < again < needed_bytes(one)
    standard = needed_bytes(replace(one, attention="standard"))
    assert standard - needed_bytes(one) == pytest.approx(24 * 2 * 2 * 16 * 2048 * 2048)
    sharded = Job(GPT, 8, 2048, 8, sharding="optimizer")
    assert needed_bytes(one) - needed_bytes(sharded) == pytest.approx(12 * GPT.parameters * 7 / 8)


def test_1f1b_keeps_as_many_microbatches_as_stages():
    few, many = (needed_bytes(job(gpus=4, pipeline=4, batch=batch)) for batch in (2, 64))
    assert few < many
    assert many == needed_bytes(job(gpus=4, pipeline=4, batch=128))


def test_what_does_not_fit_has_no_figure():
    small = machine(memory=1e9)
    plan = best_plan(small, Job(GPT, 1, 2048, 8))
    assert plan.choice is None
    assert plan.why.startswith("does not fit into 1 GiB")
    assert plan.needed_bytes > 18 * GPT.parameters
    assert best_plan(machine(), Job(GPT, 1, 2048, 8)).choice


def test_without_rows_of_links_only_one_gpu_is_simulated():
    for sweeps, why in (
        ({}, "no all_reduce rows"),
        ({"all_reduce": {8: line(ALPHA, BETA)}}, "no all_reduce rows of more than 8 GPUs"),
    ):
        alone = replace(machine(), collectives=Collectives(sweeps, 8))
        assert best_plan(alone, Job(GPT, 1, 2048, 8)).choice
        plan = best_plan(alone, Job(GPT, 64, 2048, 64))
        assert plan.choice is None
        assert plan.why == why


def test_the_fastest_split_that_fits_is_chosen():
    small = machine(memory=2e10)
    plan = best_plan(small, Job(GPT, 8, 2048, 64))
    assert plan.choice
    assert fits(plan.choice.job, small)
    assert plan.needed_bytes == needed_bytes(plan.choice.job)
    slower = replace(plan.choice.job, recompute="full")
    assert fastest(small, [slower, plan.choice.job]).job == plan.choice.job


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpus": 7},
        {"batch": 7},
        {"gpus": 6, "tensor": 3, "pipeline": 1, "batch": 6},  # 4 heads
        {"pipeline": 8, "gpus": 16},
        {"pipeline": 3, "gpus": 12},  # 4 layers
        {"interleave": 4},  # 8 parts of 4 layers
        {"interleave": 2, "batch": 6},  # 3 microbatches
    ],
)
def test_what_does_not_split_evenly_is_not_tried(wrong):
    split = {"gpus": 8, "tensor": 2, "pipeline": 2, "batch": 8}
    assert job(**split).possible
    assert not job(**split | wrong).possible


def test_there_is_a_plan_for_each_model_and_number_of_gpus():
    found = plans(machine(memory=1e14), shipped_models(), (1, 8), BATCH)
    assert [(plan.model.name, plan.gpus) for plan in found] == [
        (model.name, gpus) for model, _ in shipped_models() for gpus in (1, 8)
    ]
    assert all(plan.choice for plan in found)
    assert all(0 < plan.choice.step.mfu < 0.5 for plan in found)  # the peak is twice RATE


def test_parts_have_whole_layers_but_the_ends_may_have_one_less():
    model = replace(MODEL, layers=14)
    uneven = job(model=model, gpus=8, pipeline=8, batch=8)
    assert not uneven.possible
    ends = replace(uneven, short_ends=True)
    assert ends.possible
    assert ends.stage_layers == 2
    assert replace(ends, interleave=2).possible
    assert not replace(ends, interleave=4).possible
    # The last stage has one layer and the output layer, which takes less than another layer.
    layer = sum(p.flops for p in model.layer_products(128, 1))
    stage = 2 * (3 * layer + 3.5 * model.attention_flops(128, 128, 1))
    assert simulate(ends, machine(**FREE)).compute == pytest.approx(8 * stage / RATE)


def test_every_split_that_is_tried_has_whole_layers():
    for model, sequence in shipped_models():
        tried = list(_splits(Job(model, 1024, sequence, BATCH // sequence), 8))
        assert tried
        assert all(one.model.layers % (one.pipeline * one.interleave) == 0 for one in tried)


def test_sends_overlap_only_between_interleaved_parts():
    tried = list(_splits(Job(LLAMA, 1024, 4096, 1024), 8))
    assert {one.interleave > 1 for one in tried} == {False, True}
    assert all(("pipeline" in one.overlap) == (one.interleave > 1) for one in tried)


def test_sharded_parameters_leave_one_gradient_whole():
    few, many = (
        needed_bytes(job(gpus=4, batch=4, sharding="full", gradient_bytes=size)) for size in (2, 4)
    )
    layer = MODEL.layer_parameters
    assert many - few == pytest.approx(2 * (job().stage_parameters / 4 + layer))


def test_a_batch_of_broken_sequences_is_refused():
    for batch in (1, 2048, 4097):
        with pytest.raises(ReportError, match="--batch: must be a multiple of 4096 tokens"):
            plans(machine(), shipped_models(), (1,), batch)
