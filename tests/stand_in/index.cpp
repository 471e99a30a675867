// Preloaded into the program: writes a hash of each graph that is indexed to the file
// VERNIER_INDEXED, a line each. An index infers its graph's types first.

#include <dlfcn.h>
#include <vernier_onnx.pb.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "vernier/model/dtypes.h"

namespace vernier {

GraphDTypes infer_dtypes(const GraphProto& graph) {
  using Infer = GraphDTypes (*)(const GraphProto&);
  static const auto real = [] {
    Dl_info own;
    dladdr(reinterpret_cast<void*>(&infer_dtypes), &own);
    return reinterpret_cast<Infer>(dlsym(RTLD_NEXT, own.dli_sname));
  }();
  if (const char* indexed = std::getenv("VERNIER_INDEXED"))
    std::ofstream(indexed, std::ios::app)
        << std::hash<std::string>{}(graph.SerializeAsString()) << "\n";
  return real(graph);
}

}  // namespace vernier
