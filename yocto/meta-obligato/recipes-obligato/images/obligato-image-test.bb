SUMMARY = "Image for qemuarm64 that tests Obligato at run time"
DESCRIPTION = "Boots with systemd and D-Bus, starts the hardened unit, and runs the ptests and the run-time case."
BUGTRACKER = "https://obligato.example/issues"
SECTION = "base"
CVE_PRODUCT = "obligato"
LICENSE = "Apache-2.0"

inherit core-image features_check testimage

REQUIRED_DISTRO_FEATURES = "ptest systemd"

# systemd-analyze is a package of its own, which nothing draws in.
IMAGE_INSTALL = "\
    packagegroup-core-boot packagegroup-obligato obligato-ptest ptest-runner systemd-analyze \
    ${CORE_IMAGE_EXTRA_INSTALL} \
"
# testimage logs in as root; this image is never shipped.
# nooelint: oelint.var.badimagefeature.allow-empty-password,oelint.var.badimagefeature.empty-root-password,oelint.var.badimagefeature.allow-root-login
IMAGE_FEATURES += "allow-empty-password allow-root-login empty-root-password ssh-server-dropbear"

COMPATIBLE_MACHINE = "qemuarm64|qemux86-64"

TEST_SUITES = "ping ssh obligato ptest"
