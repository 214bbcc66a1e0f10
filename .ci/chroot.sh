# SPDX-License-Identifier: Apache-2.0
# Functions for chroots of a Debian release, in which packages are built and tested on a bare
# system. .ci/package and test/packaging source this file. It uses the mirror of this machine's apt,
# and caches each chroot as a tar file in $XDG_CACHE_HOME/iwarp. Needs root.
chroot_cache=${XDG_CACHE_HOME:-$HOME/.cache}/iwarp/chroots

# why_no_chroot: prints why this machine cannot make chroots, or nothing if it can.
why_no_chroot() {
  local tool
  for tool in mmdebstrap unshare tar; do
    command -v $tool >/dev/null || { echo "$tool is not installed"; return; }
  done
  if [ "$(id -u)" != 0 ]; then echo "not root"; fi
}

mirror() {
  apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' | sort | head -n1
}

# build_dependencies SUITE: prints what the Debian source package needs to build, separated by commas.
# Of alternatives, bookworm has the last one.
build_dependencies() {
  local other='|.*'
  if [ "$1" = bookworm ]; then other='.*|'; fi
  sed -n "/^Build-Depends:/,/^[A-Z]/ { /^ /!d; s/$other//; s/-compat//; s/([^)]*)//g; s/[ ,]//g; p }" \
    "${BASH_SOURCE[0]%/*}/../.cmake/debian/control" | paste -sd,
}

# chroot_packages SUITE KIND: prints the packages of a chroot, except the essential ones, separated
# by commas.
chroot_packages() {
  local packages
  case $2 in
    minimal) packages=ca-certificates ;;
    bare) packages=rdmacm-utils ;;  # without apt
    guest)  # this release's packages, from which test/interop/siw builds its virtual machine
      packages=apt,binutils,busybox-static,cpio,gcc,iproute2,kmod,make,python3,xz-utils
      packages+=,rdmacm-utils,ibverbs-utils,ibverbs-providers,perftest ;;
    build) packages=build-essential,ccache,$(build_dependencies "$1"),file,xz-utils,zstd ;;
    cross)
      packages=$(chroot_packages "$1" build)
      packages+=,doctest-dev,g++-aarch64-linux-gnu,libssl-dev:arm64,zlib1g-dev:arm64,qemu-user ;;
  esac
  echo "$packages"
}

# chroot_tar SUITE KIND: prints the name of the chroot's tar file, and makes the file unless it
# exists.
chroot_tar() {
  local packages tar architectures variant=minbase valid
  packages=$(chroot_packages "$1" "$2")
  tar=$chroot_cache/$1-$2-$(sha256sum <<<"$packages" | cut -c1-8).tar
  if [ ! -e "$tar" ]; then
    architectures=$(dpkg --print-architecture)
    if [ "$2" = cross ]; then architectures+=,arm64; fi
    mkdir -p "$chroot_cache"
    if [ "$2" = bare ]; then variant=essential; fi
    # Check Valid-Until only if this machine's apt checks it: the mirror may be a snapshot whose
    # Valid-Until date has passed.
    eval "$(apt-config shell valid Acquire::Check-Valid-Until)"
    mmdebstrap --quiet --variant=$variant --aptopt="Acquire::Check-Valid-Until \"${valid:-true}\"" \
      --architectures="$architectures" --include="$packages" \
      "$1" "$tar.new.$$.tar" "$(mirror)" >&2
    mv "$tar.new.$$.tar" "$tar"
  fi
  echo "$tar"
}

# kept_chroot SUITE KIND: prints the folder of a chroot for builds, and unpacks the chroot unless it
# exists.
kept_chroot() {
  local tar root
  tar=$(chroot_tar "$1" "$2")
  root=${tar%.tar}
  if [ ! -e "$root.unpacked" ]; then
    rm -rf --one-file-system "$root"
    unpack_chroot "$1" "$2" "$root"
    touch "$root.unpacked"
  fi
  echo "$root"
}

# unpack_chroot SUITE KIND DIR: unpacks a fresh chroot to DIR, and copies this machine's network
# settings to it.
unpack_chroot() {
  local tar
  tar=$(chroot_tar "$1" "$2")
  mkdir -p "$3"
  tar -xf "$tar" -C "$3"
  cp -L /etc/hosts /etc/resolv.conf "$3/etc/"
}

# in_chroot DIR [FOLDER...] -- COMMAND...: runs COMMAND in the chroot DIR. Each FOLDER is mounted at
# the same path as outside. All mounts disappear when COMMAND exits.
in_chroot() {
  unshare --mount --pid --fork --kill-child --propagation private bash -ec '
    root=$1
    shift
    mount --bind "$root" "$root"  # as on a real system, the root is a mount point
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/tmp"
    while [ "$1" != -- ]; do
      mkdir -p "$root$1"
      mount --bind "$1" "$root$1"
      shift
    done
    shift
    exec chroot "$root" "$@"' in_chroot "$@"
}
