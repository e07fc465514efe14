# Rule `system`: only the seam speaks to the machine, and nobody calls what can't be used safely.
# First file: the table `banned`; second: the exceptions; then all sources.

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

FNR == 1 { files++ }

files == 1 {
    if ($0 !~ /^#/ && split($0, part, "|") == 3) {
        scope = trim(part[1])
        count = split(part[2], names, " ")
        for (i = 1; i <= count; i++)
            remedy[scope, names[i]] = trim(part[3])
    }
    next
}

files == 2 {
    if ($0 !~ /^#/ && NF >= 3)
        excepted[$1, $2] = 1
    next
}

FNR == 1 {
    in_engine = FILENAME ~ /^(engine|include)\// && FILENAME !~ /^engine\/os_posix[a-z_]*\.[ch]$/
    in_repeatable = FILENAME ~ /^tests\/(unit|sim)\//
}

function check(name) {
    if ((FILENAME, name) in excepted)
        return
    if (("everywhere", name) in remedy)
        flag("system", "calls " name "()", remedy["everywhere", name])
    else if (in_engine && ("engine", name) in remedy)
        flag("system", "calls " name "() outside os_posix", remedy["engine", name])
    else if (in_repeatable && ("repeatable", name) in remedy)
        flag("system", "calls " name "() in a test that must repeat", remedy["repeatable", name])
}

{
    included = include_of($0)
    if (included ~ /^</ && in_engine) {
        included = substr(included, 2, length(included) - 2)
        kind = FILENAME ~ /^include\// ? "public-headers" : "engine-headers"
        if (!((kind, included) in remedy) && !((FILENAME, included) in excepted))
            flag("system", "includes <" included ">", kind == "engine-headers" ? \
                 "go through os.h, or do it in os_posix.c" : "pawl.h needs no system header")
    }
    code = code_of($0)
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
        before = substr(code, 1, RSTART - 1)
        name = substr(code, RSTART, RLENGTH - 1)
        code = substr(code, RSTART + RLENGTH)
        sub(/[ \t]+$/, "", name)
        # A member of a table of functions only looks like the call that it is named after.
        if (before !~ /(\.|->)[ \t]*$/)
            check(name)
    }
}
