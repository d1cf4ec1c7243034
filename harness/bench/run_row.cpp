#include "harness/bench/run_row.hpp"

#include <new>

#include "harness/bench/bench.hpp"
#include "harness/bench/row_end.hpp"
#include "harness/system/error.hpp"
#include "harness/system/exception_text.hpp"

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
  } catch (const Skipped&) {  // before it has said its law
  }
  return bench.row().law;
}

Row run_row(const Instance& instance, Platform& platform, const BenchSettings& settings) {
  platform.begin_row();
  Bench bench(instance, platform, settings);
  Row row;
  const auto fail_as = [&](const char* kind, const std::string& reason) {
    row = bench.row();
    row.outcome = Outcome::failed;
    row.reason = reason.empty() ? "failed without a word" : reason;
    row.error_kind = kind;
    row.diagnosis = platform.take_diagnosis();
  };
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
    fail_as(error_kind::wrong_result, wrong.what);
  } catch (const CudaError& error) {
    const std::string lacking = platform.lacking_memory();
    if (error.is_out_of_memory() || error.is_unsupported()) {
      end_as(Outcome::skipped, lacking.empty() ? error.what() : lacking);
    } else {
      fail_as(error_kind_of(error.code()), error.what());
    }
  } catch (const UsageError& unknown) {  // a figure that this device's file does not have
    end_as(Outcome::skipped, unknown.what());
  } catch (const std::bad_alloc&) {
    fail_as(error_kind::out_of_memory, "the host's memory ran out");
  } catch (const std::exception& error) {
    fail_as(error_kind::exception, text_of(error));
  } catch (...) {
    fail_as(error_kind::exception, "the bench file threw what is no std::exception");
  }
  if (row.outcome == Outcome::failed && ProcessGroup::all().count() > 1) {
    ProcessGroup::all().abort(row.name + ": " + row.reason);
  }
  if (row.outcome == Outcome::measured && row.samples.empty()) {
    fail_as(error_kind::exception, "the bench function never called run()");
  }
  return row;
}

}  // namespace gpubench
