# report_page: web/ built into one page, and that page as a C++ source of the library. Node.js and
# web/node_modules are there where scripts/setup.sh ran; the sources that `make wheel` packs hold the C++ source
# ready made; without either the library is built without the page, and -f html says so.
find_program(NODE node NO_CACHE)
set(web ${PROJECT_SOURCE_DIR}/web)
set(page ${PROJECT_BINARY_DIR}/generated/report.html)
set(page_source ${PROJECT_BINARY_DIR}/generated/html_page.cpp)
file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*)
if(NODE AND EXISTS ${web}/node_modules/vite)
  add_custom_command(
    OUTPUT ${page_source}
    COMMAND ${NODE} node_modules/vite/bin/vite.js build --logLevel warn --outDir ${PROJECT_BINARY_DIR}/generated/web
    COMMAND ${NODE} embed.mjs ${PROJECT_BINARY_DIR}/generated/web/index.html ${page} ${page_source}
    DEPENDS ${web_sources} ${web}/index.html ${web}/vite.config.ts ${web}/embed.mjs ${web}/package-lock.json
    WORKING_DIRECTORY ${web}
    COMMENT "Building the report page")
elseif(EXISTS ${web}/html_page.cpp)
  set(page_source ${web}/html_page.cpp)
else()
  message(STATUS "Vernier is built without its HTML page: Node.js or web/node_modules is not there; scripts/setup.sh build installs both")
  file(CONFIGURE OUTPUT ${page_source} @ONLY CONTENT
    "#include \"vernier/report/html_page.h\"\nnamespace vernier {\nstd::string_view html_page() { return {}; }\n}\n")
endif()
target_sources(vernier PRIVATE ${page_source})
