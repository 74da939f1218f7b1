//! The place of a policy's own tests in its blob.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A policy's own tests, packed: the module `trials` packs and unpacks them. Loading a
/// policy copies these bytes and looks at none of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackedTests(pub Vec<u8>);

impl Serialize for PackedTests {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for PackedTests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = PackedTests;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<PackedTests, E> {
                Ok(PackedTests(bytes.to_vec()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<PackedTests, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = list.next_element()? {
                    bytes.push(byte);
                }
                Ok(PackedTests(bytes))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
