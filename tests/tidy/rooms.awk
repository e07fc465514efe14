# Rule `rooms`: every header of the engine begins with a comment that introduces its room: its name,
# what it is, and what threads may do with it (which "pure" says too).

function finish() {
    if (!introduced)
        printf "%s:1: [rooms] the room is not introduced; begin with \"/* %s: what it is\"\n", file,
            room_of(file)
    else if (!threads)
        printf "%s:1: [rooms] the introduction says nothing about threads; add its promise\n", file
}

FNR == 1 {
    if (file != "")
        finish()
    file = FILENAME
    introduced = index($0, "/* " room_of(FILENAME) ": ") == 1
    threads = 0
    reading = 1
}

reading && /[Tt]hread|[Pp]ure/ { threads = 1 }
/\*\// { reading = 0 }

END {
    if (file != "")
        finish()
}
