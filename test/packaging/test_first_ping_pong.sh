#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the three lines of rfc-notes/programs.md that lead from a bare Debian 12 to a first ping-pong. They run
# unchanged in a container without privileges: bubblewrap, started as UID 65534, with one user and no capability,
# and after the installation with no network but lo. Only `sleep` is replaced by a command that waits until the
# server listens, because a busy machine may take longer than a second.
# Usage: test_first_ping_pong.sh SOURCE_DIR
set -euo pipefail
source=$1
source "$source/test/packaging/support.sh"
command -v bwrap >/dev/null || skip "bubblewrap is not installed"

step "the lines of rfc-notes/programs.md"
block=$(awk 'BEGIN { RS = "```" } /^sh\n/ && /iwarp_[0-9]/' "$source/rfc-notes/programs.md")
mapfile -t lines < <(tail -n +2 <<<"$block")
printf '%s\n' "${lines[@]}"
[ ${#lines[@]} = 3 ]
package=$(grep -o 'iwarp_[0-9][^ ]*\.deb' <<<"${lines[0]}")

step "build the package"
packages=$("$source/.ci/package" bookworm package)
file=$(grep "/iwarp_.*\.deb$" <<<"$packages")
if [ "$(basename "$file")" != "$package" ]; then
  echo "rfc-notes/programs.md says $package, but it is $(basename "$file")" >&2
  exit 1
fi

as_nobody() {
  setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
    --no-new-privs "$@"
}

# contain [OPTION...] -- TEXT: runs TEXT with bash in a separate working directory.
contain() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  as_nobody bwrap --unshare-all "${options[@]}" --cap-drop ALL --uid 0 --gid 0 --die-with-parent \
    --bind "$scratch/root" / --proc /proc --dev /dev --tmpfs /tmp --chdir /srv --clearenv \
    --setenv HOME /srv --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin bash -ec "$2"
}

step "a bare Debian 12"
chmod 711 "$scratch"
tar=$(chroot_tar bookworm minimal)
install -d -o 65534 -g 65534 "$scratch/root"
as_nobody tar -x --no-same-owner --exclude './dev/*' -C "$scratch/root" <"$tar"
cp -L /etc/hosts /etc/resolv.conf "$scratch/root/etc/"
# The container has only one user, so apt cannot change to another user for downloads.
echo 'APT::Sandbox::User "root";' >"$scratch/root/etc/apt/apt.conf.d/one-user"
install -m 644 "$file" "$scratch/root/srv/"

step "install"
started=$SECONDS
contain --share-net -- "${lines[0]}" >"$scratch/apt.log" 2>&1 ||
  { tail -n 20 "$scratch/apt.log"; exit 1; }
grep -E '^Setting up (iwarp|ibverbs-utils) ' "$scratch/apt.log"

step "ping-pong"
# Port 18515 is 4853 in hexadecimal. Looks for it in the kernel's table of listeners.
contain -- 'sleep() { until grep -q ":4853 .* 0A " /proc/net/tcp /proc/net/tcp6; do command sleep 0.1; done; }
id
grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status
'"${lines[1]}"'
'"${lines[2]}"'
wait' | tee "$scratch/said"
echo "from a bare system to the end of a first ping-pong: $((SECONDS - started)) s"
[ "$(grep -c '^8192000 bytes in .* seconds' "$scratch/said")" = 2 ]
grep -q 'GID ::ffff:127.0.0.1\|GID fe80::\|GID ::1' "$scratch/said"
grep -q '^CapEff:\s*0*$' "$scratch/said"
step "done"
