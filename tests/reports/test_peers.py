"""Other programs beside ours, with stand-ins for all of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpubench_reports.commands.command_line import main
from gpubench_reports.comparisons.peers import answers
from gpubench_reports.comparisons.peers import running as peers
from gpubench_reports.results.reader import read

from .factory import make_context, make_row

SAMPLES = Path(__file__).parent.parent / "data" / "imports"
# A copy at 4.3 TB/s, as whatever row is asked for: our program is run once a question.
OURS = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in
    --benchmark_out=*) cp "{document}" "${{argument#*=}}" ;;
  esac
done
"""
# `-c` asks whether there is PyTorch; else the last argument is the file to write.
PYTHON = """#!/bin/sh
[ "$1" = -c ] && exit {has_torch}
for argument in "$@"; do :; done
cp "{document}" "$argument"
"""
# Compiles what prints gpu-stream's table.
NVCC = """#!/bin/sh
for argument in "$@"; do :; done
printf '#!/bin/sh\\ncat "{table}"\\n' >"$argument"
chmod +x "$argument"
"""


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    """here(has_torch=True, gpus=1) -> Settings"""

    def make(has_torch: bool = True, gpus: int = 1) -> peers.Settings:
        rows = [
            make_row("stream/copy/dtype:fp32/bytes:16/unroll:4", useful_bytes_per_second=4.3e12),
            make_row("stream/copy/dtype:fp32/bytes:4/unroll:1", useful_bytes_per_second=9e12),
        ]
        ours = tmp_path / "ours.json"
        ours.write_text(json.dumps({"context": make_context(), "benchmarks": rows}))
        theirs = tmp_path / "theirs.json"
        copy = make_row("pytorch/copy/size:268435456", useful_bytes_per_second=4.0e12)
        lost = {k: v for k, v in make_row("pytorch/attention/path:x").items() if "time" not in k}
        lost |= {"skipped": True, "skip_reason": "no kernel"}
        theirs.write_text(json.dumps({"context": make_context(), "benchmarks": [copy, lost]}))
        smi = "\\n".join(["9.0"] * gpus)
        executable(tmp_path / "bin/nvidia-smi", f"#!/bin/sh\nprintf '{smi}\\n'\n")
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        (tmp_path / "sources/gpu-benches/gpu-stream").mkdir(parents=True)
        table = SAMPLES / "gpu-stream.txt"
        return peers.Settings(
            executable(tmp_path / "gpubench", OURS.format(document=ours)),
            tmp_path / "out",
            tmp_path / "sources",
            str(
                executable(
                    tmp_path / "python",
                    PYTHON.format(document=theirs, has_torch=int(not has_torch)),
                )
            ),
            str(executable(tmp_path / "nvcc", NVCC.format(table=table))),
            "h200-sxm",
            runs=2,
        )

    return make


def test_what_is_there_is_run_and_what_is_not_is_named(here):
    settings = here()
    skipped = peers.run_all(settings)
    assert skipped["BabelStream"] == f"{settings.sources} holds no BabelStream"
    assert skipped["nccl-tests"] == "needs two GPUs"
    assert not {"pytorch", "gpu-benches"} & set(skipped)
    found = {(c.what.name, c.theirs.program): c for c in answers.compare(settings.out)}
    copy = found["copy", "pytorch"]
    # By the rows that the question names: 4 bytes per lane are not our copy.
    assert copy.ratio == pytest.approx(4.3 / 4.0)
    assert (copy.theirs.runs, copy.theirs.width, copy.theirs.seconds) == (2, 0, 0)
    # The best of its rows; of ours there is none in this file.
    triad = found["triad", "gpu-benches"]
    assert triad.theirs.value == pytest.approx(3.5e12)
    assert (triad.ours, triad.ratio) == (None, None)
    assert not any(what == "attention" for what, _ in found)


