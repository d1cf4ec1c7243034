// The processes of one run: one, or as many as mpirun or srun started. Nothing else knows of MPI.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace gpubench {

class ProcessGroup {
 public:
  // Those of this run. start() comes first, once, in main; before it there is one.
  static ProcessGroup& all();
  // Joins the others if a launcher started this process and the program was built with MPI.
  // UsageError when it was started as one of several and cannot join them.
  static void start();
  // Whether a launcher started this process, be it the only one.
  static bool is_launched();

  virtual ~ProcessGroup() = default;
  virtual int count() const { return 1; }
  virtual int index() const { return 0; }
  virtual int index_on_host() const { return 0; }  // among those on the same machine

  // Every process calls these, in the same order.
  virtual double greatest(double mine) { return mine; }
  virtual void broadcast(void*, std::size_t) {}  // what the first has
  // Equally long pieces of all, in order.
  virtual std::vector<std::byte> gather(const std::vector<std::byte>& mine) { return mine; }

  // Ends all of them: the others may be waiting for this one.
  [[noreturn]] virtual void abort(const std::string& line);
};

}  // namespace gpubench
