// Linked into every program of the asan preset, so that no environment variable is needed.

extern "C" const char* __asan_default_options();
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_options();

// Following thread-local storage into libraries loaded later makes the leak checker crash once
// libtorch has run in several threads. A crash of somebody else's code is an answer, which tests
// ask for: for the stack of one, run with
// ASAN_OPTIONS=handle_segv=1:handle_sigbus=1:handle_sigfpe=1.
extern "C" const char* __asan_default_options() {
  return "intercept_tls_get_addr=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0";
}

// ONNX Runtime and libtorch keep a few bytes until the process ends.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libonnxruntime.so\nleak:libtorch_cpu.so\n";
}

// Nothing is printed about what was suppressed: tests look at stderr.
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
