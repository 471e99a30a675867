#!/usr/bin/env bash
# Installs what Vernier needs on Debian 12 or 13: `scripts/setup.sh [build] [torch]`.
#   build   compiler, libraries, test tools, and the ONNX Runtime prefix in .deps/
#   torch   libtorch, PyTorch and torchvision, for the PyTorch runner and `vernier export`
# Idempotent: a step whose packages are installed and whose stamp is current does nothing.
# .deps/onnxruntime has the shape of ONNX Runtime's release archive (include/, lib/), plus
# share/onnx.proto; an ONNXRUNTIME_ROOT in the environment is used instead of making one.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
prefix=$root/.deps/onnxruntime

build_packages=(
  g++ cmake ninja-build ccache pkg-config ca-certificates clang-format
  libcli11-dev nlohmann-json3-dev libfmt-dev libhwy-dev libzip-dev zlib1g-dev
  libprotobuf-dev protobuf-compiler libgtest-dev libgmock-dev libbenchmark-dev
  libopenblas-dev libfaiss-dev libjpeg-dev libpng-dev libwebp-dev
  python3 python3-numpy python3-pil python3-jsonschema libonnx-testdata
)
torch_packages=(libtorch-dev python3-torch python3-torchvision)

# The two header packages, taken from Debian 13 and unpacked, never installed.
# The headers do not depend on the architecture they were built for.
header_suite=trixie
header_packages=(
  "libonnxruntime-dev 1.21.0+dfsg-1"
  "libonnx-dev 1.17.0-3+b1"
)
declare -A sha256=(
  [libonnxruntime-dev_1.21.0+dfsg-1_amd64.deb]=14f7d959d5deacbcf1504830d4189f91fc67382b399ed9ae9d3aa9c4050ced08
  [libonnx-dev_1.17.0-3+b1_amd64.deb]=6077a0f4083bcd179323540c0a7347d8e7f31a974378de44553a26e13c4d273e
)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "root is needed to install packages: run as root or install sudo"; fi
}

missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || echo "$package"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null
}

# Where this machine gets Debian from, without the suite: the first mirror of its own configuration.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' |
    awk '$2 == "Debian" && $1 !~ /security/ { sub(/\/$/, "", $1); print $1; exit }'
}

# Downloads the header packages of Debian 13 into $1 through apt's own signed indexes.
download_headers() {
  local work=$1 mirror entry
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || die "no Debian mirror in apt's configuration: add one to /etc/apt and run apt-get update"
  mkdir -p "$work"/{parts,lists/partial,cache/archives/partial}
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nArchitectures: amd64\nSigned-By: %s\n' \
    "$mirror" "$header_suite" /usr/share/keyrings/debian-archive-keyring.gpg >"$work/parts/headers.sources"
  local apt=(apt-get -qq -o APT::Architecture=amd64 -o APT::Sandbox::User=root
    -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/parts"
    -o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o Dir::State::Status=/dev/null)
  "${apt[@]}" update
  for entry in "${header_packages[@]}"; do
    (cd "$work" && "${apt[@]}" download "${entry% *}=${entry#* }")
  done
}

unpack_headers() {
  local work=$1 entry file
  for entry in "${header_packages[@]}"; do
    file=$work/${entry% *}_${entry#* }_amd64.deb
    echo "${sha256[$(basename "$file")]}  $file" | sha256sum --check --quiet ||
      die "$(basename "$file") does not have the pinned checksum: remove .deps and try again"
    dpkg-deb -x "$file" "$work/unpacked"
  done
  cp -r "$work/unpacked/usr/include/onnxruntime/." "$prefix/include/"
  cp "$work/unpacked/usr/include/onnx/onnx.proto" "$prefix/share/onnx.proto"
}

# libonnxruntime.so from npm: package-lock.json holds the integrity hash.
unpack_library() {
  local work=$1 arch
  case $(dpkg --print-architecture) in
    amd64) arch=x64 ;;
    arm64) arch=arm64 ;;
    *) die "ONNX Runtime is packaged for amd64 and arm64 only: set ONNXRUNTIME_ROOT to your own build" ;;
  esac
  command -v npm >/dev/null || install_packages npm
  cp package.json package-lock.json "$work/"
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
  cp "$work/node_modules/onnxruntime-node/bin/napi-v6/linux/$arch/libonnxruntime.so.1" "$prefix/lib/"
  ln -sf libonnxruntime.so.1 "$prefix/lib/libonnxruntime.so"
}

# Debian 13 has the libraries themselves: the prefix only points at them.
link_native() {
  local libdir
  libdir=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  install_packages libonnxruntime-dev libonnx-dev
  cp -r /usr/include/onnxruntime/. "$prefix/include/"
  cp /usr/include/onnx/onnx.proto "$prefix/share/onnx.proto"
  ln -sf "$libdir/libonnxruntime.so" "$prefix/lib/libonnxruntime.so"
}

has_native_onnxruntime() {
  [ "$(apt-cache policy libonnxruntime-dev 2>/dev/null | awk '/Candidate:/{print $2}')" != "(none)" ] &&
    apt-cache show libonnxruntime-dev >/dev/null 2>&1
}

make_prefix() {
  [ -z "${ONNXRUNTIME_ROOT:-}" ] || return 0
  local stamp
  stamp=$(cat package-lock.json scripts/setup.sh | sha256sum)
  [ "$(cat "$prefix/.stamp" 2>/dev/null)" = "$stamp" ] && return 0
  say "gathering ONNX Runtime, its headers and onnx.proto into .deps/onnxruntime"
  rm -rf "$prefix"
  mkdir -p "$prefix"/{include,lib,share}
  work=$(mktemp -d "$root/.deps/work.XXXXXX") # not local: the trap outlives this function
  trap 'rm -rf "$work"' EXIT
  if has_native_onnxruntime; then
    link_native
  else
    download_headers "$work"
    unpack_headers "$work"
    unpack_library "$work"
  fi
  echo "$stamp" >"$prefix/.stamp"
}

[ $# -gt 0 ] || set -- build
for step in "$@"; do
  case $step in
    build) install_packages "${build_packages[@]}"; make_prefix ;;
    torch) install_packages "${torch_packages[@]}" ;;
    *) die "unknown step '$step': use build or torch" ;;
  esac
done
