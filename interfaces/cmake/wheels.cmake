# Included after find_package: what the wheels of ROS 2 on PyPI need to generate messages.

# The PyPI wheels of ROS 2 export targets whose include directories name the machine they were built on.
# CMake refuses imported targets with directories that do not exist, so these are left out. On an
# installation from packages all directories exist and nothing changes.
get_property(imported_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(imported_target ${imported_targets})
  foreach(include_property INTERFACE_INCLUDE_DIRECTORIES INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
    get_target_property(include_directories ${imported_target} ${include_property})
    if(include_directories)
      set(existing_directories)
      foreach(include_directory ${include_directories})
        if(include_directory MATCHES "^\\$<" OR EXISTS "${include_directory}")
          list(APPEND existing_directories "${include_directory}")
        endif()
      endforeach()
      set_property(TARGET ${imported_target} PROPERTY ${include_property} ${existing_directories})
    endif()
  endforeach()
endforeach()

# For Python nodes alone, which is all that ROS 2 from PyPI is used for: half the time to build. Leaves out the C++
# messages and their type supports.
option(PYTHON_ONLY "Build for Python nodes only" OFF)
if(PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX
    "^rosidl_(generator_cpp|typesupport_cpp|typesupport_fastrtps_cpp|typesupport_introspection_cpp):")
endif()
