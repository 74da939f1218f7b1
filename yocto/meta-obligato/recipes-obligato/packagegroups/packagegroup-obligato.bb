SUMMARY = "Obligato with its policy and its command line"
DESCRIPTION = "What an image needs to guard a voice assistant; the model is delivered apart."
BUGTRACKER = "https://obligato.example/issues"
SECTION = "multimedia"
LICENSE = "Apache-2.0"

inherit features_check packagegroup

REQUIRED_DISTRO_FEATURES = "systemd"

RDEPENDS:${PN} = "\
    obligato \
    obligato-cli \
    obligato-policy \
    obligato-update \
"
