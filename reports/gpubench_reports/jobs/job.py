"""A job: a model, how many GPUs train it, and how its work is split over them."""

from dataclasses import dataclass
from typing import Literal

from gpubench_reports.jobs.model import Model

GPUS = (1, 8, 64, 1024)
BATCH = 1 << 22  # tokens of a step
# The rows that a job is simulated from, as a filter for gpubench.
FILTER = (
    "^(gemm_ladder/library/dtype:bf16|stream/copy/dtype:fp32/bytes:16|attention/.*causal:1"
    "|all_reduce/(all_reduce|reduce_scatter|all_gather)/dtype:fp32/place:out)"
)
Recompute = Literal["none", "selective", "full"]
Attention = Literal["tiled", "standard"]
Sharding = Literal["none", "optimizer", "full"]


@dataclass(frozen=True)
class Job:
    """`batch` and `microbatch` are in sequences; `batch` is that of all GPUs together.

    Sharding over the data-parallel GPUs: of nothing, of the optimizer's state (ZeRO 1), or of all
    parameters, which every microbatch gathers again (FSDP, ZeRO 3). `overlap` names the kinds of
    communication (data, tensor, pipeline) that run while products do. With `short_ends`, the first
    and the last part have one layer less than all others, as the embedding and the output layer
    take its place.
    """

    model: Model
    gpus: int
    sequence: int
    batch: int
    microbatch: int = 1
    tensor: int = 1
    pipeline: int = 1
    interleave: int = 1  # parts of the model per pipeline stage
    recompute: Recompute = "none"
    attention: Attention = "tiled"
    sharding: Sharding = "none"
    overlap: frozenset[str] = frozenset({"data"})
    sequence_parallel: bool = False
    gradient_bytes: int = 4
    short_ends: bool = False

    @property
    def data(self) -> int:
        return self.gpus // (self.tensor * self.pipeline)

    @property
    def microbatches(self) -> int:
        """Microbatches of each pipeline in one step."""
        return self.batch // (self.data * self.microbatch)

    @property
    def tokens(self) -> int:
        """Tokens per step, on all GPUs."""
        return self.batch * self.sequence

    @property
    def possible(self) -> bool:
        """Whether everything that is split splits evenly, layers into whole ones."""
        model = self.model
        places = model.layers + 2 * self.short_ends
        return (
            self.data >= 1
            and self.gpus == self.data * self.tensor * self.pipeline
            and self.batch == self.microbatches * self.data * self.microbatch
            and self.microbatches >= 1
            and model.heads % self.tensor == 0
            and places % (self.pipeline * self.interleave) == 0
            and (self.interleave == 1 or self.microbatches % self.pipeline == 0)
        )

    @property
    def stage_layers(self) -> int:
        """Layers of the fullest pipeline stage."""
        return -(-self.model.layers // self.pipeline)

    @property
    def stage_parameters(self) -> float:
        """Parameters on one GPU of the fullest stage: the last also has the output layer."""
        model = self.model
        table = model.hidden * model.vocabulary
        rest = (
            table if self.pipeline > 1 else model.parameters - model.layers * model.layer_parameters
        )
        return (self.stage_layers * model.layer_parameters + rest) / self.tensor
