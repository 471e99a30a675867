#!/usr/bin/env bash
# Builds and tests the last commit on a Debian that has nothing yet: `scripts/fresh.sh SUITE [TARGET...]`.
#   SUITE    bookworm or trixie: made with debootstrap from the mirror of this machine's own apt
#   TARGET   what make is called with, one after the other: demo and test unless given
# Prints how long each target took. Needs root. The new system is in a folder of /var/tmp and is
# deleted afterwards; KEEP=1 keeps it. Its mounts are in a namespace that ends with this script.
set -euo pipefail
export LC_ALL=C
suite=${1:?usage: scripts/fresh.sh SUITE [TARGET...]}
shift
[ $# -gt 0 ] || set -- demo test
repository=$(git -C "$(dirname "$0")/.." rev-parse --show-toplevel)

say() { printf 'fresh: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

[ "$(id -u)" = 0 ] || die "root is needed to make another Debian: run with sudo"
if [ -z "${VERNIER_FRESH_NAMESPACE:-}" ]; then
  exec env VERNIER_FRESH_NAMESPACE=1 unshare --mount --pid --fork --mount-proc "$0" "$suite" "$@"
fi
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null

# shellcheck source=scripts/debian_mirror.sh
. "$repository/scripts/debian_mirror.sh"
mirror=$(debian_mirror)
[ -n "$mirror" ] || die "no Debian mirror in apt's configuration: add one to /etc/apt and try again"

root=$(mktemp -d "/var/tmp/vernier-$suite.XXXXXX")
chmod 755 "$root"
clean_up() {
  umount -lR "$root/proc" "$root/dev" 2>/dev/null || true
  [ -n "${KEEP:-}" ] || rm -rf --one-file-system "$root"
}
trap clean_up EXIT

say "Debian $suite in $root"
debootstrap --variant=minbase --include=git,make,ca-certificates "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
  { tail -n 20 "$root.log" >&2; die "debootstrap failed"; }
rm -f "$root.log"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
# The network is reached there as it is here: the same name servers, certificates and settings.
for file in /etc/resolv.conf /etc/hosts /etc/npmrc /etc/pip.conf /usr/local/share/ca-certificates/*.crt; do
  [ ! -e "$file" ] || install -D -m 644 "$file" "$root$file"
done
git clone -q --no-hardlinks "$repository" "$root/vernier"

inside() { chroot "$root" /usr/bin/env HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
say "$(inside sed -n 's/^PRETTY_NAME=//p' /etc/os-release), $(nproc) cores, commit $(git -C "$root/vernier" rev-parse --short HEAD)"
inside update-ca-certificates >/dev/null 2>&1
for target in "$@"; do
  start=$SECONDS
  inside make -C /vernier "$target" || die "make $target failed after $((SECONDS - start)) s"
  say "make $target took $((SECONDS - start)) s"
done
