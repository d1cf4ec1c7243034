// Rows as lines of a table for people, as wide as there is room.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/records/row.hpp"

namespace gpubench {

// With the prefix that leaves one to three digits before the point: "4.31 T".
std::string with_prefix(double value, const std::string& unit);
std::string percent(double ratio, int digits = 2);

class RowTable {
 public:
  // `name`: of the name column. Columns are dropped until a line has at most `line` characters (0:
  // any length); name and grade stay. `energies`: there is a column of them.
  explicit RowTable(std::size_t name, std::size_t line = 0, bool colours = false,
                    bool energies = false);

  std::string header() const;
  std::string line(const Row& row) const;
  std::size_t name_width() const { return name_; }

 private:
  std::string painted(const std::string& text, const char* colour) const;

  std::size_t name_;
  bool colours_;
  std::vector<std::size_t> columns_;  // that are shown, in order
};

}  // namespace gpubench
