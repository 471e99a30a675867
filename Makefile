# Two commands do everything: `make demo` and `make test`. Both install what they need.
.PHONY: demo test build setup format check-format asan clean
preset ?= dev
vernier := build/$(preset)/bin/vernier

setup:
	@scripts/setup.sh build

build: setup
	@test -f build/$(preset)/build.ninja || cmake --preset $(preset) >/dev/null
	@cmake --build --preset $(preset) -- --quiet

test: build
	@ctest --preset $(preset) -j$$(nproc)

asan:
	@$(MAKE) test preset=asan

demo: build
	@scripts/demo.sh $(vernier)

sources := git ls-files '*.cpp' '*.h'
format:
	@$(sources) | xargs clang-format -i

check-format:
	@$(sources) | xargs clang-format --dry-run --Werror

clean:
	@rm -rf build
