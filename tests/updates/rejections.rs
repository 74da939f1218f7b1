//! Everything that is not taken, each with the error that names it.

use obligato::policy::update::{
    Class, Header, Installed, InventoryDigest, KeyList, Reading, SecretKey, Trust, UpdateError, accept, read_delivered,
    sign, sign_keys, unverified,
};
use obligato::policy::{BlobError, FORMAT};

use super::kit::{EPOCH, EXPIRES, Image, NOT_BEFORE, NOW, blob, blob_of, committed, issue, trust_file};

fn refused(image: &Image, bytes: &[u8]) -> UpdateError {
    image.accept(bytes).expect_err("it is not taken")
}

/// Where the parts of an envelope begin: fixed part, header, content, signature.
fn parts(update: &[u8]) -> (usize, usize, usize) {
    let long = |at: usize| u32::from_le_bytes(update[at..at + 4].try_into().unwrap()) as usize;
    (18, 18 + long(10), 18 + long(10) + long(14))
}

/// The update with another header, signed anew by a key: what a signer's mistake or a thief looks like.
fn forged(update: &[u8], key: &SecretKey, change: impl FnOnce(&mut Header)) -> Vec<u8> {
    let (mut header, content) = unverified(update).unwrap();
    change(&mut header);
    let header = postcard::to_allocvec(&header).unwrap();
    let mut out = update[..10].to_vec();
    out.extend_from_slice(&u32::try_from(header.len()).unwrap().to_le_bytes());
    out.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(content);
    let seed = key.to_text().trim().rsplit(' ').next().unwrap().to_owned();
    let seed: Vec<u8> = (0..64).step_by(2).map(|at| u8::from_str_radix(&seed[at..at + 2], 16).unwrap()).collect();
    let key = ed25519_dalek::SigningKey::from_bytes(&seed.try_into().unwrap());
    let signature = ed25519_dalek::Signer::sign(&key, &out);
    out.extend_from_slice(&signature.to_bytes());
    out
}

#[test]
fn what_was_signed_for_this_car_is_accepted() {
    let image = Image::new();
    let accepted = image.accept(&image.update(7)).unwrap();
    assert_eq!((accepted.header().version, accepted.policy().id.as_str()), (7, "cabin"));
}

#[test]
fn every_changed_byte_and_every_cut_is_refused() {
    let image = Image::new();
    let update = image.update(7);
    for at in 0..update.len() {
        for bit in [1, 0x80] {
            let mut changed = update.clone();
            changed[at] ^= bit;
            assert!(image.accept(&changed).is_err(), "byte {at}");
        }
    }
    for cut in 0..update.len() {
        let error = refused(&image, &update[..cut]);
        assert!(matches!(error, UpdateError::Truncated { .. }), "cut at {cut}: {error}");
    }
}

#[test]
fn a_bad_signature_is_an_arbitrary_software_attack() {
    let image = Image::new();
    let mut update = image.update(7);
    let (_, content, signature) = parts(&update);
    for at in [content + 3, signature, update.len() - 1] {
        update[at] ^= 1;
        let error = refused(&image, &update);
        assert!(matches!(error, UpdateError::BadSignature(_)), "{error}");
        assert!(error.to_string().contains("arbitrary software attack"));
        update[at] ^= 1;
    }
}

#[test]
fn a_signature_that_was_bent_but_still_adds_up_is_refused() {
    // S and S plus the order of the group verify alike unless the verifier is strict.
    let order: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let image = Image::new();
    let mut update = image.update(7);
    let start = update.len() - 32;
    let mut carry = 0;
    for (byte, add) in update[start..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        *byte = (sum & 0xff) as u8;
        carry = sum >> 8;
    }
    assert!(matches!(refused(&image, &update), UpdateError::BadSignature(_)));
}

#[test]
fn an_unknown_key_is_named() {
    let (image, stranger) = (Image::new(), SecretKey::generate().unwrap());
    let error = refused(&image, &image.signed(&blob(7), &issue(7), &stranger));
    assert!(matches!(&error, UpdateError::UnknownKey(id) if *id == stranger.public().id()), "{error}");
    // The root key signs lists, not policies, and no list makes it sign policies.
    assert!(sign_keys(1, &[image.root.public()], &[], &image.root).is_err());
    let error = refused(&image, &image.signed(&blob(7), &issue(7), &image.root));
    assert!(matches!(error, UpdateError::UnknownKey(_)), "{error}");
}

#[test]
fn a_revoked_key_signs_nothing_any_more_and_a_new_one_does() {
    let (image, next) = (Image::new(), SecretKey::generate().unwrap());
    let trust = image.trusting(&image.list(1, &[&next], &[&image.key]));
    let decide = |update: &[u8]| accept(update, &trust, &Installed::default(), NOW);
    let error = decide(&image.update(7)).err().unwrap();
    assert!(matches!(&error, UpdateError::RevokedKey(id) if *id == image.key.public().id()), "{error}");
    assert!(error.to_string().contains("key compromise"));
    assert!(decide(&image.signed(&blob(7), &issue(7), &next)).is_ok());
}

