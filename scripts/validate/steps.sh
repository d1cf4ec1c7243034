# Steps of scripts/validate-gpu: each is run once, within the time of its stage, and leaves a mark in
# $out/.done when it has passed. Sourced, not run.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with the sourcing script

# What a step depends on that others in the folder do not: without the same it is run again.
declare -A depends=(
  [unit-tests]="$(sources_state tests)"
  [agreement]="--processes=$processes"
  [peers]="--sources=$sources --python=$python"
)
summary=()
failed=0
unreached=0
stage_began=$SECONDS
child=""
trap 'kill -INT "$child" 2>/dev/null; exit 130' INT TERM

note() { # VERDICT NAME WORDS
  summary+=("$(printf '%-8s %-24s %s' "$1" "$2" "$3")")
  printf '%s\n' "${summary[-1]}"
}

left() { printf '%d' "$((limit - (SECONDS - stage_began)))"; }

# limited FILE COMMAND...: with its output in FILE, and no longer than the stage has left. 124: cut off.
limited() {
  local file="$1" status=0 seconds
  shift
  seconds="$(left)"
  ((seconds > 0)) || return 124
  timeout --signal=INT --kill-after=20 "$seconds" "$@" >"$file" 2>&1 </dev/null &
  child=$!
  wait "$child" || status=$?
  child=""
  return "$status"
}

# conclude NAME STATUS BEGAN: what came of it; a step that has passed is not run again.
conclude() {
  local name="$1" status="$2" seconds="$((SECONDS - $3)) s"
  case "$status" in
    0)
      printf '%s' "${depends[$name]:-}" >"$out/.done/$name"
      note passed "$name" "$seconds"
      ;;
    124)
      unreached=1
      note "not yet" "$name" "the stage's time was up"
      ;;
    *)
      failed=1
      note FAILED "$name" "$seconds, exit code $status: $(tail -n 1 -- "$out/$name.txt" || true)"
      ;;
  esac
  return "$status"
}

is_done() {
  [[ -e "$out/.done/$1" && "$(cat -- "$out/.done/$1")" == "${depends[$1]:-}" ]] || return 1
  note "done" "$1" "in an earlier run"
}

# step NAME COMMAND...: once, with its output in NAME.txt.
step() {
  local name="$1" status=0 began=$SECONDS
  shift
  if is_done "$name"; then return 0; fi
  limited "$out/$name.txt" "$@" || status=$?
  conclude "$name" "$status" "$began"
}

skip() { note skipped "$1" "$2"; } # NAME REASON

# has NAME FILE...: whether what NAME needs was made; else it is skipped.
has() {
  local name="$1" file
  shift
  for file in "$@"; do
    if [[ ! -s "$file" ]]; then
      skip "$name" "there is no ${file#"$out/"}"
      return 1
    fi
  done
}

needs_gpu() { # NAME REASON
  [[ "$modelled" == no ]] && return 0
  skip "$1" "$2"
  return 1
}

needs_tool() { # NAME TOOL
  command -v "$2" >/dev/null && return 0
  skip "$1" "there is no $2 in PATH"
  return 1
}

concepts() { # SUITE EXCEPT...
  local of="$1"
  shift
  "$gpubench" --device="$device" --suite="$of" --benchmark_list_tests | cut -d/ -f1 | sort -u |
    grep -vxF -e "$(printf '%s\n' - "$@")"
}
