# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)
# An installed tree may be moved: the command and the libraries find each other by where they lie.
set_target_properties(pewter-cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set_target_properties(pewter PROPERTIES INSTALL_RPATH "$ORIGIN")
if(TARGET pewter-compiler)
  set_target_properties(pewter-compiler PROPERTIES INSTALL_RPATH "$ORIGIN")
endif()
install(TARGETS pewter EXPORT PewterTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET pewter-compiler)
  install(TARGETS pewter-compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS pewter-cli EXPORT PewterTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pewter)
install(EXPORT PewterTargets NAMESPACE Pewter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Pewter)
configure_package_config_file(
  ${CMAKE_SOURCE_DIR}/cmake/PewterConfig.cmake.in ${CMAKE_BINARY_DIR}/PewterConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Pewter)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/PewterConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/PewterConfig.cmake ${CMAKE_BINARY_DIR}/PewterConfigVersion.cmake
              ${CMAKE_SOURCE_DIR}/cmake/PewterMetallib.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Pewter)
