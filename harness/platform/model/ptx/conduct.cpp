#include "harness/platform/model/ptx/conduct.hpp"

#include <charconv>
#include <sstream>

#include "harness/system/error.hpp"

namespace gpubench::model::ptx {
namespace {

std::uint64_t number_of(const std::string& word, std::size_t from) {
  std::uint64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data() + from, end, value);
  if (read.ec != std::errc() || read.ptr != end) {
    throw UsageError("--engine=ptx:" + word + ": takes a whole number");
  }
  return value;
}

}  // namespace

Conduct conduct_named(const std::string& words) {
  Conduct conduct;
  std::istringstream all(words);
  for (std::string word; std::getline(all, word, ',');) {
    if (word == "late") {
      conduct.late_copies = true;
    } else if (word == "slow") {
      conduct.late_products = true;
    } else if (word.starts_with("random=")) {
      conduct.random_order = true;
      conduct.seed = number_of(word, 7);
    } else if (word.starts_with("shift=")) {
      conduct.shared_shift = static_cast<std::size_t>(number_of(word, 6));
      if (conduct.shared_shift % 128 != 0 || conduct.shared_shift > 4096) {
        throw UsageError("--engine=ptx:" + word + ": takes a multiple of 128 up to 4096");
      }
    } else {
      throw UsageError("--engine=ptx:" + word + ": takes late, slow, random=SEED and shift=BYTES");
    }
  }
  return conduct;
}

}  // namespace gpubench::model::ptx
