#include "harness/system/process_group.hpp"

#include <cstdlib>
#include <iostream>

#include "harness/system/error.hpp"
#include "harness/system/plain_text.hpp"

#ifdef GPUBENCH_MPI
#include <mpi.h>
#endif

namespace gpubench {
namespace {

// What Open MPI, MPICH's launchers and Slurm's PMIx set for a process that is one of several.
constexpr const char* launched_by[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};

std::unique_ptr<ProcessGroup> processes = std::make_unique<ProcessGroup>();

bool has_launcher() {
  for (const char* name : launched_by) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

bool was_launched = false;

#ifdef GPUBENCH_MPI

class MpiProcessGroup final : public ProcessGroup {
 public:
  MpiProcessGroup() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm_rank(MPI_COMM_WORLD, &index_);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, index_, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &index_on_host_);
    MPI_Comm_free(&host);
    // A program that this one starts is none of them.
    for (const char* name : launched_by) unsetenv(name);
  }
  ~MpiProcessGroup() override { MPI_Finalize(); }

  int count() const override { return count_; }
  int index() const override { return index_; }
  int index_on_host() const override { return index_on_host_; }
  double greatest(double mine) override {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
  }
  void broadcast(void* bytes, std::size_t size) override {
    MPI_Bcast(bytes, static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  std::vector<std::byte> gather(const std::vector<std::byte>& mine) override {
    std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(count_));
    const auto size = static_cast<int>(mine.size());
    MPI_Allgather(mine.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, MPI_COMM_WORLD);
    return all;
  }
  void abort(const std::string& line) override {
    std::cerr << "gpubench: process " << index_ << ": " << plain_text(line) << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();  // not reached
  }

 private:
  int count_ = 1, index_ = 0, index_on_host_ = 0;
};

std::unique_ptr<ProcessGroup> join() { return std::make_unique<MpiProcessGroup>(); }

#else

std::unique_ptr<ProcessGroup> join() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}) {
    const char* const size = std::getenv(name);
    if (size == nullptr || std::string(size) == "1") continue;
    throw UsageError("started as one of " + std::string(size) +
                     " processes, but built without MPI: install libopenmpi-dev and build again");
  }
  return std::make_unique<ProcessGroup>();
}

#endif

}  // namespace

ProcessGroup& ProcessGroup::all() { return *processes; }

void ProcessGroup::start() {
  was_launched = has_launcher();
  if (was_launched) processes = join();
}

bool ProcessGroup::is_launched() { return was_launched; }

void ProcessGroup::abort(const std::string& line) {
  std::cerr << "gpubench: " << plain_text(line) << std::endl;
  std::exit(1);
}

}  // namespace gpubench
