#include "harness/records/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace gpubench {
namespace {

constexpr std::size_t most_rows = 16;  // of a table; a sector or a wavefront each
constexpr std::size_t most_collisions = 4;
constexpr unsigned word_bytes = 4;

template <class... A>
std::string formatted(const char* format, A... a) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), format, a...);
  return text.data();
}

// "1 sector", "4.25 sectors"
std::string counted(double count, const std::string& noun) {
  const bool whole = count == std::floor(count);
  return formatted(whole ? "%.0f " : "%.4g ", count) + noun + (count == 1 ? "" : "s");
}

std::int64_t floor_divided(std::int64_t a, std::int64_t b) { return (a - ((a % b) + b) % b) / b; }

std::string more(std::size_t rows, const char* what) {
  if (rows <= most_rows) return {};
  return formatted("%20s and %zu more %s\n", "...", rows - most_rows, what);
}

// One line per sector, one cell per word: the lanes that request that word.
std::string sector_table(const ExplainedAccess& access) {
  std::map<std::int64_t, std::array<std::set<unsigned>, explained_sector_bytes / word_bytes>> rows;
  for (const auto& [lane, offset] : access.lanes) {
    for (std::int64_t word = floor_divided(offset, word_bytes);
         word * word_bytes < offset + access.bytes; ++word) {
      constexpr std::int64_t words = explained_sector_bytes / word_bytes;
      const std::int64_t sector = floor_divided(word, words);
      rows[sector][static_cast<std::size_t>(word - sector * words)].insert(lane);
    }
  }
  std::string text = "       sector at byte   its eight words, with the lanes that request them\n";
  std::size_t shown = 0;
  for (const auto& [sector, words] : rows) {
    if (shown++ == most_rows) break;
    text += formatted("%21lld  ", static_cast<long long>(sector) * explained_sector_bytes);
    for (const auto& lanes : words) {
      if (lanes.empty()) {
        text += "      .";
      } else if (lanes.size() == 1) {
        text += formatted(" %6u", *lanes.begin());
      } else {  // a broadcast, or neighbours within a word
        text += formatted(" %6s", formatted("%u..%u", *lanes.begin(), *lanes.rbegin()).c_str());
      }
    }
    text += '\n';
  }
  return text + more(rows.size(), "sectors");
}

// A row a wavefront, a cell a bank: the lane that it serves.
std::string bank_table(const ExplainedAccess& access) {
  std::string text = "bank";
  for (unsigned bank = 0; bank < explained_banks; ++bank) text += formatted("%3u", bank);
  text += '\n';
  for (std::size_t i = 0; i < std::min(access.wavefronts.size(), most_rows); ++i) {
    text += formatted("%4zu", i + 1);
    for (const int lane : access.wavefronts[i]) {
      text += lane < 0 ? std::string("  .") : formatted("%3d", lane);
    }
    text += '\n';
  }
  text += more(access.wavefronts.size(), "wavefronts");
  std::size_t collisions = 0;
  for (unsigned bank = 0; bank < explained_banks && access.moved > access.ideal; ++bank) {
    std::vector<int> lanes;
    for (const auto& wavefront : access.wavefronts) {
      if (wavefront[bank] >= 0) lanes.push_back(wavefront[bank]);
    }
    if (lanes.size() < 2 || collisions++ >= most_collisions) continue;
    std::string line = formatted("     bank %u has different words for lanes", bank);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const std::string next = formatted(" %d", lanes[i]);
      if (line.size() + next.size() > 80) {
        line += formatted(" and %zu more", lanes.size() - i);
        break;
      }
      line += next;
    }
    text += line + '\n';
  }
  if (collisions > most_collisions) {
    text +=
        formatted("     and %zu other banks also have conflicts\n", collisions - most_collisions);
  }
  return text;
}

}  // namespace

std::string instructions_text(const std::string& title,
                              const std::vector<std::pair<std::string, double>>& instructions) {
  if (instructions.empty()) return {};
  std::string text, line = title;
  for (const auto& [name, count] : instructions) {
    const std::string next = ' ' + name + formatted(" %.5g", count);
    if (line.size() + next.size() > 100) {
      text += line + '\n';
      line = "   ";
    }
    line += next;
  }
  return text + line + '\n';
}

std::string explanation_text(const Explanation& explanation) {
  std::string text = explanation.kernel.substr(0, 70) +
                     formatted(": warp %u of block (%u,%u,%u)\n", explanation.warp,
                               explanation.block[0], explanation.block[1], explanation.block[2]);
  text += instructions_text("  instructions per warp of this launch, on average:",
                            explanation.instructions);
  for (const ExplainedAccess& access : explanation.accesses) {
    const char* const unit = access.shared ? "wavefront" : "sector";
    text += "\n  " +
            (access.where + ": " + access.kind + " of " + std::to_string(access.bytes) +
             (access.bytes == 1 ? " byte" : " bytes") + " per lane, " +
             (access.shared ? "shared: " : "global: ") + access.place)
                .substr(0, 96) +
            '\n';
    text += "  " + counted(access.requests, "request") + " of " +
            counted(access.active_lanes / access.requests, "lane") + "; " +
            counted(access.moved / access.requests, unit) + " per request, ";
    text += access.moved > access.ideal
                ? formatted("%.3g times the minimum of %.4g\n", access.moved / access.ideal,
                            access.ideal / access.requests)
                : std::string("the minimum\n");
    text += "  The first request:\n";
    text += access.shared ? bank_table(access) : sector_table(access);
  }
  return text;
}

nlohmann::ordered_json explanation_json(const Explanation& explanation) {
  nlohmann::ordered_json json = {{"kernel", explanation.kernel},
                                 {"block", explanation.block},
                                 {"warp", explanation.warp},
                                 {"accesses", nlohmann::ordered_json::array()}};
  for (const auto& [name, count] : explanation.instructions) json["instructions"][name] = count;
  for (const ExplainedAccess& access : explanation.accesses) {
    nlohmann::ordered_json one = {{"where", access.where},
                                  {"space", access.shared ? "shared" : "global"},
                                  {"kind", access.kind},
                                  {"bytes", access.bytes},
                                  {"place", access.place},
                                  {"requests", access.requests},
                                  {"active_lanes", access.active_lanes / access.requests}};
    const std::string unit = access.shared ? "wavefronts" : "sectors";
    one[unit + "_per_request"] = access.moved / access.requests;
    one["ideal_" + unit + "_per_request"] = access.ideal / access.requests;
    for (const auto& [lane, offset] : access.lanes) {
      one["lanes"].push_back({{"lane", lane}, {"offset", offset}});
    }
    for (const auto& wavefront : access.wavefronts) {
      nlohmann::ordered_json banks;
      for (const int lane : wavefront)
        banks.push_back(lane < 0 ? nullptr : nlohmann::ordered_json(lane));
      one["wavefronts"].push_back(std::move(banks));
    }
    json["accesses"].push_back(std::move(one));
  }
  return json;
}

}  // namespace gpubench
