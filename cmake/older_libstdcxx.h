// GCC 12 gave this function a new version, which the standard libraries of older systems do not
// have; the one before does the same. Read first by the files that call it: a wheel runs on those
// systems.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif
