#pragma once

#include <string_view>

namespace gpubench::model {

// The driver's function of that name, of those for virtual memory and multicast objects; nullptr:
// there is none.
void* virtual_memory_function(std::string_view name);

}  // namespace gpubench::model
