// Files that are written whole or not at all.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gpubench {

// Whether something is there that is no regular file: a device, a pipe, or what this program's own
// standard output or error goes to. It is written to and never replaced, and no file is put beside
// it.
bool is_written_in_place(const std::filesystem::path& path);

// A regular file, or one that is not there yet, is written beside itself, then renamed; behind a
// symbolic link, the file that the link leads to. UsageError names the path.
void write_file(const std::filesystem::path& path, const std::string& text);
// UsageError when write_file() could not succeed: asked before hours of measuring.
void check_writable(const std::filesystem::path& path);

// What lies beside a result file: `run.samples.jsonl` beside `run.json`. A name that does not end
// in .json is kept whole (`run-samples.jsonl`, `run.csv-samples.jsonl`), so no two results share
// one. Behind a symbolic link, beside the file that the link leads to: a link that leads elsewhere
// later takes no samples from their result.
std::filesystem::path companion_of(const std::filesystem::path& result_file, const char* what);
inline constexpr const char* samples_file = "samples.jsonl";
inline constexpr const char* series_file = "series.jsonl";
inline constexpr const char* explain_file = "explain.json";
inline constexpr const char* trace_file = "trace.json";  // where scripts/bench asks for one

// UsageError with the path and errno in words.
[[noreturn]] void cannot_write(const std::filesystem::path& path);

// The file at the end of a chain of symbolic links, which need not be there.
std::filesystem::path behind_links(std::filesystem::path path);

// To a descriptor; false and errno when it fails.
bool write_all(int file, const std::string& text);

// Whether two names lead to one file, which need not be there.
bool are_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// As a file has it, a line break at its end; without `indent`, one line. Bytes that are not UTF-8
// are replaced: a name of this machine is no reason to lose a run.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace gpubench
