SUMMARY = "Guard between an in-car language model and the car"
SUMMARY:${PN}-cli = "Command line of Obligato"
SUMMARY:${PN}-policy = "Policy and hard limits of Obligato"
SUMMARY:${PN}-model = "Model file of the local student of Obligato"
SUMMARY:${PN}-update = "Drop folder of Obligato's policy updates"
SUMMARY:${PN}-mender = "Update module for Mender with Obligato's policy updates"
SUMMARY:${PN}-kuksa-tcp = "Network of Obligato's unit for a KUKSA databroker on TCP"
SUMMARY:${PN}-zsh-completion = "Completions of Obligato for zsh"
SUMMARY:${PN}-fish-completion = "Completions of Obligato for fish"
DESCRIPTION = "Verifies, repairs, asks and executes what a voice assistant's model proposes, under the manufacturer's policy."
HOMEPAGE = "https://obligato.example/"
BUGTRACKER = "https://obligato.example/issues"
CVE_PRODUCT = "obligato"
SECTION = "multimedia"
# Ours is Apache-2.0; the others are those of the crates and of llama.cpp, which are linked in. yocto/licences compares
# this line with Cargo.lock.
OBLIGATO_LICENSE = "Apache-2.0 & BSD-3-Clause & ISC & MIT & Unicode-3.0 & Zlib"
LICENSE = "${OBLIGATO_LICENSE}${@obligato_model_license(d)}"
LICENSE:${PN}-policy = "Apache-2.0"
# The licence of the model is that of whoever names one.
LICENSE:${PN}-model = "${OBLIGATO_MODEL_LICENSE}"
LIC_FILES_CHKSUM = "file://LICENSE;md5=22a53954e4e0ec258dfce4391e905dac"

# A package's licence has to be among those of its recipe.
def obligato_model_license(d):
    own, model = d.getVar("OBLIGATO_LICENSE"), d.getVar("OBLIGATO_MODEL_LICENSE")
    return "" if set(model.split()) <= set(own.split()) else " & (%s)" % model

# The tree around this layer; README says how to build from a mirror.
EXTERNALSRC ?= "${OBLIGATO_TREE}"

require ${BPN}-crates.inc

inherit bash-completion cargo cargo-update-recipe-crates externalsrc features_check pkgconfig ptest systemd useradd

# The guard is a service of systemd; without it an image would have none, and nothing would say so.
REQUIRED_DISTRO_FEATURES = "systemd"

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

# The profile that sizes, memory and instructions were measured with (cross/README.md). cargo puts what it builds into a
# folder of the profile's name.
BUILD_MODE = "${@['--profile image', ''][d.getVar('DEBUG_BUILD') == '1']}"
BUILD_DIR = "${@['image', 'debug'][d.getVar('DEBUG_BUILD') == '1']}"
# Without it the line tables of the profile make llama.cpp RelWithDebInfo: -O2 in place of -O3.
export LLAMA_LIB_PROFILE = "Release"
# cmake would take every core for llama.cpp, and cargo every core for the crates.
export CMAKE_BUILD_PARALLEL_LEVEL = "${@oe.utils.parallel_make(d, False) or 1}"
export CARGO_BUILD_JOBS = "${@oe.utils.parallel_make(d, False) or 1}"

# The crates lie where no map of OE-core reaches, and llama.cpp names its files in its messages.
CFLAGS:append = " -ffile-prefix-map=${CARGO_HOME}=${TARGET_DBGSRC_DIR}/cargo_home"
CXXFLAGS:append = " -ffile-prefix-map=${CARGO_HOME}=${TARGET_DBGSRC_DIR}/cargo_home"
RUSTFLAGS:append = " --remap-path-prefix=${S}=${TARGET_DBGSRC_DIR}"
# llama.cpp asks git for its revision: without an end it finds that of a checkout around the build folder.
export GIT_CEILING_DIRECTORIES = "${CARGO_HOME}"

# The instructions that llama.cpp may use on ARM, as gcc's -march names them. Its build script sets armv8-a whatever the
# tune is, and that runs on every core; armv8.2-a+dotprod+fp16 is for the Cortex-A76 and later.
export OBLIGATO_ARM_ARCH ??= ""
# TLS is not llama.cpp's business.
export CMAKE_TOOLCHAIN_FILE = "${S}/yocto/toolchain.cmake"
export OBLIGATO_SYSROOT = "${STAGING_DIR_HOST}"
export CMAKE_DISABLE_FIND_PACKAGE_OpenSSL = "ON"

