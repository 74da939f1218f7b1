//! As much of a message's header as the door looks at, read where it lies.
//!
//! The bus has checked what it passes on; whatever does not read as it should is left out, and the message goes to
//! whoever parses it in full.

/// Length of what every message begins with.
pub(super) const HEAD: usize = 16;
/// The type of a method call.
const CALL: u8 = 1;
/// `NO_REPLY_EXPECTED`.
const SILENT: u8 = 1;

/// What the head of a message says about its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lengths {
    /// Whether it is a call.
    pub(super) call: bool,
    /// Bytes of head and fields, padded.
    pub(super) header: usize,
    /// Bytes of the body.
    pub(super) body: usize,
}

impl Lengths {
    /// None where there is no head yet.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let order = Order::of(bytes)?;
        let header = order.number(bytes, 12)?.checked_add(HEAD)?.checked_next_multiple_of(8)?;
        Some(Self { call: *bytes.get(1)? == CALL, header, body: order.number(bytes, 4)? })
    }

    /// Bytes of the whole message.
    pub(super) fn whole(self) -> usize {
        self.header.saturating_add(self.body)
    }
}

/// What the door looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Head<'m> {
    /// The connection that sent it, by the word of the bus.
    pub(super) sender: Option<&'m str>,
    /// The object.
    pub(super) path: Option<&'m str>,
    /// The interface.
    pub(super) interface: Option<&'m str>,
    /// The method.
    pub(super) member: Option<&'m str>,
    /// By which an answer names it.
    pub(super) serial: u32,
    /// File descriptors that are passed along.
    pub(super) passed: usize,
    /// Where their number stands, in four bytes.
    pub(super) counted: Option<usize>,
    /// Whether an answer is wanted.
    pub(super) answered: bool,
}

impl<'m> Head<'m> {
    /// Reads a header, from the first byte of the message to the end of its fields.
    pub(super) fn read(bytes: &'m [u8]) -> Self {
        let mut head = Self { answered: bytes.get(2).is_some_and(|flags| flags & SILENT == 0), ..Self::default() };
        // What was read before something unreadable stands.
        let _ = head.fields(bytes);
        head
    }

    fn fields(&mut self, bytes: &'m [u8]) -> Option<()> {
        let order = Order::of(bytes)?;
        self.serial = u32::try_from(order.number(bytes, 8)?).unwrap_or_default();
        let end = HEAD.checked_add(order.number(bytes, 12)?)?;
        let mut at = HEAD;
        while at < end {
            // A code, and a variant: the signature of one type, and a value of it.
            at = at.checked_next_multiple_of(8)?;
            let (code, one, kind) = (*bytes.get(at)?, *bytes.get(at + 1)?, *bytes.get(at + 2)?);
            if one != 1 {
                return None;
            }
            at += 4;
            match kind {
                b'u' => {
                    let number = order.number(bytes, at)?;
                    at += 4;
                    if code == 9 {
                        (self.passed, self.counted) = (number, Some(at - 4));
                    }
                }
                b's' | b'o' => {
                    let text = at + 4;
                    let after = text.checked_add(order.number(bytes, at)?)?;
                    let text = std::str::from_utf8(bytes.get(text..after)?).ok();
                    at = after + 1;
                    match code {
                        1 => self.path = text,
                        2 => self.interface = text,
                        3 => self.member = text,
                        7 => self.sender = text,
                        _ => {}
                    }
                }
                b'g' => at += usize::from(*bytes.get(at)?) + 2,
                _ => return None,
            }
        }
        Some(())
    }
}

/// The order of bytes in numbers.
#[derive(Clone, Copy)]
struct Order {
    big: bool,
}

impl Order {
    fn of(bytes: &[u8]) -> Option<Self> {
        Some(Self { big: *bytes.first()? == b'B' })
    }

    fn number(self, bytes: &[u8], at: usize) -> Option<usize> {
        let field: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(if self.big { u32::from_be_bytes(field) } else { u32::from_le_bytes(field) }).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zbus::Message;
    use zbus::message::Flags;

    fn call() -> Message {
        let builder = Message::method_call("/org/obligato/Harness1/session/7", "Verify").interface("org.example.A1");
        let builder = builder.destination("org.example.B1").sender(":1.42").with_flags(Flags::NO_REPLY_EXPECTED);
        builder.build(&("a draft", 7_u32)).unwrap()
    }

    #[test]
    fn a_header_is_read_as_the_library_wrote_it() {
        let message = call();
        let bytes = message.data().bytes();
        let lengths = Lengths::of(bytes).unwrap();
        assert_eq!((lengths.call, lengths.whole()), (true, bytes.len()));
        let head = Head::read(&bytes[..lengths.header]);
        let expected = Head {
            sender: Some(":1.42"),
            path: Some("/org/obligato/Harness1/session/7"),
            interface: Some("org.example.A1"),
            member: Some("Verify"),
            serial: message.primary_header().serial_num().get(),
            passed: 0,
            counted: None,
            answered: false,
        };
        assert_eq!(head, expected);
        let answer = Message::method_return(&message.header()).build(&()).unwrap();
        assert!(!Lengths::of(answer.data().bytes()).unwrap().call);
    }

    #[test]
    fn a_header_that_is_cut_or_bent_is_read_as_far_as_it_goes() {
        let message = call();
        let bytes = message.data().bytes();
        let header = Lengths::of(bytes).unwrap().header;
        for cut in 0..header {
            let head = Head::read(&bytes[..cut]);
            assert!(head.sender.is_none_or(|sender| sender == ":1.42"), "cut at {cut}: {head:?}");
        }
        for at in 0..header {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bent = bytes[..header].to_vec();
                bent[at] = value;
                let (head, lengths) = (Head::read(&bent), Lengths::of(&bent));
                assert!(lengths.is_none_or(|l| l.header >= HEAD) && head.passed <= u32::MAX as usize);
            }
        }
    }
}
