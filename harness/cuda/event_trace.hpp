// What happens when in a real run, as far as events can know.
//
// Every call of the run that queues work in a stream gets an event before it and one after it, and
// every call of the runtime that queues work or waits is timed by the host's clock. So
//  - an operation's span begins when its stream had come to it, which is before it ran where the
//    device still had to be told of it or another stream's work was in its way;
//  - events stand between operations that would follow each other at once, and the host spends a
//    few microseconds on them: gaps are longer than in a run that nobody watches;
//  - the device's clock is laid beside the host's as early as lets no operation begin before the
//    call that queued it: the two may be a launch latency apart;
//  - a graph is one span, and so is what runs in a capture nothing at all;
//  - collectives and the work of other devices than the present one are not seen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/records/row.hpp"

namespace gpubench {

// Runs `run`, which must leave nothing queued, and tells what happened in it; `host_seconds` is the
// host's clock, `kernel_name` tells a kernel's name. The tracks are those of the model's traces.
std::vector<TracedOperation> trace_by_events(
    const std::function<void()>& run, const std::function<double()>& host_seconds,
    const std::function<std::string(const void* kernel)>& kernel_name);

}  // namespace gpubench
