# SPDX-License-Identifier: Apache-2.0
# Lists the packages that the build and the tests need, and installs them with apt. apps/demo.sh,
# apps/lab.sh and test/run.sh source this file; no other script lists packages. If all packages are
# present, this script installs nothing and does not use the network. It announces long steps and
# shows their progress. It supports no package manager other than apt.

build_packages=(
  cmake ninja-build ccache g++ pkg-config python3
  libssl-dev libfmt-dev libcli11-dev nlohmann-json3-dev libpcap-dev zlib1g-dev doctest-dev
  libbenchmark-dev libibverbs-dev librdmacm-dev libdw-dev
  libjs-vega                           # the plots in the page of `iwarp cost report`
  # The bundler for `iwarp explain --html`, and the libraries in its page.
  esbuild node-react-dom node-d3-scale)
# Alternatives: install_packages() installs the first one that apt offers.
boost_packages=(libboost1.81-dev libboost1.83-dev)
test_packages=(openssl tshark clang-format-19 clang-tidy-19 valgrind curl xz-utils python3-yaml sudo)
# Programs that README.md runs on this stack
programs_packages=(rdmacm-utils ibverbs-utils perftest)
verbs_packages=(  # programs that the tests run, unmodified, on our libibverbs and librdmacm
  rdmacm-utils ibverbs-utils perftest qperf fio libfabric-bin iproute2 iperf3 librdmacm1 curl openssl)
# Larger programs. Not every release of Debian has all of them. Packages that apt does not offer are
# not installed, and the tests that need them report that they are missing.
others_packages=(openmpi-bin python3-mpi4py mpich libmpich-dev librpma0 librpma-dev tgt libiscsi-bin qemu-utils
  qemu-block-extra qemu-system-x86 ucx-utils)
# Packages for the comparisons in test/bench: other stacks and tools, ISA-L's CRC, plots.
bench_packages=(iperf3 libfabric-bin ucx-utils perftest libisal-dev python3-matplotlib)
# Packages for the page of `iwarp lab`, which runs the stack as WebAssembly. Without them the page
# is not built.
lab_packages=(clang-19 lld-19 libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32
  wasi-libc)
# Packages for viewing the pages and for type-checking their scripts.
page_packages=(chromium node-typescript "${lab_packages[@]}")
# Packages for automating the browser: node, and npm, which installs playwright-core. If npm is
# present, install neither, because npm and node may then come from a source other than Debian.
if ! command -v npm >/dev/null; then page_packages+=(nodejs npm); fi
# Packages for the tests in chroots and containers (IWARP_PACKAGES=1).
packaging_packages=(mmdebstrap buildah bubblewrap lintian)
fuzz_packages=(clang-19 libclang-rt-19-dev)
interop_packages=(  # for building and running a guest with the kernel's siw, see test/interop/siw
  qemu-system-x86 gcc-12 make binutils cpio kmod xz-utils busybox-static iproute2
  rdmacm-utils ibverbs-utils ibverbs-providers perftest)

# wants_guest: succeeds if the siw guest can be built. The guest consists of Debian's kernel
# packages, so it can be built only on Debian for x86_64. IWARP_NO_GUEST=1 disables the guest.
wants_guest() {
  [ "${IWARP_NO_GUEST:-}" != 1 ] && [ "$(uname -m)" = x86_64 ] && grep -qx ID=debian /etc/os-release
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

is_offered() {
  [[ $(apt-cache policy "$1" 2>/dev/null) == *"Candidate: "[0-9]* ]]
}

boost_is_installed() {
  local package
  for package in "${boost_packages[@]}"; do
    if is_installed "$package"; then return 0; fi
  done
  return 1
}

# as_root COMMAND...: runs COMMAND directly, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# leave_out_what_is_not_offered: removes from `missing`, a variable of install_packages, those
# packages of others_packages that apt does not offer.
leave_out_what_is_not_offered() {
  local package kept=()
  for package in "${missing[@]}"; do
    if [[ " ${others_packages[*]} " == *" $package "* ]] && ! is_offered "$package"; then
      echo "Not available here, skipped: $package"
    else
      kept+=("$package")
    fi
  done
  missing=("${kept[@]}")
}

# install_packages NAME...: installs the packages that are missing, and a Boost if none is
# installed.
install_packages() {
  local package missing=()
  if ! command -v apt-get >/dev/null; then
    echo "warning: no apt-get here; install what cmake asks for by hand" >&2
    return 0
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ] && boost_is_installed; then return 0; fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    boost_is_installed || missing+=("one of ${boost_packages[*]}")
    echo "error: not root and no sudo; an administrator has to install: ${missing[*]}" >&2
    return 1
  fi

  echo "Reading the lists of packages (apt-get update)"
  as_root apt-get update -qq
  if ! boost_is_installed; then
    for package in "${boost_packages[@]}"; do
      if is_offered "$package"; then missing+=("$package"); break; fi
    done
  fi
  leave_out_what_is_not_offered
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  echo "Installing ${#missing[@]} packages and what they need: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" 2>&1 |
    progress '^([^EWNd]|E[^:r]|W[^:]|N[^:]|d[^p])' || { echo "error: apt-get could not install them" >&2; return 1; }
}

