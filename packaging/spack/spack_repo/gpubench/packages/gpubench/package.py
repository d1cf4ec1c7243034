"""gpubench for Spack 1.0 or newer, built from the checkout that this file is in.

spack repo add packaging/spack/spack_repo/gpubench && spack install gpubench
"""

from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Gpubench(CMakePackage, CudaPackage):
    """CUDA microbenchmarks, measured on a GPU or predicted without one."""

    git = Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("0.1.0", branch="main")

    variant("mpi", default=False, description="Rows of several processes")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("benchmark@1.7.1:")
    depends_on("nlohmann-json@3.11:")
    depends_on("mpi", when="+mpi")
    depends_on("binutils", type="run")  # addr2line, for the lines of kernels

    requires("%gcc@12:", msg="the emulator needs g++ 12 or newer")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("GPUBENCH_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("GPUBENCH_TESTS", False),
            self.define("GPUBENCH_ORIGIN", "the Spack package"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_MPI", self.spec.satisfies("~mpi")),
        ]
        architectures = self.spec.variants["cuda_arch"].value
        if self.spec.satisfies("+cuda") and architectures != ("none",):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return args
