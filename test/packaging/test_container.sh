#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the container image. It is built from the archive and a local root file system of Debian 12 and of Debian 13,
# without an image registry. Also tests an image that copies the installation as a layer from the first, with the lines
# of rfc-notes/ci.md. Programs run as an ordinary user, without capabilities, on a read-only root. Uses podman if it
# can run containers, otherwise unshare and setpriv on the files of the image. The output says which of them was used.
# Usage: test_container.sh SOURCE_DIR
set -euo pipefail
source=$1
source "$source/test/packaging/support.sh"
command -v buildah >/dev/null || skip "buildah is not installed"

archive=$(archive_of bookworm archive)
store=(--root "$scratch/store" --runroot "$scratch/run" --storage-driver vfs)

# from_chroot SUITE: makes an image from the root file system of that release, with a PATH as Debian's images have.
from_chroot() {
  local working
  working=$(buildah "${store[@]}" from scratch)
  buildah "${store[@]}" add --quiet "$working" "$(chroot_tar "$1" bare)" / >/dev/null
  buildah "${store[@]}" config --env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$working"
  buildah "${store[@]}" commit --quiet --rm "$working" "localhost/$1" >/dev/null
}

build() { buildah "${store[@]}" build --quiet --isolation chroot --pull-never "$@" >/dev/null; }

mkdir "$scratch/context"
cp "$archive" "$scratch/context/"
for suite in bookworm trixie; do
  step "base image from the chroot's tar file, and the image by Containerfile: $suite"
  from_chroot $suite
  build -f "$source/Containerfile" -t localhost/iwarp-$suite --build-arg BASE=localhost/$suite \
    --build-arg ARCHIVE="$(basename "$archive")" "$scratch/context"
done

step "build an image that takes it as a layer, by the lines of rfc-notes/ci.md"
{
  echo "FROM localhost/bookworm"
  sed -n '/^```dockerfile$/,/^```$/ { /^```/d; s,REGISTRY/iwarp,localhost/iwarp-bookworm,; p }' "$source/rfc-notes/ci.md"
} | tee "$scratch/context/Containerfile"
[ "$(grep -c '^\(COPY\|ENV\)' "$scratch/context/Containerfile")" = 3 ]
build -f "$scratch/context/Containerfile" -t localhost/layered "$scratch/context"

# The commands that run in the image by Containerfile: the version, the demo, ls of the devices, and rdma-core's rping at
# both ends.
try='[ "$(iwarp --version)" = "iwarp '"$version"'" ]
iwarp demo -q | tail -n 1
[ "$(iwarp run --as roce ls /dev/infiniband | tr "\n" " ")" = "rdma_cm uverbs0 " ]
iwarp run rping -s -a 127.0.0.1 -p 7471 -C 5 & server=$!
until grep -q ":1D2F .* 0A " /proc/net/tcp; do kill -0 $server; sleep 0.1; done
iwarp run rping -c -a 127.0.0.1 -p 7471 -C 5 && wait $server && echo "rping: both ends passed"
if touch /here 2>/dev/null; then echo "the root can be written to"; exit 1; fi
grep -E "^(Uid|CapEff|CapBnd|NoNewPrivs)" /proc/self/status'
# In the other image, which has the variables, the same commands find the device without `iwarp run` in front.
without_run=${try//iwarp run /}
without_run=${without_run//--as roce /}

by_podman() {
  podman "${store[@]}" run --rm --pull never --cap-drop all --security-opt no-new-privileges \
    --read-only --network none --cgroups disabled --user 65534:65534 --entrypoint /bin/sh \
    "localhost/$1" -ec "$2"
}

by_unshare() {
  local working root variables
  working=$(buildah "${store[@]}" from --pull-never "localhost/$1")
  root=$(buildah "${store[@]}" mount "$working")
  mapfile -t variables < <(buildah "${store[@]}" inspect --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' \
    "$working" | grep '=')
  unshare --mount --net --pid --fork --kill-child --propagation private bash -ec '
    ip link set lo up
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -o remount,bind,ro "$1"
    exec chroot "$1" setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all --inh-caps=-all \
      --no-new-privs /usr/bin/env -i "${@:3}" /bin/sh -ec "$2"' by_unshare "$root" "$2" "${variables[@]}"
  buildah "${store[@]}" rm "$working" >/dev/null
}

how=by_unshare
if command -v podman >/dev/null &&
  podman "${store[@]}" run --rm --pull never --network none --cgroups disabled \
    --entrypoint /bin/true localhost/bookworm >"$scratch/podman.log" 2>&1; then
  how=by_podman
else
  echo "podman cannot run containers here: $(tail -n 1 "$scratch/podman.log" 2>/dev/null)"
fi
for suite in bookworm trixie; do
  step "run localhost/iwarp-$suite $how"
  $how iwarp-$suite "$try"
done
step "run localhost/layered $how, without iwarp run"
$how layered "$without_run"
step done