# progress PATTERN: copies its input to its output. Of the lines that match PATTERN, it copies only
# one every ten seconds.
progress() {
  local line next=0
  while IFS= read -r line; do
    if [[ ! $line =~ $1 ]]; then
      echo "$line"
    elif [ "$SECONDS" -ge "$next" ]; then
      echo "  $line"
      next=$((SECONDS + 10))
    fi
  done
}

# run_ninja COMMAND...: runs ninja. On a terminal, ninja redraws a single line. Elsewhere progress()
# reduces the number of lines.
run_ninja() {
  export NINJA_STATUS='[%f of %t] '
  if [ -t 1 ]; then "$@"; else "$@" | progress '^\[[0-9]+ of [0-9]+\]'; fi
}

# ms_of_a_unit PRESET: compiles one small program on all processors at the same time, and prints how
# many milliseconds this takes. Prints nothing if the preset does not build this program.
ms_of_a_unit() {
  local command begun
  command=$(sed -n 's|^ *"command": "\(.*\)-o [^ ]*hello_send.cpp.o \(-c [^"]*\)".*|\1 -o /dev/null \2|p' \
    "build/$1/compile_commands.json")
  if [ -z "$command" ]; then return; fi
  begun=$(date +%s%N)
  for _ in $(seq "$(nproc)"); do
    (cd "build/$1" && eval "CCACHE_DISABLE=1 $command" >/dev/null 2>&1) &
  done
  wait
  echo $((($(date +%s%N) - begun) / 1000000))
}

# units_of PRESET TARGET...: prints how many sources are compiled for these targets.
units_of() {
  # Count the compile commands of ninja. A dry run would stop when CMake has to look for new files.
  ninja -C "build/$1" -t commands "${@:2}" | grep -c -- ' -c ' || true
}

# minutes_for UNITS: prints how many minutes it takes to build this number of units, if one takes unit_ms.
minutes_for() {
  # On average, a unit takes twice as long as the program that ms_of_a_unit compiles. This factor
  # includes the time for linking and for generated files.
  echo $(($1 * unit_ms * 2 / $(nproc) / 60000 + 1))
}

# announce PRESET TARGET...: prints that a first build begins and how long it will take. Sets unit_ms.
announce() {
  local units
  units=$(units_of "$@")
  unit_ms=$(ms_of_a_unit "$1")
  if [ -z "$unit_ms" ]; then
    echo "Building ($1, in build/$1): $units units, seconds from then on"
    return
  fi
  echo "Building ($1, in build/$1): $units units, about $(minutes_for "$units") min on $(nproc) processors" \
    "this time, because one has just taken $((unit_ms / 1000)).$((unit_ms % 1000 / 100)) s here; seconds from then on"
}

# configure_and_build PRESET TARGET...: configures the preset, announces a first build, and builds
# the targets.
configure_and_build() {
  local preset=$1 started=$SECONDS werror=() first=
  shift
  if [ ! -f "build/$preset/build.ninja" ]; then first=1; fi
  if [ "${CI:-}" = true ]; then werror=(-DIWARP_WERROR=ON); fi
  cmake --preset "$preset" --log-level=NOTICE "${werror[@]}" >/dev/null
  if [ -n "$first" ]; then
    announce "$preset" "$@"
  else
    echo "Building what has changed since the last time ($preset, in build/$preset)"
  fi
  run_ninja cmake --build --preset "$preset" --target "$@"
  echo "Up to date after $((SECONDS - started)) s."
}
