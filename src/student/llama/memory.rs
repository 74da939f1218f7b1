//! Whether a model fits into the memory that this process may still take.

use std::fs;
use std::path::Path;

use llama_cpp_2::model::LlamaModel;

/// What a context takes besides its cells: buffers of the computation, measured with both small models at 8 k tokens.
const BUFFERS: u64 = 160 * 1024 * 1024;
/// Bytes of a number in a cell (f16).
const CELL: u64 = 2;

/// Bytes of the cells of a context.
pub(super) fn cells(model: &LlamaModel, tokens: u32) -> u64 {
    let number = |key: &str| {
        let family = model.meta_val_str("general.architecture").ok()?;
        model.meta_val_str(&format!("{family}.{key}")).ok()?.parse::<u64>().ok()
    };
    let heads = u64::from(model.n_head()).max(1);
    let length = number("attention.key_length").unwrap_or(u64::try_from(model.n_embd()).unwrap_or_default() / heads);
    u64::from(tokens) * u64::from(model.n_layer()) * u64::from(model.n_head_kv()) * length * 2 * CELL
}

/// Whether so many bytes, and what a computation needs besides, are still to be had.
///
/// # Errors
/// A sentence that names both sizes and what to do.
pub(super) fn fits(needed: u64) -> Result<(), String> {
    match available() {
        Some(there) => enough(needed.saturating_add(BUFFERS), there),
        None => Ok(()), // nobody tells, for example where /proc is hidden
    }
}

fn enough(needed: u64, there: u64) -> Result<(), String> {
    if needed <= there {
        return Ok(());
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1024 * 1024);
    Err(format!(
        "it needs {} MiB and {} MiB are free for it; take a smaller model or context, or raise the memory limit",
        mebibytes(needed),
        mebibytes(there)
    ))
}

/// The bytes that this process may still take: what the machine has, and what its control groups allow.
fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| in_machine(&text));
    let group =
        fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| in_groups(Path::new("/sys/fs/cgroup"), &text));
    machine.into_iter().chain(group).min()
}

fn in_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// What the unified hierarchy leaves: the least of the process's group and every one above it. File pages count as
/// used there and are given back, so only what is above them is lost.
fn in_groups(root: &Path, groups: &str) -> Option<u64> {
    let own = groups.lines().find_map(|l| l.strip_prefix("0::"))?.trim_start_matches('/');
    let number = |folder: &Path, file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let left = |folder: &Path| {
        let (most, used) = (number(folder, "memory.max")?, number(folder, "memory.current")?);
        let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let pages =
            stat.lines().find_map(|l| l.strip_prefix("inactive_file ")?.parse::<u64>().ok()).unwrap_or_default();
        Some(most.saturating_sub(used.saturating_sub(pages)))
    };
    let own = root.join(own);
    own.ancestors().take_while(|f| f.starts_with(root)).filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_group_decides() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("system.slice/obligatod.service");
        fs::create_dir_all(&inner).unwrap();
        let write = |folder: &Path, max: &str, current: &str| {
            fs::write(folder.join("memory.max"), max).unwrap();
            fs::write(folder.join("memory.current"), current).unwrap();
        };
        write(&inner, "max\n", "5\n");
        assert_eq!(in_groups(root.path(), "0::/system.slice/obligatod.service\n"), None, "no limit");
        write(inner.parent().unwrap(), "1000\n", "400\n");
        assert_eq!(in_groups(root.path(), "0::/system.slice/obligatod.service\n"), Some(600));
        write(&inner, "500\n", "450\n");
        fs::write(inner.join("memory.stat"), "anon 10\ninactive_file 40\n").unwrap();
        assert_eq!(in_groups(root.path(), "0::/system.slice/obligatod.service\n"), Some(90));
    }

    #[test]
    fn a_model_that_does_not_fit_is_refused_with_both_sizes() {
        assert_eq!(in_machine("MemTotal: 9 kB\nMemAvailable:    2048 kB\n"), Some(2 * 1024 * 1024));
        assert_eq!(enough(2 * 1024 * 1024, 2 * 1024 * 1024), Ok(()));
        let refused = enough(3 * 1024 * 1024, 2 * 1024 * 1024).unwrap_err();
        assert!(refused.contains("needs 3 MiB and 2 MiB are free"), "{refused}");
    }
}
