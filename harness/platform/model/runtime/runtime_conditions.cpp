// What conditions make of streams and launches.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "harness/platform/model/runtime/runtime.hpp"

namespace gpubench::model {
namespace {

constexpr int default_connections = 8;
constexpr int most_connections = 32;

}  // namespace

// As CUDA reads it: once, before its first call.
int wanted_connections() {
  const char* const text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  int wanted = default_connections;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), wanted);
  return std::clamp(wanted, 1, most_connections);
}

int Runtime::hardware_queue(const CUstream_st& stream) const {
  return stream.device * most_connections + stream.number % *hardware_queues_;
}

cudaError_t Runtime::planted_error(const char* function, const void* caller) {
  if (const auto& planted = options_.conditions.failing_call) {
    const bool is_one = planted->function.empty() || planted->function == function;
    if (is_one && ++planted_calls_ == planted->call) {
      const auto error = static_cast<cudaError_t>(planted->error);
      const std::string line = std::string(function) + " fails, as the conditions say";
      if (planted->is_lasting) return fail_for_good(error, line);
      say(line);
      return error;
    }
  }
  return filter_ ? filter_(function, caller) : cudaSuccess;
}

bool Runtime::is_planted(const std::optional<PlantedLaunch>& planted, const std::string& kernel,
                         std::size_t& launches) {
  if (!planted || kernel.find(planted->kernel) == std::string::npos) return false;
  return ++launches == planted->launch;
}

}  // namespace gpubench::model
