// Pieces of work that copies of this process do beside one another.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

namespace gpubench {

// Each helper is made by fork(), says nothing on the terminal, and ends with this object or with
// the thread that made it. To be made while this process has a single thread.
class HelperProcesses {
 public:
  // What a helper does.
  struct Work {
    std::function<void()> begin;  // first
    // Then piece by piece; describes what came of one, in one line. nullopt: nothing came of it,
    // as if it throws.
    std::function<std::optional<std::string>(std::size_t piece)> piece;
    // Here, of what came of a piece, as soon as this process hears of it: while it waits in take().
    std::function<void(std::size_t piece, const std::string& result)> heard =
        [](std::size_t, const std::string&) {};
  };

  // `pieces` are begun in order. Where a process cannot be had, there are fewer helpers or none.
  // One that is waited for, and says nothing in `limit_seconds` of that (0: for ever), is given up.
  HelperProcesses(unsigned helpers, std::size_t pieces, const Work& work, double limit_seconds = 0);
  ~HelperProcesses();
  HelperProcesses(const HelperProcesses&) = delete;
  HelperProcesses& operator=(const HelperProcesses&) = delete;

  // What came of a piece, once it is done; to be asked for once. nullopt: nothing came of it, its
  // helper ended in the middle of it, or no helper is left to do it. The caller has to do it.
  std::optional<std::string> take(std::size_t piece);

 private:
  struct Helper {
    pid_t process = -1;
    int socket = -1;
    std::deque<std::size_t> given;  // pieces that it has not finished; the first is being done
    std::string unread;             // of its next answer
    double waited_seconds = 0;      // for it, since it has last said something
  };

  bool add(const Work& work);
  [[noreturn]] void serve(int socket, const Work& work) const;
  void feed();
  void listen();
  static bool has_ended(const Helper& helper);
  bool read(Helper& helper);
  bool is_given_up(Helper& helper, double waited_seconds) const;
  void lose(Helper& helper);

  double limit_seconds_;
  std::function<void(std::size_t, const std::string&)> heard_;
  std::deque<std::size_t> waiting_;  // pieces that no helper has
  std::list<Helper> helpers_;
  std::map<std::size_t, std::optional<std::string>> done_;
};

}  // namespace gpubench
