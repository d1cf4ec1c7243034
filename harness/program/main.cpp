#include "harness/program/program.hpp"
#include "harness/system/cuda_environment.hpp"
#include "harness/system/exit_code.hpp"
#include "harness/system/standard_streams.hpp"

int main(int argc, char** argv) {
  gpubench::open_standard_streams();
  return gpubench::exit_code_of([&] {
    gpubench::ask_for_connections();  // MPI too may start CUDA
    return gpubench::run_program(argc, argv);
  });
}
