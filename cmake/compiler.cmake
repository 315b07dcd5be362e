# Warnings, hardening and sanitizers for every target of the project, as one interface library.

add_library(berthos_flags INTERFACE)

target_compile_options(berthos_flags INTERFACE
  -Wall -Wextra -Wformat=2 -Wshadow -Wvla -Wpointer-arith -Wundef
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition>)
if(BERTHOS_WERROR)
  target_compile_options(berthos_flags INTERFACE -Werror)
endif()
target_compile_definitions(berthos_flags INTERFACE _GNU_SOURCE BERTHOS_VERSION="${PROJECT_VERSION}")

if(BERTHOS_FAULTS)
  target_compile_definitions(berthos_flags INTERFACE BERTHOS_FAULTS)
endif()

if(BERTHOS_SANITIZE)
  target_compile_options(berthos_flags INTERFACE
    -fsanitize=${BERTHOS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(berthos_flags INTERFACE -fsanitize=${BERTHOS_SANITIZE})
else()
  # Debian's hardening set, plus stack-clash protection and control-flow integrity where the target has it.
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_compile_options(berthos_flags INTERFACE
    -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
  # Level 3 is of GCC 12 and glibc 2.34; elsewhere glibc's headers warn that it is taken for 2.
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror -D_FORTIFY_SOURCE=3")
  check_c_source_compiles("#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }" BERTHOS_FORTIFY_3)
  unset(CMAKE_REQUIRED_FLAGS)
  set(fortify $<IF:$<BOOL:${BERTHOS_FORTIFY_3}>,3,2>)
  target_compile_definitions(berthos_flags INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=${fortify}>
    $<$<NOT:$<CONFIG:Debug>>:NDEBUG>)
  target_link_options(berthos_flags INTERFACE -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)
endif()
