# The table that closes a configure run: what is on, what is off, and why.

# trireme_part(<name> <on|off> <why>): one row, printed in the order of the calls.
function(trireme_part name state why)
    string(LENGTH "${name}" width)
    math(EXPR padding "12 - ${width}")
    string(REPEAT " " ${padding} padding)
    string(SUBSTRING "${state}   " 0 5 state)
    # A semicolon would end the list's element.
    string(REPLACE ";" "," why "${why}")
    set_property(GLOBAL APPEND PROPERTY TRIREME_PARTS "  ${name}${padding}${state}${why}")
endfunction()

function(trireme_print_summary)
    get_property(rows GLOBAL PROPERTY TRIREME_PARTS)
    list(JOIN rows "\n" rows)
    message(STATUS "Trireme ${PROJECT_VERSION}\n${rows}")
endfunction()
