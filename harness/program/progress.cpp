#include "harness/program/progress.hpp"

#include <unistd.h>

#include <iostream>
#include <sstream>

#include "harness/system/process_group.hpp"

namespace gpubench {
namespace {

std::string clock(double seconds) {
  const auto whole = static_cast<long>(seconds);
  return std::to_string(whole / 60) + (whole % 60 < 10 ? ":0" : ":") + std::to_string(whole % 60);
}

}  // namespace

Progress::Progress(std::size_t total)
    : total_(total), on_(isatty(STDERR_FILENO) != 0 && ProcessGroup::all().index() == 0) {}

void Progress::starts(const std::string& topic) {
  if (!on_) return;
  const double elapsed = seconds();
  std::ostringstream line;
  line << "\r\033[K" << passed_ + done_ + 1 << " of " << total_ << "  " << topic << "  "
       << clock(elapsed);
  if (done_ > 0) {
    line << ", about "
         << clock(elapsed / static_cast<double>(done_) *
                  static_cast<double>(total_ - passed_ - done_))
         << " left";
  }
  std::cerr << line.str() << std::flush;
  ++done_;
}

void Progress::clear() const {
  if (on_) std::cerr << "\r\033[K" << std::flush;
}

double Progress::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

}  // namespace gpubench
