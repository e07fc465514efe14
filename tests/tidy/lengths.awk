# Rule `lengths`: 70 lines a function, 100 columns a line, 800 lines a file. What a function is is
# known from the layout that clang-format gives: it opens at the left edge with "{" at the end of
# a line that closes a parameter list, and ends at the next "}" at the left edge.

FNR == 1 {
    inside = 0
    in_macro = 0
    declaration = ""
}

function flag_at(line, what, remedy) {
    printf "%s:%d: [lengths] %s; %s\n", FILENAME, line, what, remedy
}

length($0) > 100 {
    flag("lengths", "the line has " length($0) " columns, the limit is 100", "break it")
}

# The public header is a manual, read from top to bottom, and stays one file.
FNR == 801 && FILENAME !~ /^include\// {
    flag("lengths", "the file has more than 800 lines",
         "give one of its concerns a room of its own")
}

in_macro || /^#/ {
    in_macro = /\\$/
    next
}

inside {
    if (/^}/) {
        lines = FNR - start + 1
        if (inside == "function" && lines > 70)
            flag_at(start, "the function has " lines " lines, the limit is 70",
                    "give a step of it a name of its own")
        inside = 0
        declaration = ""
    }
    next
}

/^[A-Za-z_]/ {
    start = FNR
    declaration = ""
}

{
    declaration = declaration $0
    if (/\{$/)
        inside = declaration ~ /\)[^=]*\{$/ ? "function" : "other"
    else if (/;$/)
        declaration = ""
}
