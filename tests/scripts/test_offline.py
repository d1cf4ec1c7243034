"""What scripts/bundle-offline brings is enough to build and to draw, where nothing else is there.

A namespace without a network, in which the distribution's copies of the bundled libraries are
covered up, stands in for the other machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reports.factory import make_document  # what the reports' own tests draw

pytestmark = pytest.mark.release  # brings the libraries over the network, to build from them

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("GPUBENCH_BUILD_DIR", ROOT / "build"))

# Hidden beneath empty folders, with what find_package() knows of them.
COVERED = [
    "/usr/include/benchmark",
    "/usr/include/nlohmann",
    "/usr/include/gtest",
    "/usr/include/gmock",
    "/usr/share/cmake/nlohmann_json",
    "/usr/lib/x86_64-linux-gnu/cmake",
    "/usr/lib/aarch64-linux-gnu/cmake",
]
COVER = f"""
set -eu
for folder in {" ".join(COVERED)}; do
  if [ -d "$folder" ]; then mount -t tmpfs none "$folder"; fi
done
cd "$1"
exec bash -c "$2" isolated
"""


def isolated(tree: Path, script: str, *pythons: Path) -> subprocess.CompletedProcess[str]:
    """Runs `script` in `tree` with no network; `pythons` are folders that come first in PATH."""
    path = ":".join([*(str(p) for p in pythons), "/usr/bin", "/bin"])
    environment = {"PATH": path, "HOME": str(tree), "LC_ALL": "C.UTF-8"}
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "--net"]
    return subprocess.run(
        [*namespace, "sh", "-c", COVER, "sh", str(tree), script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="module")
def bundle() -> Path:
    """.offline/ if there is one; else one made once for this build folder."""
    if (ROOT / ".offline").exists():
        return ROOT / ".offline"
    made = BUILD / "offline-bundle"
    sources = [ROOT / "scripts/bundle-offline", ROOT / "reports/requirements.txt"]
    if made.exists() and all(made.stat().st_mtime >= s.stat().st_mtime for s in sources):
        return made
    if not BUILD.is_dir():
        pytest.skip(f"there is no build folder {BUILD} for the bundle")
    done = subprocess.run(
        [ROOT / "scripts/bundle-offline", made],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()[-1]
        assert "apt-get" in why or "pip download" in why, done.stderr
        pytest.skip(f"no bundle without a network: {why}")
    return made


@pytest.fixture(scope="module")
def tree(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with its bundle."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    tree = tmp_path_factory.mktemp("offline") / "gpu bench"
    git = ["git", "-c", f"safe.directory={ROOT}"]
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    shutil.copytree(bundle, tree / ".offline")
    done = isolated(tree, "! [ -e /usr/include/nlohmann/json.hpp ]")
    if done.returncode != 0:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    return tree


def test_the_bundle_is_small(bundle: Path) -> None:
    size = sum(f.stat().st_size for f in bundle.rglob("*") if f.is_file())
    assert size < 32 * 2**20


def test_what_needs_the_libraries_builds_from_the_bundle(tree: Path) -> None:
    done = isolated(
        tree,
        """set -e; program=offline; source scripts/lib.sh
        ensure_packages g++ cmake ninja-build git libbenchmark-dev nlohmann-json3-dev libgtest-dev
        configure model-only "$root/build-model-only"
        # The first library compiles as fast as can be; of the second, one file has all headers.
        cmake -D CMAKE_BUILD_TYPE=Debug -D CMAKE_CXX_FLAGS_DEBUG= build-model-only >/dev/null
        cd build-model-only
        ninja benchmark harness/devices/CMakeFiles/gpubench_devices.dir/derive.cpp.o""",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for library in ("benchmark", "nlohmann_json", "GTest"):
        version = (tree / ".offline" / library / "VERSION").read_text().strip()
        assert f"using {library} {version}, built from .offline/{library}" in done.stderr


def test_without_the_bundle_the_missing_library_is_named(tree: Path, tmp_path: Path) -> None:
    (tree / ".offline").rename(tree / "put-aside")
    try:
        done = isolated(tree, f"cmake -S . -B '{tmp_path}' -DGPUBENCH_CUDA=OFF")
    finally:
        (tree / "put-aside").rename(tree / ".offline")
    assert done.returncode != 0
    assert "benchmark was not found" in done.stderr


def test_charts_are_drawn_with_the_machines_own_numpy(tree: Path, tmp_path: Path) -> None:
    # A Python with matplotlib, pandas and all that these need, but nothing else of ours.
    other = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    site = next(other.glob("lib/*/site-packages"))
    lacking = ("textalloc", "tqdm", "rich", "markdown_it", "mdurl", "pygments", "__editable__")
    for package in next(Path(sys.prefix).glob("lib/*/site-packages")).iterdir():
        if not package.name.lower().startswith(lacking) and package.suffix != ".pth":
            (site / package.name).symlink_to(package)
    result = tmp_path / "run.json"
    result.write_text(json.dumps(make_document()))
    done = isolated(
        tree,
        f"""set -e; program=offline; source scripts/lib.sh
        ! python3 -c 'import textalloc' 2>/dev/null
        ensure_python "$root/reports/requirements.txt"
        .venv/bin/gpubench-report render '{result}'""",
        other / "bin",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "beside this machine's numpy " in done.stderr
    assert any(line.endswith(".png") for line in done.stdout.splitlines()), done.stdout
