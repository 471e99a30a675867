#include "python/binding/python_model.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <optional>

#include "python/binding/arrays.h"
#include "vernier/error.h"
#include "vernier/runtime/host_description.h"

namespace nb = nanobind;

namespace vernier::binding {
namespace {

// For its lifetime, lists the current thread in PythonHost::threads.
class Running {
 public:
  explicit Running(PythonHost& host) : host_(host), id_(PyThread_get_thread_ident()) {
    const std::lock_guard lock(host_.mutex);
    host_.threads.insert(id_);
  }
  ~Running() {
    const std::lock_guard lock(host_.mutex);
    host_.threads.erase(id_);
  }

 private:
  PythonHost& host_;
  unsigned long id_;
};

// The exception's class and the first non-empty line of its message.
std::string told(const nb::python_error& error) {
  const std::string kind = nb::cast<std::string>(error.type().attr("__name__"));
  if (!error.value().is_valid()) return kind;
  const std::string text = nb::cast<std::string>(nb::str(error.value()));
  const std::size_t begin = text.find_first_not_of(" \n\t");
  if (begin == std::string::npos) return kind;
  const std::string line = text.substr(begin, text.find('\n', begin) - begin);
  return kind == "Failure" ? line : fmt::format("{}: {}", kind, line);
}

// A Python object that is released with the GIL, on any thread.
struct Owned {
  nb::object object;
  ~Owned() {
    const nb::gil_scoped_acquire gil;
    object.reset();
  }
};

// The exception as an object; one that C code raised may be only a class, or a class and a message.
nb::object exception_of(const nb::python_error& error) {
  if (!error.value().is_valid()) return error.type()();
  nb::object value = nb::borrow(error.value());
  return PyExceptionInstance_Check(value.ptr()) ? value : error.type()(value);
}

class PythonRunner final : public DescribedRunner {
 public:
  // Call it without the GIL, like all member functions.
  PythonRunner(std::shared_ptr<PythonHost> host, HostOptions options) : python_(std::move(host)) {
    options.source = std::filesystem::path(options.source).filename();
    name_ = options.source;
    std::string description;
    calling([&] {
      host_.object = python_->make();
      const nb::module_ json = nb::module_::import_("json");
      const nb::object request = json.attr("loads")(describe_request(options));
      const nb::object answer = host_.object.attr("describe")(request, inputs_of(options.example));
      description = nb::cast<std::string>(json.attr("dumps")(answer));
    });
    model_ = read_description(description, options);
  }

  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer) override {
    std::vector<Tensor> outputs;
    visiting([&](const auto& receive) {
      const nb::object show =
          observer ? receive([&](const TensorView& tensor) { observer({tensor}); }) : nb::none();
      const nb::object give =
          receive([&](const TensorView& tensor) { outputs.push_back(copy(tensor)); });
      host_.object.attr("run")(inputs_of(inputs), show, give);
    });
    if (outputs.size() != model_.outputs.size())
      throw Error(fmt::format("[host] {}: returns {} outputs, and {} when it was described", name_,
                              outputs.size(), model_.outputs.size()));
    return outputs;
  }

  void visit_parameters(const TensorVisitor& visit) const override {
    visiting(
        [&](const auto& receive) { host_.object.attr("parameters")(receive(visit), nb::none()); });
  }

  void visit_parameters_named(std::span<const std::string> names,
                              const TensorVisitor& visit) const override {
    visiting([&](const auto& receive) {
      nb::list wanted;
      for (const std::string& name : names) wanted.append(name);
      host_.object.attr("parameters")(receive(visit), wanted);
    });
  }

 private:
  static nb::list inputs_of(std::span<const Tensor> inputs) {
    nb::list list;
    for (const Tensor& input : inputs)
      list.append(nb::make_tuple(tensor_message(input), memory_view(input.bytes)));
    return list;
  }

  // Calls Python with the GIL. An exception is stored in PythonHost::failure and thrown as a
  // one-line Error.
  template <typename Call>
  void calling(const Call& call) const {
    std::optional<std::string> failure;
    {
      const nb::gil_scoped_acquire gil;
      const Running running(*python_);
      try {
        call();
      } catch (const nb::python_error& error) {
        failure = told(error);
        python_->failure = exception_of(error);
      }
    }
    if (failure) throw Error(fmt::format("[host] {}: {}", name_, *failure));
  }

  // Runs `call` with a function that wraps a TensorVisitor for Python, which passes a tensor by its
  // message, address and byte count. An exception of the visitor ends the call and is rethrown.
  template <typename Call>
  void visiting(const Call& call) const {
    std::exception_ptr thrown;
    const auto receive = [&](const auto& visit) -> nb::object {
      return nb::cpp_function([&thrown, visit = TensorVisitor(visit)](const nb::dict& message,
                                                                      std::uintptr_t address,
                                                                      std::size_t count) {
        const auto name = nb::cast<std::string>(message["name"]);
        const auto shape = nb::cast<Shape>(message["shape"]);
        const auto dtype = parse_dtype(nb::cast<std::string>(message["dtype"]));
        if (!dtype) throw nb::type_error("no such dtype");
        const TensorView tensor{
            name, *dtype, shape, {reinterpret_cast<const std::byte*>(address), count}};
        try {
          check_byte_count(tensor);
          const nb::gil_scoped_release release;  // the other model may be in Python too
          visit(tensor);
        } catch (...) {
          thrown = std::current_exception();
          throw nb::value_error("the comparison has ended");
        }
      });
    };
    try {
      calling([&] { call(receive); });
    } catch (const Error&) {
      if (thrown) std::rethrow_exception(thrown);
      throw;
    }
  }

  std::shared_ptr<PythonHost> python_;
  Owned host_;  // not shared with other runners
  std::string name_;
};

}  // namespace

PythonModel::PythonModel(const std::string& name, nb::object make)
    : host_(std::make_shared<PythonHost>()) {
  host_->make = std::move(make);
  named_ = std::make_unique<NamedModel>(name, [host = host_](const HostOptions& options) {
    return std::make_unique<PythonRunner>(host, options);
  });
}

PythonModel::~PythonModel() = default;

nb::object PythonModel::failure() const {
  return host_->failure.is_valid() ? host_->failure : nb::none();
}

void PythonModel::interrupt() const {
  const std::lock_guard lock(host_->mutex);
  for (const unsigned long id : host_->threads)
    PyThreadState_SetAsyncExc(id, PyExc_KeyboardInterrupt);
}

}  // namespace vernier::binding
