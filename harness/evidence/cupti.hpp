// The kernels that a library launches on our behalf, by CUPTI, NVIDIA's profiling library.
//
// It comes with the toolkit and not with the driver, so it is loaded at run time; where it is
// absent, or another profiler has subscribed before us, nobody knows. Its callbacks on launches
// need none of the permissions that counters need. Names and values are those of the "CUPTI"
// documentation, "Callback API".
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gpubench {

// Linkers' names of the kernels that `run` launches from this thread, in order. Empty: it launches
// none, or nobody can say. `library`: a file name for the dynamic loader's search path, or a path.
std::vector<std::string> launched_kernels(const std::function<void()>& run,
                                          const std::string& library);

}  // namespace gpubench
