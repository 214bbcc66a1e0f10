#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build-guest.sh - build a Linux guest (kernel + initramfs) whose kernel has
# the Soft-iWARP driver (siw), using nothing but Debian packages.
#
#   SIW_CACHE=DIR ./build-guest.sh            build (or reuse) into DIR/out
#   SIW_CACHE=DIR ./build-guest.sh --force    rebuild
#   SIW_CACHE=DIR ./build-guest.sh --print    only print the output directory
#
# Environment
#   SIW_CACHE   where downloads, build trees and outputs live
#               (default: ${XDG_CACHE_HOME:-$HOME/.cache}/siw-guest)
#   SIW_SUITE   another release of Debian whose kernel it is, for example trixie:
#               builds in a chroot (needs root and mmdebstrap) and into DIR/SUITE/out
#   SIW_KABI    kernel ABI to use, e.g. 6.1.0-56-amd64 (default: what the
#               package linux-image-amd64 depends on now)
#   SIW_KEEP    1: keep the unpacked .deb trees (default: remove, ~0.6 GB)
#
# Outputs (DIR/out): vmlinux (uncompressed, for PVH boot), vmlinuz,
#   initramfs.cpio, siw.ko (stock), siw-tunable.ko, siw-fixed.ko, MANIFEST, STAMP.
#
# Nothing is installed on the host: packages are fetched with
# `apt-get download` and unpacked with `dpkg -x` below SIW_CACHE. The RDMA user
# space put into the guest is the host's own installed rdma-core/perftest.
# Host packages needed: gcc (the release's own, which built its kernel), make,
# python3, binutils, cpio, kmod, xz-utils, busybox-static, iproute2, rdmacm-utils,
# ibverbs-utils, ibverbs-providers, perftest. (qemu-system-x86 to run it.)
# Exit status 77: not on Debian for x86-64, where these packages are.
set -euo pipefail
export LC_ALL=C
umask 022

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
SIW_CACHE=${SIW_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/siw-guest}
SIW_CACHE+=${SIW_SUITE:+/$SIW_SUITE}
mkdir -p "$SIW_CACHE"
SIW_CACHE=$(cd "$SIW_CACHE" && pwd)
out=$SIW_CACHE/out
force=0
case "${1:-}" in
  --print) echo "$out"; exit 0 ;;
  --force) force=1 ;;
  '') ;;
  *) awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$self"; exit 2 ;;
esac

log() { printf '[build-guest %4ds] %s\n' "$SECONDS" "$*" >&2; }
die() { log "error: $*"; exit 1; }

if ! grep -qx ID=debian /etc/os-release || [ "$(uname -m)" != x86_64 ]; then
  echo "SKIPPED: the guest needs the kernel packages of Debian on x86-64"
  exit 77
fi

if [ -n "${SIW_SUITE:-}" ] && ! grep -qx "VERSION_CODENAME=$SIW_SUITE" /etc/os-release; then
  source "${self%/*}/../../../.ci/chroot.sh"
  why=$(why_no_chroot)
  if [ -n "$why" ]; then echo "SKIPPED: no chroot of $SIW_SUITE: $why"; exit 77; fi
  root=$(kept_chroot "$SIW_SUITE" guest)
  export SIW_CACHE SIW_SUITE=
  in_chroot "$root" "${self%/*}" "$SIW_CACHE" -- bash -c 'apt-get -q update >&2; exec "$@"' \
    build-guest bash "$self" "$@"
  exit
fi