def test_attention_is_compared_at_one_shape(write, tmp_path):
    shapes = ((16384, 0, 6e14), (16384, 1, 5e14), (4096, 0, 7e14))
    ours = [
        make_row(f"attention/tiled/seq:{seq}/head_dim:128/causal:{causal}", flops_per_second=rate)
        for seq, causal, rate in shapes
    ]
    theirs = [
        make_row(f"pytorch/attention/path:{path}/seq:16384/head_dim:128", flops_per_second=rate)
        for path, rate in (("flash_attention", 4e14), ("cudnn_attention", 8e14))
    ]
    for name, rows in (("gpubench-attention", ours), ("pytorch", theirs)):
        write({"context": make_context(), "benchmarks": rows}, f"{name}-1.json")
    (tmp_path / "seconds.json").write_text('{"gpubench-attention-1": 1, "pytorch-1": 1}')
    (found,) = [c for c in answers.compare(tmp_path) if c.what.name == "attention"]
    assert found.ratio == pytest.approx(6 / 8)


def test_own_matmul_is_the_best_of_one_sm_and_of_pairs(write, tmp_path):
    def row(name, rate):
        return make_row(name, flops_per_second=rate)

    ours = [
        row(f"gemm_ladder/tcgen05{pair}/dtype:bf16/n:4096", rate)
        for pair, rate in (("", 1.5e15), ("_pair", 1.6e15))
    ]
    theirs = [row("pytorch/matmul/dtype:bf16/n:4096", 2e15)]
    for name, rows in (("gpubench-matmul-bf16-own-kernel", ours), ("pytorch", theirs)):
        write({"context": make_context(), "benchmarks": rows}, f"{name}-1.json")
    (tmp_path / "seconds.json").write_text(
        '{"gpubench-matmul-bf16-own-kernel-1": 1, "pytorch-1": 1}'
    )
    (found,) = [c for c in answers.compare(tmp_path) if c.what.name == "matmul bf16, own kernel"]
    assert found.ratio == pytest.approx(0.8)


def test_runs_that_are_there_are_not_repeated(here):
    settings = here()
    peers.run_all(settings)
    settings.program.write_text("#!/bin/sh\nexit 7\n")
    assert not any(name.startswith("gpubench") for name in peers.run_all(settings))


def test_without_pytorch_or_sources_it_says_so(here):
    settings = here(has_torch=False)
    bare = peers.Settings(settings.program, settings.out, None, settings.python, settings.nvcc)
    skipped = peers.run_all(bare)
    assert "no PyTorch that sees a GPU" in skipped["pytorch"]
    assert skipped["mixbench"] == "no folder of sources was given"


def test_a_build_that_fails_gives_its_reason(here):
    settings = here()
    Path(settings.nvcc).write_text("#!/bin/sh\necho 'a.cu(3): error: no such thing'\nexit 2\n")
    assert peers.run_all(settings)["gpu-benches"] == (
        "does not build: exit code 2: a.cu(3): error: no such thing"
    )


def test_when_time_is_up_the_rest_is_named(here):
    settings = here()
    late = peers.Settings(**{**vars(settings), "seconds": 0.0})
    assert "run it again" in peers.run_all(late)["time"]


def test_seconds_grow_with_the_square_of_the_width(write, tmp_path):
    for run, rate in enumerate((1.00e12, 1.02e12, 0.98e12), start=1):
        row = make_row("stream/triad/dtype:fp64/bytes:8/unroll:1", useful_bytes_per_second=rate)
        write({"context": make_context(), "benchmarks": [row]}, f"BabelStream-{run}.json")
    (tmp_path / "seconds.json").write_text(json.dumps({f"BabelStream-{n}": 2 for n in (1, 2, 3)}))
    (found,) = answers.compare(tmp_path)
    assert found.theirs.width == pytest.approx(0.02)
    assert found.theirs.seconds == pytest.approx(6 * (0.02 / 0.005) ** 2)


def test_the_command_runs_and_prints(here, capsys):
    settings = here()
    arguments = [
        "peers",
        str(settings.out),
        f"--program={settings.program}",
        "--runs=1",
        f"--python={settings.python}",
    ]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "skipped BabelStream: no folder of sources was given" in printed
    (line,) = [line for line in printed.splitlines() if line.strip().startswith("copy")]
    assert "1.075" in line
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["skipped"]["BabelStream"] == "no folder of sources was given"
    assert next(a for a in found["answers"] if a["what"] == "copy")["ratio"] == pytest.approx(1.075)
    assert main(["peers", str(settings.out / "nothing")]) == 2


def test_a_program_that_writes_nothing_is_named_with_the_file(here):
    settings = here()
    peers.run_all(settings)
    settings.program.write_text("#!/bin/sh\n")
    (settings.out / "seconds.json").unlink()
    # What lies there of an earlier run is not this one's.
    why = peers.run_all(settings)["gpubench-copy"]
    assert why == f"{settings.program} ended well, but wrote no gpubench-copy-1.json"


