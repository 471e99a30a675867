#include "cli/session.h"

namespace vernier::cli {
namespace {

thread_local const Session* current = nullptr;

}  // namespace

const Session* session() { return current; }

SessionScope::SessionScope(const Session& session) { current = &session; }
SessionScope::~SessionScope() { current = nullptr; }

}  // namespace vernier::cli
