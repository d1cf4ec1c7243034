# The stages of scripts/validate-gpu. Sourced, not run.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the sourcing script

# gpubench-report, by .venv or, for what needs no package, by any Python 3.11.
report=(env "PYTHONPATH=$root/reports" python3 -m gpubench_reports)
use_python_packages() {
  if [[ -x "$venv/bin/gpubench-report" ]]; then report=("$venv/bin/gpubench-report"); fi
}
use_python_packages

device_name() { # RESULT.json
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["context"]["device"])' "$1"
}

suite_run() { # N FLAGS...
  local n="$1"
  shift
  step "suite-$n" "${run[@]}" --suite="$suite" "$@" --benchmark_out="$out/suite-$n.json" || true
  # A gate that timed out says that the host waited for work queued behind it: a fault of ours.
  # shellcheck disable=SC2016 # the inner shell expands it
  [[ ! -e "$out/.done/suite-$n" ]] ||
    step "gate-$n" sh -c '! grep -nE "\"gate_timeouts\": [1-9]" "$1"' sh "$out/suite-$n.json" ||
    true
}

stage_1() {
  [[ -x "$gpubench" ]] || rm -f -- "$out/.done/build"
  step build "${BASH_SOURCE[-1]}" --build || return 0
  if needs_gpu device "a model has none"; then
    # shellcheck disable=SC2016 # the inner shell expands it
    step device sh -c 'nvidia-smi -q; "$1" --version; "$1" --list_devices' sh "$gpubench" || true
  fi
  step roofs "${run[@]}" --roofs --benchmark_out="$out/roofs.json" || true
  # With what the model says of the shipped device file; validation needs one run without.
  suite_run 1 --predict
}

stage_2() {
  local n filter
  for ((n = 2; n <= processes; ++n)); do suite_run "$n"; done
  step hot "${run[@]}" --suite="$suite" --mode=hot --benchmark_filter="$profiled" \
    --benchmark_out="$out/hot.json" || true
  if filter="$("${report[@]}" calibrate --filter)"; then
    step calibration "${run[@]}" --suite=full --benchmark_filter="$filter" \
      --benchmark_out="$out/calibration.json" || true
  else
    skip calibration "no Python 3.11 to read the rules with"
  fi
}

# What a kernel does is the question: not launches, hosts, links or how long a clock lasts.
no_counters=(all_reduce data_pipeline host_sync launch_overhead stream_overlap throttle topology transfer)
profiled="-^($(IFS='|' && printf '%s' "${no_counters[*]}"))/"

# each NAME LIST COMMAND: the command for one word of the list after the other, each once, within
# the stage's time. The command says in $out/NAME.txt what was wrong; status 77: it cannot run here.
each() {
  local name="$1" list="$2" command="$3" part status worst=0 began=$SECONDS
  if is_done "$name"; then return 0; fi
  rm -f -- "$out/$name.txt"
  for part in $list; do
    [[ ! -e "$out/.done/$name-$part" ]] || continue
    status=0
    "$command" "$name-$part" "$part" "$out/$name.txt" || status=$?
    case "$status" in
      0) touch -- "$out/.done/$name-$part" ;;
      77)
        skip "$name" "$(tail -n 1 -- "$out/$name.txt")"
        return 1
        ;;
      124)
        worst=124
        break
        ;;
      *) worst=$status ;;
    esac
  done
  conclude "$name" "$worst" "$began"
}

profile_concept() { # NAME CONCEPT FINDINGS
  local csv="$out/$1.csv" log="$out/$1.txt" status=0
  limited "$log" ncu --profile-from-start off --nvtx --clock-control none --cache-control none \
    --csv --page raw --print-units base --force-overwrite --log-file "$csv" \
    --metrics "$metrics" "$root/build/gpubench-cuda" --device="$device" --suite="$suite" --predict=off \
    --profile --benchmark_filter="^$2/" || status=$?
  if grep -qs ERR_NVGPUCTRPERM "$csv" "$log"; then
    printf '%s\n' "counters are not permitted here (ERR_NVGPUCTRPERM): be root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0" >>"$3"
    return 77
  fi
  if ((status != 0 && status != 124)); then
    printf '%s: exit code %d, %s\n' "$2" "$status" \
      "$(grep -hs -m 1 '==ERROR==' "$csv" "$log" || tail -n 1 -- "$log")" >>"$3"
  elif ((status == 0)); then
    rm -f -- "$log"
  fi
  return "$status"
}

stage_3() {
  step counted "${run[@]}" --suite="$suite" --profile --predict \
    --benchmark_filter="$profiled" --benchmark_out="$out/counted.json" || true
  needs_gpu profile "ncu profiles a GPU; the model's own counts are in counted.json" || return 0
  needs_tool profile ncu || return 0
  metrics="$("${report[@]}" counters --metrics)" || {
    skip profile "no Python 3.11 to list the metrics with"
    return 0
  }
  each profile "$(concepts "$suite" "${no_counters[@]}")" profile_concept || true
}

# What a sanitizer said of one test suite: errors fail, warnings are kept, a refusal skips the tool.
sanitize_suite() { # NAME SUITE FINDINGS
  local log="$out/$1.txt" tool="${1#sanitize-}" status=0
  limited "$log" compute-sanitizer --tool "${tool%%-*}" --error-exitcode 99 \
    "$root/build/gpubench-kernel-tests" --device="$device" --gtest_filter="$2.*" || status=$?
  ((status != 124)) || return 124
  if grep -qsE 'not supported|Unable to find injection library|terminated before first' "$log"; then
    grep -hm 1 -E 'not supported|Unable to find injection library|terminated before first' \
      "$log" >>"$3"
    return 77
  fi
  if ((status == 0)); then
    grep -hsE '[1-9][0-9]* warnings' "$log" | sed "s/^/$2: /" >>"$out/sanitize-warnings.txt" || true
    rm -f -- "$log"
  else
    printf '%s: exit code %d, see %s\n' "$2" "$status" "$1.txt" >>"$3"
  fi
  return "$status"
}

