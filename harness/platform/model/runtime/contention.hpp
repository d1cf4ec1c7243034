// Operations that slow each other while they run side by side: a collective takes SMs away from a
// product of cuBLASLt, has to wait for them itself, and both share device memory.
//
// Each has a claim. What it takes alone is worked off at a rate that changes whenever another one
// begins or ends, so its end is only known when it has come.
#pragma once

#include <functional>
#include <memory>
#include <vector>

namespace gpubench::model {

struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

// What an operation takes from others with a claim on the same device, and what it loses to them.
struct Claim {
  std::vector<int> devices;
  double sms = 0;     // share of a device's SMs that it has to itself
  double memory = 0;  // share of its time alone that device memory needs for its bytes
  // Its blocks end, and leave their SMs to others, every so often. [s, alone]
  double wave_seconds = 0;
  // Its time with this share of the SMs over that with all; empty: the SMs that it has are enough.
  std::function<double(double sms)> slowdown{};
};

class Contention {
 public:
  struct Change {
    double time;             // infinity: there is none
    OperationPtr operation;  // that ends then; nullptr: one gets its SMs
  };

  bool is_empty() const { return running_.empty(); }
  // `seconds`: what it takes alone.
  void begin(OperationPtr operation, const Claim& claim, double start, double seconds);
  // The next change, if nothing begins before.
  Change next() const;
  // Lets time pass up to that change, and makes it.
  void make(const Change& change);
  // Calls f(operation, end) for each, with the end as far as it is known.
  template <class F>
  void each_end(const F& f) const {
    for (const Running& one : running_) f(*one.operation, end_of(one));
  }

 private:
  struct Running {
    OperationPtr operation;
    Claim claim;
    double start, granted;  // has its SMs from then on
    double left;            // of its time alone
    double rate = 0;        // at which that passes
    bool takes_part(double now) const { return granted <= now; }
  };

  // The sum of what `of` says of all that run on a device of the claim's, where it is the most.
  double most_on_a_device(const Claim& claim,
                          const std::function<double(const Running&)>& of) const;
  static bool share_device(const Claim& a, const Claim& b);
  double end_of(const Running& one) const;
  double granted_at(const Claim& claim, double start) const;
  void pass(double until);
  void set_rates();

  std::vector<Running> running_;
  double now_ = 0;
};

}  // namespace gpubench::model
