#include "harness/program/trace.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace gpubench {
namespace {

using nlohmann::ordered_json;

ordered_json metadata(int process, const char* what, ordered_json arguments) {
  return {{"ph", "M"}, {"pid", process}, {"name", what}, {"args", std::move(arguments)}};
}

// The threads of a row: one a track, more where its operations overlap.
class Threads {
 public:
  Threads(int process, ordered_json& events) : process_(process), events_(events) {}

  // For an operation of this track; asked in the order of their begins.
  int of(const TracedOperation& operation) {
    int lane = 1;
    for (Thread& thread : threads_) {
      if (thread.track != operation.track) continue;
      if (thread.busy_until <= operation.begin) {
        thread.busy_until = operation.end;
        return thread.number;
      }
      ++lane;
    }
    const int number = static_cast<int>(threads_.size());
    threads_.push_back({operation.track, operation.end, number});
    std::string name = operation.track;
    if (lane > 1) name.append(" ").append(std::to_string(lane));
    for (auto& [what, value] : {std::pair<const char*, ordered_json>{"name", name},
                                std::pair<const char*, ordered_json>{"sort_index", number}}) {
      ordered_json event = metadata(process_, what, {{what, value}});
      event["name"] = std::string("thread_") + what;
      event["tid"] = number;
      events_.push_back(std::move(event));
    }
    return number;
  }

 private:
  struct Thread {
    std::string track;
    double busy_until;
    int number;
  };
  int process_;
  ordered_json& events_;
  std::vector<Thread> threads_;
};

}  // namespace

ordered_json trace_json(const std::vector<Row>& rows, const ordered_json& context) {
  ordered_json events = ordered_json::array();
  ordered_json other = context;
  other["shown"] = ordered_json::array();
  int process = 0;
  for (const Row& row : rows) {
    if (row.trace.empty() || row.repetition > 0) continue;
    if (row.show_trace) other["shown"].push_back(row.name);
    events.push_back(metadata(++process, "process_name", {{"name", row.name}}));
    Threads threads(process, events);
    std::map<std::string, std::size_t> place;  // of a track: as they were given
    for (const TracedOperation& o : row.trace) place.try_emplace(o.track, place.size());
    std::vector<TracedOperation> operations = row.trace;
    std::stable_sort(operations.begin(), operations.end(), [&](const auto& a, const auto& b) {
      return std::pair(place[a.track], a.begin) < std::pair(place[b.track], b.begin);
    });
    for (const TracedOperation& o : operations) {
      const bool point = o.end == o.begin;
      const int thread = threads.of(o);
      ordered_json event = {{"ph", point ? "i" : "X"},
                            {"pid", process},
                            {"tid", thread},
                            {"name", o.name},
                            {"ts", o.begin * 1e6}};
      if (point) {
        event["s"] = "t";
      } else {
        event["dur"] = (o.end - o.begin) * 1e6;
      }
      if (o.bytes > 0) event["args"]["bytes"] = o.bytes;
      if (!o.stream.empty()) event["args"]["stream"] = o.stream;
      events.push_back(std::move(event));
    }
  }
  return {{"displayTimeUnit", "ns"}, {"otherData", other}, {"traceEvents", std::move(events)}};
}

}  // namespace gpubench
