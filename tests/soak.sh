#!/bin/bash
# The live layer, longer: each test many times, and many more pictures in each; then the unit tests and a lease under
# valgrind. Hours, not minutes. Options are those of tests/run.sh.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
export BERTHOS_TEST_ROUNDS=${BERTHOS_TEST_ROUNDS:-500} # of paint, act and capture (tests/live/test_pictures.py)
export BERTHOS_TEST_STILL=${BERTHOS_TEST_STILL:-31}    # seconds of a still screen before a capture, thrice
export BERTHOS_TEST_KILLS=${BERTHOS_TEST_KILLS:-300}   # random kills of the node (tests/live/test_kills.py)
export BERTHOS_TEST_PARKED=${BERTHOS_TEST_PARKED:-60}  # seconds for which a parked guest must cost nothing (tests/live/test_warm.py)
export BERTHOS_TEST_STOOD=${BERTHOS_TEST_STOOD:-15}    # seconds that a guest stood still before its clock is looked at
exec "$root/tests/run.sh" --layer live,valgrind --repeat "${BERTHOS_SOAK_TURNS:-20}" "$@"
