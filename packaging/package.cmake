# The Debian package: `cmake --build --preset release --target package`. Included at the end of the top-level
# CMakeLists.txt, because CPack takes what is set when it is included.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ${PROJECT_NAME})
set(CPACK_PACKAGE_VENDOR "The Berthos authors")
set(CPACK_PACKAGE_CONTACT "${BERTHOS_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "node that leases isolated Linux desktops")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A node runs on one host and leases a Linux desktop to an agent or a buyer: a
QEMU guest started through libvirt, with no network interface, seen and used
through the node's HTTP interface on loopback. Its doctor says whether the
host may lease at all. The guest images are built on the host itself.")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Libraries are found in the binary; these are the programs that it and its scripts start.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(depends
  libvirt-daemon-system
  libvirt-daemon-driver-qemu
  qemu-system-x86
  qemu-utils
  "init-system-helpers (>= 1.52)"
  "systemd | systemd-standalone-sysusers | systemd-sysusers"
  "systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
list(JOIN depends ", " CPACK_DEBIAN_PACKAGE_DEPENDS)
# For `berth image build`; a node whose image was built elsewhere does without.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "mmdebstrap, e2fsprogs, cpio, kmod, xz-utils, binutils, gcc, libc6-dev")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/debian/postinst
  ${PROJECT_SOURCE_DIR}/packaging/debian/prerm
  ${PROJECT_SOURCE_DIR}/packaging/debian/postrm)

include(CPack)