#[test]
fn an_older_version_is_a_rollback_attack() {
    let image = Image::new();
    let update = image.update(7);
    let digest = *image.accept(&update).unwrap().digest();
    let decide = |floor, digest| accept(&update, &image.trust, &committed(floor, digest), NOW);
    let error = decide(8, digest).err().unwrap();
    assert!(matches!(error, UpdateError::Rollback { found: 7, floor: 8 }), "{error}");
    assert!(error.to_string().contains("rollback attack"));
    assert!(decide(7, digest).is_ok(), "a delivery may be repeated");
    assert!(decide(6, digest).is_ok());
    let error = decide(7, [9; 32]).err().unwrap();
    assert!(matches!(error, UpdateError::SameVersion(7)), "{error}");
}

#[test]
fn an_expired_update_is_a_freeze_attack_and_an_early_one_is_early() {
    let image = Image::new();
    let update = image.update(7);
    let at = |now| accept(&update, &image.trust, &Installed::default(), Reading(Some(now)));
    for (now, expired) in [(EXPIRES, true), (EXPIRES + 1, true), (u64::MAX, true)] {
        let error = at(now).err().unwrap();
        assert_eq!(matches!(error, UpdateError::Expired { expires: EXPIRES, .. }), expired, "{now}: {error}");
        assert!(error.to_string().contains("freeze attack"));
    }
    let error = at(NOT_BEFORE - 1).err().unwrap();
    assert!(matches!(error, UpdateError::NotYetValid(NOT_BEFORE)), "{error}");
    assert!(at(NOT_BEFORE).is_ok() && at(EXPIRES - 1).is_ok());
}

#[test]
fn an_unset_clock_neither_takes_an_update_nor_calls_it_early_or_expired_without_knowing() {
    let image = Image::new();
    let update = image.update(7);
    let seen = |seen| {
        let mut installed = Installed::default();
        installed.floor.seen = seen;
        installed
    };
    for unset in [Reading(None), Reading(Some(0)), Reading(Some(EPOCH - 1))] {
        let error = accept(&update, &image.trust, &seen(0), unset).err().unwrap();
        assert!(matches!(error, UpdateError::ClockUnset { .. }), "{unset:?}: {error}");
    }
    // A clock that was set back behind what is known to have passed is as good as unset.
    let error = accept(&update, &image.trust, &seen(EXPIRES - 9), NOW).err().unwrap();
    assert!(matches!(error, UpdateError::ClockUnset { .. }), "{error}");
    // What is known to have passed lies behind the expiry: that much is certain without a clock.
    for unset in [Reading(None), NOW] {
        let error = accept(&update, &image.trust, &seen(EXPIRES), unset).err().unwrap();
        assert!(matches!(error, UpdateError::Expired { .. }), "{unset:?}: {error}");
    }
}

#[test]
fn another_target_or_another_policy_set_is_refused() {
    let image = Image::new();
    let other = obligato::policy::update::Issue { target: "bus", ..issue(7) };
    let error = refused(&image, &image.signed(&blob(7), &other, &image.key));
    assert!(matches!(&error, UpdateError::WrongTarget { found, .. } if found == "bus"), "{error}");
    let error = refused(&image, &image.signed(&blob_of("kitchen", 7), &issue(7), &image.key));
    assert!(matches!(&error, UpdateError::WrongPolicy { found, .. } if found == "kitchen"), "{error}");
    // A header that says one set around the blob of another.
    let kitchen = image.signed(&blob_of("kitchen", 7), &issue(7), &image.key);
    let error = refused(&image, &forged(&kitchen, &image.key, |header| header.policy = "cabin".into()));
    assert!(matches!(&error, UpdateError::WrongPolicy { found, .. } if found == "kitchen"), "{error}");
}

#[test]
fn an_inventory_that_is_not_the_images_or_not_the_blobs_is_refused() {
    let image = Image::with(&format!("inventory = [\"{}\"]", "ab".repeat(32)));
    let error = refused(&image, &image.update(7));
    assert!(matches!(&error, UpdateError::Inventory { against, .. } if against.contains("image")), "{error}");
    let image = Image::new();
    let forged = forged(&image.update(7), &image.key, |header| header.inventory = InventoryDigest([1; 32]));
    let error = refused(&image, &forged);
    assert!(matches!(&error, UpdateError::Inventory { against, .. } if against.contains("inside")), "{error}");
}

#[test]
fn a_newer_format_of_envelope_header_or_blob_is_refused() {
    let image = Image::new();
    let mut update = image.update(7);
    update[8] = 2;
    let error = refused(&image, &update);
    assert!(matches!(error, UpdateError::NewerFormat { what: "envelope", found: 2, known: 1 }), "{error}");
    let range = |oldest, newest| {
        forged(&image.update(7), &image.key, |header| (header.oldest, header.newest) = (oldest, newest))
    };
    let error = refused(&image, &range(FORMAT + 1, FORMAT + 3));
    assert!(matches!(error, UpdateError::NewerFormat { what: "blob", .. }), "{error}");
    let error = refused(&image, &range(0, FORMAT - 1));
    assert!(matches!(error, UpdateError::OlderFormat { .. }), "{error}");
    // The blob itself says another format than its header.
    let mut content = blob(7);
    content[8] = (FORMAT + 1) as u8;
    assert!(matches!(sign(&content, &issue(7), &image.key), Err(UpdateError::Blob(BlobError::Format { .. }))));
}

