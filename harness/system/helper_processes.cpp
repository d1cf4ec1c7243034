#include "harness/system/helper_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iostream>

namespace gpubench {
namespace {

// A helper has its next piece already when it has finished one.
constexpr std::size_t most_begun = 2;

// The signals that ask to end are for the process that has made the helper; of its own crashes it
// says nothing.
void take_no_part() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGXCPU}) ::signal(signal, SIG_IGN);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGPIPE}) {
    ::signal(signal, SIG_DFL);
  }
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, file);
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

}  // namespace

HelperProcesses::HelperProcesses(unsigned helpers, std::size_t pieces, const Work& work)
    : pieces_(pieces) {
  for (std::ostream* stream : {&std::cout, &std::cerr}) stream->flush();
  std::fflush(nullptr);
  while (helpers_.size() < helpers && add(work)) {
  }
  feed();
}

HelperProcesses::~HelperProcesses() { end(); }

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
  helpers_.push_back({process, ends[0], 0, {}});
  return true;
}

// A helper's whole life. No destructor of what it shares with its maker runs at its end.
void HelperProcesses::serve(int socket, const Work& work) const {
  take_no_part();
  work.begin();
  for (std::size_t piece = 0; receive_piece(socket, piece);) {
    std::optional<std::string> answer = work.piece(piece);
    if (!answer) break;
    *answer += '\n';
    const std::string number = std::to_string(piece) + ' ';
    if (!send_all(socket, number.data(), number.size()) ||
        !send_all(socket, answer->data(), answer->size())) {
      break;
    }
  }
  _exit(0);
}

void HelperProcesses::feed() {
  for (std::size_t begun = 0; begun < most_begun; ++begun) {
    for (Helper& helper : helpers_) {
      if (helper.begun > begun || next_ == pieces_) continue;
      const auto* const bytes = reinterpret_cast<const char*>(&next_);
      if (!send_all(helper.socket, bytes, sizeof next_)) continue;  // its end is seen by listen()
      ++helper.begun;
      ++next_;
    }
  }
}

bool HelperProcesses::read(Helper& helper) {
  std::array<char, 1 << 16> piece;
  const ssize_t got = recv(helper.socket, piece.data(), piece.size(), 0);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  helper.unread.append(piece.data(), static_cast<std::size_t>(got));
  for (std::size_t end; (end = helper.unread.find('\n')) != std::string::npos;) {
    const std::size_t space = helper.unread.find(' ');
    done_[std::stoul(helper.unread.substr(0, space))] =
        helper.unread.substr(space + 1, end - space - 1);
    helper.unread.erase(0, end + 1);
    --helper.begun;
  }
  return true;
}

// Waits until helpers say something. False: one of them has ended.
bool HelperProcesses::listen() {
  std::vector<pollfd> sockets;
  for (const Helper& helper : helpers_) sockets.push_back({helper.socket, POLLIN, 0});
  if (poll(sockets.data(), sockets.size(), -1) < 0) return errno == EINTR;
  bool lives = true;
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if (sockets[i].revents != 0) lives = read(helpers_[i]) && lives;
  }
  return lives;
}

std::optional<std::string> HelperProcesses::take(std::size_t piece) {
  while (!done_.contains(piece)) {
    if (helpers_.empty()) return std::nullopt;
    feed();
    if (!listen()) end();
  }
  std::string answer = std::move(done_.extract(piece).mapped());
  feed();
  return answer;
}

void HelperProcesses::end() {
  for (const Helper& helper : helpers_) {
    kill(helper.process, SIGKILL);
    close(helper.socket);
    while (waitpid(helper.process, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  helpers_.clear();
}

}  // namespace gpubench
