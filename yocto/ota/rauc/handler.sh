#!/bin/sh
# RAUC: full custom handler of a bundle that holds a policy update and nothing else (RAUC manual, "Full Custom
# Update"). RAUC has verified the bundle's own signature; Obligato verifies the update's, whatever RAUC thinks of it.
#
# Ends with the code of `obligato policy` (README, "Updates"), so that the reason stands in RAUC's log. A failure in
# any step leaves the policy in force that was in force before.
set -u
: "${RAUC_BUNDLE_MOUNT_POINT:?is set by RAUC}"
obligato="${OBLIGATO:-/usr/bin/obligato}"

step() {
    "$obligato" policy "$@"
    code=$?
    [ "$code" -eq 0 ] && return
    # Nothing is left staged or on trial; 18 says that nothing is.
    "$obligato" policy rollback >/dev/null 2>&1
    exit "$code"
}

for list in "$RAUC_BUNDLE_MOUNT_POINT"/*.keys; do
    [ -e "$list" ] || continue
    "$obligato" policy keys "$list" || exit $?
done
for update in "$RAUC_BUNDLE_MOUNT_POINT"/*.policy; do
    [ -e "$update" ] || { echo "the bundle holds no policy update" >&2; exit 10; }
    step stage "$update"
    step verify
    step activate
    step commit
done
