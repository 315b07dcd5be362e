#!/bin/bash
# The same live tests, longer: hundreds of pictures, kills and leases instead of a handful. Takes hours, not minutes;
# docs/TESTING.md has the figures of the last run. Options are those of tests/run.sh.
set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
# what the short form does a few times (tests/live reads these)
export BERTHOS_TEST_ROUNDS=${BERTHOS_TEST_ROUNDS:-400}
export BERTHOS_TEST_REPEAT=${BERTHOS_TEST_REPEAT:-50}
exec "$root/tests/run.sh" --layer live "$@"
