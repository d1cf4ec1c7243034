"""Where the tests of the PTX engine find what nvcc built."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))
# The kernel tests whose PTX is built for every run (tests/kernels/CMakeLists.txt).
OF_TCGEN05 = "*.*Tcgen05*:*.*TensorMemory"
OF_BLOCK_SCALES = "*.*BlockScales*"
TELLING = "AsyncCopy*:Atomics*:BankConflicts*:GemmLadder*:Reduction*"

# A device of each architecture beside 90a for which the kernels' instructions differ.
DEVICES = ("turing", "a100-80-sxm", "l40s", "b200", "rtx-pro")
# Those for which there is no device file: like which one they are, and what they have instead.
UNKNOWN: dict[str, tuple[str, list[int], dict[str, float | None]]] = {
    "turing": (
        "l40s",
        [7, 5],
        {
            "max_threads_per_sm": 1024,
            "max_blocks_per_sm": 16,
            "shared_bytes_per_sm": 65536,
            "shared_bytes_per_block_optin": 65536,
            "shared_reserved_bytes_per_block": 0,
            "bf16x2_flops_per_clock_per_sm": None,
            **dict.fromkeys(f"tensor_{t}_flops_per_clock_per_sm" for t in ("bf16", "tf32", "fp8")),
            **dict.fromkeys(f"tensor_{t}_flops_per_second" for t in ("bf16", "tf32", "fp8")),
        },
    ),
    "rtx-pro": (
        "b200",
        [12, 0],
        {"shared_bytes_per_sm": 102400, "shared_bytes_per_block_optin": 101376},
    ),
}


@pytest.fixture
def device(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a device, or the path of a file for one that the suite does not know."""
    name: str = request.param
    if name not in UNKNOWN:
        return name
    like, capability, instead = UNKNOWN[name]
    spec = json.loads((ROOT / f"harness/devices/{like}.json").read_text())
    spec |= {"name": name, "title": name, "matches": [], "compute_capability": capability}
    for figure, value in instead.items():
        if value is None:
            del spec["figures"][figure]
        else:
            spec["figures"][figure]["value"] = value
    for clock in spec.get("peak_clocks", []):
        clock["figures"] = [figure for figure in clock["figures"] if figure in spec["figures"]]
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(spec))
    return str(path)


on_every_architecture = pytest.mark.parametrize("device", DEVICES, indirect=True)
