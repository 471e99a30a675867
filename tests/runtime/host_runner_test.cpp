#include "vernier/runtime/host_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "tests/arrays.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Pair;

constexpr const char* packages = VERNIER_FIXTURES "/../../python";

// A host that doubles its input, and shows it halfway; a test overrides what it wants otherwise.
constexpr const char* doubling_host = R"(
import ctypes, os, signal, subprocess, sys, time
sys.path.insert(0, sys.argv[1])
from vernier_host.protocol import Channel, Failure, serve

def floats(data):
    return (ctypes.c_float * (len(data) // 4)).from_buffer_copy(data)

def send(to, kind, name, values):
    to({"type": kind, "name": name, "dtype": "float32", "shape": [len(values)]},
       ctypes.addressof(values), ctypes.sizeof(values))

class Host:
    def describe(self, request, inputs):
        return {"inputs": [{"name": "x", "dtype": "float32"}],
                "outputs": [{"name": "y", "dtype": "float32"}],
                "layers": [{"name": "half", "type": "Half", "module": "m", "call": 1,
                            "source": "m.py:3", "constants": {"eps": 0.5}}],
                "versions": {"engine": "1.0"}}
    def run(self, inputs, show, give):
        x = floats(inputs[0][1])
        if show:
            send(show, "tensor", "half", x)
        send(give, "output", "y", type(x)(*(2 * each for each in x)))
    def parameters(self, give, names):
        send(give, "tensor", "weight", (ctypes.c_float * 2)(7, 8))
        send(give, "tensor", "bias", (ctypes.c_float * 1)(9))

class Changed(Host):
    pass

CODE
serve(Channel(), Changed())
)";

struct HostRunnerTest : ::testing::Test {
  // The options of a host that runs this code before it serves.
  HostOptions host(const std::string& code = "") const {
    std::string text = doubling_host;
    text.replace(text.find("CODE"), 4, code);
    std::ofstream(folder_ / "host.py") << text;
    return {.source = "host:python3 '" + (folder_ / "host.py").string() + "' " + packages,
            .watch = HostWatch::layers,
            .timeout = 60s,
            .example = {ramp("x", {3})}};
  }
  std::string failure(const std::string& code, std::chrono::seconds timeout = 60s) const {
    return failure_of([&] {
      HostOptions options = host(code);
      options.timeout = timeout;
      run(*open_host_runner(options));
    });
  }
  static std::vector<Tensor> run(Runner& runner, const Observer& observer = {}) {
    return runner.run(std::vector{ramp("x", {3})}, observer);
  }

  TemporaryDirectory folder_;
};

TEST_F(HostRunnerTest, a_host_is_a_runner) {
  const auto runner = open_host_runner(host());
  EXPECT_THAT(runner->inputs(),
              ElementsAre(TensorSpec{.name = "x", .dtype = DType::f32, .ranked = false}));
  EXPECT_EQ(runner->outputs().at(0).name, "y");
  EXPECT_THAT(runner->watched(), ElementsAre(WatchedTensor{.name = "half",
                                                           .type = "Half",
                                                           .constants = {{"eps", 0.5}},
                                                           .module = "m",
                                                           .call = 1,
                                                           .source = "m.py:3"}));
  EXPECT_THAT(runner->versions(), ElementsAre(Pair("engine", "1.0")));
  std::vector<Tensor> seen;
  const auto outputs =
      run(*runner, [&](const TensorView& tensor) { seen.push_back(copy(tensor)); });
  EXPECT_THAT(seen, ElementsAre(ramp("half", {3})));
  EXPECT_THAT(elements<float>(outputs.at(0).view()), ElementsAre(0, 2, 4));
  std::vector<Tensor> parameters;
  runner->visit_parameters([&](const TensorView& each) { parameters.push_back(copy(each)); });
  EXPECT_THAT(elements<float>(parameters.at(0).view()), ElementsAre(7, 8));
}

TEST_F(HostRunnerTest, parameters_are_asked_for_by_name) {
  const auto runner = open_host_runner(host(R"(
class Changed(Host):
    def describe(self, request, inputs):
        weights = [{"name": name, "dtype": "float32", "shape": [2]} for name in ("weight", "bias")]
        return {**Host.describe(self, request, inputs), "parameters": weights}
    def parameters(self, give, names):
        for name in names:
            send(give, "tensor", name, (ctypes.c_float * 2)(7, 8))
)"));
  const TensorSpec weight{.name = "weight", .shape = {{.size = 2}}};
  EXPECT_EQ(runner->parameters().at(0), weight);
  std::vector<std::string> seen;
  runner->visit_parameters_named(std::vector<std::string>{"bias"},
                                 [&](const TensorView& each) { seen.emplace_back(each.name); });
  EXPECT_THAT(seen, ElementsAre("bias"));
}

TEST_F(HostRunnerTest, a_host_that_always_sends_all_parameters_is_as_good) {
  const auto runner = open_host_runner(host());
  EXPECT_EQ(runner->parameters().size(), 2U);
  EXPECT_EQ(runner->parameters().at(1).name, "bias");
  std::vector<float> seen;
  runner->visit_parameters_named(std::vector<std::string>{"bias"}, [&](const TensorView& each) {
    seen.push_back(elements<float>(each)[0]);
  });
  EXPECT_THAT(seen, ElementsAre(9));
}

TEST_F(HostRunnerTest, tensors_of_any_size_pass_through_a_small_ring) {
  HostOptions options = host();
  options.ring_bytes = 1 << 16;
  const auto runner = open_host_runner(options);
  for (const std::int64_t size : {0, 1, 8191, 8192, 8193, 16384, 50000, 3, 16000, 16001}) {
    const Tensor input = ramp("x", {size});
    Tensor seen;
    const auto outputs =
        runner->run(std::vector{input}, [&](const TensorView& tensor) { seen = copy(tensor); });
    EXPECT_EQ(seen, ramp("half", {size}));
    EXPECT_EQ(outputs.at(0).size(), size);
  }
}

TEST_F(HostRunnerTest, thousands_of_small_tensors_do_not_stop_either_side) {
  const auto runner = open_host_runner(host(R"(
class Changed(Host):
    def run(self, inputs, show, give):
        for i in range(20000):
            send(show, "tensor", "half", (ctypes.c_float * 1)(i))
        super().run(inputs, None, give)
)"));
  int count = 0;
  run(*runner, [&](const TensorView&) { ++count; });
  EXPECT_EQ(count, 20000);
}

TEST_F(HostRunnerTest, what_a_host_prints_is_no_message_and_never_stops_it) {
  const auto runner = open_host_runner(host(R"(
class Changed(Host):
    def run(self, inputs, show, give):
        for stream in (sys.stdout, sys.stderr):
            stream.write("noise\n" * 100000)
            stream.flush()
        super().run(inputs, show, give)
)"));
  EXPECT_EQ(run(*runner).size(), 1U);
}

TEST_F(HostRunnerTest, a_host_that_ends_is_told_with_the_end_of_what_it_printed) {
  EXPECT_THAT(
      failure("sys.exit('no such model')"),
      MatchesRegex(R"(\[host\] host:.*: its process ended with exit code 1: no such model)"));
  EXPECT_THAT(failure("raise ValueError('odd')"), HasSubstr("exit code 1: ValueError: odd"));
}

TEST_F(HostRunnerTest, a_host_that_is_killed_while_it_runs_is_told) {
  EXPECT_THAT(failure(R"(
class Changed(Host):
    def run(self, inputs, show, give):
        os.kill(os.getpid(), signal.SIGKILL)
)"),
              HasSubstr("was ended by signal 9 (Killed), perhaps for lack of memory"));
}

TEST_F(HostRunnerTest, a_host_that_hangs_is_given_up) {
  EXPECT_THAT(failure(R"(
class Changed(Host):
    def describe(self, request, inputs):
        print("waiting for a lock", flush=True)
        time.sleep(1000)
)",
                      2s),
              HasSubstr("no answer for 2 s; pass a longer --host-timeout: waiting for a lock"));
}

TEST_F(HostRunnerTest, what_cannot_be_started_is_an_error) {
  HostOptions options = host();
  options.source = "host:/nowhere/program";
  EXPECT_THAT(failure_of([&] { open_host_runner(options); }), HasSubstr("exit code 127"));
  options.source = "m.py:f";
  options.python = "/nowhere/python";
  EXPECT_THAT(failure_of([&] { open_host_runner(options); }),
              HasSubstr("--python /nowhere/python: it does not run"));
}

TEST_F(HostRunnerTest, an_error_of_the_host_ends_the_run_and_no_more) {
  const auto runner = open_host_runner(host(R"(
class Changed(Host):
    failed = False
    def run(self, inputs, show, give):
        if not self.failed:
            self.failed = True
            raise Failure("not today")
        super().run(inputs, show, give)
)"));
  EXPECT_THAT(failure_of([&] { run(*runner); }), HasSubstr(": not today"));
  EXPECT_EQ(run(*runner).size(), 1U);
}

TEST_F(HostRunnerTest, an_exception_of_the_observer_reaches_the_caller) {
  const auto runner = open_host_runner(host());
  EXPECT_THAT(failure_of([&] { run(*runner, [](const TensorView&) { throw Error("enough"); }); }),
              HasSubstr("enough"));
  EXPECT_EQ(run(*runner).size(), 1U);
}

TEST_F(HostRunnerTest, what_is_against_the_protocol_is_refused) {
  EXPECT_THAT(failure("import vernier_host.protocol as p; p.VERSION = 9"),
              HasSubstr("speaks version 9 of the protocol, and this is version 1"));
  EXPECT_THAT(failure("import vernier_host.protocol as p; p.VERSION = 'one'"),
              HasSubstr(R"(speaks version "one" of the protocol)"));
  EXPECT_THAT(failure(R"(
os.write(int(os.environ['VERNIER_HOST_SOCKET']), b'{"type": "error", "message": 5}\n')
)"),
              HasSubstr("an error without a message"));
  EXPECT_THAT(failure("os.write(int(os.environ['VERNIER_HOST_SOCKET']), b'hello\\n')"),
              HasSubstr("its host sent what is no message: hello"));
  EXPECT_THAT(failure(R"(
class Changed(Host):
    def run(self, inputs, show, give):
        give({"type": "output", "name": "y", "dtype": "float32", "shape": [9]}, 0, 0)
)"),
              HasSubstr("its host sent 0 bytes for 'y', which takes 36"));
  EXPECT_THAT(failure(R"(
class Changed(Host):
    def run(self, inputs, show, give):
        pass
)"),
              HasSubstr("returns 0 outputs, and 1 when it was described"));
  EXPECT_THAT(failure(R"(
class Changed(Host):
    def describe(self, request, inputs):
        return {"inputs": [{"name": "x", "dtype": "float31"}]}
)"),
              HasSubstr("float31"));
}

TEST_F(HostRunnerTest, a_host_that_does_not_run_in_float64_is_no_truth) {
  HostOptions options = host();
  options.precision = DType::f64;
  EXPECT_THAT(failure_of([&] { open_host_runner(options); }),
              HasSubstr("'y' is float32 though it is to run in float64; leave --truth out"));
}

TEST_F(HostRunnerTest, nothing_is_left_running) {
  pid_t child = 0, grandchild = 0;
  {
    const auto runner = open_host_runner(host(R"(
class Changed(Host):
    def describe(self, request, inputs):
        sleeper = subprocess.Popen(["sleep", "1000"])
        return {**super().describe(request, inputs),
                "versions": {"pid": str(os.getpid()), "sleeper": str(sleeper.pid)}}
)"));
    child = std::stoi(runner->versions().at(0).second);
    grandchild = std::stoi(runner->versions().at(1).second);
    EXPECT_EQ(kill(child, 0), 0);
  }
  EXPECT_EQ(kill(child, 0), -1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no zombie
  const auto state = [&] {  // one whose parent is gone may wait for init to notice its end
    std::ifstream file("/proc/" + std::to_string(grandchild) + "/stat");
    std::string number, name, letter = "gone";
    file >> number >> name >> letter;
    return letter;
  };
  for (int tries = 0; tries < 100 && state() != "gone" && state() != "Z"; ++tries)
    std::this_thread::sleep_for(10ms);
  EXPECT_THAT(state(), ::testing::AnyOf("gone", "Z"));
}

TEST(HostSource, is_told_by_its_form) {
  for (const char* source :
       {"train.py:make_model", "./a b/train.py:Net", "pkg.models:make", "models:make", "hf:./bert",
        "hf:org/name", "timm:convnext_atto", "torchvision:resnet18", "net.pt2", "host:cmd --x"})
    EXPECT_TRUE(is_host_source(source)) << source;
  for (const char* source : {"model.onnx", "model.pt", "a:b:c.npz", "train.py", "train.py:", ":f",
                             "a..b:f", "1a:f", "train.py:1f", "x.npz"})
    EXPECT_FALSE(is_host_source(source)) << source;
  EXPECT_EQ(model_format("train.py:make_model"), ModelFormat::hosted);
}

TEST_F(HostRunnerTest, without_a_sample_the_host_describes_itself_by_its_own) {
  HostOptions options = host(R"(
class Changed(Host):
    def describe(self, request, inputs):
        if inputs:
            raise Failure("there are inputs")
        return {**Host.describe(self, request, inputs),
                "inputs": [{"name": "x", "dtype": "float32", "shape": [3]}]}
)");
  options.example.clear();
  EXPECT_EQ(open_host_runner(options)->inputs().at(0),
            (TensorSpec{.name = "x", .shape = {{.size = 3}}}));
}

}  // namespace
}  // namespace vernier