stage_4() {
  local tool suites
  local tests="$root/build/gpubench-kernel-tests"
  needs_gpu unit-tests "they run on the model device everywhere (scripts/test)" || return 0
  if ! find_nvcc >/dev/null && [[ ! -x "$tests" ]]; then
    skip unit-tests "there is no nvcc to build them"
    return 0
  fi
  step build-tests "${BASH_SOURCE[-1]}" --build-tests || return 0
  step unit-tests "$tests" --device="$device" || true
  # Small and ragged shapes, and every kernel: what finds most per minute. Bounds first.
  suites="$("$tests" --gtest_list_tests | sed -n 's/^\([A-Za-z0-9_]*\)\..*/\1/p')"
  for tool in memcheck racecheck synccheck initcheck; do
    if needs_tool "sanitize-$tool" compute-sanitizer; then
      each "sanitize-$tool" "$suites" sanitize_suite || true
    fi
  done
}

# told NAME PATH: what gpubench-report NAME says of it, in NAME.txt, and as Markdown in NAME.md.
told() {
  # shellcheck disable=SC2016 # the inner shell expands it
  step "$1" sh -c '"$1" "$2" --markdown "$3" >"$4" && "$1" "$2" "$3"' sh \
    "$venv/bin/gpubench-report" "$1" "$2" "$out/$1.md" || true
}

counters_told() {
  local profile concept profiles=()
  for profile in "$out"/profile-*.csv; do
    concept="${profile##*/profile-}"
    if [[ -e "$out/.done/profile-${concept%.csv}" ]]; then profiles+=("$profile"); fi
  done
  if ((${#profiles[@]} == 0)); then
    skip counters "nothing was profiled"
  elif has counters "$out/counted.json" "$out/hot.json"; then
    step counters "${report[@]}" counters "$out/counted.json" "${profiles[@]}" --times="$out/hot.json" ||
      true
    # As long as concepts are missing, the table is made again.
    [[ -e "$out/.done/profile" ]] || rm -f -- "$out/.done/counters"
  fi
}

calibration_told() {
  local from=()
  if has calibrated "$out/calibration.json"; then
    [[ "$modelled" == no ]] || from=(--from-model)
    mkdir -p -- "$out/calibrated"
    # Called as the device is, so that its predictions are found to be of the same one.
    step calibrated "${report[@]}" calibrate "$out/calibration.json" "${from[@]}" \
      --out="$out/calibrated/$(device_name "$out/calibration.json").json" || true
  fi
}

validation_told() {
  local calibrated
  needs_gpu validation "a model cannot be held against itself" || return 0
  if has validation "$out/suite-1.json"; then
    step validation "${report[@]}" validate "$out/suite-1.json" --out="$out/validation" || true
  fi
  calibrated="$(compgen -G "$out/calibrated/*.json" | head -n 1)" || true
  if has validation-calibrated "$out/suite-2.json" "${calibrated:-$out/calibrated/DEVICE.json}"; then
    step predicted "$gpubench" --device="model:$calibrated" --suite="$suite" \
      --benchmark_out="$out/predicted.json" || true
    if has validation-calibrated "$out/predicted.json"; then
      step validation-calibrated "${report[@]}" validate "$out/suite-2.json" "$out/predicted.json" \
        --out="$out/validation-calibrated" || true
    fi
  fi
}

peers_told() {
  local nvcc line
  needs_gpu peers "other programs measure, and there is nothing to measure here" || return 0
  local options=(--program="$gpubench" --python="$python" --seconds="$(left)")
  if nvcc="$(find_nvcc)"; then options+=(--nvcc="$nvcc"); fi
  if [[ -n "$sources" ]]; then options+=(--sources="$sources"); fi
  if [[ -s "$out/roofs.json" ]]; then options+=(--device="$(device_name "$out/roofs.json")"); fi
  step peers "${report[@]}" peers "$out/peers" "${options[@]}" || true
  if grep -qs '^skipped time:' "$out/peers.txt"; then
    rm -f -- "$out/.done/peers"
    unreached=1
  fi
  while read -r line; do
    line="${line#skipped }"
    skip "peers: ${line%%:*}" "${line#*: }"
  done < <(grep -s '^skipped ' "$out/peers.txt")
}

stage_5() {
  local n made=()
  step python "${BASH_SOURCE[-1]}" --python-packages || return 0
  use_python_packages
  for ((n = 1; n <= processes; ++n)); do
    if [[ -e "$out/.done/suite-$n" ]]; then made+=("$out/suite-$n.json"); fi
  done
  if ((${#made[@]} == processes && processes > 1)); then
    step agreement "${report[@]}" agree "${made[@]}" || true
  else
    skip agreement "${#made[@]} of $processes suites have been run"
  fi
  counters_told
  calibration_told
  validation_told
  if has claims "$out/suite-1.json"; then told claims "$out/suite-1.json"; fi
  peers_told
  if [[ "$modelled" == no ]] && has goals "$out/suite-1.json"; then
    rm -f -- "$out/.done/goals" # of whatever is there by now
    told goals "$out"
  fi
}
