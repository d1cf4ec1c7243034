#include "harness/program/options.hpp"

namespace gpubench {

namespace {

constexpr const char* what_help_says =
    R"(gpubench shows what your GPU actually delivers, concept by concept, and why.

  ./gpubench --benchmark_filter='^coalescing/'            one concept, on the GPU or the model
  ./gpubench --device=model:h100-sxm --terms              what an H100 would do, and why
  ./gpubench --benchmark_out=run.json                     a result file; scripts/bench adds charts

Where it runs
  --device=auto|cuda[:N]|model:NAME   auto: the GPU if there is one, else model:h200-sxm;
                                      model:FILE.json: a device file of your own
  --conditions=FILE                   injects faults into the model device (delays, reordering,
                                      hangs), as a JSON file describes
  --list_devices                      every GPU here and every device the model knows
What it runs
  --benchmark_filter=REGEX            rows whose name matches; a leading '-' excludes them
  --benchmark_list_tests              print the names of the rows and run nothing
  --suite=quick|default|full          quick: the first and last value of every swept parameter
  --axis=CONCEPT/KERNEL/AXIS=VALUES   only that kernel, with values of your own: 3,5,7 or 1:64 or
                                      1:64:+4 or 1K:1G:*2; may be given several times
  --roofs                             only the rows that measure a roof (memory, caches, arithmetic),
                                      and a table of the roofs next to the data sheet's
How it measures
  --mode=cold|hot                     cold: buffers evicted from cache; hot: back-to-back batches
  --benchmark_min_time=SECONDS        the most time to sample a row; stops sooner if certain (0.5)
  --benchmark_min_warmup_time=SECONDS warm-up per row, discarded (0.1)
  --benchmark_repetitions=N           run each row N times; adds mean, median, stddev and cv
  --benchmark_report_aggregates_only, --benchmark_display_aggregates_only
                                      report_...: only the aggregates, everywhere; display_...:
                                      on the console only
  --profile                           one run per row without the start gate, for ncu and
                                      compute-sanitizer
  --row_limit=SECONDS                 a row that takes longer has hung: it fails, and the run ends
                                      (120 on a GPU, 3600 on the model; 0: no limit)
  --watch_seconds=SECONDS             how long `throttle` watches a GPU (30)
  --seed=N                            seed of the input data (42)
What it writes
  --benchmark_out=FILE                the result file: JSON, or --benchmark_out_format=csv|console;
                                      raw samples go next to it, as NAME.samples.jsonl. Ctrl-C and
                                      SIGTERM end a run early and keep the finished rows; until
                                      then, FILE.journal keeps them, whatever happens
  --resume=FILE                       finishes a run that was broken off, with the same flags
  --benchmark_format=console|json|csv on standard output
  --benchmark_color=auto|true|false   auto: colours on a terminal, unless NO_COLOR is set
  --benchmark_time_unit=ns|us|ms|s    of real_time and cpu_time in files (us)
  --benchmark_context=KEY=VALUE,...   keys of your own in the file's context
  --predict=on|off                    on a GPU: adds the model's prediction to each row, worked out
                                      on other cores while rows are measured (on)
  --terms                             the terms of the prediction below each row
  --explain=ROW                       on the model: runs only that row and shows, for each line of
                                      its kernels, which lane of a warp requests which sector or
                                      bank; --benchmark_out adds it as NAME.explain.json
  --trace=FILE                        runs each row once more and writes a timeline for
                                      ui.perfetto.dev or chrome://tracing; on a GPU, from events
                                      around every operation
  --engine=source|ptx[:CONDUCT]       on the model: run each kernel as g++ compiled it (source, the
                                      default) or as PTX by nvcc; with CONDUCT as badly as CUDA
                                      allows: late,slow,random=SEED,shift=BYTES
  --whole_grids                       on the model: run every block of a kernel, not a sample
  --version                           version, commit and compiler
--benchmark_ flags are Google Benchmark's and mean the same, but min_time is an upper limit here.
Exit code: 0 every row ran or was skipped with a reason, 1 a row or the run failed, 2 bad usage,
128 + N ended early by signal N (130: Ctrl-C).
)";

}  // namespace

const char* help_text() { return what_help_says; }

}  // namespace gpubench
