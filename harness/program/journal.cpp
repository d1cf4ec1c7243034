#include "harness/program/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <utility>

#include "harness/program/output_file.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

using nlohmann::ordered_json;

constexpr int journal_version = 1;

bool is_regular(int file) {
  struct stat open {};
  return fstat(file, &open) == 0 && S_ISREG(open.st_mode);
}

bool is_still_at(const std::filesystem::path& path, int file) {
  struct stat open {};
  struct stat there {};
  return fstat(file, &open) == 0 && stat(path.c_str(), &there) == 0 &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

// Opened and locked; -1: there is none.
int opened(const std::filesystem::path& path, int flags) {
  for (;;) {
    const int file = open(path.c_str(), flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno == ENOENT) return -1;
    if (file < 0) cannot_write(path);
    if (!is_regular(file)) {  // to read a pipe could take for ever
      close(file);
      throw UsageError("cannot write '" + path.string() + "': not a regular file");
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file);
      throw UsageError("another run is writing to this file: it has locked '" + path.string() +
                       "'");
    }
    if (is_still_at(path, file)) return file;
    close(file);  // whoever held it has just removed it
  }
}

// The JSON of a line; discarded where it is none, or nested deeper than any that was written: to
// print a value of very many levels could take more stack than there is.
ordered_json parse_line(std::string_view text) {
  constexpr int most_nested = 50;
  bool too_deep = false;
  const auto watch = [&](int depth, ordered_json::parse_event_t, ordered_json&) {
    too_deep = too_deep || depth > most_nested;
    return !too_deep;
  };
  ordered_json line = ordered_json::parse(text, watch, /*allow_exceptions=*/false);
  return too_deep ? ordered_json(ordered_json::value_t::discarded) : line;
}

// The first line of a journal of this version.
bool is_run(const ordered_json& line) {
  using Type = ordered_json::value_t;
  const auto has = [&](const char* key, Type type) {
    return line.contains(key) && line.at(key).type() == type;
  };
  return line.contains("journal") && line.at("journal") == journal_version &&
         has("same", Type::object) && has("context", Type::object) && has("command", Type::array) &&
         std::ranges::all_of(line.at("command"),
                             [](const ordered_json& word) { return word.is_string(); });
}

// In the JSON of a row, or of the line that says that it has started.
int repetition_in(const ordered_json& json) {
  const auto repetition = json.find("repetition");
  const bool is_number = repetition != json.end() && repetition->is_number_integer();
  return is_number ? repetition->get<int>() : 0;
}

bool is_of(const ordered_json& row, const Journal::InFlight& started) {
  return row.is_object() && row.contains("name") && row.at("name") == started.name &&
         repetition_in(row) == started.repetition;
}

std::string whole(int file, off_t from = 0) {
  std::string text;
  std::array<char, 1 << 16> piece{};
  for (ssize_t n = 0;
       (n = pread(file, piece.data(), piece.size(), from + static_cast<off_t>(text.size()))) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(n));
  }
  return text;
}

off_t length_of(int file) {
  struct stat open {};
  return fstat(file, &open) == 0 ? open.st_size : 0;
}

// To its end, whoever wrote last.
bool add_to(int file, const std::string& text) {
  return lseek(file, 0, SEEK_END) >= 0 && write_all(file, text);
}

}  // namespace

std::filesystem::path Journal::path_of(const std::filesystem::path& result_file) {
  return behind_links(result_file).string() + ".journal";
}

std::filesystem::path Journal::set_aside(const std::filesystem::path& journal) {
  return journal.string() + ".old";
}

Journal Journal::open(const std::filesystem::path& result_file) {
  const std::filesystem::path path = path_of(result_file);
  return {path, opened(path, O_CREAT)};
}

Journal Journal::open_left(const std::filesystem::path& result_file) {
  const std::filesystem::path path = path_of(result_file);
  const int file = opened(path, 0);
  if (file < 0) {
    throw UsageError("--resume='" + result_file.string() + "': nothing to resume: there is no '" +
                     path.string() + "'");
  }
  return {path, file};
}

Journal Journal::in_memory() { return {"", -1}; }

