#include "cli/program.h"

int main(int argc, char** argv) { return vernier::cli::supervised_program(argc, argv); }
