#!/bin/sh
# RAUC: full custom handler of a bundle that holds one policy update and nothing else (RAUC manual, "Full Custom
# Update"). RAUC has verified the bundle's own signature; Obligato verifies the update's, whatever RAUC thinks of it.
#
# Ends with the code of `obligato policy` (README, "Updates"), so that the reason stands in RAUC's log: with 0 when this
# update is in force and committed, also where it was before. A failure leaves the policy in force that was in force
# before, and leaves alone what somebody else has on trial. What somebody else has only staged gives way to an
# update that is accepted, and that is said.
set -u
: "${RAUC_BUNDLE_MOUNT_POINT:?is set by RAUC}"
obligato="${OBLIGATO:-/usr/bin/obligato}"

set -- "$RAUC_BUNDLE_MOUNT_POINT"/*.policy
[ $# -eq 1 ] && [ -e "$1" ] || { echo "the bundle does not hold exactly one policy update" >&2; exit 10; }
for list in "$RAUC_BUNDLE_MOUNT_POINT"/*.keys; do
    [ -e "$list" ] || continue
    "$obligato" policy keys "$list" || exit $?
done
exec "$obligato" policy install "$1"
