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

FNR == 1 {
    room = room_of(FILENAME)
    if (!(room in place))
        flag("layers", "the room `" room "` has no floor", "give it its place in engine/LAYERS")
}

{
    name = include_of($0)
    if (name !~ /^"/ || name == "\"pawl.h\"" || !(room in place))
        next
    other = room_of(substr(name, 2, length(name) - 2))
    if (other == room)
        next
    if (!(other in place))
        flag("layers", "includes " name ", which is no room of the engine",
             "include a room that engine/LAYERS names")
    else if (place[other] > place[room])
        flag("layers", "includes " name " of floor " floor_of[other] ", which is not below `" room \
             "` of floor " floor_of[room],
             "hand it in as an argument, or move what both need to a lower room")
}
