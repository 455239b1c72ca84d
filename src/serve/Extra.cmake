# SPDX-License-Identifier: Apache-2.0
# The server is a library of its own, so that libpewter needs neither HTTP nor TLS.
find_package(OpenSSL REQUIRED)
find_library(PEWTER_HTTPLIB cpp-httplib REQUIRED)
find_package(prometheus-cpp REQUIRED CONFIG COMPONENTS core)
pewter_sources(serve_sources serve)
add_library(pewter-serve STATIC ${serve_sources})
target_include_directories(pewter-serve PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(pewter-serve PUBLIC pewter fmt::fmt OpenSSL::SSL OpenSSL::Crypto ${PEWTER_HTTPLIB}
                      prometheus-cpp::core)
# The library was compiled with these; its classes have other sizes without them.
set_source_files_properties(
  ${CMAKE_CURRENT_SOURCE_DIR}/serve/HttpServer.cpp ${CMAKE_CURRENT_SOURCE_DIR}/serve/Connection.cpp
  PROPERTIES COMPILE_DEFINITIONS
  "CPPHTTPLIB_OPENSSL_SUPPORT;CPPHTTPLIB_ZLIB_SUPPORT;CPPHTTPLIB_BROTLI_SUPPORT" SKIP_PRECOMPILE_HEADERS ON)
pewter_precompile(pewter-serve ${CMAKE_CURRENT_SOURCE_DIR}/serve/Precompiled.h)
