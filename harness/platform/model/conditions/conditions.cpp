#include "harness/platform/model/conditions/conditions.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/system/error.hpp"

namespace gpubench::model {
namespace {

using nlohmann::json;

// One object of the file: hands out its members and, at the end, refuses those nobody asked for.
class Members {
 public:
  // `path`: where the object stands in the file, as "ordering.", or "" for the file itself.
  Members(const json& object, std::string origin, std::string path)
      : object_(object), origin_(std::move(origin)), path_(std::move(path)) {
    if (!object_.is_object()) fail("must be an object");
  }

  void number(const char* key, double& value, double least, double most) {
    take(key, [&](const json& given) {
      const bool good = given.is_number() && given >= least && given <= most;
      if (!good) fail("must be a number from " + text(least) + " to " + text(most), key);
      value = given;
    });
  }
  template <class Integer>
  void integer(const char* key, Integer& value, std::uint64_t least, std::uint64_t most) {
    take(key, [&](const json& given) {
      const bool whole = given.is_number_unsigned();
      const std::uint64_t number = whole ? given.get<std::uint64_t>() : 0;
      if (!whole || number < least || number > most) {
        fail("must be a whole number from " + std::to_string(least) + " to " + std::to_string(most),
             key);
      }
      value = static_cast<Integer>(number);
    });
  }
  void flag(const char* key, bool& value) {
    take(key, [&](const json& given) {
      if (!given.is_boolean()) fail("must be true or false", key);
      value = given;
    });
  }
  void words(const char* key, std::string& value) {
    take(key, [&](const json& given) {
      if (!given.is_string()) fail("must be a string", key);
      value = given;
    });
  }
  // Calls read(Members) for the object under `key`, if there is one.
  template <class Read>
  void object(const char* key, Read read) {
    take(key, [&](const json& given) {
      Members members(given, origin_, path_ + key + ".");
      read(members);
      members.refuse_others();
    });
  }
  void refuse_others() const {
    for (const auto& [key, unused] : object_.items()) {
      if (!asked_.contains(key)) fail("is no key that is known", key);
    }
  }

 private:
  template <class Take>
  void take(const char* key, Take take) {
    asked_.insert(key);
    if (const auto found = object_.find(key); found != object_.end()) take(*found);
  }
  static std::string text(double number) { return json(number).dump(); }
  [[noreturn]] void fail(const std::string& what, const std::string& key = "") const {
    std::string place = path_ + key;
    if (place.ends_with('.')) place.pop_back();
    throw UsageError(origin_ + ": " + (place.empty() ? "" : "'" + place + "' ") + what);
  }

  const json& object_;
  const std::string origin_, path_;
  std::set<std::string> asked_;
};

constexpr std::uint64_t most = 1'000'000'000;  // of what is counted

void read_ordering(Members& in, Ordering& ordering) {
  in.integer("seed", ordering.seed, 0, most);
  int queues = 0;
  in.integer("hardware_queues", queues, 1, 32);
  if (queues > 0) ordering.hardware_queues = queues;
  in.flag("late_memsets", ordering.late_memsets);
  in.flag("late_pageable_copies", ordering.late_pageable_copies);
  in.flag("late_device_copies", ordering.late_device_copies);
  in.number("host_call_seconds", ordering.host_call_seconds, 0, 1);
  const auto launch = [&](const char* key, std::optional<PlantedLaunch>& planted) {
    in.object(key, [&](Members& members) {
      planted.emplace();
      members.words("kernel", planted->kernel);
      members.integer("launch", planted->launch, 1, most);
      members.integer("error", planted->error, 1, most);
    });
  };
  launch("hang", ordering.hang);
  launch("fault", ordering.fault);
  in.flag("late_bulk_copies", ordering.late_bulk_copies);
  in.flag("random_blocks", ordering.random_blocks);
  in.flag("random_warps", ordering.random_warps);
}

void read_failing_call(Members& in, PlantedCall& planted) {
  in.words("function", planted.function);
  in.integer("call", planted.call, 1, most);
  in.integer("error", planted.error, 1, most);
  in.flag("lasting", planted.is_lasting);
}

void read_clock(Members& in, ClockConditions& clock) {
  constexpr double hertz = 1e11;
  in.number("idle_hz", clock.idle_hz, 0, hertz);
  in.number("ramp_seconds", clock.ramp_seconds, 1e-6, 100);
  in.number("idle_after_seconds", clock.idle_after_seconds, 1e-6, 1e6);
  in.number("share", clock.share, 0, 1);
  in.number("load_seconds", clock.load_seconds, 1e-6, 1e3);
  in.number("heavy_seconds", clock.heavy_seconds, 0, 1e3);
  in.number("limit_hz", clock.limit_hz, 0, hertz);
  in.number("limit_load", clock.limit_load, 0.01, 0.99);
  in.integer("limit_steps", clock.limit_steps, 1, 100);
  in.flag("limit_is_thermal", clock.limit_is_thermal);
}

void read_timing(Members& in, TimingConditions& timing) {
  timing.present = true;
  in.integer("seed", timing.seed, 0, most);
  in.number("event_tick_seconds", timing.event_tick_seconds, 0, 1e-3);
  in.object("clock", [&](Members& members) { read_clock(members, timing.clock); });
  in.object("noise", [&](Members& members) {
    NoiseConditions& noise = timing.noise;
    members.number("sigma", noise.sigma, 0, 1);
    members.number("tail_probability", noise.tail_probability, 0, 0.4);
    members.number("tail_mean", noise.tail_mean, 1e-6, 1e3);
    members.number("drift_sigma", noise.drift_sigma, 0, 1);
    members.number("drift_seconds", noise.drift_seconds, 1e-6, 1e3);
    members.number("process_sigma", noise.process_sigma, 0, 1);
  });
  in.object("tenant", [&](Members& members) {
    TenantConditions& tenant = timing.tenant;
    members.number("period_seconds", tenant.period_seconds, 1e-5, 1e3);
    members.number("burst_seconds", tenant.burst_seconds, 0, 1e3);
    members.number("slowdown", tenant.slowdown, 1, 1e3);
    members.number("jitter", tenant.jitter, 0, 0.5);
  });
  in.object("host", [&](Members& members) {
    HostConditions& host = timing.host;
    members.number("jitter", host.jitter, 0, 2);
    members.number("hiccup_probability", host.hiccup_probability, 0, 1);
    members.number("hiccup_seconds", host.hiccup_seconds, 0, 1);
  });
}

}  // namespace

Conditions parse_conditions(std::string_view text, const std::string& origin) {
  const json file = json::parse(text, nullptr, false);
  if (file.is_discarded()) throw UsageError(origin + ": not valid JSON");
  Conditions conditions;
  Members members(file, origin, "");
  members.words("about", conditions.about);
  members.object("ordering", [&](Members& in) { read_ordering(in, conditions.ordering); });
  members.object("timing", [&](Members& in) { read_timing(in, conditions.timing); });
  members.object("failing_call",
                 [&](Members& in) { read_failing_call(in, conditions.failing_call.emplace()); });
  members.refuse_others();
  return conditions;
}

Conditions load_conditions(const std::filesystem::path& file) {
  std::ifstream in;
  std::error_code ignored;
  // A device might never end, and a pipe never begin.
  if (std::filesystem::is_regular_file(file, ignored)) in.open(file);
  if (!in.is_open()) {
    throw UsageError("cannot read conditions from " + file.string());
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Conditions conditions = parse_conditions(text, file.string());
  conditions.name = file.stem().string();
  return conditions;
}

}  // namespace gpubench::model
