// Which cores of this machine a process uses.
#pragma once

#include <sched.h>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace gpubench {

// The CPUs that this process may run on.
std::vector<int> allowed_cpus();

// How many threads can make progress at once: that many CPUs, or the processor time that the
// control group of a container grants it, in CPUs, rounded up. At least 1.
unsigned usable_cpus();

// A package and a core of it; several CPUs of one core share its units.
using Core = std::pair<int, int>;
Core core_of(int cpu);  // as the kernel says; where it does not, each CPU is a core

// CPUs for this process, and for one that runs beside it without ever sharing a core.
struct CpuShares {
  std::vector<int> own, other;
};
// Every second core goes to the other: so both have cores of every socket. nullopt: there is but
// one core.
std::optional<CpuShares> share(const std::vector<int>& cpus, const std::function<Core(int)>& core);

cpu_set_t set_of(const std::vector<int>& cpus);  // as the kernel takes them

// Keeps all threads of this process, and those that they start, on these CPUs.
void stay_on(const std::vector<int>& cpus);

}  // namespace gpubench
