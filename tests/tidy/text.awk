# Rule `text`: no blanks at a line's end, no tabs and no left-over notes in C, no lines that only
# decorate.

/[ \t\r]$/ { flag("text", "blank at the end of the line", "remove it") }

FILENAME !~ /\.[ch]$/ { next }

/\t/ { flag("text", "a tab", "indent with spaces; write \\t in a string") }

/(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)([^A-Za-z0-9_]|$)/ {
    flag("text", "a note to do something later", "do it now or open an issue")
}

/[-=*#~_][-=*#~_][-=*#~_][-=*#~_]/ && !/[A-Za-z0-9"']/ {
    flag("text", "a line that only decorates", "let a blank line or a title part them")
}
