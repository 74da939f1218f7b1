SUMMARY = "Guard between an in-car language model and the car"
SUMMARY:${PN}-cli = "Command line of Obligato"
SUMMARY:${PN}-policy = "Cabin policy and hard limits of Obligato"
SUMMARY:${PN}-model = "Model file of the local student of Obligato"
SUMMARY:${PN}-zsh-completion = "Completions of Obligato for zsh"
SUMMARY:${PN}-fish-completion = "Completions of Obligato for fish"
DESCRIPTION = "Verifies, repairs, asks and executes what a voice assistant's model proposes, under the manufacturer's policy."
HOMEPAGE = "https://obligato.example/"
BUGTRACKER = "https://obligato.example/issues"
CVE_PRODUCT = "obligato"
SECTION = "multimedia"
LICENSE = "Apache-2.0"
# The licence of the model is that of whoever names one.
LICENSE:${PN}-model = "${OBLIGATO_MODEL_LICENSE}"
LIC_FILES_CHKSUM = "file://LICENSE;md5=22a53954e4e0ec258dfce4391e905dac"

# Where a mirror of the sources is used instead of the tree around this layer, a bbappend sets SRC_URI and
# SRCREV and empties EXTERNALSRC.
EXTERNALSRC ?= "${OBLIGATO_TREE}"

require ${BPN}-crates.inc

inherit bash-completion cargo cargo-update-recipe-crates externalsrc pkgconfig ptest-cargo systemd useradd

# What the target needs and no more: neither the compiler nor the remote student is linked.
PACKAGECONFIG ??= "llama kuksa"
PACKAGECONFIG[llama] = "--features llama,,clang-native cmake-native"
PACKAGECONFIG[kuksa] = "--features kuksa"
PACKAGECONFIG[static-cxx] = "--features static-cxx"
PACKAGECONFIG_CONFARGS:prepend = "--no-default-features "

# cargo.bbclass takes PACKAGECONFIG_CONFARGS by itself since whinlatter; scarthgap's does not.
def obligato_features(d):
    old = "scarthgap" in (d.getVar("LAYERSERIES_CORENAMES") or "").split()
    return " " + d.getVar("PACKAGECONFIG_CONFARGS") if old else ""
CARGO_BUILD_FLAGS:append = "${@obligato_features(d)}"

# bindgen reads the target's headers, not those of the build host.
export LIBCLANG_PATH = "${STAGING_LIBDIR_NATIVE}"
export BINDGEN_EXTRA_CLANG_ARGS = "--sysroot=${STAGING_DIR_TARGET} -I${STAGING_INCDIR} ${TUNE_CCARGS}"
# A GGUF file of the integrator, by path; the -model package is empty without one, and whoever names one names its
# licence too.
OBLIGATO_MODEL ??= ""
OBLIGATO_MODEL_LICENSE ??= "Apache-2.0"
# A folder that `make man` wrote, by path: the command line makes its pages and completions itself, and the one of the
# target does not run on the build host. The -doc and -*-completion packages are not built without one.
OBLIGATO_MAN ??= ""

