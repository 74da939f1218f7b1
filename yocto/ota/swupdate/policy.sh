#!/bin/sh
# SWUpdate: a script of type "shellscript". SWUpdate calls it with `preinst`, `postinst` or `postfailure`, then with the
# `data` of its entry: the path at which sw-description puts the update. A list of keys beside it, under the same name
# with .keys in place of .policy, is taken first.
#
# Ends with the code of `obligato policy` (README, "Updates"); SWUpdate stops the update on any code but 0. A failure
# leaves alone what somebody else has on trial. What somebody else has only staged gives way to an update that is
# accepted, and that is said.
set -u
when="${1:?preinst, postinst or postfailure}"
update="${2:?the path of the update, from data in sw-description}"
list="${update%.policy}.keys"
obligato="${OBLIGATO:-/usr/bin/obligato}"

case "$when" in
preinst) exit 0 ;;
postinst)
    code=0
    if [ -e "$list" ]; then
        "$obligato" policy keys "$list"
        code=$?
    fi
    if [ "$code" -eq 0 ]; then
        "$obligato" policy install "$update"
        code=$?
    fi
    rm -f "$update" "$list"
    exit "$code"
    ;;
postfailure)
    # Something else in the same .swu failed; what was committed stays. An update that is still here was not taken, or
    # postinst was cut off in the middle: nothing of it is left staged or on trial.
    rm -f "$list"
    [ -e "$update" ] || exit 0
    "$obligato" policy unstage --file "$update" && "$obligato" policy rollback --file "$update"
    code=$?
    rm -f "$update"
    # 10: what is no update was never staged. 23: it is committed.
    case "$code" in 10 | 23) exit 0 ;; esac
    exit "$code"
    ;;
*)
    echo "unknown call: $when" >&2
    exit 1
    ;;
esac
