#!/bin/bash
# The live layer, longer: each test many times, and many more pictures in each. Hours, not minutes. Options are those of
# tests/run.sh.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
export BERTHOS_TYPE_ROUNDS=${BERTHOS_TYPE_ROUNDS:-20} # of 2,000 characters each way (tests/live/test_hands.py)
export BERTHOS_TEST_ROUNDS=${BERTHOS_TEST_ROUNDS:-500} # of paint, act and capture (tests/live/test_pictures.py)
export BERTHOS_TEST_STILL=${BERTHOS_TEST_STILL:-31}    # seconds of a still screen before a capture, thrice
exec "$root/tests/run.sh" --layer live --repeat "${BERTHOS_SOAK_TURNS:-20}" "$@"