do_install:append() {
    install -d ${D}${sysconfdir}/obligato
    install -m 0644 ${S}/systemd/obligato.toml ${D}${sysconfdir}/obligato/
    install -d ${D}${systemd_system_unitdir}
    for unit in ${S}/systemd/*.service ${S}/systemd/*.path ${S}/systemd/*.timer; do
        case "$unit" in
        */org.*|*'*'*) continue ;;
        esac
        install -m 0644 "$unit" ${D}${systemd_system_unitdir}/
    done
    install -d ${D}${datadir}/dbus-1/system.d ${D}${datadir}/dbus-1/system-services
    install -m 0644 ${S}/systemd/org.obligato.Harness1.conf ${D}${datadir}/dbus-1/system.d/
    install -m 0644 ${S}/systemd/org.obligato.Harness1.service ${D}${datadir}/dbus-1/system-services/
    install -d ${D}${nonarch_libdir}/tmpfiles.d
    install -m 0644 ${S}/systemd/obligato.tmpfiles ${D}${nonarch_libdir}/tmpfiles.d/obligato.conf
    install -d ${D}${datadir}/obligato
    install -m 0644 ${S}/systemd/hard-limits.toml ${D}${datadir}/obligato/
    # For an image with a broker on TCP to install as a drop-in of the unit.
    install -m 0644 ${S}/systemd/obligatod-kuksa.conf ${D}${datadir}/obligato/
    # Limits of the whole bus are the image's to set.
    install -m 0644 ${S}/systemd/obligato-bus-limits.conf ${D}${datadir}/obligato/
    install -m 0644 ${S}/policies/cabin/cabin.obl ${D}${datadir}/obligato/
    install -m 0644 ${S}/policies/cabin/examples.toml ${D}${datadir}/obligato/
    if [ -n "${OBLIGATO_MODEL}" ]; then
        install -d ${D}${localstatedir}/lib/obligato/models
        install -m 0644 ${OBLIGATO_MODEL} ${D}${localstatedir}/lib/obligato/models/model.gguf
    fi
    if [ -n "${OBLIGATO_MAN}" ]; then
        install -d ${D}${mandir}/man1 ${D}${mandir}/man8 ${D}${datadir}/bash-completion/completions
        install -d ${D}${datadir}/zsh/site-functions ${D}${datadir}/fish/vendor_completions.d
        install -m 0644 ${OBLIGATO_MAN}/man1/*.1 ${D}${mandir}/man1/
        install -m 0644 ${OBLIGATO_MAN}/man8/*.8 ${D}${mandir}/man8/
        for program in obligato obligatod; do
            from=${OBLIGATO_MAN}/completions
            install -m 0644 $from/$program.bash ${D}${datadir}/bash-completion/completions/$program
            install -m 0644 $from/_$program ${D}${datadir}/zsh/site-functions/
            install -m 0644 $from/$program.fish ${D}${datadir}/fish/vendor_completions.d/
        done
    fi
}
do_install[file-checksums] += "${@d.getVar('OBLIGATO_MODEL') + ':True' if d.getVar('OBLIGATO_MODEL') else ''}"
do_install[file-checksums] += "${@d.getVar('OBLIGATO_MAN') + ':True' if d.getVar('OBLIGATO_MAN') else ''}"

USERADD_PACKAGES = "${PN}"
# The same as in systemd/obligato.sysusers; yocto/check compares them.
GROUPADD_PARAM:${PN} = "--system obligato; --system obligato-client; --system obligato-provider; --system obligato-update"
USERADD_PARAM:${PN} = " \
    --system --gid obligato --home-dir ${localstatedir}/lib/obligato --no-create-home --shell ${base_sbindir}/nologin obligato; \
    --system --gid obligato-update --home-dir /nonexistent --no-create-home --shell ${base_sbindir}/nologin obligato-update \
"

SYSTEMD_SERVICE:${PN} = "obligatod.service obligato-update.service obligato-update.path obligato-update.timer"

PACKAGE_BEFORE_PN += "${PN}-cli ${PN}-policy ${PN}-model ${PN}-zsh-completion ${PN}-fish-completion"

FILES:${PN}-cli += "${bindir}/obligato"

FILES:${PN}-policy += "${datadir}/obligato"

FILES:${PN}-model += "${localstatedir}/lib/obligato/models"
ALLOW_EMPTY:${PN}-model = "1"

FILES:${PN}-zsh-completion += "${datadir}/zsh"

FILES:${PN}-fish-completion += "${datadir}/fish"

FILES:${PN} += "${datadir}/dbus-1 ${nonarch_libdir}/tmpfiles.d ${systemd_system_unitdir}"
CONFFILES:${PN} = "${sysconfdir}/obligato/obligato.toml"

RDEPENDS:${PN} = "${PN}-policy dbus"
RRECOMMENDS:${PN} = "${PN}-cli"
