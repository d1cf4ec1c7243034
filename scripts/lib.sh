# Shared by the scripts: what has to be installed (packages.sh), the build, the Python environment.
# Sourced, not run; the sourcing script sets `program` for messages.
# Nothing here changes the working directory, and everything it prints goes to stderr.
# shellcheck shell=bash

root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
venv="$root/.venv"
offline="$root/.offline" # what scripts/bundle-offline brought, for machines without a network

say() { printf '%s: %s\n' "${program:-gpubench}" "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# For a script whose exit code 1 means something else: a mistake on its command line.
mistake() {
  say "$*"
  exit 2
}

# answer_help ARGUMENT...: if one of them asks for help, prints the comment that the script begins
# with, and ends.
answer_help() {
  local argument
  for argument in "$@"; do
    if [[ "$argument" == -h || "$argument" == --help ]]; then
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' -- "$0"
      exit 0
    fi
  done
}

# What compilers, pip and we put aside goes there.
temporary="${TMPDIR:-/tmp}"
[[ -d "$temporary" && -w "$temporary" ]] ||
  die "TMPDIR=$temporary: no folder that can be written to; set TMPDIR to one"

# Runs a command with its output put aside; shows it only if the command fails.
quietly() {
  local log status=0
  log="$(mktemp)"
  "$@" >"$log" 2>&1 || status=$?
  ((status == 0)) || cat -- "$log" >&2
  rm -f -- "$log"
  return "$status"
}

bundled() { [[ -e "$offline/$1" ]]; }

# What comes from the distribution.
# shellcheck source=scripts/packages.sh
source "$root/scripts/packages.sh"

# --- build ----------------------------------------------------------------------------------------

find_nvcc() {
  local candidate
  for candidate in "${CUDACXX:-}" nvcc "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" \
    /usr/local/cuda/bin/nvcc; do
    if [[ -n "$candidate" ]] && command -v "$candidate"; then
      return 0
    fi
  done
  return 1
}

has_gpu() { [[ -e /dev/nvidiactl || -e /dev/dxg ]]; }

# configure PRESET BUILD_DIR: only when there is reason to. CMake sees changes of its own files;
# it does not see a changed preset, a moved checkout, or a compiler or a GPU that came later.
configure() {
  local preset="$1" build="$2" nvcc reason gpu=no
  local -a halves=() folders=("-DGPUBENCH_CONCEPT_FOLDERS=${GPUBENCH_CONCEPT_FOLDERS:-}")
  nvcc="$(find_nvcc)" && export CUDACXX="$nvcc"
  if has_gpu; then gpu=yes; fi
  reason="$preset $root nvcc=$nvcc gpu=$gpu $(cksum <"$root/CMakePresets.json")"
  reason+=" ${GPUBENCH_CONCEPT_FOLDERS:-}" # of scripts/bench
  if [[ -f "$build/build.ninja" && "$(cat -- "$build/.configured" 2>/dev/null)" == "$reason" ]]; then
    return 0
  fi
  if [[ -n "$nvcc" && "$preset" == release && "$gpu" == no ]]; then
    # It would take most of the time, and could not run.
    say "no GPU here: building the model's half only (cmake --preset release builds both)"
    halves=(-DGPUBENCH_CUDA=OFF)
  elif [[ -n "$nvcc" ]]; then
    say "configuring with $nvcc"
  else
    say "configuring without nvcc: model devices only"
  fi
  # If this is broken off, what it leaves looks configured and cannot be built.
  rm -f -- "$build/.configured"
  quietly cmake -S "$root" --fresh --preset "$preset" "${halves[@]}" "${folders[@]}" || return
  local library
  while read -r library; do
    say "using $library $(cat -- "$offline/$library/VERSION"), built from .offline/$library"
  done < <(sed -n -E 's/^(benchmark|nlohmann_json|GTest)_DIR:PATH=.*-NOTFOUND$/\1/p' \
    "$build/CMakeCache.txt")
  printf '%s\n' "$reason" >"$build/.configured"
}

# build_targets BUILD_DIR TARGET...: progress on a terminal, otherwise silent unless it fails.
build_targets() {
  local build="$1"
  shift
  local -a command=(cmake --build "$build" --parallel "$(nproc)" --target "$@")
  if [[ -t 2 ]]; then
    NINJA_STATUS='[%f/%t, %es] ' "${command[@]}" >&2
  else
    [[ -e "$build/$1" ]] || say "building $*; the first time takes minutes"
    quietly "${command[@]}"
  fi
}

ensure_configured() { # PRESET BUILD_DIR
  configure "$@" || die "CMake stopped; its output is above"
}

# For a checkout that is mounted read-only, say: what is there serves, if it is all there.
take_what_is_built() { # BUILD_DIR TARGET...
  local build="$1" target
  shift
  for target in "$@"; do
    [[ -x "$build/$target" ]] ||
      die "cannot write to $build, and there is no $target in it: build it where it can be written"
  done
  say "cannot write to $build: taking what was built there, whatever has changed since"
}

ensure_built() { # PRESET BUILD_DIR TARGET...
  local place="$2"
  [[ -e "$place" ]] || place="$(dirname -- "$2")"
  if [[ ! -w "$place" ]]; then
    take_what_is_built "${@:2}"
    return
  fi
  # ninja reads no more of a name in a compiler's list than up to one of these.
  local unreadable="['\"&;<>*|\`^]"
  if [[ "$2" =~ $unreadable ]]; then
    say "the path $2 has a character that ninja cannot read in lists of files: it will build everything anew each time; move the checkout"
  fi
  ensure_configured "$1" "$2"
  build_targets "${@:2}" || die "the build failed; its output is above"
}

# --- Python ---------------------------------------------------------------------------------------

# A Python that can draw charts by itself, once the pure packages of .offline/ are beside it.
find_drawing_python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, venv, numpy, pandas, matplotlib
sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# .venv from this machine's own packages and those of .offline/, in this order; no pip, no network.
bundled_python() { # PYTHON
  local site
  say "Python packages: .offline/python, beside this machine's $("$1" -c '
import matplotlib, numpy, pandas
print(*(f"{m.__name__} {m.__version__}" for m in (numpy, pandas, matplotlib)), sep=", ")')"
  quietly "$1" -m venv --without-pip --clear "$venv" || die "cannot create $venv"
  site="$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  {
    # Also of a Python that is a venv itself, which --system-site-packages would pass over.
    "$1" -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")), sep="\n")'
    printf '%s\n' "$offline/python" "$root/reports"
  } >"$site/gpubench.pth"
  printf '#!/bin/sh\nexec "%s" -m gpubench_reports "$@"\n' "$venv/bin/python" \
    >"$venv/bin/gpubench-report"
  chmod +x -- "$venv/bin/gpubench-report"
}

