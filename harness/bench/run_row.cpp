#include "harness/bench/run_row.hpp"

#include "harness/bench/bench.hpp"
#include "harness/bench/row_end.hpp"
#include "harness/system/error.hpp"

namespace gpubench {
namespace {

// Whether a kernel has faulted: then every call fails from there on, whoever makes it.
bool is_device_lost() {
  const cudaError_t error = cudaStreamQuery(nullptr);
  if (error == cudaSuccess) return false;
  static_cast<void>(cudaGetLastError());
  return error != cudaErrorNotReady;
}

}  // namespace

Row run_row(const Instance& instance, Platform& platform, const BenchSettings& settings) {
  static std::string faulted_row;  // the row that left the device in an error, if one did
  Bench bench(instance, platform, settings);
  Row row;
  const auto end_as = [&](Outcome outcome, const std::string& reason) {
    row = bench.row();
    row.outcome = outcome;
    row.reason = reason;
  };
  if (!faulted_row.empty() && is_device_lost()) {
    end_as(Outcome::skipped, "not run: " + faulted_row + " left the device in an error state");
    return row;
  }
  faulted_row.clear();
  try {
    instance.function(bench);
    row = bench.row();
  } catch (const Skipped& skipped) {
    end_as(Outcome::skipped, skipped.reason);
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
  if (row.outcome == Outcome::failed && is_device_lost()) faulted_row = row.name;
  if (row.outcome == Outcome::failed && ProcessGroup::all().count() > 1) {
    ProcessGroup::all().abort(row.name + ": " + row.reason);
  }
  if (row.outcome == Outcome::measured && row.samples.empty()) {
    end_as(Outcome::failed, "the bench function never called run()");
  }
  return row;
}

}  // namespace gpubench
