// Linked into every program of the asan preset, so that no environment variable is needed.

extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_options();

// ONNX Runtime keeps a few bytes until the process ends.
extern "C" const char* __lsan_default_suppressions() { return "leak:libonnxruntime.so\n"; }

// Nothing is printed about what was suppressed: tests look at stderr.
extern "C" const char* __lsan_default_options() { return "print_suppressions=0"; }
