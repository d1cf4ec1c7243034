#include <exception>
#include <iostream>

#include "harness/program/program.hpp"
#include "harness/system/cuda_environment.hpp"
#include "harness/system/error.hpp"
#include "harness/system/plain_text.hpp"

int main(int argc, char** argv) {
  try {
    gpubench::ask_for_connections();  // MPI too may start CUDA
    return gpubench::run_program(argc, argv);
  } catch (const gpubench::UsageError& error) {
    std::cerr << "gpubench: " << gpubench::plain_text(error.what()) << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "gpubench: " << gpubench::plain_text(error.what()) << '\n';
    return 1;
  }
}
