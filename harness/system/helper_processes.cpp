#include "harness/system/helper_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <vector>

#include "harness/system/running_time.hpp"

namespace gpubench {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at whether a helper has ended that its socket says nothing of.
constexpr std::chrono::milliseconds look{250};

// A helper has its next piece already when it has finished one.
constexpr std::size_t most_given = 2;

// The signals that ask to end are for the process that has made the helper; of its own crashes it
// says nothing.
void take_no_part() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGXCPU}) ::signal(signal, SIG_IGN);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int file : {STDIN_FILENO, STDERR_FILENO}) dup2(nowhere, file);
  const int printed = memfd_create("printed", MFD_CLOEXEC);
  dup2(printed < 0 ? nowhere : printed, STDOUT_FILENO);
}

// Whether the piece that was just done has printed something. Its answer is dropped then: the
// caller does the piece again, and prints in its own place.
bool has_printed() {
  std::cout.flush();
  std::fflush(stdout);
  struct stat file {};
  if (fstat(STDOUT_FILENO, &file) != 0 || file.st_size == 0) return false;
  if (ftruncate(STDOUT_FILENO, 0) == 0) lseek(STDOUT_FILENO, 0, SEEK_SET);
  return true;
}

bool send_all(int socket, const char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(socket, data, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_piece(int socket, std::size_t& piece) {
  ssize_t got = 0;
  do {
    got = recv(socket, &piece, sizeof piece, MSG_WAITALL);
  } while (got < 0 && errno == EINTR);
  return got == sizeof piece;
}

std::optional<std::string> answer_of(const HelperProcesses::Work& work, std::size_t piece) {
  try {
    return work.piece(piece);
  } catch (...) {
    return std::nullopt;  // the caller meets what was thrown, and says it
  }
}

}  // namespace

HelperProcesses::HelperProcesses(unsigned helpers, std::size_t pieces, const Work& work,
                                 double limit_seconds)
    : limit_seconds_(limit_seconds), heard_(work.heard), waiting_(pieces) {
  std::iota(waiting_.begin(), waiting_.end(), std::size_t{0});
  for (std::ostream* stream : {&std::cout, &std::cerr}) stream->flush();
  std::fflush(nullptr);
  while (helpers_.size() < helpers && add(work)) {
  }
  feed();
}

HelperProcesses::~HelperProcesses() {
  for (Helper& helper : helpers_) lose(helper);
}

bool HelperProcesses::add(const Work& work) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    close(ends[0]);
    for (const Helper& other : helpers_) close(other.socket);
    serve(ends[1], work);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return false;
  }
  helpers_.push_back({process, ends[0], {}, {}});
  return true;
}

// A helper's whole life. No destructor of what it shares with its maker runs at its end.
void HelperProcesses::serve(int socket, const Work& work) const {
  take_no_part();
  work.begin();
  for (std::size_t piece = 0; receive_piece(socket, piece);) {
    std::optional<std::string> answer = answer_of(work, piece);
    if (has_printed()) answer = std::nullopt;
    const std::string line = std::to_string(piece) + (answer ? ' ' + *answer : "") + '\n';
    if (!send_all(socket, line.data(), line.size())) break;
  }
  _exit(0);
}

void HelperProcesses::feed() {
  for (std::size_t given = 0; given < most_given; ++given) {
    for (Helper& helper : helpers_) {
      if (helper.given.size() > given || waiting_.empty()) continue;
      const std::size_t piece = waiting_.front();
      // One that has ended does not get it; listen() will see its end.
      const auto* const bytes = reinterpret_cast<const char*>(&piece);
      if (!send_all(helper.socket, bytes, sizeof piece)) continue;
      helper.given.push_back(piece);
      waiting_.pop_front();
    }
  }
}

// Its socket may be open all the same: a process that its work has started may have it. What has
// ended is left for lose() to take away.
bool HelperProcesses::has_ended(const Helper& helper) {
  siginfo_t end{};
  const auto process = static_cast<id_t>(helper.process);
  return waitid(P_PID, process, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0;
}

// False: the helper has ended.
bool HelperProcesses::read(Helper& helper) {
  std::array<char, 1 << 16> bytes;
  const bool ended = has_ended(helper);  // before what it may have said at last is looked for
  const ssize_t got = recv(helper.socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return !ended;
  if (got <= 0) return false;
  helper.waited_seconds = 0;
  helper.unread.append(bytes.data(), static_cast<std::size_t>(got));
  for (std::size_t end; (end = helper.unread.find('\n')) != std::string::npos;) {
    const std::string line = helper.unread.substr(0, end);
    const std::size_t space = line.find(' ');
    const std::size_t piece = std::stoul(line);
    std::optional<std::string>& answer = done_[piece];
    if (space != std::string::npos) answer = line.substr(space + 1);
    helper.unread.erase(0, end + 1);
    helper.given.pop_front();
    if (answer) heard_(piece, *answer);
  }
  return true;
}

// Its own limit has not ended it: it is stopped, or hangs where it cannot be reached.
bool HelperProcesses::is_given_up(Helper& helper, double waited_seconds) const {
  if (!helper.given.empty()) helper.waited_seconds += waited_seconds;
  return limit_seconds_ > 0 && helper.waited_seconds > limit_seconds_;
}

// Waits a while until helpers say something or end.
void HelperProcesses::listen() {
  std::vector<pollfd> sockets;
  for (const Helper& helper : helpers_) sockets.push_back({helper.socket, POLLIN, 0});
  const auto before = Clock::now();
  const int heard = poll(sockets.data(), sockets.size(), look.count());
  if (heard < 0) return;  // a signal: it is asked for again
  // Its helpers are stopped with this process.
  const double waited = running_time(Clock::now() - before, look).count();
  auto helper = helpers_.begin();
  for (const pollfd& socket : sockets) {
    const auto current = helper++;
    const bool is_silent = socket.revents == 0 && !has_ended(*current);
    if (is_silent ? !is_given_up(*current, waited) : read(*current)) continue;
    lose(*current);
    helpers_.erase(current);
  }
}

// What it was doing may have ended it, and would end the next one; the rest others may do.
void HelperProcesses::lose(Helper& helper) {
  kill(helper.process, SIGKILL);
  close(helper.socket);
  while (waitpid(helper.process, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (helper.given.empty()) return;
  done_[helper.given.front()] = std::nullopt;
  waiting_.insert(waiting_.begin(), helper.given.begin() + 1, helper.given.end());
}

std::optional<std::string> HelperProcesses::take(std::size_t piece) {
  while (!done_.contains(piece)) {
    if (helpers_.empty()) return std::nullopt;
    feed();
    listen();
  }
  std::optional<std::string> answer = std::move(done_.extract(piece).mapped());
  feed();
  return answer;
}

}  // namespace gpubench
