# Rule `tools`: a tool includes the public header, headers of tools/ and the log tools' rooms; an
# example the public header alone. First file: LAYERS; then the sources of tools/ and
# docs/examples/.

FNR == NR {
    if ($1 == "tools")
        for (i = 2; i <= NF; i++)
            allowed[$i] = 1
    next
}

{
    name = include_of($0)
    if (name !~ /^"/ || name == "\"pawl.h\"")
        next
    file = substr(name, 2, length(name) - 2)
    if (FILENAME ~ /^docs\//)
        flag("tools", "an example includes " name, "use what pawl.h offers")
    else if (!(room_of(file) in allowed) && !is_file("tools/" file))
        flag("tools", "includes " name,
             "use what pawl.h offers, or a room of the line `tools` in engine/LAYERS")
}

function is_file(path,    line, found) {
    found = (getline line < path) >= 0
    close(path)
    return found
}
