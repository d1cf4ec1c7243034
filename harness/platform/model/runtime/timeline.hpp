// Operations of the model device in virtual time: a discrete-event simulation of engines that work
// through a graph of operations.
//
// An operation starts at the latest of: the moment the host's command reaches the device, the
// release of every operation it comes after, and the moment its engine has room. Operations are
// carried out in the order of their start times and only up to a given moment, so that what the
// host issues later can still come first on an engine.
//
// Under conditions (conditions/conditions.hpp) there is more: an operation starts no sooner than
// the one before it in its hardware queue, a late one only when something needs it, and one may
// never end.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/platform/model/runtime/contention.hpp"
#include "harness/platform/model/runtime/order.hpp"

namespace gpubench::model {

enum class Engine { none, compute, copy_to_device, copy_to_host };
const char* engine_name(Engine engine);

// What an operation does, wherever and however often it is queued.
struct Work {
  std::string name{};
  Engine engine = Engine::none;
  int device = 0;           // whose engine
  double share = 1;         // of the engine while it runs, (0, 1]
  int priority = 0;         // lower comes first where both could start now
  double bytes = 0;         // that it copies or sets
  double hold_seconds = 0;  // what comes after starts at least this long after the start,
  double lead_seconds = 0;  // and may start so long before the end
  // The same for what comes after and need not wait for all of this (`early`); 0: it waits too.
  double early_hold_seconds = 0, early_lead_seconds = 0;
  bool early = false;
  bool marker = false;       // right after work: takes the time at its end, before its hold is over
  double arrives_later = 0;  // than a kernel whose launch is issued at the same time [s]
  bool late = false;  // not before something that comes after it could start, or the host waits
  std::function<double()>
      carry_out{};  // does it and returns its duration [s], infinity: never; empty: nothing to do
  std::shared_ptr<Touches> touches{};        // known once it is carried out; none: no device memory
  std::function<void(InOrder&)> on_order{};  // it gives or takes word of what comes before what
  std::function<bool()> condition{};         // not to start before this holds; empty: always holds
  std::shared_ptr<const Claim> claim{};      // others with one slow it down; none: nobody does
};

struct Operation {
  Work work;
  int stream = 0;
  InOrder place;          // in the order that CUDA's rules make
  double ready = 0;       // earliest start as far as is known
  bool marker = false;    // as the work says, which is gone once it is done
  bool early = false;     // likewise
  double held_until = 0;  // of a marker: the hold that it passes on
  std::size_t waits_for = 0;
  std::vector<OperationPtr> before;  // those that come after this one
  OperationPtr queued_behind;        // starts first, as both share a hardware queue
  double start = 0;
  std::int64_t branch = 0;  // of a graph
  bool continued = false;   // another one of the graph follows in its branch
  bool needed = false;      // a late one that is to be carried out
  bool blocked = false;     // its condition did not hold when it was ready
  bool started = false;     // carried out, but others may still slow it down
  bool finished = false;    // carried out: the following two are known
  double end = 0;
  double release = 0;  // when what comes after may start
  double early_release = 0;
};

// What is left of an operation for whoever draws the timeline. Times in seconds since the start.
struct Record {
  int stream = 0;  // 0: the legacy default stream
  Engine engine = Engine::none;
  std::string name;
  double bytes = 0;
  double start = 0;
  double end = 0;
};

// What is left of the host's calls; polls in a row are one record.
struct HostRecord {
  const char* name = "";
  std::size_t calls = 1;
  double start = 0;  // the host's virtual clock [s]
  double end = 0;
};

class Timeline {
 public:
  // The newest records are kept, this many at most.
  static constexpr std::size_t max_records = std::size_t{1} << 18;

  // `one_copy_engine`: copies to and from the device share one.
  explicit Timeline(bool one_copy_engine) : one_copy_engine_(one_copy_engine) {}

  // Queues `work`, to start at `earliest` [s] or later and after every operation in `after`.
  // `branch`: of a graph; what is in none is the stream's own, 0.
  OperationPtr add(Work work, int stream, double earliest, const std::vector<OperationPtr>& after,
                   std::int64_t branch = 0);
  // The same behind what was last put into a hardware queue (numbered from 0).
  OperationPtr add_to_queue(int queue, Work work, int stream, double earliest,
                            const std::vector<OperationPtr>& after);

  // Carries out the next operation if it starts by `until` [s]; false: there is none. Whatever the
  // operation throws passes through; it then counts as finished.
  bool step(double until);

  // Asked for what each operation of the compute engine takes instead of what it says itself.
  using Lasting = std::function<double(double seconds, double start)>;
  void set_lasting(Lasting lasting) { lasting_ = std::move(lasting); }

  // The host has waited for these since `time`: late operations that they come after are needed.
  void need(const std::vector<OperationPtr>& operations, double time);
  void need_all(double time) { need(late_, time); }
  // What waited for a word that the host has written since the last call sees it at `time`.
  void host_may_have_written(double time);

  // Nothing that could still be observed happens before `time`.
  void reach(double time) { now_ = std::max(now_, time); }

  // Time begins anew. Nothing may be queued, and nobody may look at what was carried out before.
  void restart();

  double now() const { return now_; }  // of what is carried out: its start
  // Nothing is queued any more.
  bool idle() const { return ready_.empty() && endless_ == nullptr && contention_.is_empty(); }
  double last_end() const { return last_end_; }  // of everything that was carried out

  // The first operation that only waits for its condition, or nullptr.
  OperationPtr blocked() const;
  // An operation that never ends, or nullptr.
  const OperationPtr& endless() const { return endless_; }
  Order& order() { return order_; }

  const std::deque<Record>& records() const { return records_; }
  void clear_records() { records_.clear(); }

 private:
  struct Running {
    double end;
    double share;
    const Operation* contended = nullptr;  // whose end may still change
  };

  struct Next {
    OperationPtr operation;
    double start = 0;
  };
  Next next();
  static bool is_wanted(const Operation& late);
  void look_at_late();
  std::vector<Running>& running(const Work& work);
  static void come_after(Operation& later, const Operation& finished);
  double start_of(const Operation& operation);
  void finish(const OperationPtr& operation, double start, double seconds);
  // The next thing to happen is that an operation that others slow down ends, or gets its SMs.
  void let_contention_change();
  void contend(const OperationPtr& operation, double start, double seconds);
  void update_ends();

  bool one_copy_engine_;
  Lasting lasting_;
  double last_end_ = 0;
  double now_ = 0;  // nothing starts before this any more
  Order order_;
  std::vector<OperationPtr> ready_;  // waiting for their time, their engine or their condition
  std::vector<OperationPtr> late_;   // ready or not
  OperationPtr endless_;
  Contention contention_;
  std::map<int, OperationPtr> last_in_queue_;                   // by hardware queue
  std::map<int, std::array<std::vector<Running>, 3>> running_;  // by device
  std::deque<Record> records_;
};

}  // namespace gpubench::model
