"""The first question of a night: is the machine fit to be measured?"""

import os
import re
import shutil
import subprocess
from typing import Any

from gpubench_reports.nightly.rule.settings import Settings

_FIELDS = {
    "driver": "driver_version",
    "temperature_c": "temperature.gpu",
    "sm_clock_mhz": "clocks.sm",
    "power_w": "power.draw",
    "utilisation_percent": "utilization.gpu",
    "uncorrected_errors": "ecc.errors.uncorrected.volatile.total",
    "clock_reasons": "clocks_throttle_reasons.active",
}
_IDENTITY = {
    "uuid": "uuid",
    "serial": "serial",
    "vbios": "vbios_version",
    "ecc": "ecc.mode.current",
}
_TEXTS = ("driver", "uuid", "serial", "vbios")
# NVML's clock-event reasons: slow-down by hardware, thermal by software or hardware, power brake.
_BAD_REASONS = 0x8 | 0x20 | 0x40 | 0x80


def gpu_of(device: str) -> int:
    """The GPU's number in `--device=cuda:N`."""
    number = device.partition(":")[2]
    return int(number) if number.isdecimal() else 0


def id_of(device: str) -> str:
    """What nvidia-smi calls that GPU: it does not look at CUDA_VISIBLE_DEVICES, CUDA does."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    number = gpu_of(device)
    return visible[number].strip() if visible[0] and number < len(visible) else str(number)


def look(device: str) -> dict[str, Any]:
    """What nvidia-smi says of the GPU; empty where there is no nvidia-smi, or it cannot tell."""
    if not device.startswith("cuda") or shutil.which("nvidia-smi") is None:
        return {}
    # Asked for apart: a driver that does not know one of them says nothing at all.
    return _ask(device, _FIELDS) | _ask(device, _IDENTITY)


def _ask(device: str, fields: dict[str, str]) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [
                "nvidia-smi",
                f"--id={id_of(device)}",
                f"--query-gpu={','.join(fields.values())}",
                "--format=csv,noheader,nounits",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    cells = [cell.strip() for cell in done.stdout.strip().split(",")]
    if done.returncode != 0 or len(cells) != len(fields):
        return {}
    found: dict[str, Any] = {}
    for key, cell in zip(fields, cells, strict=True):
        if key in _TEXTS:
            if not cell.startswith("["):  # "[N/A]": the GPU does not say
                found[key] = cell
        elif key == "ecc":
            if cell in ("Enabled", "Disabled"):
                found[key] = cell == "Enabled"
        elif re.fullmatch(r"0x[0-9a-fA-F]+", cell):
            found[key] = int(cell, 16)
        elif re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", cell):
            found[key] = float(cell)
    return found


def harmed(seen: dict[str, Any]) -> str:
    """Why a night after which `look` says this is worth nothing; empty if it is."""
    errors = seen.get("uncorrected_errors", 0)
    return f"{errors:.0f} uncorrected memory errors" if errors > 0 else ""


def unfit(seen: dict[str, Any], settings: Settings) -> str:
    """Why a machine of which `look` says this cannot be measured now; empty if it can."""
    why = []
    if harmed(seen):
        why.append(harmed(seen))
    busy = seen.get("utilisation_percent", 0) / 100
    if busy > settings.max_utilisation:
        why.append(f"the GPU is {busy:.0%} busy with something else")
    if seen.get("temperature_c", 0) > settings.max_temperature_c:
        why.append(f"the GPU is at {seen['temperature_c']:.0f} degrees C before anything runs")
    if int(seen.get("clock_reasons", 0)) & _BAD_REASONS:
        why.append(f"the driver slows the clock already (reasons {seen['clock_reasons']:#x})")
    return "; ".join(why)
