# What has to be installed, and how this distribution installs it. Sourced by scripts/lib.sh.
# Nothing is installed before a line has said what and how. With GPUBENCH_NO_INSTALL (or a script's
# --no-install) no package manager is called at all.
# shellcheck shell=bash

# --- what is there --------------------------------------------------------------------------------

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
    # ensurepip is what Debian leaves out when python3-venv is not installed.
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
      2>/dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

has_header() {
  printf '#if !__has_include(<%s>)\n#error absent\n#endif\n' "$1" |
    g++ -x c++ -std=c++17 -fsyntax-only - 2>/dev/null
}

has_cmake() { # 3.25 or newer
  local version
  version="$(cmake --version 2>/dev/null | sed -n '1s/^cmake version //p')"
  [[ -n "$version" && "$(printf '%s\n' 3.25 "$version" | sort -V | head -n 1)" == 3.25 ]]
}

# Is what the package brings there? Asked of the machine, not of dpkg: a compiler or a library that
# came some other way serves as well.
is_present() {
  case "$1" in
    g++) command -v g++ >/dev/null ;;
    # A bundle may come without history: the commit is then not known.
    git) command -v git >/dev/null || bundled . ;;
    binutils) command -v addr2line >/dev/null ;;
    cmake) has_cmake ;;
    ninja-build) command -v ninja >/dev/null ;;
    libbenchmark-dev) has_header benchmark/benchmark.h || bundled benchmark ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp || bundled nlohmann_json ;;
    # Fedora and openSUSE keep each MPI in a folder of its own, which `module load` puts on the PATH.
    libopenmpi-dev)
      has_header mpi.h || compgen -G '/usr/lib/*/openmpi/include/mpi.h' >/dev/null ||
        compgen -G '/usr/include/openmpi-*/mpi.h' >/dev/null ||
        compgen -G '/usr/lib*/mpi/gcc/openmpi*/include/mpi.h' >/dev/null
      ;;
    openmpi-bin)
      command -v mpirun >/dev/null || compgen -G '/usr/lib*/openmpi/bin/mpirun' >/dev/null ||
        compgen -G '/usr/lib*/mpi/gcc/openmpi*/bin/mpirun' >/dev/null
      ;;
    libgtest-dev) has_header gtest/gtest.h || bundled GTest ;;
    libgmock-dev) has_header gmock/gmock.h || bundled GTest ;;
    python3-venv) find_python >/dev/null || { bundled python && find_drawing_python >/dev/null; } ;;
    shellcheck) command -v shellcheck >/dev/null ;;
    rpm) command -v rpmbuild >/dev/null ;;
    dpkg-dev) command -v dpkg-shlibdeps >/dev/null ;;
    libbenchmark-tools) [[ -e /usr/share/benchmark/compare.py ]] ;;
    clang-tidy) command -v clang-tidy >/dev/null ;;
    chromium)
      command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
        command -v google-chrome >/dev/null
      ;;
    *) die "no check is known for the package $1" ;;
  esac
}

# Into the caller's `absent`.
find_absent() {
  local package
  absent=()
  for package in "$@"; do
    is_present "$package" || absent+=("$package")
  done
}

# --- how it is installed --------------------------------------------------------------------------

# Debian's names, and what Fedora (and RHEL with EPEL) and openSUSE call the same.
declare -A dnf_names=([g++]=gcc-c++ [libbenchmark-dev]=google-benchmark-devel
  [nlohmann-json3-dev]=json-devel [libgtest-dev]=gtest-devel [libgmock-dev]=gmock-devel
  [libopenmpi-dev]=openmpi-devel [openmpi-bin]=openmpi [python3-venv]=python3
  [rpm]=rpm-build [shellcheck]=ShellCheck [clang-tidy]=clang-tools-extra)
