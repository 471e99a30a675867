# Two commands do everything: `make demo` and `make test`. Both install what they need.
# `make zoo` measures examples/zoo.json, four models of torchvision layer by layer, `make sweep` ten that
# PyTorch 2 exports in four forms each; `make fuzz` looks for files that bring a reader down; `make fresh
# suite=trixie` runs both commands on a Debian made for it (root needed).
.PHONY: demo zoo sweep verdicts damaged crafted fuzz test build start setup wheel asan tsan avx2 lint format check-format install fresh clean
preset ?= dev
steps ?= build
targets ?= all
suite ?= bookworm
build_dir = build/$(preset)

setup:
	@scripts/setup.sh $(steps)

# Configures anew when set-up has installed something since, such as libtorch, and when tests were left
# out before. Warnings are errors only for continuous integration, which sets CI.
options = -DVERNIER_WERROR=$(if $(CI),ON,OFF) -DVERNIER_BUILD_TESTS=$(tests) -DVERNIER_BUILD_BENCH=$(tests)
tests = $(if $(filter test,$(steps)),ON,OFF)
build: start
	@scripts/setup.sh $(steps)
	@[ $(build_dir)/build.ninja -nt .deps/installed ] && \
	  [ "$$(cat $(build_dir)/options 2>/dev/null)" = "$(options)" ] || \
	  { cmake --preset $(preset) $(options) $(torch)=OFF >/dev/null && echo "$(options)" >$(build_dir)/options; }
	@cmake --build --preset $(preset) --target $(targets)

# The first build compiles the library, `early`, while the rest of set-up is installed: it needs none of that.
torch = -DCMAKE_DISABLE_FIND_PACKAGE_Torch
start:
	@[ -z "$(early)" ] || [ -f $(build_dir)/build.ninja ] || { \
	  scripts/setup.sh build && { \
	    scripts/setup.sh $(steps) & \
	    cmake --preset $(preset) $(options) $(torch)=ON -DVERNIER_BUILD_TESTS=OFF -DVERNIER_BUILD_BENCH=OFF >/dev/null && \
	      cmake --build --preset $(preset) --target $(early); \
	    built=$$?; wait $$! && exit $$built; }; }

test: steps = build test torch torch2 wheel cluster
test: early = vernier
test: build
	@ctest --preset $(preset) -j$$(nproc) --test-output-size-passed 1000000 --output-junit $(CURDIR)/$(build_dir)/tests.xml; \
	  result=$$?; scripts/skipped.py $(build_dir)/tests.xml; exit $$result

# The Python package in build/wheels: the sources, and a wheel for each Python that is found.
wheel: preset = wheel
wheel: steps = build wheel
wheel: targets = vernier_commands
wheel: build
	@.deps/wheel/bin/python scripts/wheel.py --sdist --largest 8000000 --prebuilt $(build_dir) build/wheels

asan:
	@$(MAKE) test preset=asan

# The parts that run on several threads, under ThreadSanitizer.
tsan: steps = build test torch
tsan: targets = concurrent_test
tsan: build
	@$(build_dir)/bin/concurrent_test --gtest_brief=1

# Quantized models as a CPU runs them that has AVX2 and nothing newer, whose integer kernels saturate: emulated,
# about twenty minutes.
avx2: steps = build test torch avx2
avx2: targets = analysis_test vernier_cli
avx2: build
	@qemu-x86_64 -cpu Haswell $(build_dir)/bin/analysis_test --gtest_brief=1 \
	  --gtest_filter='*Arithmetic*:*Compare*:*Debug*:*Evidence*:*FurtherRuns*:*Quantiz*:*Repair*:*Score*:*Shipped*:*Switch*:*Tune*-*Wild*:*Torch*'

demo: steps = build torch
demo: targets = vernier_cli
demo: early = vernier
demo: build
	@scripts/demo.sh $(build_dir)/bin/vernier

zoo: steps = build torch
zoo: targets = vernier_cli
zoo: build
	@$(build_dir)/bin/vernier zoo examples/zoo.json --cache build/zoo --reports build/zoo/reports $(arguments)

# Models of PyTorch 2, exported, simplified and optimised, sound and with injected faults, layer by layer:
# half an hour with small configurations; VERNIER_SWEEP=full takes the published sizes.
sweep: steps = build torch2
sweep: targets = vernier_cli
sweep: build
	@.deps/torch2/bin/python -B tests/sweep/sweep.py $(build_dir)/bin/vernier $(arguments)
	@$(MAKE) damaged crafted preset=asan

# The verdict on right pairs of models and on the same with faults in them, of `folders`: see the script.
verdicts: steps = build torch2
verdicts: targets = vernier_cli
verdicts: build
	@.deps/torch2/bin/python -B tests/sweep/verdicts.py $(build_dir)/bin/vernier $(folders) $(arguments)

# Every model of libonnx-testdata, whole and damaged, through every command: 56,000 runs, of which
# `make test` draws a few.
damaged: steps = build test
damaged: targets = vernier_cli
damaged: build
	@.deps/python/bin/python -B tests/sweep/damaged.py $(build_dir)/bin/vernier $(arguments)

# Files that were made to bring programs down, through every command that takes them: 3,000 runs. And arrays of
# more than 4 GiB.
crafted: steps = build test
crafted: targets = vernier_cli
crafted: build
	@.deps/python/bin/python -B tests/sweep/crafted.py $(build_dir)/bin/vernier $(arguments)
	@.deps/python/bin/python -B tests/sweep/large_members.py $(build_dir)/bin/vernier

# Readers of files and texts against libFuzzer, with both sanitizers; `seconds` for each of them.
seconds ?= 60
fuzz: preset = fuzz
fuzz: steps = build fuzz
fuzz: targets = fuzz
fuzz: build
	@scripts/fuzz.sh $(build_dir)/bin/fuzz $(seconds) $(arguments)

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

# Half an hour: not part of `make test`. `since=REVISION` reads only the sources that changed since then.
# clang-tidy cannot read g++'s precompiled headers and needs ONNX's generated ones, so a build folder of its own
# is configured, in which each source is compiled alone: what lacks an include is found here.
linted = $(if $(since),$(or $(shell git diff --name-only --diff-filter=d $(since) -- 'vernier/*.cpp' 'cli/*.cpp'),'^$$'),'^$(CURDIR)/(vernier|cli)/')
lint: preset = lint
lint: steps = build torch lint
lint: targets = onnx_proto_objects
lint: build
	@shellcheck scripts/*.sh .ci/*
	@run-clang-tidy-19 -p $(build_dir) -quiet $(linted)

clean:
	@rm -rf build
