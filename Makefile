# Two commands do everything: `make demo` and `make test`. Both install what they need.
# `make zoo` validates four models of torchvision layer by layer.
.PHONY: demo zoo test build setup asan lint format check-format install clean
preset ?= dev
steps ?= build
build_dir := build/$(preset)

setup:
	@scripts/setup.sh $(steps)

# Configures anew when set-up has installed something since: it may have brought libtorch.
build: setup
	@[ $(build_dir)/build.ninja -nt .deps/installed ] || cmake --preset $(preset) >/dev/null
	@cmake --build --preset $(preset)

test: build
	@ctest --preset $(preset) -j$$(nproc)

asan:
	@$(MAKE) test preset=asan

demo: steps = build torch
demo: build
	@scripts/demo.sh $(build_dir)/bin/vernier

zoo: steps = build torch
zoo: build
	@scripts/zoo.sh $(build_dir)/bin/vernier

install: build
	@cmake --install $(build_dir)

sources := git ls-files '*.cpp' '*.h'
format:
	@$(sources) | xargs clang-format -i

check-format:
	@$(sources) | xargs clang-format --dry-run --Werror

# A few minutes: not part of `make test`.
lint: steps = build lint
lint: build
	@shellcheck scripts/*.sh .ci/run
	@run-clang-tidy -p $(build_dir) -quiet '^$(CURDIR)/(vernier|cli)/'

clean:
	@rm -rf build
