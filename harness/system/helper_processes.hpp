// Pieces of work that copies of this process do beside one another.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpubench {

// Each helper is made by fork(), says nothing on the terminal, and ends with this object or with
// the thread that made it. To be made while this process has a single thread.
class HelperProcesses {
 public:
  // What a helper does.
  struct Work {
    std::function<void()> begin;  // first
    // Then piece by piece; describes what came of one, in one line. nullopt: the helper is no good
    // any more.
    std::function<std::optional<std::string>(std::size_t piece)> piece;
  };

  // `pieces` are begun in order. Where a process cannot be had, there are fewer helpers or none.
  HelperProcesses(unsigned helpers, std::size_t pieces, const Work& work);
  ~HelperProcesses();
  HelperProcesses(const HelperProcesses&) = delete;
  HelperProcesses& operator=(const HelperProcesses&) = delete;

  // What came of a piece, once it is done; to be asked for once. nullopt: a helper has ended before
  // its time. Then all are ended, and the caller has to do what is left by itself.
  std::optional<std::string> take(std::size_t piece);

 private:
  struct Helper {
    pid_t process = -1;
    int socket = -1;
    std::size_t begun = 0;  // pieces that it has been given and not finished
    std::string unread;     // of its next answer
  };

  bool add(const Work& work);
  [[noreturn]] void serve(int socket, const Work& work) const;
  void feed();
  bool listen();
  bool read(Helper& helper);
  void end();

  std::size_t pieces_;
  std::size_t next_ = 0;  // the first that no helper has been given
  std::vector<Helper> helpers_;
  std::map<std::size_t, std::string> done_;
};

}  // namespace gpubench
