# Two commands do everything: `make demo` and `make test`. Both install what they need.
# `make zoo` validates four models of torchvision layer by layer; `make fresh suite=trixie` runs
# both commands on a Debian made for it (root needed).
.PHONY: demo zoo test build setup asan lint format check-format install fresh clean
preset ?= dev
steps ?= build
targets ?= all
suite ?= bookworm
build_dir := build/$(preset)

setup:
	@scripts/setup.sh $(steps)

# Configures anew when set-up has installed something since: it may have brought libtorch. Warnings
# are errors only for continuous integration, which sets CI.
build: setup
	@[ $(build_dir)/build.ninja -nt .deps/installed ] || \
	  cmake --preset $(preset) -DVERNIER_WERROR=$(if $(CI),ON,OFF) >/dev/null
	@cmake --build --preset $(preset) --target $(targets)

test: steps = build torch
test: build
	@ctest --preset $(preset) -j$$(nproc) --output-junit $(CURDIR)/$(build_dir)/tests.xml; \
	  result=$$?; scripts/skipped.py $(build_dir)/tests.xml; exit $$result

asan:
	@$(MAKE) test preset=asan

demo: steps = build torch
demo: targets = vernier_cli
demo: build
	@scripts/demo.sh $(build_dir)/bin/vernier

zoo: steps = build torch
zoo: targets = vernier_cli
zoo: build
	@scripts/zoo.sh $(build_dir)/bin/vernier

install: targets = vernier_cli
install: build
	@cmake --install $(build_dir)

fresh:
	@scripts/fresh.sh $(suite)

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
