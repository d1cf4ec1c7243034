// The rows of a run as they are done, in FILE.journal beside the result file: what is left when the
// process is killed, and what --resume=FILE goes on from.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gpubench {

// One JSON object a line: first what the run is, then each row when it starts and when it is done.
// Whoever writes it holds a lock on it, so that two runs never write one result file. Worker
// processes inherit it, and one at a time uses it. They read what one left in memory, which a full
// disk does not cut short; the file catches up when there is room again.
class Journal {
 public:
  // Behind a symbolic link, beside the file that the link leads to: by whatever name two runs call
  // one file, they meet here.
  static std::filesystem::path path_of(const std::filesystem::path& result_file);
  // Where begin() puts what is in this journal.
  static std::filesystem::path set_aside(const std::filesystem::path& journal);

  // The one of this result file, made where there is none. UsageError: another run holds it, or one
  // whose samples have the same name, or it cannot be written.
  static Journal open(const std::filesystem::path& result_file);
  // The one that a run has left. UsageError: there is none, or another run holds it.
  static Journal open_left(const std::filesystem::path& result_file);
  // For the workers of a run that writes no result file.
  static Journal in_memory();

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();  // takes a file away that nothing was written to

  // A new run. What a run that was killed has left goes to FILE.journal.old, which is said.
  // UsageError: there is no room for it.
  void begin(const nlohmann::ordered_json& run);
  // What is there. UsageError: it is none of ours.
  void read();

  const nlohmann::ordered_json& run() const { return run_; }
  const std::vector<nlohmann::ordered_json>& rows() const { return rows_; }
  // When the run was resumed.
  const std::vector<nlohmann::ordered_json>& resumed() const { return resumed_; }
  // The row that was started last, if it is not done.
  struct InFlight {
    std::string name;
    int repetition = 0;
    int starts = 1;            // in a row
    bool has_crashed = false;  // its process could still say so
  };
  const std::optional<InFlight>& in_flight() const { return in_flight_; }
  // What is to be said of the run if no further process can go on with it.
  const std::string& otherwise() const { return otherwise_; }

  // One line each. When the file cannot take it, that is said once.
  void add(const nlohmann::ordered_json& row) { append(row); }
  void note_started(const std::string& row, int repetition);
  void note_resumed(const nlohmann::ordered_json& date) { append({{"resumed", date}}); }
  void note_otherwise(const std::string& text) { append({{"otherwise", text}}); }
  // The result file holds all that there is in it.
  void close() { append({{"closed", true}}); }
  void remove();
  // For a copy of this process that writes no rows: should it live a moment longer than those who
  // do, their file is not to look locked.
  void leave();

  bool is_file() const { return !path_.empty(); }
  // Whether the file is where it was: somebody may have removed it.
  bool is_there() const;
  // Whether the file has all that there is.
  bool is_whole() const;
  std::size_t bytes() const;  // of all that there is
  // The line that a crashing process may write without any of this, and where.
  static const char* crash_line() { return "{\"crashed\":true}\n"; }
  int file() const { return file_; }

 private:
  Journal(std::filesystem::path path, int file);  // UsageError: there is no memory for it
  void take(const nlohmann::ordered_json& line);
  void append(const nlohmann::ordered_json& line);
  bool write(const nlohmann::ordered_json& line);
  bool catch_up();

  std::filesystem::path path_;  // empty: it is in memory only
  int file_, memory_;
  nlohmann::ordered_json run_;
  std::vector<nlohmann::ordered_json> rows_, resumed_;
  std::optional<InFlight> in_flight_;
  std::string otherwise_;
  bool is_closed_ = false;  // what is there: the result file holds it
  bool is_behind_ = false;  // that the file is, or was, has been said
};

}  // namespace gpubench
