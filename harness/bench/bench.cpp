#include "harness/bench/bench.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/bench/row_end.hpp"
#include "harness/bench/row_keys.hpp"
#include "harness/cuda/stream.hpp"
#include "harness/devices/spelling.hpp"
#include "harness/statistics/statistics.hpp"

namespace gpubench {
namespace {

// Sets of buffers in cold mode, at most: a row whose set is so small that this many of them still
// fit in L2 pays for launches, not for memory.
constexpr std::size_t most_sets = 640;

// All sets together, of what L2 holds. A cache that replaces lines at random still has a fraction h
// of what came around, h = exp(-(1 - h) * this): 20 % at 2, less than 1 % at 5.
constexpr double rotation_over_l2 = 5;
// Further sets take no more of the memory that is free.
constexpr double most_of_free_memory = 0.25;

// A head start is so many bytes of this buffer, set once or more.
constexpr std::size_t head_start_bytes = std::size_t{256} << 20;

Headline headline_of(const Work& work) {
  if (work.headline) return *work.headline;
  if (work.flops > 0) return {"flops_per_second", work.integers ? integer_unit : flops_unit};
  if (work.items > 0) return {"items_per_second", "/s"};
  if (work.useful_bytes > 0) return {"useful_bytes_per_second", bytes_unit};
  return {"seconds", "s", true};
}

// What no run can amount to.
void check_amounts(const Work& work) {
  for (const auto& [name, amount] : {std::pair("useful_bytes", work.useful_bytes),
                                     {"moved_bytes", work.moved_bytes},
                                     {"flops", work.flops},
                                     {"items", work.items},
                                     {"law_per_request", work.law_per_request}}) {
    // Per nanosecond, that is the rate of 1e30 that readers of files accept.
    constexpr double most = 1e21;
    if (amount >= 0 && amount <= most) continue;
    throw std::logic_error(std::string("its work has ") + name + " = " + std::to_string(amount));
  }
  if (work.moved_bytes == 0 || work.useful_bytes <= work.moved_bytes) return;
  std::ostringstream text;
  text << "its work has " << work.useful_bytes << " useful bytes, more than the "
       << work.moved_bytes << " that are moved for them";
  throw std::logic_error(text.str());
}

Roofs equal_roofs() {
  Roofs all;
  for (const std::string_view name : roof_names()) all.emplace(name, 1);
  return all;
}

// Whether a law is of roofs, and none of them of the memory that L2 stands before, nor of L2.
bool is_independent_of_l2(const Law& law) {
  if (!law) return false;
  Roofs slow = equal_roofs(), fast = slow, other = slow;
  for (const char* name : {"dram", "l2"}) slow[name] = 1e-30, fast[name] = other[name] = 1e30;
  for (auto& [name, value] : other) value *= 2;
  return law(slow) == law(fast) && law(fast) != law(other);
}

// A law of a roof that this device lacks is none; one that no device has is a mistake.
void check_roofs_of(const Law& law) {
  try {
    law(equal_roofs());
  } catch (const std::out_of_range&) {
    const auto names = roof_names();
    throw std::logic_error("its law asks for a roof that no device has; there are " +
                           joined({names.begin(), names.end()}));
  }
}

}  // namespace

Row row_of(const Instance& instance) {
  Row row;
  row.name = instance.name;
  row.topic = instance.topic;
  row.kernel = instance.kernel;
  row.arguments = instance.arguments;
  row.axis_units = instance.axis_units;
  row.source = instance.source;
  return row;
}

Bench::Bench(const Instance& instance, Platform& platform, const BenchSettings& settings)
    : platform_(platform),
      settings_(settings),
      grids_(settings.grids),
      row_(row_of(instance)),
      memory_mark_(platform.memory_mark()) {
  platform_.expect_results(grids_);  // also of what prepares the row
}

std::int64_t Bench::integer(std::string_view name) const {
  for (const auto& [key, value] : row_.arguments) {
    if (key == name && std::holds_alternative<std::int64_t>(value)) {
      return std::get<std::int64_t>(value);
    }
  }
  throw std::logic_error(row_.name + " has no argument '" + std::string(name) + "'");
}

const std::string& Bench::axis(std::string_view name) const {
  for (const auto& [key, value] : row_.arguments) {
    if (key == name && std::holds_alternative<std::string>(value)) {
      return std::get<std::string>(value);
    }
  }
  throw std::logic_error(row_.name + " has no axis '" + std::string(name) + "'");
}

void Bench::skip(const std::string& reason) const { throw Skipped{reason}; }

void Bench::needs_capability(int major, const std::string& what) const {
  const auto [has, minor] = device().compute_capability();
  if (has >= major) return;
  skip(what + " needs compute capability " + std::to_string(major) + ".0, this device has " +
       std::to_string(has) + "." + std::to_string(minor));
}

void Bench::needs_shared_bytes(std::size_t bytes, const std::string& what) const {
  const int most = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  if (bytes <= static_cast<std::size_t>(most)) return;
  skip(what + " need " + std::to_string(bytes) + " bytes of shared memory, this device has " +
       std::to_string(most));
}

void Bench::note_compiled(cudaError_t error, const cudaFuncAttributes& attributes, bool required) {
  if (error == cudaErrorNotSupported) {
    if (!required) return;
    skip("not known how many registers nvcc gives this kernel (scripts/audit records it)");
  }
  CUDA_CHECK(error);
  note("registers", attributes.numRegs);
  note("local_bytes", static_cast<double>(attributes.localSizeBytes));
}

const GpuRanks& Bench::ranks(std::int64_t count, double head_start) {
  const int wanted = static_cast<int>(count), gpus = platform_.gpus();
  if (const std::string why = GpuRanks::why_not(wanted, gpus); !why.empty()) skip(why);
  ranks_ = std::make_unique<GpuRanks>(wanted, gpus);
  head_start_ = DeviceBuffer<char>(head_start_bytes);
  head_start_seconds_ = head_start;
  blocks_host_ = true;
  return *ranks_;
}

void Bench::check(std::function<std::string(bool only_written)> wrong) {
  checks_.push_back(std::move(wrong));
}

void Bench::on_host(std::span<std::byte> results) {
  std::memset(results.data(), poison_byte, results.size());
  host_results_.push_back(results);
}

// Before each run that is timed: the next buffers.
void Bench::begin_run() {
  turn_ = (turn_ + 1) % sets_;
  if (!poisons_host_) return;
  for (const std::span<std::byte> results : host_results_) {
    std::memset(results.data(), poison_byte, results.size());
  }
}

std::string Bench::results_file(const std::string& folder) const {
  std::string name = row_.name;
  std::ranges::replace(name, '/', '_');
  return folder + "/" + name;
}

void Bench::keep_results() const {
  const std::string path = results_file(settings_.kept_results);
  std::filesystem::remove(path);  // never what it leads to, if it is a link
  std::ofstream file(path, std::ios::binary);
  platform_.keep_memory(file, memory_mark_);
  for (const std::span<std::byte> results : host_results_) {
    file.write(reinterpret_cast<const char*>(results.data()),
               static_cast<std::streamsize>(results.size()));
  }
  if (!file.flush()) throw std::runtime_error("the results cannot be kept");
}

// Instead of a run: its results, as another process has left them.
void Bench::judge_results() {
  const std::string path = results_file(settings_.judged_results);
  std::ifstream file;
  // To open a pipe that somebody has put there would take for ever.
  if (is_regular_file(std::filesystem::symlink_status(path))) file.open(path, std::ios::binary);
  if (!file.is_open()) throw WrongResult{"no results of it were kept"};
  platform_.take_memory(file, memory_mark_);
  for (const std::span<std::byte> results : host_results_) {
    file.read(reinterpret_cast<char*>(results.data()),
              static_cast<std::streamsize>(results.size()));
  }
  if (!file || file.peek() != std::ifstream::traits_type::eof()) {
    throw WrongResult{"the results that were kept are those of another row"};
  }
  run_checks(grids_ == Grids::sampled);
  throw Judged{};
}

void Bench::each_set(std::function<void()> contents) {
  prepare([this, contents = std::move(contents)](std::size_t set) {
    turn_ = set;
    contents();
  });
}

OperandMemory Bench::memory(std::size_t elements, std::size_t size) {
  OperandMemory memory{std::make_shared<std::vector<DeviceBuffer<std::byte>>>(), &turn_};
  const std::size_t bytes = detail::checked_bytes(elements, size);
  add_to_sets(bytes, [sets = memory.sets, bytes] { sets->emplace_back(bytes); });
  return memory;
}

void Bench::add_to_sets(std::size_t bytes, std::function<void()> add) {
  add();
  set_bytes_ += bytes;
  add_set_.push_back(std::move(add));
}

void Bench::poison(const OperandMemory& memory) {
  prepare([memory](std::size_t set) {
    const DeviceBuffer<std::byte>& buffer = (*memory.sets)[set];
    if (buffer.size() > 0) buffer.set(poison_byte);
  });
}

void Bench::prepare(std::function<void(std::size_t set)> contents) {
  prepare_.push_back(std::move(contents));
}

void Bench::work(const Work& work) {
  check_amounts(work);
  if (work.law) check_roofs_of(work.law);
  const auto roofs = roof_names();
  if (!work.measures.empty() &&
      std::find(roofs.begin(), roofs.end(), work.measures) == roofs.end()) {
    throw std::logic_error("its work measures '" + work.measures + "', a roof that no device has");
  }
  work_ = work;
}

void Bench::note(const std::string& key, const std::string& words) {
  check_own_key(key);
  row_.words[key] = words;
}

void Bench::note(const std::string& key, double number) {
  check_own_key(key);
  row_.counters[key] = number;
}

void Bench::bound(const std::string& label, const std::string& roof) {
  row_.bound = label;
  row_.roof = roof;
}

double Bench::sets_against_l2() const {
  if (set_bytes_ == 0) return 1;
  const double l2 = platform_.device().find("l2_bytes").value_or(0);
  // A run touches no more than the set, and perhaps only the useful part of it. When that alone is
  // several times the cache, its own end has washed its beginning out.
  auto touched = static_cast<double>(set_bytes_);
  if (work_.useful_bytes > 0) touched = std::min(touched, work_.useful_bytes);
  return std::clamp(std::ceil(rotation_over_l2 * l2 / touched), 1.0, double{most_sets});
}

void Bench::add_cold_sets() {
  if (hot() || settings_.profile || set_bytes_ == 0) return;
  const double wanted = sets_against_l2();
  std::size_t free = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const double fit = 1 + std::floor(most_of_free_memory * static_cast<double>(free) /
                                    static_cast<double>(set_bytes_));
  const auto sets = static_cast<std::size_t>(std::min(wanted, fit));
  if (fit < wanted) {
    short_rotation_ = "L2 may remember: memory for " + std::to_string(sets) + " of " +
                      std::to_string(static_cast<std::size_t>(wanted)) + " sets of buffers";
  }
  for (; sets_ < sets; ++sets_) {
    for (const auto& add : add_set_) add();
    for (const auto& prepare : prepare_) prepare(sets_);
  }
}

void Bench::run(const Body& body) {
  if (ranks_ == nullptr && ProcessGroup::all().count() > 1) {
    skip("runs in one process only: run it without mpirun");
  }
  // Laws are of cold runs: one that finds in L2 what the run before left there is faster.
  if (!hot() || sets_against_l2() == 1 || is_independent_of_l2(work_.law)) row_.law = work_.law;
  row_.law_tolerance = work_.law_tolerance;
  if (only_describes_) throw Described{};
  row_.measures = work_.measures;
  row_.arithmetic_unit = work_.integers ? integer_unit : flops_unit;
  row_.headline = headline_of(work_);
  for (const auto& prepare : prepare_) prepare(0);
  check_results(body);
  add_cold_sets();
  take_time(body);
  take_energy(body);
  if (!short_rotation_.empty()) row_.notes.push_back(short_rotation_);
  if (settings_.trace) {
    row_.show_trace = work_.show_trace;
    row_.trace = platform_.trace([&] {
      const Stream stream;
      body(stream);
      stream.synchronize();
    });
  }
}

double Bench::seconds() const {
  if (row_.samples.empty()) throw std::logic_error(row_.name + " has no time before run()");
  return row_.median_seconds;
}

double Bench::time(const Body& body, std::optional<double> budget_seconds) {
  static_cast<void>(seconds());
  // The row itself has warmed the clock up; of a small budget nothing is left for it.
  const double budget = budget_seconds.value_or(settings_.budget_seconds);
  const double warmup = std::min(settings_.warmup_seconds, budget / 5);
  return summarize(take_samples(body, budget, warmup).seconds).median;
}

void Bench::note_kernels(const Body& body) {
  static_cast<void>(seconds());
  const Stream stream;
  std::string names;
  for (const std::string& name : platform_.kernels([&] {
         body(stream);
         CUDA_CHECK(cudaStreamSynchronize(stream));
       })) {
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) note("kernels", names);
}

void Bench::counter(const std::string& name, double value) {
  static_cast<void>(seconds());
  check_own_key(name);
  if (!std::isfinite(value)) return;
  if (!row_.counters.emplace(name, value).second) {
    throw std::logic_error(row_.name + " has a counter '" + name + "' already");
  }
}

}  // namespace gpubench
