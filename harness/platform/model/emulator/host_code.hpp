// Whose code runs on this thread: a kernel's lane, or the host's.
#pragma once

namespace gpubench::model {

class BlockRunner;

// The runner whose lane is running on this thread, or nullptr on the host's own code.
extern __constinit thread_local BlockRunner* running_block;

// The runner's own work in the middle of a kernel, where it is more than arithmetic. What the
// standard library's templates do there must not be taken for the kernel's accesses: the linker may
// have kept the copy of a template that was compiled, and instrumented, with a kernel.
class HostCode {
 public:
  HostCode() : interrupted_(running_block) { running_block = nullptr; }
  ~HostCode() { running_block = interrupted_; }
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

 private:
  BlockRunner* interrupted_;
};

}  // namespace gpubench::model