# ensure_python REQUIREMENTS: .venv with exactly these versions and `gpubench-report`, which runs
# from the checkout. A stamp a requirements file makes the second time instant.
# For charts, where .offline/ is and a Python that can use it, nothing is downloaded.
ensure_python() {
  local requirements="$1" python made_for stamp state made
  stamp="$venv/.installed-$(printf '%s' "${requirements#"$root/"}" | tr '/' '-')"
  state="$(cat -- "$root"/reports/requirements*.txt "$root/reports/pyproject.toml" \
    "$requirements" | cksum)"
  made="$(cat -- "$venv/.made-for" 2>/dev/null || true)"
  if python="$(find_python)"; then
    made_for="$root $("$python" -c 'import sys; print(sys.base_prefix, sys.version)')"
    [[ "$made" != "$made_for" || "$(cat -- "$stamp" 2>/dev/null)" != "$state" ]] || return 0
  fi

  local drawing
  if [[ "$requirements" == "$root/reports/requirements.txt" ]] && bundled python &&
    drawing="$(find_drawing_python)"; then
    made_for="offline $root $("$drawing" -c 'import sys; print(sys.path, sys.version)')"
    [[ "$made" != "$made_for" ]] || return 0
    bundled_python "$drawing"
    printf '%s\n' "$made_for" >"$venv/.made-for"
    return 0
  fi

  [[ -n "$python" ]] || die "no Python 3.11 or newer with venv was found"
  may_install ||
    die "missing: the Python packages of ${requirements#"$root/"} in .venv; nothing was installed (--no-install)"
  if [[ "$made" != "$made_for" ]]; then
    say "creating the Python environment .venv"
    quietly "$python" -m venv --clear "$venv" || die "cannot create $venv"
    printf '%s\n' "$made_for" >"$venv/.made-for"
  fi
  say "installing Python packages into .venv by pip, from ${requirements#"$root/"}"
  # Python compiles what it meets; all that the packages have takes longer than installing them.
  local -a pip=("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile)
  # The lists are complete: what a package says it needs as well is not looked at.
  # And with them what each file must hash to: another one under its name is refused.
  quietly "${pip[@]}" --no-deps --require-hashes -r "$requirements" || die "pip install -r $requirements failed"
  quietly "${pip[@]}" --no-deps -e "$root/reports" || die "pip install -e $root/reports failed"
  printf '%s\n' "$state" >"$stamp"
}

# --- one at a time --------------------------------------------------------------------------------

# Two runs started together share the build folder and .venv: the second waits for the first.
# The lock lies on this very file, so that none is left behind.
lock_checkout() {
  exec 9<"$root/scripts/lib.sh"
  if ! flock -n 9; then
    say "waiting for another run that is building here"
    flock 9
  fi
}

unlock_checkout() { exec 9<&-; }

# What sources this is left with its other arguments.
take_no_install "$@"
set -- "${arguments[@]}"
