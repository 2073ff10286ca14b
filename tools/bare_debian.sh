#!/usr/bin/env bash
# bare_debian.sh FOLDER [VERB...]: the promise of the README on a Debian 12 that has nothing but git and a shell. Makes such a tree
# below FOLDER (once; needs debootstrap and root), clones HEAD of this checkout into it, and runs ./dev VERB (demo, then test).
set -euo pipefail
tree=$1
shift
[[ $# -gt 0 ]] || set -- demo test
here=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)

[[ -x $tree/bin/bash ]] || debootstrap --variant=minbase bookworm "$tree" http://deb.debian.org/debian
cp /etc/resolv.conf "$tree/etc/resolv.conf"
if [[ -n ${PIP_CERT:-} ]]; then  # a network whose certificates are its own
  mkdir -p "$tree/usr/local/share/ca-certificates"
  cp "$PIP_CERT" "$tree/usr/local/share/ca-certificates/network.crt"
  export PIP_CERT=/usr/local/share/ca-certificates/network.crt
fi
inside() { chroot "$tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${PIP_CERT:+PIP_CERT=$PIP_CERT} "$@"; }
# The tree must be safe to remove afterwards, and meanwhile: what is unmounted below it stays mounted here.
leave() { umount --recursive "$tree/dev" "$tree/proc" 2>/dev/null || true; }
trap leave EXIT
mountpoint -q "$tree/proc" || mount -t proc proc "$tree/proc"
mountpoint -q "$tree/dev" || { mount --rbind /dev "$tree/dev" && mount --make-rslave "$tree/dev"; }
[[ -x $tree/usr/bin/git ]] || inside bash -c 'apt-get -q update && apt-get -q install -y --no-install-recommends git' >/dev/null

rm -rf "$tree/root/thalweg"
git clone -q --no-hardlinks "$here" "$tree/root/thalweg"
for verb in "$@"; do
  inside bash -c "cd /root/thalweg && time ./dev $verb"
done
