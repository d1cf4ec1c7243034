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
                                      model:FILE.json: your own device file
  --conditions=FILE                   inject the faults that this JSON file describes into the model
                                      device (delays, reordering, hangs, failing calls)
  --list_devices                      list the GPUs here and the devices that the model knows
What it runs
  --benchmark_filter=REGEX            rows whose name matches; a leading '-' excludes them
  --benchmark_list_tests              print the names of the rows and run nothing
  --suite=quick|default|full          quick: the first and last value of every swept parameter
  --axis=CONCEPT/KERNEL/AXIS=VALUES   only that kernel, with your own values: 3,5,7 or 1:64 or
                                      1:64:+4 or 1K:1G:*2; may be given several times
  --roofs                             only the rows that measure roofs (memory, caches, arithmetic),
                                      and a table of the roofs next to the data sheet's
How it measures
  --mode=cold|hot                     cold: buffers evicted from cache; hot: back-to-back batches
  --benchmark_min_time=SECONDS|Nx     sample a row for at most this long; stop earlier if the result
                                      is certain (0.5). Nx: take exactly N samples, such as 100x
  --benchmark_min_warmup_time=SECONDS warm-up per row, discarded (0.1)
  --benchmark_repetitions=N           run each row N times; adds mean, median, stddev and cv
  --benchmark_report_aggregates_only  with repetitions: only the aggregates, on the console and in
                                      the result file
  --benchmark_display_aggregates_only the same on the console only
  --profile                           run each row once without the start gate, for ncu and
                                      compute-sanitizer
  --isolate=none|fault|concept|row    which rows share a process. fault: all, until one breaks it;
                                      the rows after it have a new one (the default). none: a fault
                                      ends the run
  --row_limit=SECONDS                 a row that takes longer has hung, and fails (120 on a GPU, 3600
                                      on the model; 0: no limit)
  --row_memory=BYTES                  a row that takes more of the host's memory fails (nine tenths
                                      of what is free; 0: no limit)
  --watch_seconds=SECONDS             how long `throttle` watches a GPU (30)
  --energy                            on a GPU: measure the joules of one run of each row too, which
                                      takes 1.3 s per row or more
  --seed=N                            seed of the input data (42)
What it writes
  --benchmark_out=FILE                write a result file, and raw samples next to it, as
                                      NAME.samples.jsonl. FILE.journal keeps finished rows during
                                      the run. Ctrl-C and SIGTERM end a run early and keep them too
  --benchmark_out_format=json|csv|console
                                      format of the result file (json)
  --resume=FILE                       finish an interrupted run, with the same flags
  --benchmark_format=console|json|csv format of standard output
  --benchmark_color=auto|true|false   auto: colours on a terminal, unless NO_COLOR is set
  --benchmark_time_unit=ns|us|ms|s    unit of real_time and cpu_time in files (us)
  --benchmark_context=KEY=VALUE,...   add your own keys to the file's context
  --predict=on|off                    on a GPU: add the model's prediction to each row, computed on
                                      other cores while rows are measured (on)
  --terms                             print the terms of the prediction below each row
  --explain=ROW                       on the model: run only that row, and show which lane of a warp
                                      requests which sector or bank, for each line of its kernels;
                                      --benchmark_out adds NAME.explain.json
  --trace=FILE                        run each row once more and write a timeline for
                                      ui.perfetto.dev or chrome://tracing; on a GPU, from events
                                      around every operation
  --engine=source|ptx[:CONDUCT]       on the model: run each kernel as g++ compiled it (source, the
                                      default) or as PTX from nvcc. CONDUCT makes it behave as badly
                                      as CUDA allows: late,slow,random=SEED,shift=BYTES
  --whole_grids[=counted]             on the model: run every block of a kernel, not a sample; with
                                      counted, count what each of them does, too
  --keep_results=DIR                  on the model, for untrusted code: write results to files in DIR
                                      and do not check them
  --judge_results=DIR                 check the results in DIR; run no kernel
  --version                           print version, commit and compiler
The --benchmark_ flags are Google Benchmark's and mean the same, except that min_time is an upper
limit here.
Exit code: 0 every row ran or was skipped with a reason, 1 a row or the run failed, 2 bad usage,
128 + N signal N ended the run early (130: Ctrl-C).
)";

}  // namespace

const char* help_text() { return what_help_says; }

}  // namespace gpubench
