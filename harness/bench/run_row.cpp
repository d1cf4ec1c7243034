#include "harness/bench/run_row.hpp"

#include "harness/bench/bench.hpp"
#include "harness/bench/row_end.hpp"
#include "harness/system/error.hpp"

namespace gpubench {

bool is_device_lost() {
  const cudaError_t error = cudaStreamQuery(nullptr);
  if (error == cudaSuccess) return false;
  static_cast<void>(cudaGetLastError());
  return error != cudaErrorNotReady;
}

Law law_of_row(const Instance& instance, Platform& platform, const BenchSettings& settings) {
  Bench bench(instance, platform, settings);
  bench.only_describe();
  try {
    instance.function(bench);
  } catch (const Described&) {
  }
  return bench.row().law;
}

Row run_row(const Instance& instance, Platform& platform, const BenchSettings& settings) {
  Bench bench(instance, platform, settings);
  Row row;
  const auto end_as = [&](Outcome outcome, const std::string& reason) {
    row = bench.row();
    row.outcome = outcome;
    row.reason = reason;
  };
  try {
    instance.function(bench);
    row = bench.row();
  } catch (const Skipped& skipped) {
    end_as(Outcome::skipped, skipped.reason);
  } catch (const Judged&) {
    end_as(Outcome::skipped, judged_right);
  } catch (const WrongResult& wrong) {
    end_as(Outcome::failed, wrong.what);
  } catch (const CudaError& error) {
    end_as(error.is_out_of_memory() || error.is_unsupported() ? Outcome::skipped : Outcome::failed,
           error.what());
  } catch (const UsageError& unknown) {  // a figure that this device's file does not have
    end_as(Outcome::skipped, unknown.what());
  } catch (const std::exception& error) {
    end_as(Outcome::failed, error.what());
  }
  if (row.outcome == Outcome::failed && ProcessGroup::all().count() > 1) {
    ProcessGroup::all().abort(row.name + ": " + row.reason);
  }
  if (row.outcome == Outcome::measured && row.samples.empty()) {
    end_as(Outcome::failed, "the bench function never called run()");
  }
  return row;
}

}  // namespace gpubench
