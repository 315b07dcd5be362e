# Fetches the packages of LOCK (package.json and package-lock.json) with NPM in the folder WORK, which checks their
# integrity, and lays noVNC's modules with its licence down in the folder TO.

if(NOT NPM OR NOT EXISTS "${NPM}")
  message(FATAL_ERROR "npm is not there, and it fetches noVNC, the viewer in the page of the guest view. "
    "Install it (packaging/install-deps.sh --build), then run cmake again.")
endif()

file(REMOVE_RECURSE "${WORK}" "${TO}")
file(MAKE_DIRECTORY "${WORK}")
file(COPY "${LOCK}/package.json" "${LOCK}/package-lock.json" DESTINATION "${WORK}")
execute_process(COMMAND "${NPM}" ci --ignore-scripts --no-audit --no-fund --prefer-offline
  WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE result OUTPUT_VARIABLE talk ERROR_VARIABLE talk)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "npm could not fetch noVNC (status ${result}). The first build of a tree needs the npm registry, "
    "or npm's cache of an earlier one; bytes other than those pinned in package-lock.json are refused. "
    "npm said:\n${talk}")
endif()

set(package "${WORK}/node_modules/@novnc/novnc")
if(NOT EXISTS "${package}/core/rfb.js")
  message(FATAL_ERROR "npm fetched a noVNC without core/rfb.js, into ${package}")
endif()
file(COPY "${package}/core" "${package}/vendor" "${package}/LICENSE.txt" "${package}/AUTHORS" DESTINATION "${TO}")
file(GLOB licences "${package}/docs/LICENSE.*")
file(COPY ${licences} DESTINATION "${TO}/docs")
# A browser asks only for modules; what npm's tools need is not served.
file(REMOVE_RECURSE "${WORK}/node_modules")