declare -A zypper_names=([g++]=gcc-c++ [ninja-build]=ninja [libbenchmark-dev]=benchmark-devel
  [nlohmann-json3-dev]=nlohmann_json-devel [libgtest-dev]=gtest [libgmock-dev]=gmock
  [libopenmpi-dev]=openmpi4-devel [openmpi-bin]=openmpi4 [python3-venv]=python3
  [dpkg-dev]=dpkg [rpm]=rpm-build [shellcheck]=ShellCheck [clang-tidy]=clang-tools)

# name_installation DEBIAN_NAME...: into the caller's `installation`, the command that installs them
# on this distribution; fails where there is no package manager that we know.
name_installation() {
  local name
  if command -v apt-get >/dev/null; then
    installation=(apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@")
  elif command -v dnf >/dev/null; then
    installation=(dnf install -y)
    for name in "$@"; do installation+=("${dnf_names[$name]:-$name}"); done
  elif command -v zypper >/dev/null; then
    installation=(zypper --non-interactive install)
    for name in "$@"; do installation+=("${zypper_names[$name]:-$name}"); done
  else
    return 1
  fi
}

may_install() { [[ -z "${GPUBENCH_NO_INSTALL:-}" ]]; }

# take_no_install ARGUMENT...: into `arguments`, all but --no-install, which is heeded from here on.
take_no_install() {
  local argument
  arguments=()
  for argument in "$@"; do
    if [[ "$argument" == --no-install ]]; then
      export GPUBENCH_NO_INSTALL=1
    else
      arguments+=("$argument")
    fi
  done
}

# install_packages DEBIAN_NAME...: says what it will do, and does it. As root, or by sudo.
install_packages() {
  local -a installation=() as_root=()
  name_installation "$@" ||
    die "missing: $* (Debian's names), and none of apt-get, dnf and zypper is here; install them and try again"
  may_install || die "missing: $*; nothing was installed (--no-install); to install: ${installation[*]}"
  if ((EUID != 0)); then
    as_root=(sudo)
    # Without a terminal sudo could only wait for a password that nobody can type.
    [[ -t 0 ]] || as_root+=(-n)
    if ! command -v sudo >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
      die "missing: $*; run as root or with sudo, or have them installed: ${installation[*]}"
    fi
  fi
  say "this machine lacks $*; running: ${as_root[*]:+${as_root[*]} }${installation[*]} (--no-install stops here instead)"
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  if [[ "${installation[0]}" == apt-get && -z "${lists_are_new:-}" ]]; then
    lists_are_new=yes
    # A third-party source that does not answer must not stop us: the installation decides.
    quietly "${as_root[@]}" apt-get update -q || say "apt-get update failed; trying to install anyway"
  fi
  quietly "${as_root[@]}" "${installation[@]}" || die "${installation[*]} failed"
}

# Installs what only some tests need, or says that they will be skipped: Ubuntu has no such package,
# and nobody should have to be root for them.
wish_packages() {
  local -a absent=()
  find_absent "$@"
  ((${#absent[@]} > 0)) || return 0
  if ((EUID == 0)) && may_install; then
    (install_packages "${absent[@]}") && return 0
  fi
  say "going on without ${absent[*]}: tests that need it are skipped"
}

# Installs those of the named Debian packages whose content is missing; instant if none is.
ensure_packages() {
  local -a absent=()
  find_absent "$@"
  ((${#absent[@]} > 0)) || return 0
  install_packages "${absent[@]}"
  find_absent "$@"
  ((${#absent[@]} == 0)) ||
    die "still missing after installation: ${absent[*]} (needed: g++ 12, CMake 3.25 and Python 3.11 or newer, as in Debian 12, Ubuntu 24.04 and Fedora 40)"
}

# What the build takes. GoogleTest too: a configured build folder has the tests, to be built when
# asked for.
build_packages=(g++ cmake ninja-build binutils git libbenchmark-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev)

# And what makes .venv, in one go.
ensure_build_packages() { ensure_packages "${build_packages[@]}" python3-venv; }
