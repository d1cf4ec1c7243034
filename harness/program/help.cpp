#include "harness/program/options.hpp"

namespace gpubench {

const char* help_text() {
  return R"(gpubench: what a GPU really does, concept by concept, beside what theory predicts.

  ./gpubench --benchmark_filter='^coalescing/'            one concept, on the GPU or the model
  ./gpubench --device=model:h100-sxm --terms              what an H100 would do, and why
  ./gpubench --benchmark_out=run.json                     a result file; scripts/bench adds charts

Where it runs
  --device=auto|cuda[:N]|model:NAME   auto takes the GPU if there is one, else model:h200-sxm.
                                      model:FILE.json takes a device file of yours.
  --list_devices                      every GPU here and every device the model knows
What it runs
  --benchmark_filter=REGEX            rows whose name matches; a leading '-' takes the others
  --benchmark_list_tests              the names, and nothing else
  --suite=quick|default|full          quick: the ends of every axis
  --roofs                             only the rows that measure a roof (memory, caches, arithmetic),
                                      and a table of the roofs beside the data sheet's
How it measures
  --mode=cold|hot                     cold: buffers the caches have forgotten. hot: batches
  --benchmark_min_time=SECONDS        time budget of a row (0.5)
  --benchmark_min_warmup_time=SECONDS warm-up of a row, thrown away (0.1)
  --benchmark_repetitions=N           whole rows again, with mean, median, stddev and cv
  --benchmark_report_aggregates_only, --benchmark_display_aggregates_only
                                      only those four; display: in files all the same
  --profile                           one ungated run a row, for ncu and compute-sanitizer
  --watch_seconds=SECONDS             how long `throttle` watches a GPU (30)
  --seed=N                            of the input data (42)
What it says
  --benchmark_out=FILE                the result file: JSON, or --benchmark_out_format=csv|console;
                                      raw samples go beside it, as NAME.samples.jsonl. Ctrl-C
                                      ends a run early, with what it has in these files
  --benchmark_format=console|json|csv on standard output
  --benchmark_time_unit=ns|us|ms|s    of real_time and cpu_time in files (us)
  --benchmark_context=KEY=VALUE,...   keys of your own in the file's context
  --predict                           on a GPU: the model's prediction for each row beside it
  --terms                             the prediction's terms, a line each
  --explain=ROW                       on the model: runs that row alone and shows, line by line of
                                      its kernels, which lane of a warp asks for which sector or
                                      bank; --benchmark_out adds it as NAME.explain.json
  --trace=FILE                        what happened when in one more run of each row, for
                                      ui.perfetto.dev or chrome://tracing; on a GPU, by events
                                      around every operation
  --conditions=FILE                   a model device that is less kind, as the JSON file says:
                                      what comes late, out of order, slowly or never
  --whole_grids                       on the model: run every block of a kernel, not a sample
  --version                           the program's number, commit and compiler
Every flag that begins with --benchmark_ is Google Benchmark's and keeps its meaning.
Exit code: 0 all rows ran or were skipped with a reason, 1 a row or the run failed, 2 bad usage,
130 interrupted.
)";
}

}  // namespace gpubench
