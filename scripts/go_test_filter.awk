# Reads `go test -v` and prints what a person needs: every package's closing line, the whole output
# of a package that failed, every skipped test with its reason, and the counts. It fails when a test
# was skipped: a skipped test has shown nothing, whatever tool was missing. The one exception is a
# test whose reason names FANOUTBENCH_LONG, while that is not set (-v long=1 says that it is).

function result_name(line) {
    sub(/^ *--- [A-Z]+: /, "", line)
    sub(/ \([0-9.]+s\)$/, "", line)
    return line
}

function start_package() {
    lines = 0
    skips = 0
    test = ""
    delete reason
}

function end_package(name, i, excused) {
    for (i = 1; i <= skips; i++) {
        excused = !long && reason[skip[i]] ~ /FANOUTBENCH_LONG/
        print "SKIP\t" name "\t" skip[i] (excused ? " (long)" : "") reason[skip[i]]
        if (!excused) refused++
    }
    start_package()
}

function print_package(i) {
    for (i = 1; i <= lines; i++) print kept[i]
}

/^=== (RUN|NAME|CONT|PAUSE) / { test = $3; next }

# Between the last test and the package's own line.
/^(PASS|FAIL)$/ { test = ""; next }

# The lines that end a package: ok, FAIL, and no test files.
/^ok  \t/ { print; end_package($2); next }
/^\?   \t/ { print; end_package($2); next }
/^FAIL\t/ { print_package(); print; packages_failed++; end_package($2); next }

{ kept[++lines] = $0 }

/^ *--- PASS: / { passed++; lines--; next }
/^ *--- FAIL: / { failed++; next }
/^ *--- SKIP: / { skipped++; skip[++skips] = result_name($0); next }
{ if (test != "") reason[test] = reason[test] "\n" $0 }

END {
    print_package() # of a run that was ended before its package was
    printf "tests: %d passed, %d failed, %d skipped\n", passed, failed, skipped
    if (packages_failed) print packages_failed " packages failed"
    if (refused) print "skipped tests that may not be: " refused
    exit refused > 0
}
