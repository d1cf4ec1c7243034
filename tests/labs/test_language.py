"""What the checker lets a solution call can be called, whatever the compiler makes of it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from re import _constants as kinds
from re import _parser as parser
from typing import Any

import pytest
from checker import policy, source
from checker.build import compile_solution

from .conftest import BUILD, LABS, ROOT

LAB = LABS[0]
INCLUDE = ROOT / "harness" / "platform" / "model" / "include"

# Calls each name with as many values as it takes, of each type that it takes: variables, and
# constants, which the compiler puts into memory.
HEAD = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <type_traits>
template <class T> __device__ void keep(char*& out, T value) {
  memcpy(out, &value, sizeof(T)), out += sizeof(T);
}
template <class T, class F> __device__ void use(F f, char* out, const char* in) {
  T a, b, c, d, e;
  memcpy(static_cast<void*>(&a), in, sizeof(T)), memcpy(static_cast<void*>(&b), in + 8, sizeof(T));
  memcpy(static_cast<void*>(&c), in + 16, sizeof(T));
  const unsigned u = in[0], v = in[1];
  f(out, a), f(out, a, b), f(out, a, b, c), f(out, a, int(u)), f(out, a, &d, &e);
  f(out, &a);
  f(out, u, a, v), f(out, u, a);
  if constexpr (std::is_arithmetic_v<T>) {
    f(out, a, T(1)), f(out, T(1), a);
    keep(out, a > T(7) ? a + T(1) : T(1));
  }
}
"""
USE = """
struct Use_NAME {
  template <class... A> __device__ void operator()(char*& out, A... a) const {
    if constexpr (requires { NAME(a...); }) {
      if constexpr (std::is_void_v<decltype(NAME(a...))>) NAME(a...);
      else keep(out, NAME(a...));
    }
  }
};
__global__ void all_of_NAME(char* out, const char* in) {
  Use_NAME()(out);
  USES
}
"""
DIRECTED = ("fadd", "fsub", "fmul", "fmaf", "fma")
BF16 = ("__nv_bfloat16", "__nv_bfloat162")


def spelled(tree: Any) -> list[str]:
    """All words of a regular expression that has no end of none of them."""
    words = [""]
    for kind, of in tree:
        if kind is kinds.LITERAL:
            more = [chr(of)]
        elif kind is kinds.SUBPATTERN:
            more = spelled(of[3])
        elif kind is kinds.BRANCH:
            more = [word for branch in of[1] for word in spelled(branch)]
        elif kind is kinds.IN:
            more = [chr(one) for _, one in of]
        else:
            assert kind is kinds.MAX_REPEAT, kind
            assert of[1] == 1, "without an end"
            more = ["", *spelled(of[2])]
        words = [word + end for word in words for end in more]
    return words


def of_libm() -> list[str]:
    return sorted(set(spelled(parser.parse(policy.OF_LIBM))))


def of_cuda(*headers: str) -> list[str]:
    """The functions that these headers of the model's have, as far as solutions may name them."""
    text = "\n".join((INCLUDE / header).read_text() for header in headers)
    names = set(re.findall(r"\b__\w+(?=[(,)])", text))
    called = {name for name in names if source.CUDAS.fullmatch(name)}
    return sorted(called - {"__launch_bounds__", "__align__", "__syncthreads", "__trap", "__half2"})


# Names of g++, and not of CUDA.
OF_GCC = re.compile(r"__(builtin_\w+|attribute__|constinit|int128|SANITIZE_THREAD__)")


@pytest.mark.parametrize(
    "header",
    [
        *("device_language.h", "integer_functions.h", "special_functions.h", "float16.h"),
        *("cuda_fp16.h", "cuda_bf16.h", "cuda_pipeline_primitives.h"),
    ],
)
def test_a_solution_may_name_all_that_the_model_has_of_cuda(header: str) -> None:
    text = re.sub(r"//.*", "", (INCLUDE / header).read_text())
    names = {name for name in re.findall(r"\b__\w+", text) if not OF_GCC.fullmatch(name)}
    assert len(names) > 3
    assert {name for name in names if not source.CUDAS.fullmatch(name)} == set()


def uses(names: list[str], types: tuple[str, ...]) -> str:
    text = HEAD
    for name in names:
        calls = " ".join(f"use<{one}>(Use_{name}(), out, in);" for one in types)
        text += USE.replace("NAME", name).replace("USES", calls)
    return text


@pytest.mark.parametrize(
    ("names", "types", "least"),
    [
        pytest.param(of_libm(), ("float", "double", "int"), 90, marks=pytest.mark.release),
        (of_cuda("device_language.h", "integer_functions.h"), ("float", "int", "unsigned"), 25),
        (of_cuda("special_functions.h"), ("float",), 10),
        ([f"__{f}_r{way}" for f in DIRECTED for way in "zud"], ("float", "double"), 15),
        (of_cuda("float16.h"), ("__half", "__half2"), 40),
        pytest.param(of_cuda("float16.h"), BF16, 40, marks=pytest.mark.release),
        pytest.param(
            *(of_cuda("cuda_fp16.h"), ("float", "unsigned short", "__half", "__half2"), 20),
            marks=pytest.mark.release,
        ),
        pytest.param(
            *(of_cuda("cuda_bf16.h"), ("float", "unsigned short", *BF16), 20),
            marks=pytest.mark.release,
        ),
    ],
    ids=["libm", "language", "special", "directed", "fp16", "bf16", "of fp16", "of bf16"],
)
def test_no_function_that_may_be_called_is_refused(
    names: list[str], types: tuple[str, ...], least: int, prepared: object, tmp_path: Path
) -> None:
    assert len(names) >= least
    solution = tmp_path / "solution.cuh"
    text = LAB.reference.read_text()
    solution.write_text(text.replace("#include <cuda_runtime.h>", uses(names, types)))
    made = tmp_path / "made"
    made.mkdir()
    compile_solution(LAB, BUILD, solution, made, look=partial(policy.look_at, LAB))