# bindgen reads the target's headers, not those of the build host.
export LIBCLANG_PATH = "${STAGING_LIBDIR_NATIVE}"
export BINDGEN_EXTRA_CLANG_ARGS = "--sysroot=${STAGING_DIR_TARGET} -I${STAGING_INCDIR} ${TUNE_CCARGS}"

# What belongs to a product, by path on the build host; README, "Before the first car".
OBLIGATO_POLICY ??= "${S}/policies/cabin/cabin.obl"
OBLIGATO_LIMITS ??= "${S}/systemd/hard-limits.toml"
OBLIGATO_TRUST ??= ""
OBLIGATO_CONFIG ??= ""
OBLIGATO_MODEL ??= ""
OBLIGATO_MODEL_LICENSE ??= "Apache-2.0"
# A folder that `make man` wrote: the command line makes its pages and completions itself, and the one of the target
# does not run on the build host. The -doc and -*-completion packages are not built without one.
OBLIGATO_MAN ??= ""

do_install:append() {
    # The configuration: that of the product, or ours with what this image has.
    install -d ${D}${sysconfdir}/obligato
    config=${D}${sysconfdir}/obligato/obligato.toml
    if [ -n "${OBLIGATO_CONFIG}" ]; then
        install -m 0644 ${OBLIGATO_CONFIG} $config
    else
        install -m 0644 ${S}/systemd/obligato.toml $config
        sed -i -e "s|^policy = .*|policy = \"${datadir}/obligato/$(basename ${OBLIGATO_POLICY})\"|" \
            -e "s|^limits = .*|limits = \"${datadir}/obligato/$(basename ${OBLIGATO_LIMITS})\"|" $config
        if [ -n "${OBLIGATO_TRUST}" ]; then
            sed -i "s|^# trust = .*|trust = \"${datadir}/obligato/$(basename ${OBLIGATO_TRUST})\"|" $config
            grep -q '^trust = ' $config || bbfatal "obligato.toml has no line for OBLIGATO_TRUST any more"
        fi
        # A build without llama.cpp refuses to start where a local model is asked for.
        if ${@bb.utils.contains('PACKAGECONFIG', 'llama', 'false', 'true', d)}; then
            sed -i 's|^kind = "llama"|kind = "none"|' $config
            grep -q '^kind = "none"' $config || bbfatal "obligato.toml has no line for the student any more"
        fi
    fi
    if grep -q '^kind = "sim"' $config; then
        bbwarn "the image drives a simulated car; see yocto/README.md, Before the first car"
    fi

    # Units, users' folders, the bus.
    install -d ${D}${systemd_system_unitdir}/obligatod.service.d
    for unit in ${S}/systemd/*.service ${S}/systemd/*.path ${S}/systemd/*.timer; do
        case "$unit" in
        */org.*|*'*'*) continue ;;
        esac
        install -m 0644 "$unit" ${D}${systemd_system_unitdir}/
    done
    install -m 0644 ${S}/systemd/obligatod-kuksa.conf ${D}${systemd_system_unitdir}/obligatod.service.d/kuksa.conf
    install -d ${D}${datadir}/dbus-1/system.d ${D}${datadir}/dbus-1/system-services
    install -m 0644 ${S}/systemd/org.obligato.Harness1.conf ${D}${datadir}/dbus-1/system.d/
    install -m 0644 ${S}/systemd/org.obligato.Harness1.service ${D}${datadir}/dbus-1/system-services/
    install -d ${D}${nonarch_libdir}/tmpfiles.d
    install -m 0644 ${S}/systemd/obligato.tmpfiles ${D}${nonarch_libdir}/tmpfiles.d/obligato.conf

    # What the service reads.
    install -d ${D}${datadir}/obligato
    for file in ${OBLIGATO_POLICY} ${OBLIGATO_LIMITS} ${OBLIGATO_TRUST}; do
        install -m 0644 "$file" ${D}${datadir}/obligato/
    done
    install -m 0644 ${S}/policies/cabin/examples.toml ${D}${datadir}/obligato/
    # Limits of the whole bus are the image's to set.
    install -m 0644 ${S}/systemd/obligato-bus-limits.conf ${D}${datadir}/obligato/
    for file in $(sed -n -E 's#^(policy|limits|trust) = "${datadir}/obligato/([^"]*)".*#\2#p' $config); do
        [ -e "${D}${datadir}/obligato/$file" ] || bbfatal "the configuration names $file, which no variable brings"
    done
    if [ -n "${OBLIGATO_MODEL}" ]; then
        install -d ${D}${localstatedir}/lib/obligato/models
        install -m 0644 ${OBLIGATO_MODEL} ${D}${localstatedir}/lib/obligato/models/model.gguf
    fi
    install -d ${D}${datadir}/mender/modules/v3
    install -m 0755 ${S}/yocto/ota/mender/obligato-policy ${D}${datadir}/mender/modules/v3/
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