def test_a_result_that_is_broken_is_named_with_the_file(here):
    settings = here()
    (settings.program.parent / "ours.json").write_text("{")
    assert "gpubench-copy-1.json: " in peers.run_all(settings)["gpubench-copy"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "--program=nofile"], "nofile: no such program"),
        (["new", "--program=file.json"], "file.json: is no program to run"),
        (["new", "--program=/bin/true", "--sources=nofolder"], "nofolder: no such folder"),
        (["folder", "--sources=file.json"], "file.json: not a folder"),
        (["new", "--program=/bin/true", "--runs=0"], "--runs 0: takes a whole number from 1"),
        (["folder", "--seconds=-1"], "--seconds -1: takes 0 to"),
        (["folder", "--seconds=nan"], "--seconds nan: takes 0 to"),
        (["new"], "new: no such folder"),
        (["file.json"], "file.json: not a folder"),
        (["file.json", "--program=/bin/true"], "file.json: not a folder"),
        (["folder"], "folder: holds no runs of other programs"),
    ],
)
def test_mistakes_are_one_line_and_2(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.json").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/seconds.json").write_text("[1]")
    assert main(["peers", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert words in line
    assert not (tmp_path / "new").exists()


def test_a_program_here_needs_no_path(here, monkeypatch):
    settings = here()
    monkeypatch.chdir(settings.program.parent)
    named = peers.Settings(**{**vars(settings), "program": Path("gpubench")})
    assert not any(name.startswith("gpubench") for name in peers.run_all(named))


# --- torch_peer.py, under a torch that only counts ------------------------------------------------

TORCH = """
class Event:
    def __init__(self, enable_timing): pass
    def record(self): pass
    def synchronize(self): pass
    def elapsed_time(self, other): return 2.0  # ms, however many runs
class cuda:
    Event = Event
    @staticmethod
    def get_device_name(): return "NVIDIA H200"
class Tensor:
    T = property(lambda self: self)
    def copy_(self, other): return self
    def to(self, dtype): return self
    def __matmul__(self, other): return self
class version:
    cuda = "13.0"
class inference_mode:
    def __enter__(self): pass
    def __exit__(self, *rest): pass
class functional:
    @staticmethod
    def scaled_dot_product_attention(q, k, v): raise RuntimeError("No available kernel.\\nmore")
class nn:
    functional = functional
def randn(*shape, **options): return Tensor()
def empty_like(x): return x
def ones(*shape, **options): return Tensor()
def manual_seed(seed): pass
bfloat16, float8_e4m3fn, __version__ = "bf16", "fp8", "2.11.0"
"""
ATTENTION = """
import contextlib
class SDPBackend:
    FLASH_ATTENTION = EFFICIENT_ATTENTION = 1  # an old one: no cuDNN
def sdpa_kernel(backend): return contextlib.nullcontext()
"""


def test_what_pytorch_cannot_do_is_a_skipped_row(tmp_path):
    package = tmp_path / "torch"
    (package / "nn").mkdir(parents=True)
    (package / "__init__.py").write_text(TORCH)
    # torch.nn.attention is imported as a module; torch.nn itself stays the class above.
    (package / "nn/__init__.py").write_text("from torch import functional\n")
    (package / "nn/attention.py").write_text(ATTENTION)
    out = tmp_path / "out.json"
    script = Path(peers.__file__).with_name("torch_peer.py")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, script, out], env=environment, check=True, timeout=60)
    result = read(out)
    assert result.context.imported_from == "PyTorch 2.11.0"
    rows = result.rows.set_index(result.rows["name"].str.split("/").str[:3].str.join("/"))
    assert rows.loc["pytorch/copy/size:268435456", "status"] == "ok"
    assert rows.loc["pytorch/matmul/dtype:bf16", "flops_per_second"] > 0
    assert rows.loc["pytorch/matmul/dtype:fp8", "status"] == "skipped"
    flash = rows.loc["pytorch/attention/path:flash_attention"]
    assert (flash["status"], flash["reason"]) == ("skipped", "No available kernel.")
    assert rows.loc["pytorch/attention/path:cudnn_attention", "status"] == "skipped"
