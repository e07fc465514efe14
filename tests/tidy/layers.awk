# Rule `layers`: a room of the engine includes only what engine/LAYERS puts below it.
# First file: LAYERS; then the engine's sources.

FNR == NR {
    if ($1 ~ /^[0-9]+$/)
        for (i = 2; i <= NF; i++) {
            place[$i] = ++places
            floor_of[$i] = $1
        }
    next
}

# A file stands where it is named, or where its room is.
function place_of(file) {
    sub(/^.*\//, "", file)
    return file in place ? file : room_of(file)
}

FNR == 1 {
    own = place_of(FILENAME)
    if (!(own in place))
        flag("layers", "the room `" own "` has no floor", "give it its place in engine/LAYERS")
}

{
    name = include_of($0)
    if (name !~ /^"/ || name == "\"pawl.h\"" || !(own in place))
        next
    name = substr(name, 2, length(name) - 2)
    other = place_of(name)
    if (room_of(name) == room_of(FILENAME))
        next
    if (name ~ /\// || !(other in place))
        flag("layers", "includes \"" name "\", which is no room of the engine",
             "include a room that engine/LAYERS names")
    else if (place[other] > place[own])
        flag("layers", "includes \"" name "\" of floor " floor_of[other] \
             ", which is not below `" own "` of floor " floor_of[own],
             "hand it in as an argument, or move what both need to a lower room")
}
