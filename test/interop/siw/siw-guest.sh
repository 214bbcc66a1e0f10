#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# siw-guest.sh - boots the Soft-iWARP guest that build-guest.sh made, and runs
# commands in it. Its ports listen only on 127.0.0.1. Does not need root.
#
#   siw-guest.sh run   [options] 'shell command'   boot, run, power off; exits
#                                                  with the command's status
#   siw-guest.sh start [options]                   boot and keep running;
#                                                  prints the state directory
#   siw-guest.sh exec  -s DIR [-t SECS] 'command'  run in a started guest (any
#                                                  number at the same time)
#   siw-guest.sh port  -s DIR GUESTPORT            print the host port that is
#                                                  forwarded to GUESTPORT
#   siw-guest.sh log   -s DIR                      print console and kernel log
#   siw-guest.sh stop  -s DIR
#
# Options
#   -p [HOST:]GUEST  forward TCP 127.0.0.1:HOST to guest port GUEST (repeat;
#                    HOST 0 = pick a free one, see `port`)
#   -l SECS   time after which the guest is killed in any case (300)
#   -t SECS   time limit of the command (120); on a timeout the status is 137
#   -v stock|tunable|fixed   which siw module (stock); tunable has parameters,
#             fixed also has five defects repaired (see rfc-notes/siw.md)
#   -o a=1,b=2            parameters for tunable or fixed: mpa_crc_required
#             mpa_crc_strict mpa_version peer_to_peer rtr_type try_gso
#             gso_seg_limit zcopy_tx siw_tcp_nagle relaxed_ird_negotiation
#   -M BYTES  MTU of the guest's eth0 (1500)
#   -w FILE   write eth0's frames to FILE (pcap)
#   -c N / -m MB          cpus (1), memory (512)
#   -f FILE   put FILE into the guest's /usr/bin (repeat)
#   -s DIR    state directory (default: a new one below ${TMPDIR:-/tmp})
#   -a 'x=y'  additional arguments for the kernel command line
#
# Environment: SIW_CACHE and SIW_SUITE select the guest, as for build-guest.sh, or
# SIW_OUT = a directory with vmlinux and initramfs.cpio; QEMU = the binary;
# SIW_MACHINE = q35 (default) or microvm.
#
# In the guest, eth0 has the address 10.0.2.15, siw0 uses eth0, and 10.0.2.2 is
# the host's loopback. A server in the guest binds 10.0.2.15 or 0.0.0.0, not
# 127.0.0.1.
# Exit statuses of this script itself: 2 usage, 3 the guest did not boot,
# 125 the connection to the guest was lost (it crashed, or -l SECS have passed).
set -uo pipefail
self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
usage() { awk 'NR > 2 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$self" >&2; exit 2; }
err() { echo "siw-guest: $*" >&2; }

verb=${1:-}; [ $# -gt 0 ] && shift
fwd=(); life=300; tmo=120; variant=stock; params=; mtu=1500; pcap=; cpus=1; mem=512; state=; append=; files=()
while getopts p:l:t:v:o:M:w:c:m:f:s:a: o; do
  case $o in
    p) fwd+=("$OPTARG") ;; l) life=$OPTARG ;; t) tmo=$OPTARG ;; v) variant=$OPTARG ;;
    o) params=$OPTARG; [ "$variant" = stock ] && variant=tunable ;;
    f) files+=("$OPTARG") ;; M) mtu=$OPTARG ;; w) pcap=$OPTARG ;; c) cpus=$OPTARG ;; m) mem=$OPTARG ;;
    s) state=$OPTARG ;; a) append=$OPTARG ;; *) usage ;;
  esac
done
shift $((OPTIND - 1))

out=${SIW_OUT:-${SIW_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/siw-guest}${SIW_SUITE:+/$SIW_SUITE}/out}
qemu=${QEMU:-qemu-system-x86_64}
machine=${SIW_MACHINE:-q35}

alive() { [ -f "$state/pid" ] && kill -0 "$(cat "$state/pid")" 2>/dev/null; }

busy() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
freeport() { # chooses a port below the ephemeral range, so that no connection takes it
  local i p
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    p=$((12000 + RANDOM % 18000)); busy $p || { echo $p; return 0; }
  done
  return 1
}

