// What CUDA's runtime reads from the environment, once, before its first call.
#pragma once

namespace gpubench {

// As many hardware queues as there are, unless the user asks for another number: streams that share
// one wait for each other. To be called before anything else.
void ask_for_connections();

// UsageError: launches are made to block, and what waits behind a gate would never be queued.
void refuse_blocking_launches();

}  // namespace gpubench
