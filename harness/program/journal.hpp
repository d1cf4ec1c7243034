// The rows of a run as they are done, in FILE.journal beside the result file: what is left when the
// process is killed, and what --resume=FILE goes on from.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gpubench {

// One JSON object a line: first what the run is, then its rows. Whoever writes it holds a lock on
// it, so that two runs never write one result file.
class Journal {
 public:
  static std::filesystem::path path_of(const std::filesystem::path& result_file);

  // A new one. What a run that was killed has left is set aside as FILE.journal.old, which is said.
  // UsageError: another run holds it, or it cannot be written.
  static Journal begin(const std::filesystem::path& result_file, const nlohmann::ordered_json& run);
  // The one that is there. UsageError: there is none, another run holds it, or it is none of ours.
  static Journal resume(const std::filesystem::path& result_file);

  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  const nlohmann::ordered_json& run() const { return run_; }
  // Of the run that is resumed.
  const std::vector<nlohmann::ordered_json>& rows() const { return rows_; }
  // When it was resumed before.
  const std::vector<nlohmann::ordered_json>& resumed() const { return resumed_; }
  void note_resumed(const nlohmann::ordered_json& date) { append({{"resumed", date}}); }

  // One line. When it cannot be written, that is said once and nothing more is kept.
  void add(const nlohmann::ordered_json& row);
  // The result file holds all that there is in it.
  void close();
  void remove();

 private:
  Journal(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}
  void read();
  void append(const nlohmann::ordered_json& line);

  std::filesystem::path path_;
  int file_;
  nlohmann::ordered_json run_;
  std::vector<nlohmann::ordered_json> rows_, resumed_;
  bool is_closed_ = false;  // what is there: the result file holds it
  bool keeps_ = true;
};

}  // namespace gpubench