# The kernel unpacks several concatenated archives as if they were one.
make_initrd() {
  cat "$out/initramfs.cpio"
  [ ${#files[@]} -gt 0 ] || return 0
  local dir; dir=$(mktemp -d "$state/files.XXXXXX")
  mkdir -p "$dir/usr/bin"
  cp "${files[@]}" "$dir/usr/bin"
  chmod 755 "$dir"/usr/bin/*
  (cd "$dir" && find usr | cpio --quiet -o -H newc -R 0:0)
  rm -rf "$dir"
}

boot_once() {
  local hf= spec h g dev base kern
  : >"$state/ports"
  for spec in ${fwd[@]+"${fwd[@]}"}; do
    h=${spec%%:*}; g=${spec##*:}
    [ "$h" = 0 ] && h=$(freeport)
    hf="$hf,hostfwd=tcp:127.0.0.1:$h-10.0.2.15:$g"
    echo "$g $h" >>"$state/ports"
  done
  ctl=$(freeport) || return 1
  echo "$ctl" >"$state/ctl"
  kern=$out/vmlinux; [ -f "$kern" ] || kern=$out/vmlinuz
  case $machine in
    microvm*) base="-M $machine,rtc=on"; dev=virtio-net-device; rom= ;;
    *) base="-M $machine"; dev=virtio-net-pci; rom=,romfile= ;;
  esac
  set -- $base -accel tcg,thread=multi -cpu max -smp "$cpus" -m "$mem" \
    -nodefaults -no-user-config -display none -no-reboot -monitor none \
    -serial "file:$state/console.log" \
    -kernel "$kern" -initrd "$state/initrd" \
    -append "console=ttyS0 panic=-1 oops=panic mitigations=off nokaslr quiet loglevel=5 tsc=reliable no_timer_check random.trust_cpu=on siw.variant=$variant siw.mtu=$mtu ${params:+siw.params=$params }$append" \
    -netdev "user,id=n0,net=10.0.2.0/24,ipv6=off$hf" \
    -device "$dev,netdev=n0,mac=52:54:00:51:77:01,speed=10000,duplex=full,event_idx=off$rom" \
    -netdev "user,id=n1,net=10.0.3.0/24,ipv6=off,hostfwd=tcp:127.0.0.1:$ctl-10.0.3.15:2222" \
    -device "$dev,netdev=n1,mac=52:54:00:51:77:02,event_idx=off$rom" \
    ${pcap:+-object "filter-dump,id=d0,netdev=n0,file=$pcap,maxlen=65536"}
  # With event_idx, the emulated network card sometimes loses a notification under load. After that, eth0 transfers
  # nothing any more, not even a ping.
  : >"$state/console.log"
  # `timeout` ends the guest after its time limit, whatever happens to this script.
  setsid timeout -k 5 "$life" "$qemu" "$@" </dev/null >"$state/qemu.log" 2>&1 9>&- &
  echo $! >"$state/pid"
  local n=0
  while alive && [ $n -lt 900 ]; do
    grep -q 'SIW-GUEST .* READY' "$state/console.log" 2>/dev/null && return 0
    sleep 0.1; n=$((n + 1))
  done
  return 1
}

boot() {
  [ -f "$out/initramfs.cpio" ] || { err "no guest in $out (run build-guest.sh)"; exit 3; }
  [ -n "$state" ] || state=$(mktemp -d "${TMPDIR:-/tmp}/siw-guest.XXXXXX")
  mkdir -p "$state"; state=$(cd "$state" && pwd)
  alive && { err "a guest already runs in $state"; exit 3; }
  make_initrd >"$state/initrd" || { err "cannot add ${files[*]}"; exit 3; }
  local try
  for try in 1 2 3; do
    boot_once && return 0
    halt
    # If another process has taken a port that this script had chosen, the loop tries other ports.
    grep -q 'Could not set up host forwarding' "$state/qemu.log" || break
  done
  err "guest did not come up"; tail -5 "$state/qemu.log" >&2; tail -20 "$state/console.log" >&2
  exit 3
}

halt() {
  alive || return 0
  local p; p=$(cat "$state/pid")
  kill "$p" 2>/dev/null  # timeout passes SIGTERM on to QEMU
  local n=0
  while kill -0 "$p" 2>/dev/null && [ $n -lt 50 ]; do sleep 0.1; n=$((n + 1)); done
  kill -9 "$p" 2>/dev/null
  rm -f "$state/pid" "$state/initrd"
}

# guest_exec SECS COMMAND: runs COMMAND in the guest. Prints its output to stdout, and returns its exit status.
guest_exec() {
  local ctl rc; ctl=$(cat "$state/ctl" 2>/dev/null) || { err "no guest in $state"; return 3; }
  { exec 4<>"/dev/tcp/127.0.0.1/$ctl"; } 2>/dev/null || { err "guest not reachable"; return 125; }
  printf '%s %s\n' "$1" "$(printf '%s' "$2" | base64 -w0)" >&4
  awk 'BEGIN { rc = 125 }
       { i = index($0, "\036SIW-RC ")
         if (i) { if (i > 1) print substr($0, 1, i - 1); rc = substr($0, i + 8) + 0; exit }
         print; fflush() }
       END { exit rc }' <&4
  rc=$?
  exec 4>&-
  [ $rc = 125 ] && err "connection to the guest lost; see the console log"
  return $rc
}

case $verb in
  run)
    [ $# = 1 ] || usage
    keep=$state
    trap 'halt; [ -n "$keep" ] || rm -rf "$state"' EXIT
    trap 'exit 130' INT TERM HUP
    boot
    guest_exec "$tmo" "$1"; rc=$?
    [ $rc = 125 ] && tail -40 "$state/console.log" >&2
    exit $rc ;;
  start)
    [ $# = 0 ] || usage
    boot; echo "$state" ;;
  exec)
    [ $# = 1 ] && [ -n "$state" ] || usage
    guest_exec "$tmo" "$1" ;;
  port)
    [ $# = 1 ] && [ -n "$state" ] || usage
    awk -v g="$1" '$1 == g { print $2; f = 1 } END { exit !f }' "$state/ports" ;;
  log)
    [ -n "$state" ] || usage
    cat "$state/console.log"; alive && guest_exec 10 'dmesg' ;;
  stop)
    [ -n "$state" ] || usage
    halt ;;
  *) usage ;;
esac
