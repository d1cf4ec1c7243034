// gpubench-timer-truth: how wrong measurements are, on devices whose truth is known.
//
//   gpubench-timer-truth [--rows=N] [--kernels=2e-6,1e-3] CONDITIONS.json...
//
// One table per file, in Markdown: for each kernel length and rule the bias of the median row, the
// error that 95 % of rows stay below, the coverage of the 95 % interval, and what the device
// worked. docs/measurement-truth.md is made of it by scripts/timer-truth.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/platform/model/conditions/conditions.hpp"
#include "harness/platform/model/truth/trials.hpp"
#include "harness/system/error.hpp"

namespace gpubench::model::truth {
namespace {

struct Options {
  std::size_t rows = 200;
  std::vector<double> kernels{2e-6, 5e-6, 20e-6, 100e-6, 1e-3, 20e-3};
  std::vector<std::string> files;
};

double positive(std::string_view flag, std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
      !(value > 0 && value <= 1e6)) {
    throw UsageError(std::string(flag) + "'" + std::string(text) + "': takes numbers above 0");
  }
  return value;
}

Options parse(int argc, char** argv) {
  constexpr std::string_view rows = "--rows=", kernels = "--kernels=";
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with(rows)) {
      options.rows = static_cast<std::size_t>(std::ceil(positive(rows, word.substr(rows.size()))));
    } else if (word.starts_with(kernels)) {
      options.kernels.clear();
      std::istringstream list{std::string(word.substr(kernels.size()))};
      for (std::string one; std::getline(list, one, ',');) {
        options.kernels.push_back(positive(kernels, one));
      }
    } else if (word.starts_with('-')) {
      throw UsageError("unknown flag '" + std::string(word) + "'");
    } else {
      options.files.emplace_back(word);
    }
  }
  if (options.files.empty()) throw UsageError("which conditions? Name one file or more");
  return options;
}

std::string percent(double fraction, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << 100 * fraction << " %";
  return text.str();
}

std::string length(double seconds) {
  std::ostringstream text;
  if (seconds < 0.9999e-3) {
    text << seconds * 1e6 << " us";
  } else {
    text << seconds * 1e3 << " ms";
  }
  return text.str();
}

void print(const std::string& file, const Options& options, const DeviceSpec& device) {
  const Conditions conditions = load_conditions(file);
  std::cout << "### " << conditions.name << "\n\n"
            << conditions.about << "\n\n"
            << "| kernel | rule | bias | 95 % within | coverage | half-width | device s |\n"
            << "|---|---|---:|---:|---:|---:|---:|\n";
  for (const double kernel : options.kernels) {
    for (const Score& score : try_rules(device, conditions.timing, kernel, options.rows)) {
      std::cout << "| " << length(kernel) << " | " << score.rule << " | " << percent(score.bias, 2)
                << " | " << percent(score.worst, 2) << " | " << percent(score.coverage, 1) << " | "
                << percent(score.half_width, 2) << " | " << std::fixed << std::setprecision(3)
                << score.device_seconds << std::defaultfloat << " |" << std::endl;
    }
  }
  std::cout << '\n';
}

}  // namespace
}  // namespace gpubench::model::truth

int main(int argc, char** argv) {
  using namespace gpubench;
  try {
    const auto options = model::truth::parse(argc, argv);
    const DeviceSpec device = device_spec("h200-sxm");
    for (const std::string& file : options.files) model::truth::print(file, options, device);
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "gpubench-timer-truth: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "gpubench-timer-truth: " << error.what() << '\n';
    return 1;
  }
}
