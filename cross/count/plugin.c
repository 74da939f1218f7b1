/* Counts the instructions that each call of one function takes, its callees included, for qemu-user.
 *
 * qemu-aarch64 -plugin plugin.so,function=SYMBOL -d plugin -D OUT program …
 *
 * OUT gets one line a call: its number of executed instructions. A call ends at a `ret` of the function itself, so
 * one that leaves by a tail call or by unwinding is not closed and is not counted. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Debian ships no qemu-plugin.h; this is the part of its version 1 (QEMU 4.2 and later) that is used. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void (*tb_trans_cb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*vcpu_udata_cb)(unsigned int, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_trans_cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, vcpu_udata_cb, enum qemu_plugin_cb_flags, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void qemu_plugin_outs(const char *);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;

/* What is known of a translated block. */
struct block {
    uint64_t instructions;
    bool enters; /* it begins with the function's first instruction */
    bool leaves; /* it ends with a `ret` of the function */
};

static const char *function;
static uint64_t entry; /* address of the function's first instruction; 0 until a call was seen */
static __thread bool counting;
static __thread uint64_t count;

static void on_block(unsigned int cpu, void *data)
{
    (void)cpu;
    const struct block *block = data;
    if (block->enters) {
        counting = true;
        count = 0;
    }
    if (!counting)
        return;
    count += block->instructions;
    if (block->leaves) {
        char line[32];
        counting = false;
        snprintf(line, sizeof line, "%" PRIu64 "\n", count);
        qemu_plugin_outs(line);
    }
}

static bool within(const struct qemu_plugin_insn *insn)
{
    const char *symbol = qemu_plugin_insn_symbol(insn);
    return symbol && strcmp(symbol, function) == 0;
}

static bool is_ret(const struct qemu_plugin_insn *insn)
{
    uint32_t word;
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
    return word == 0xd65f03c0;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(tb);
    const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
    struct block *block = malloc(sizeof *block); /* lives as long as the translation, that is, to the end */
    if (!block)
        abort();
    /* The first block of the function that is ever translated is the one that it is called at. */
    if (!entry && within(first))
        entry = qemu_plugin_insn_vaddr(first);
    block->instructions = n;
    block->enters = entry && qemu_plugin_insn_vaddr(first) == entry;
    block->leaves = within(last) && is_ret(last);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "function=", 9) == 0)
            function = strdup(argv[i] + 9);
    if (!function) {
        fputs("count: name the function (function=SYMBOL)\n", stderr);
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