#[test]
fn too_much_is_an_endless_data_attack() {
    let image = Image::new();
    let error = refused(&image, &vec![0; 9 << 20]);
    assert!(matches!(error, UpdateError::Oversized { .. }), "{error}");
    assert!(error.to_string().contains("endless data attack"));
    // A header or a content that only claims to be large.
    for at in [10, 14] {
        let mut update = image.update(7);
        update[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(refused(&image, &update), UpdateError::Oversized { .. }));
    }
}

#[test]
fn trailing_bytes_are_refused_wherever_they_hide() {
    let image = Image::new();
    let mut update = image.update(7);
    update.push(0);
    assert!(matches!(refused(&image, &update), UpdateError::Trailing(1)));
    // Behind the blob, signed by mistake.
    let (header, content) = unverified(&image.update(7)).map(|(h, c)| (h, c.to_vec())).unwrap();
    drop(header);
    let mut longer = content;
    longer.push(0);
    assert!(matches!(sign(&longer, &issue(7), &image.key), Err(UpdateError::Blob(BlobError::Trailing(1)))));
}

#[test]
fn something_else_is_called_by_its_name() {
    let image = Image::new();
    for other in
        [blob(7), b"#!/bin/sh\nrm -rf /\n, and then some more to make it long".to_vec(), image.list(1, &[], &[])]
    {
        assert!(matches!(refused(&image, &other), UpdateError::NotAnUpdate { .. }));
    }
    assert!(matches!(KeyList::verify(&image.update(7), &image.trust), Err(UpdateError::NotAnUpdate { .. })));
}

#[test]
fn a_header_that_no_signer_means_is_refused() {
    let image = Image::new();
    let changes: [fn(&mut Header); 4] = [
        |header| header.version = 0,
        |header| header.expires = header.not_before,
        |header| (header.oldest, header.newest) = (2, 1),
        |header| header.target = "hu".repeat(200),
    ];
    for change in changes {
        let error = refused(&image, &forged(&image.update(7), &image.key, change));
        assert!(matches!(error, UpdateError::Header(_)), "{error}");
    }
}

#[test]
fn a_list_of_keys_is_taken_from_the_root_key_alone() {
    let image = Image::new();
    let list = image.list(3, &[&image.key], &[]);
    assert_eq!(KeyList::verify(&list, &image.trust).unwrap().version(), 3);
    for at in 0..list.len() {
        let mut changed = list.clone();
        changed[at] ^= 1;
        assert!(KeyList::verify(&changed, &image.trust).is_err(), "byte {at}");
    }
    let thief = Image::new();
    let error = KeyList::verify(&thief.list(9, &[&thief.key], &[]), &image.trust).err().unwrap();
    assert!(matches!(error, UpdateError::BadSignature(_)), "{error}");
    let text = trust_file(&image.root, &image.key, "");
    let rootless: String = text.lines().filter(|l| !l.starts_with("root")).map(|l| format!("{l}\n")).collect();
    let error = KeyList::verify(&list, &Trust::parse(&rootless).unwrap()).err().unwrap();
    assert!(matches!(error, UpdateError::Trust(_)), "{error}");
}

#[test]
fn links_pipes_devices_folders_and_huge_files_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("real"), "x").unwrap();
    std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    for (name, what) in [
        ("link", "symbolic link"),
        ("zero", "symbolic link"),
        ("folder", "folder"),
        ("socket", "socket"),
        ("pipe", "pipe"),
    ] {
        let error = read_delivered(&at(name), 10).err().unwrap();
        assert!(matches!(error, UpdateError::NotAFile { .. }), "{name}: {error}");
        assert!(error.to_string().contains(what) && error.class() == Class::Malformed, "{error}");
    }
    let device = read_delivered(std::path::Path::new("/dev/zero"), 10).err().unwrap();
    assert!(device.to_string().contains("a device"), "{device}");
    // A sparse file claims much and costs nothing: it is not read at all.
    std::fs::File::create(at("huge")).unwrap().set_len(1 << 40).unwrap();
    assert!(matches!(read_delivered(&at("huge"), 10), Err(UpdateError::Oversized { .. })));
    std::fs::write(at("exact"), [7; 10]).unwrap();
    assert_eq!(read_delivered(&at("exact"), 10).unwrap(), [7; 10]);
    // The kernel's files have no size beforehand; what is read is bounded all the same.
    assert!(matches!(read_delivered(std::path::Path::new("/proc/kallsyms"), 10), Err(UpdateError::Oversized { .. })));
}