# The tests of cargo need the sources beside them; these try what is installed.
do_install_ptest() {
    install -D -m 0755 ${S}/yocto/run-ptest ${D}${PTEST_PATH}/run-ptest
}

# What a variable names is looked at for changes; those of the sources are looked at with them.
def obligato_checksums(d):
    names = ("OBLIGATO_POLICY", "OBLIGATO_LIMITS", "OBLIGATO_TRUST", "OBLIGATO_CONFIG", "OBLIGATO_MODEL", "OBLIGATO_MAN")
    paths = [d.getVar(name) for name in names]
    return " ".join(path + ":True" for path in paths if path and not path.startswith(d.getVar("S") + "/"))
do_install[file-checksums] += "${@obligato_checksums(d)}"

USERADD_PACKAGES = "${PN}"
# The same as in systemd/obligato.sysusers; yocto/check compares them.
GROUPADD_PARAM:${PN} = "--system obligato; --system obligato-client; --system obligato-provider; --system obligato-update"
USERADD_PARAM:${PN} = " \
    --system --gid obligato --home-dir ${localstatedir}/lib/obligato --no-create-home --shell ${base_sbindir}/nologin obligato; \
    --system --gid obligato-update --home-dir /nonexistent --no-create-home --shell ${base_sbindir}/nologin obligato-update \
"

# The units of the drop folder run the command line, so they are of a package that depends on it.
SYSTEMD_PACKAGES = "${PN} ${PN}-update"
SYSTEMD_SERVICE:${PN} = "obligatod.service"
SYSTEMD_SERVICE:${PN}-update = "obligato-update.service obligato-update.path obligato-update.timer"

PACKAGE_BEFORE_PN += "${PN}-cli ${PN}-policy ${PN}-model ${PN}-update ${PN}-mender ${PN}-kuksa-tcp"
PACKAGE_BEFORE_PN += "${PN}-zsh-completion ${PN}-fish-completion"

FILES:${PN}-cli += "${bindir}/obligato"

FILES:${PN}-policy += "${datadir}/obligato"

FILES:${PN}-model += "${localstatedir}/lib/obligato/models"
ALLOW_EMPTY:${PN}-model = "1"

FILES:${PN}-update += "${systemd_system_unitdir}/obligato-update.*"

FILES:${PN}-mender += "${datadir}/mender"

FILES:${PN}-kuksa-tcp += "${systemd_system_unitdir}/obligatod.service.d"

FILES:${PN}-zsh-completion += "${datadir}/zsh"

FILES:${PN}-fish-completion += "${datadir}/fish"

FILES:${PN} += "${datadir}/dbus-1 ${nonarch_libdir}/tmpfiles.d ${systemd_system_unitdir}"
CONFFILES:${PN} = "${sysconfdir}/obligato/obligato.toml"

RDEPENDS:${PN} = "${PN}-policy dbus"
RDEPENDS:${PN}-update = "${PN} ${PN}-cli"
RDEPENDS:${PN}-mender = "${PN} ${PN}-cli"
RDEPENDS:${PN}-kuksa-tcp = "${PN}"
RDEPENDS:${PN}-ptest += "${PN}-cli ${PN}-policy"
RRECOMMENDS:${PN} = "${PN}-cli ${PN}-update"
