"""The order of the concepts on the page."""

from gpubench_reports.charts.render import chart_names
from gpubench_reports.results.reader import ResultFile

# What most people come for, then the rest as the file has it.
FIRST = (
    "coalescing",
    "bank_conflicts",
    "occupancy",
    "tile_alignment",
    "gemm_ladder",
    "host_sync",
    "stream_overlap",
)
# Between GPUs: last, where there is one only.
_COMMUNICATION = ("all_reduce", "topology")


def in_order(result: ResultFile) -> dict[str, str]:
    """The file's concepts and the stems of their charts' names, those that people come for first;
    communication between GPUs last unless several were measured."""
    last = () if _has_several_gpus(result) else _COMMUNICATION
    found = list(dict.fromkeys(row["concept"] for row in result.records))
    first = [concept for concept in FIRST if concept in found]
    middle = [concept for concept in found if concept not in (*first, *last)]
    stems = chart_names(found)
    ordered = (*first, *middle, *(concept for concept in last if concept in found))
    return {concept: stems[concept] for concept in ordered}


def _has_several_gpus(result: ResultFile) -> bool:
    """Whether a row between two GPUs was measured: a model has as many as it is asked for."""
    if result.context.modelled:
        return False
    pairs = [row["arguments"] for row in result.timed if "from" in row["arguments"]]
    return any(arguments["from"] != arguments.get("to") for arguments in pairs)
