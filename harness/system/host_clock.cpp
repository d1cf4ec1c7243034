#include "harness/system/host_clock.hpp"

#include <chrono>
#include <thread>

namespace gpubench {

double host_clock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void rest_by_host_clock(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace gpubench