Journal::Journal(std::filesystem::path path, int file)
    : path_(std::move(path)), file_(file), memory_(memfd_create("gpubench-journal", MFD_CLOEXEC)) {
  if (memory_ >= 0) return;
  const std::string reason = system_reason();
  if (file_ >= 0) ::close(file_);
  throw UsageError("cannot keep rows in memory: " + reason);
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      memory_(std::exchange(other.memory_, -1)),
      run_(std::move(other.run_)),
      rows_(std::move(other.rows_)),
      resumed_(std::move(other.resumed_)),
      in_flight_(std::move(other.in_flight_)),
      otherwise_(std::move(other.otherwise_)),
      is_closed_(other.is_closed_),
      is_behind_(other.is_behind_) {}

Journal::~Journal() {
  if (memory_ >= 0) ::close(memory_);
  if (file_ < 0) return;
  if (length_of(file_) == 0 && is_still_at(path_, file_)) remove();
  ::close(file_);
}

void Journal::begin(const ordered_json& run) {
  const std::string old_text = whole(file_ < 0 ? memory_ : file_);
  bool is_foreign = false;
  try {
    read();
  } catch (const UsageError&) {  // of another version, or of somebody else
    is_foreign = true;
  }
  if (is_foreign || (!rows_.empty() && !is_closed_)) {
    const std::string old = set_aside(path_).string();
    write_file(old, old_text);
    std::cerr << "gpubench: an interrupted run left rows in " << path_.string() << ", which is now "
              << old << '\n';
  }
  rows_.clear();
  resumed_.clear();
  in_flight_.reset();
  is_closed_ = is_behind_ = false;
  for (const int file : {memory_, file_}) {
    if (file >= 0 && ftruncate(file, 0) != 0) cannot_write(path_);
  }
  run_ = run;
  run_["journal"] = journal_version;
  if (write(run_)) return;
  if (is_file()) cannot_write(path_);
  throw UsageError("cannot keep rows in memory: " + system_reason());
}

// Leaves the file's end where the next line belongs: what a kill has cut off goes.
void Journal::read() {
  run_ = {};
  rows_.clear();
  resumed_.clear();
  in_flight_.reset();
  otherwise_.clear();
  std::string text = whole(memory_);
  if (text.empty() && file_ >= 0) {  // what an earlier run has left
    text = whole(file_);
    if (!add_to(memory_, text)) throw UsageError("cannot keep rows in memory: " + system_reason());
  }
  std::size_t begin = 0, number = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    const ordered_json line = parse_line(std::string_view(text).substr(begin, end - begin));
    if (!line.is_object() || (number == 1 && !is_run(line))) {
      throw UsageError("'" + path_.string() + "', line " + std::to_string(number) +
                       ": not written by this version of gpubench");
    }
    if (number == 1) {
      run_ = line;
    } else {
      take(line);
    }
  }
  if (number == 0 && !text.empty()) {
    throw UsageError("'" + path_.string() + "': has no run to resume");
  }
  for (const int file : {memory_, file_}) {
    const auto end = static_cast<off_t>(begin);
    if (file >= 0 && length_of(file) > end && ftruncate(file, end) != 0) cannot_write(path_);
  }
}

void Journal::take(const ordered_json& line) {
  const auto text = [&](const char* key) {
    return line.contains(key) && line.at(key).is_string() ? line.at(key).get<std::string>() : "";
  };
  if (line.contains("row")) {
    rows_.push_back(line);
    // Others may be done while it is in flight.
    const bool is_done = in_flight_ && is_of(line.at("row"), *in_flight_);
    if (is_done) in_flight_.reset();
    otherwise_.clear();  // it knew nothing of this row
  } else if (line.contains("resumed")) {
    resumed_.push_back(line.at("resumed"));
  } else if (const std::string name = text("started"); !name.empty()) {
    InFlight started{.name = name, .repetition = repetition_in(line)};
    const bool again =
        in_flight_ && in_flight_->name == name && in_flight_->repetition == started.repetition;
    if (again) started.starts = in_flight_->starts + 1;
    in_flight_ = std::move(started);
  } else if (line.contains("crashed") && in_flight_) {
    in_flight_->has_crashed = true;
  } else if (line.contains("otherwise")) {
    otherwise_ = text("otherwise");
  } else if (line.contains("behind")) {
    is_behind_ = true;
  }
  is_closed_ = line.contains("closed");
}

void Journal::note_started(const std::string& row, int repetition) {
  append({{"started", row}, {"repetition", repetition}});
}

void Journal::append(const ordered_json& line) {
  if (write(line)) return;
  const std::string reason = system_reason();
  if (std::exchange(is_behind_, true)) return;
  std::cerr << "gpubench: cannot write '" << path_.string() << "': " << reason
            << ": until it can, rows are kept in memory only\n";
  write({{"behind", reason}});  // so that no other process says so
}

// False and errno when the file cannot take it; memory has it then.
bool Journal::write(const ordered_json& line) {
  return add_to(memory_, json_text(line)) && catch_up();
}

bool Journal::catch_up() {
  if (file_ < 0) return true;
  const off_t before = length_of(file_);
  if (add_to(file_, whole(memory_, before))) return true;
  const int why = errno;
  static_cast<void>(!ftruncate(file_, before));  // a line that is cut off is no harm
  errno = why;
  return false;
}

bool Journal::is_whole() const { return file_ >= 0 && length_of(file_) == length_of(memory_); }

bool Journal::is_there() const { return file_ >= 0 && is_still_at(path_, file_); }

std::size_t Journal::bytes() const { return static_cast<std::size_t>(length_of(memory_)); }

void Journal::leave() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

void Journal::remove() {
  if (is_file()) unlink(path_.c_str());
}

}  // namespace gpubench
