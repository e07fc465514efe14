# code_of(line): the line without comments and without what stands in quotes. Call it once for every
# line of a file, in order: a comment may run over several.

FNR == 1 { in_comment = 0 }

function code_of(line,    out, at, end, one, two, quote) {
    if (!in_comment && line !~ /["'\/]/)
        return line
    end = length(line)
    at = 1
    while (at <= end) {
        one = substr(line, at, 1)
        two = substr(line, at, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                at++
            }
        } else if (quote != "") {
            if (one == "\\")
                at++
            else if (one == quote)
                quote = ""
        } else if (two == "/*") {
            in_comment = 1
            at++
            out = out " "
        } else if (two == "//") {
            break
        } else if (one == "\"" || one == "'") {
            quote = one
        } else {
            out = out one
        }
        at++
    }
    return out
}

# What an #include line names, as <name> or "name"; "" for every other line.
function include_of(line) {
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*[<"]/)
        return ""
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
    return substr(line, 1, match(substr(line, 2), /[>"]/) + 1)
}

# "engine/frame.c" -> "frame"
function room_of(file) {
    sub(/^.*\//, "", file)
    sub(/\.[ch]$/, "", file)
    return file
}

function flag(rule, what, remedy) {
    printf "%s:%d: [%s] %s; %s\n", FILENAME, FNR, rule, what, remedy
}
