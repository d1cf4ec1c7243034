#include "harness/program/program.hpp"
#include "harness/system/cuda_environment.hpp"

int main(int argc, char** argv) {
  return gpubench::exit_code_of([&] {
    gpubench::ask_for_connections();  // MPI too may start CUDA
    return gpubench::run_program(argc, argv);
  });
}
