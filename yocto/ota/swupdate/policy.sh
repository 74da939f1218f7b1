#!/bin/sh
# SWUpdate: a script of type "shellscript". SWUpdate calls it with `preinst`, `postinst` or `postfailure`, then with the
# `data` of its entry: the path at which sw-description puts the update.
#
# Ends with the code of `obligato policy` (README, "Updates"); SWUpdate stops the update on any code but 0.
set -u
when="${1:?preinst, postinst or postfailure}"
update="${2:?the path of the update, from data in sw-description}"
obligato="${OBLIGATO:-/usr/bin/obligato}"

case "$when" in
preinst) exit 0 ;;
postinst)
    for step in "stage $update" verify activate commit; do
        # shellcheck disable=SC2086 # two words: the step and its file
        "$obligato" policy $step || {
            code=$?
            "$obligato" policy rollback >/dev/null 2>&1 # 18: nothing was left over
            rm -f "$update"
            exit "$code"
        }
    done
    rm -f "$update"
    ;;
postfailure)
    # Something else in the same .swu failed; what was committed stays, what is on trial or staged goes.
    "$obligato" policy rollback
    code=$?
    rm -f "$update"
    [ "$code" -eq 18 ] && exit 0
    exit "$code"
    ;;
*)
    echo "unknown call: $when" >&2
    exit 1
    ;;
esac