# --- host tools -----------------------------------------------------------
missing=
need() { # need <command> <package>
  command -v "$1" >/dev/null 2>&1 || PATH=$PATH:/sbin:/usr/sbin command -v "$1" >/dev/null 2>&1 ||
    missing="$missing $2"
}
need gcc gcc; need make make; need ld binutils; need python3 python3; need cpio cpio
need depmod kmod; need xz xz-utils; need busybox busybox-static
need rdma iproute2; need rping rdmacm-utils; need ibv_devinfo ibverbs-utils
need ib_write_bw perftest
libsiw=$(ls /usr/lib/*/libibverbs/libsiw-rdmav*.so 2>/dev/null | head -1 || true)
[ -n "$libsiw" ] || missing="$missing ibverbs-providers"
[ -z "$missing" ] || die "install first: apt-get install --no-install-recommends$missing"
export PATH=$PATH:/sbin:/usr/sbin
bb=$(command -v busybox)
ldd "$bb" >/dev/null 2>&1 && die "$bb is not static (want busybox-static)"

# --- which kernel ---------------------------------------------------------
kabi=${SIW_KABI:-}
if [ -z "$kabi" ]; then
  kabi=$(apt-cache depends linux-image-amd64 2>/dev/null |
         sed -n 's/.*Depends: linux-image-\([0-9].*-amd64\).*/\1/p' | head -1)
  [ -n "$kabi" ] || die "apt knows no linux-image-amd64 (run apt-get update?)"
fi
kser=$(echo "$kabi" | cut -d. -f1,2)                       # 6.1
kver=$(apt-cache show "linux-image-$kabi" | sed -n 's/^Version: //p' | head -1)
[ -n "$kver" ] || die "apt knows no linux-image-$kabi"

# --- is the cache current? ------------------------------------------------
stamp=$({ cat "$self"; echo "$kabi $kver"; cat "$bb";
          dpkg-query -W -f '${Package} ${Version}\n' iproute2 rdmacm-utils ibverbs-utils \
            ibverbs-providers librdmacm1 libibverbs1 perftest libc6 2>/dev/null; } |
        sha256sum | cut -d' ' -f1)
if [ $force = 0 ] && [ -f "$out/STAMP" ] && [ "$(cat "$out/STAMP")" = "$stamp" ]; then
  log "up to date: $out"; echo "$out"; exit 0
fi
exec 9>"$SIW_CACHE/lock"; flock 9        # one builder per cache at a time
if [ $force = 0 ] && [ -f "$out/STAMP" ] && [ "$(cat "$out/STAMP")" = "$stamp" ]; then
  echo "$out"; exit 0
fi
log "kernel $kabi ($kver)"

# --- download -------------------------------------------------------------
debs=$SIW_CACHE/deb; mkdir -p "$debs"
common=linux-headers-${kabi%-amd64}-common
kbuild=$(apt-cache depends "linux-headers-$kabi" | sed -n 's/.*Depends: \(linux-kbuild-.*\)/\1/p' | head -1)
fetch() { # fetch <package> <version>: leave exactly <package>_<version>_*.deb in $debs
  ls "$debs/$1"_"${2/:/%3a}"_*.deb >/dev/null 2>&1 && return 0
  log "download $1=$2"
  (cd "$debs" && apt-get -q download "$1=$2" >/dev/null 2>"$debs/apt.err") ||
    { cat "$debs/apt.err" >&2; die "cannot download $1=$2"; }
}
for p in "linux-image-$kabi" "linux-headers-$kabi" "$common" "linux-source-$kser"; do
  fetch "$p" "$kver"
done
# The archive keeps one version of the build tools. Signed kernel images are often a revision
# behind, and the tools of a later revision build their modules, too.
kbver=$(apt-cache show --no-all-versions "$kbuild" | sed -n 's/^Version: //p')
fetch "$kbuild" "$kbver"

# --- unpack ---------------------------------------------------------------
w=$SIW_CACHE/work; rm -rf "$w"; mkdir -p "$w/root" "$w/src"
log "unpack packages"
for p in "linux-image-$kabi" "linux-headers-$kabi" "$common"; do
  dpkg -x "$debs/$p"_"${kver/:/%3a}"_*.deb "$w/root"
done
dpkg -x "$debs/$kbuild"_"${kbver/:/%3a}"_*.deb "$w/root"
# Only the driver's directory is wanted from the 138 MB source tarball, so
# stream it instead of unpacking the package first.
dpkg --fsys-tarfile "$debs/linux-source-$kser"_"${kver/:/%3a}"_*.deb |
  tar -xO "./usr/src/linux-source-$kser.tar.xz" |
  xz -dc -T0 |
  tar -x -C "$w/src" --strip-components=1 \
    --wildcards "linux-source-$kser/drivers/infiniband/sw/siw/*"
siwsrc=$w/src/drivers/infiniband/sw/siw
[ -f "$siwsrc/siw_main.c" ] || die "no siw sources in linux-source-$kser"

# The header package's Makefile includes /usr/src/... by absolute path.
kdir=$w/root/usr/src/linux-headers-$kabi
sed -i "s#/usr/src/linux-headers#$w/root/usr/src/linux-headers#" "$kdir/Makefile"

# --- build siw, stock and tunable ----------------------------------------
build_ko() { # build_ko <srcdir> <log>
  make -s -j2 -C "$kdir" M="$1" CONFIG_RDMA_SIW=m CONFIG_DEBUG_INFO_BTF_MODULES= \
    KCFLAGS="-fmacro-prefix-map=$1/= -fmacro-prefix-map=$w/root/=/" modules >"$2" 2>&1 ||
    { tail -40 "$2" >&2; die "module build failed"; }
  strip -g -R .note.gnu.build-id "$1/siw.ko"
}
log "build siw.ko (stock)"
cp -r "$siwsrc" "$w/siw-stock"; build_ko "$w/siw-stock" "$w/stock.log"

# The stock driver has no module parameters at all: what older siw exposed is
# compiled in as `const`. The tunable variant turns the same variables into
# parameters; with none given it behaves as stock.
log "build siw-tunable.ko"
t=$w/siw-tunable; cp -r "$siwsrc" "$t"
for v in zcopy_tx try_gso loopback_enabled mpa_crc_required mpa_crc_strict siw_tcp_nagle peer_to_peer; do
  sed -i -E "s/^const bool ($v)( = [a-z]+)?;/bool \1\2;\nmodule_param(\1, bool, 0644);/" "$t/siw_main.c"
  sed -i -E "s/^extern const bool $v;/extern bool $v;/" "$t/siw.h"
  grep -q "module_param($v," "$t/siw_main.c" || die "tunable: no $v in siw_main.c"
done
sed -i -E 's/^(u_char mpa_version = .*;)/\1\nmodule_param(mpa_version, byte, 0644);/' "$t/siw_main.c"
# rtr_type is kept in network byte order: 64 = Read, 128 = Write, 192 = both.
sed -i -E 's/^(static __be16 rtr_type = .*;)/\1\nmodule_param(rtr_type, ushort, 0644);/;
           s/^static const bool (relaxed_ird_negotiation = true;)/static bool \1\nmodule_param(relaxed_ird_negotiation, bool, 0644);/;
           s/^#include "siw_cm.h"/#include <linux\/moduleparam.h>\n&/' "$t/siw_cm.c"
# 1 = one MSS per FPDU (stock), N = up to N, 0 = whatever TCP's GSO takes.
sed -i -E 's/^(\s*)qp->tx_ctx\.gso_seg_limit = 1;/\1qp->tx_ctx.gso_seg_limit = siw_gso_seg_limit;/' "$t/siw_verbs.c"
sed -i -E 's/^extern bool peer_to_peer;/&\nextern u_char siw_gso_seg_limit;/' "$t/siw.h"
sed -i -E 's/^module_param\(peer_to_peer, .*/&\nu_char siw_gso_seg_limit = 1;\nmodule_param_named(gso_seg_limit, siw_gso_seg_limit, byte, 0644);/' "$t/siw_main.c"
for f in siw_main.c:mpa_version siw_cm.c:rtr_type siw_cm.c:relaxed_ird_negotiation siw_main.c:gso_seg_limit; do
  grep -q "module_param.*${f#*:}" "$t/${f%%:*}" || die "tunable: patching ${f#*:} failed"
done
grep -q siw_gso_seg_limit "$t/siw_verbs.c" || die "tunable: no gso_seg_limit in siw_verbs.c"
build_ko "$t" "$w/tunable.log"

# The fixed variant is the tunable one with five defects of the driver
# repaired (see rfc-notes/siw.md): the Terminate control word laid out as RFC 5040
# has it, a first FPDU that arrives while siw_accept() is still running noticed,
# a queued zero-length Read Response no longer sent with stale data, a trailer
# that comes in two pieces put together, and one thread at a time transmitting
# for a queue pair.
log "build siw-fixed.ko"
f=$w/siw-fixed; cp -r "$t" "$f"; (cd "$f" && rm -f ./*.o ./.*.cmd ./*.ko ./*.mod* Module.symvers modules.order)
python3 - "$f" <<'PY' || die "fixed: patching failed"
import re, sys
d = sys.argv[1]


def change(name, old, new):
    """Puts `new` where `old` stands, which is in one place."""
    with open(f"{d}/{name}") as file:
        text = file.read()
    assert text.count(old) == 1, name
    with open(f"{d}/{name}", "w") as file:
        file.write(text.replace(old, new))


def behind(name, old, added):
    change(name, old, old + added)


with open(d + "/iwarp.h") as file:
    header = file.read()
old = re.search(r"(#if defined\(__LITTLE_ENDIAN_BITFIELD\)\n\t__be32 layer : 4;.*?)(#elif)", header, re.S)
change("iwarp.h", old[1], "#if defined(__LITTLE_ENDIAN_BITFIELD)\n" + "".join("\t__be32 %s;\n" % f for f in (
    "etype : 4", "layer : 4", "ecode : 8", "reserved : 5", "flag_r : 1", "flag_d : 1", "flag_m : 1", "reserved2 : 8")))
accepted = """	siw_cep_set_free(cep);

	return 0;

error_unlock:
	up_write(&qp->state_lock);
error:
	siw_destroy_cep_sock(cep);
"""
change("siw_cm.c", accepted, """	{
		struct sock *sk = cep->sock->sk;

		lock_sock(sk);
		if (!skb_queue_empty(&sk->sk_receive_queue))
			sk->sk_data_ready(sk);
		release_sock(sk);
	}
""" + accepted)
behind("siw_qp.c", "\t\twqe->sqe.num_sge = 0;\n", "\t\twqe->sqe.sge[0].length = 0;\n")
change("siw_qp_rx.c", "skb_copy_bits(skb, srx->skb_offset, tbuf, avail);",
       "skb_copy_bits(skb, srx->skb_offset,\n"
       "\t\t      tbuf + srx->pad + MPA_CRC_SIZE - srx->fpdu_part_rem, avail);")
behind("siw.h", "#include <linux/crc32c.h>\n", "#include <linux/mutex.h>\n")
behind("siw.h", "\tstruct rw_semaphore state_lock;\n", "\tstruct mutex sending;\n")
behind("siw_verbs.c", "\tinit_rwsem(&qp->state_lock);\n", "\tmutex_init(&qp->sending);\n")
change("siw_qp_tx.c", "int siw_qp_sq_process(struct siw_qp *qp)\n{",
       "static int send_requests(struct siw_qp *qp)\n{")
resume = "static void siw_sq_resume("
change("siw_qp_tx.c", resume, """int siw_qp_sq_process(struct siw_qp *qp)
{
	int rv = 0;

	mutex_lock(&qp->sending);
	if (tx_wqe(qp)->wr_status != SIW_WR_IDLE)
		rv = send_requests(qp);
	mutex_unlock(&qp->sending);
	return rv;
}

""" + resume)
PY
build_ko "$f" "$w/fixed.log"

# --- root file system -----------------------------------------------------
log "assemble initramfs"
r=$w/rootfs
mkdir -p "$r"/{bin,sbin,usr/bin,usr/sbin,dev,proc,sys,tmp,run,root,var/tmp,etc/libibverbs.d,lib/siw}
cp "$bb" "$r/bin/busybox"
ln -s busybox "$r/bin/sh"

moddir=lib/modules/$kabi
src_mod=$w/root/$moddir
[ -d "$src_mod" ] || src_mod=$w/root/usr/$moddir
depmod -b "${src_mod%/$moddir}" "$kabi"
# wanted: what siw and its user space need, the virtio devices, netem for
# making the network bad, rxe, and the kernel ULPs that can run over an RNIC.
mods="virtio_pci virtio_mmio virtio_net virtio_console virtio_rng
  ib_core ib_uverbs ib_cm iw_cm rdma_cm rdma_ucm rdma_rxe crc32_generic libcrc32c crc32c_generic crc32c_intel
  af_packet sch_netem sch_tbf sch_ingress
  configfs null_blk nvme_rdma nvmet nvmet_rdma"
mkdir -p "$r/$moddir"
for m in $mods; do
  modprobe -d "${src_mod%/$moddir}" -S "$kabi" --show-depends "$m" 2>/dev/null |
    awk '$1=="insmod"{print $2}' || true
done | sort -u | while read -r f; do
  rel=${f#*/kernel/}
  mkdir -p "$r/$moddir/kernel/$(dirname "$rel")"
  cp "$src_mod/kernel/$rel" "$r/$moddir/kernel/$rel"
done
cp "$src_mod"/modules.builtin "$src_mod"/modules.builtin.modinfo "$src_mod"/modules.order "$r/$moddir/"
depmod -b "$r" "$kabi"
cp "$w/siw-stock/siw.ko" "$r/lib/siw/stock.ko"
cp "$w/siw-tunable/siw.ko" "$r/lib/siw/tunable.ko"
cp "$w/siw-fixed/siw.ko" "$r/lib/siw/fixed.ko"

copy_libs() { # copy the shared objects $@ need, at their own paths
  ldd "$@" 2>/dev/null | awk '$2=="=>" && $3 ~ /^\//{print $3} $1 ~ /^\//&&$1 !~ /:$/{print $1}' |
  sort -u | while read -r so; do
    [ -e "$r$so" ] && continue
    mkdir -p "$r$(dirname "$so")"; cp -L "$so" "$r$so"
  done
}
tools=
for c in ip tc ss rdma \
  rping ucmatose udaddy rdma_client rdma_server rdma_xclient rdma_xserver rcopy riostream rstream cmtime \
  ibv_devices ibv_devinfo ibv_rc_pingpong ibv_srq_pingpong \
  ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat \
  strace ethtool; do
  p=$(command -v $c || true); [ -n "$p" ] || continue
  p=$(readlink -f "$p"); cp "$p" "$r/usr/bin/$c"; tools="$tools $p"
done
copy_libs $tools "$libsiw"
# pthread_exit() dlopens this one, so ldd does not name it
for so in /lib/*-linux-gnu/libgcc_s.so.1 /usr/lib/*-linux-gnu/libgcc_s.so.1; do
  [ -e "$so" ] && { mkdir -p "$r$(dirname "$so")"; cp -L "$so" "$r$so"; break; }
done
mkdir -p "$r$(dirname "$libsiw")"
cp "$libsiw" "${libsiw/libsiw/librxe}" "$r$(dirname "$libsiw")"
cp /etc/libibverbs.d/{siw,rxe}.driver "$r/etc/libibverbs.d/"
ldso=$(ls /lib64/ld-linux-x86-64.so.2); mkdir -p "$r/lib64"; [ -e "$r$ldso" ] || cp -L "$ldso" "$r$ldso"
# Debian is merged-/usr: the linker looks in /lib/<triplet>, the files may be
# in /usr/lib/<triplet>. Offer both names.
trip=$(basename "$(dirname "$(dirname "$libsiw")")")
mkdir -p "$r/lib/$trip" "$r/usr/lib/$trip"
for f in "$r/lib/$trip"/*.so*;     do [ -e "$f" ] && ln -sf "/lib/$trip/$(basename "$f")" "$r/usr/lib/$trip/" ; done
printf '/lib/%s\n/usr/lib/%s\n' "$trip" "$trip" >"$r/etc/ld.so.conf"
# Line-buffered output for the tools, so that a test can wait for a line.
for so in /usr/libexec/coreutils/libstdbuf.so /usr/lib/*-linux-gnu/coreutils/libstdbuf.so; do
  [ -e "$so" ] && { cp "$so" "$r/lib/siw/libstdbuf.so"; break; }
done
echo 'root:x:0:0:root:/run:/bin/sh' >"$r/etc/passwd"
echo 'root:x:0:' >"$r/etc/group"
printf '127.0.0.1 localhost\n10.0.2.15 guest\n10.0.2.2 host\n' >"$r/etc/hosts"
printf 'hosts: files\nservices: files\nprotocols: files\n' >"$r/etc/nsswitch.conf"
echo 'siw-guest' >"$r/etc/hostname"

cat >"$r/init" <<'INIT'
#!/bin/sh
# init of the siw guest. Kernel command line: siw.variant=stock|tunable|fixed
# siw.mtu=N siw.params=a=1,b=2 siw.lo=0|1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin 2>/dev/null
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /dev/shm
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
exec </dev/null >/dev/ttyS0 2>&1
opt() { for w in $(cat /proc/cmdline); do case $w in "$1"=*) echo "${w#*=}"; return;; esac; done; echo "$2"; }
step() { read u _ </proc/uptime; echo "SIW-GUEST $u $*"; }
step init
hostname siw-guest
ulimit -l unlimited; ulimit -c 0
echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind
for m in virtio_mmio virtio_pci virtio_net virtio_rng crc32c_intel crc32c_generic libcrc32c rdma_ucm; do modprobe $m 2>/dev/null; done
step modules
ip link set lo up
# eth0 carries the RDMA traffic, eth1 (if present) the control channel.
n=0; while [ ! -e /sys/class/net/eth0 ] && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done
mtu=$(opt siw.mtu 1500)
ip link set eth0 mtu $mtu up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2
if [ -e /sys/class/net/eth1 ]; then ip link set eth1 up; ip addr add 10.0.3.15/24 dev eth1; fi
insmod /lib/siw/$(opt siw.variant stock).ko $(opt siw.params '' | tr , ' ') || step "FAIL insmod siw"
rdma link add siw0 type siw netdev eth0 || step "FAIL rdma link add"
[ "$(opt siw.lo 0)" = 1 ] && rdma link add siwlo type siw netdev lo
cat >/bin/siw-agent <<'A'
#!/bin/sh
# one connection = one command: a line "<seconds> <base64>", its output comes
# back raw, then a line "\036SIW-RC <status>"
read -r tmo b64 || exit
cmd=$(echo "$b64" | base64 -d)
ulimit -l unlimited
cd /run
[ -e /lib/siw/libstdbuf.so ] && export LD_PRELOAD=/lib/siw/libstdbuf.so _STDBUF_O=L
timeout -s KILL "$tmo" sh -c "$cmd" </dev/null 2>&1
rc=$?
printf '\036SIW-RC %d\n' $rc
A
chmod +x /bin/siw-agent
setsid nc -ll -p 2222 -e /bin/siw-agent &
n=0; while ! grep -q ':08AE .* 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null && [ $n -lt 50 ]; do sleep 0.05; n=$((n+1)); done
step READY kernel=$(uname -r) siw=$(opt siw.variant stock)
while :; do wait; sleep 1000; done
INIT
chmod 755 "$r/init"

mkdir -p "$out"
find "$r" -exec touch -h -d @0 {} +
(cd "$r" && find . -mindepth 1 | sort | cpio --quiet -o -H newc -R 0:0 --reproducible) >"$out/initramfs.cpio.tmp"
mv "$out/initramfs.cpio.tmp" "$out/initramfs.cpio"
cp "$w/siw-stock/siw.ko" "$out/siw.ko"
cp "$w/siw-tunable/siw.ko" "$out/siw-tunable.ko"
cp "$w/siw-fixed/siw.ko" "$out/siw-fixed.ko"

# --- kernel image ---------------------------------------------------------
bz=$w/root/boot/vmlinuz-$kabi
cp "$bz" "$out/vmlinuz"
# Unpacked, the kernel boots by PVH and saves the guest (emulated, slow) the
# decompression of its own image.
pos=$(grep -abo $'\xfd7zXZ' "$bz" | head -1 | cut -d: -f1 || true)
rm -f "$out/vmlinux"
if [ -n "$pos" ]; then
  tail -c +$((pos + 1)) "$bz" | xz -dc --single-stream >"$out/vmlinux" 2>/dev/null || true
  readelf -h "$out/vmlinux" >/dev/null 2>&1 || rm -f "$out/vmlinux"
fi

{ echo "kernel $kabi $kver"
  for v in stock tunable fixed; do echo "siw-$v srcversion/vermagic: $(modinfo -F vermagic "$w/siw-$v/siw.ko")"; done
  echo "tunable parameters: $(modinfo -F parm "$out/siw-tunable.ko" | tr '\n' ' ')"
  dpkg-query -W -f '${Package} ${Version}\n' iproute2 rdmacm-utils ibverbs-utils ibverbs-providers perftest 2>/dev/null
  ls -l "$out" | awk 'NR>1{print $5, $9}'
} >"$out/MANIFEST"
rm -rf "$SIW_CACHE/siw-src"; cp -r "$siwsrc" "$SIW_CACHE/siw-src"
[ "${SIW_KEEP:-0}" = 1 ] || rm -rf "$w"
echo "$stamp" >"$out/STAMP"
log "done: $out"
echo "$out"
